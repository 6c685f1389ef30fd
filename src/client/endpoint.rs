//! [`Endpoint`] and [`Dial`]: the address of a daemon, looked up again before each attempt.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Notify;

use super::Dormancy;
use super::autostart::{Autostart, Starter};
use crate::store::dirs::{self, ProjectDirs, UserDirs};
use crate::store::operator_socket;
use crate::store::published::Published;
use crate::store::secrets::{Secret, read_token};
use crate::wire::control::Role;

/// The file in the state folder by which the operator said that the project is to stay stopped.
const KILLED_FILE: &str = "killed";

/// Where to connect, and with which secret.
#[derive(Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// The control port on 127.0.0.1.
    Control {
        port: u16,
        /// The role's token. Never logged.
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

/// Looks up where the daemon is now. Asked before each attempt, because a new daemon may stand
/// elsewhere; may start one.
#[derive(Clone)]
pub struct Dial {
    look: Arc<dyn Fn() -> Result<Endpoint, DialError> + Send + Sync>,
    news: Arc<Notify>,
}

impl Dial {
    /// One that looks in this way.
    pub fn new(look: impl Fn() -> Result<Endpoint, DialError> + Send + Sync + 'static) -> Self {
        Self::with_news(look, Arc::default())
    }

    /// As [`Self::new`]; who tells of news knows that it is worth another look at once.
    pub(super) fn with_news(
        look: impl Fn() -> Result<Endpoint, DialError> + Send + Sync + 'static,
        news: Arc<Notify>,
    ) -> Self {
        Self {
            look: Arc::new(look),
            news,
        }
    }

    /// Where the daemon is.
    ///
    /// # Errors
    ///
    /// When there is nowhere to connect to.
    pub fn look(&self) -> Result<Endpoint, DialError> {
        (self.look)()
    }

    /// Waits until it is worth another look. Earlier news that was not waited for counts too.
    pub(super) async fn news(&self) {
        self.news.notified().await;
    }
}

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

/// Finds the control port of a project's daemon by what it published, with the token of a role,
/// and starts a daemon when none answers and `autostart` says how.
pub fn project_dial(dirs: ProjectDirs, role: Role, autostart: Option<Autostart>) -> Dial {
    let news = Arc::<Notify>::default();
    let starter = autostart.map(|autostart| Starter::new(autostart, Arc::clone(&news)));
    let look = move || {
        if dirs::exists(&dirs.state_file(KILLED_FILE)) {
            return Err(DialError::Dormant(Dormancy::Killed));
        }
        let endpoint = published(&dirs, role);
        let Some(starter) = &starter else {
            return endpoint;
        };
        let is_begun = starter.is_begun();
        match endpoint {
            Ok(Endpoint::Control { port, .. }) if starter.answers(port) => endpoint,
            _ if !is_begun => {
                let root = dirs.root.clone();
                Err(DialError::Dormant(
                    match starter.was_begun() || !root.is_dir() {
                        true => Dormancy::Gone(root),
                        false => Dormancy::NoProject(root),
                    },
                ))
            }
            _ => Err(DialError::NotYet(starter.start(&dirs))),
        }
    };
    Dial::with_news(look, news)
}

/// Finds the operator's socket of a project. The daemon checks the process that connects.
pub fn operator_dial(user: &UserDirs, dirs: &ProjectDirs) -> Dial {
    let (user, dirs) = (user.clone(), dirs.clone());
    Dial::new(move || {
        let path = operator_socket::find(&user, &dirs);
        if dirs::exists(&path) {
            Ok(Endpoint::Operator { path })
        } else {
            Err(DialError::NotYet(NO_DAEMON.to_owned()))
        }
    })
}

const NO_DAEMON: &str = "no daemon runs for this project";

fn published(dirs: &ProjectDirs, role: Role) -> Result<Endpoint, DialError> {
    let published = Published::read(dirs).ok_or_else(|| DialError::NotYet(NO_DAEMON.to_owned()))?;
    let port = published.control_port;
    let token = read_token(dirs, secret_of(role)).map_err(unreadable)?;
    Ok(Endpoint::Control { port, token })
}

/// The token with which a role comes in.
fn secret_of(role: Role) -> Secret {
    match role {
        Role::Claude | Role::Hook => Secret::Claude,
        Role::Codex => Secret::Codex,
        Role::Deck | Role::Cli => Secret::Reader,
    }
}

/// The error names the file and never what is in it.
fn unreadable(error: io::Error) -> DialError {
    DialError::NotYet(format!("the token cannot be read: {error}"))
}

#[cfg(test)]
mod tests;
