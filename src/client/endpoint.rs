//! [`Endpoint`] and [`Dial`]: where a daemon is, looked up anew before each attempt.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

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
    /// The operator killed the daemon (`killed` sentinel).
    Killed,
}

impl fmt::Debug for Dial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dial")
    }
}
