//! [`Endpoint`] and [`Dial`]: where a daemon is, looked up anew before each attempt.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::Dormancy;
use super::autostart::{Autostart, Starter};
use crate::store::dirs::{self, ProjectDirs, Published, UserDirs};
use crate::store::operator_socket;

/// The file in the state folder by which the operator said that the project is to stay stopped.
const KILLED_FILE: &str = "killed";

/// The file in the state folder with the control token.
const TOKEN_FILE: &str = "token";

/// The longest token file that is read, in bytes; a token is 64 hex digits and a newline.
const TOKEN_BYTES_MAX: u64 = 256;

/// Where to connect, and with which secret.
#[derive(Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// The control port on 127.0.0.1.
    Control {
        /// The port.
        port: u16,
        /// The control token (or the `/mcp` secret's holder never uses this). Never logged.
        token: String,
    },
    /// The operator's socket; no token, the peer's process is checked.
    Operator {
        /// The socket.
        path: PathBuf,
    },
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Control { port, .. } => write!(f, "127.0.0.1:{port}"),
            Self::Operator { path } => write!(f, "{}", path.display()),
        }
    }
}

/// Looks up where the daemon is now. Called before each attempt, because a new daemon may stand
/// elsewhere; may start one.
#[derive(Clone)]
pub struct Dial(pub Arc<dyn Fn() -> Result<Endpoint, DialError> + Send + Sync>);

/// Why there is nowhere to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialError {
    /// Nothing there yet; try again later.
    NotYet(String),
    /// None is to be started; look again later.
    Dormant(Dormancy),
}

impl fmt::Debug for Dial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dial")
    }
}

/// Finds the control port of a project's daemon by what it published, and starts a daemon when
/// none answers and `autostart` says how.
pub fn project_dial(dirs: ProjectDirs, autostart: Option<Autostart>) -> Dial {
    let starter = autostart.map(Starter::new);
    Dial(Arc::new(move || {
        if dirs::exists(&dirs.state_file(KILLED_FILE)) {
            return Err(DialError::Dormant(Dormancy::Killed));
        }
        let endpoint = published(&dirs);
        let Some(starter) = &starter else {
            return endpoint;
        };
        match endpoint {
            Ok(Endpoint::Control { port, .. }) if starter.answers(port) => endpoint,
            _ if !starter.is_begun() => {
                let root = dirs.root.clone();
                Err(DialError::Dormant(Dormancy::NoProject(root)))
            }
            _ => Err(DialError::NotYet(starter.start(&dirs))),
        }
    }))
}

/// Finds the operator's socket of a project. The daemon checks the process that connects.
pub fn operator_dial(user: &UserDirs, dirs: &ProjectDirs) -> Dial {
    let (user, dirs) = (user.clone(), dirs.clone());
    Dial(Arc::new(move || {
        let path = operator_socket::find(&user, &dirs);
        if dirs::exists(&path) {
            Ok(Endpoint::Operator { path })
        } else {
            Err(DialError::NotYet(NO_DAEMON.to_owned()))
        }
    }))
}

const NO_DAEMON: &str = "no daemon runs for this project";

fn published(dirs: &ProjectDirs) -> Result<Endpoint, DialError> {
    let not_yet = |why: &str| DialError::NotYet(why.to_owned());
    let published = Published::read(dirs).ok_or_else(|| not_yet(NO_DAEMON))?;
    let token = dirs::read_private(&dirs.state_file(TOKEN_FILE), TOKEN_BYTES_MAX)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| not_yet("the control token cannot be read"))?;
    let token = token.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(not_yet("the control token is not one"));
    }
    Ok(Endpoint::Control {
        port: published.control_port,
        token: token.to_owned(),
    })
}

#[cfg(test)]
mod tests;
