//! One typed client of the daemon, with two ways to reach it.
//!
//! [`Client`] is a cheap clone. In process it passes [`Command`]s unchanged to the daemon's loop;
//! over the control WebSocket (or `operator.sock`) it speaks `wire::control` and redials for ever.

use std::fmt;
use std::path::PathBuf;

use tokio::sync::{broadcast, watch};

use crate::wire::control::{Command, Notification, Refusal, RefusalCode, Reply, Welcome};

mod autostart;
mod endpoint;
#[cfg(test)]
pub(crate) mod fake_daemon;
mod in_process;
mod socket;
mod websocket;

pub use autostart::{Autostart, forget_agent};
pub use endpoint::{Dial, DialError, Endpoint, operator_dial, project_dial};
pub use websocket::{WebsocketOptions, connect};

/// How many notifications a slow reader may fall behind before it is told so by
/// [`Notification::Lagged`]. A deck redraws far more often than this many entries arrive.
pub const NOTIFICATIONS_MAX: usize = 1024;

/// Whether the daemon can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Connection {
    /// It answered `hello`.
    Connected(Welcome),
    /// It does not answer; we go on trying.
    Connecting {
        /// A sentence.
        why: String,
        /// What it refused us with, if it did.
        refusal: Option<Refusal>,
        /// The sentence is the transport's, with what the system or the protocol says.
        is_raw: bool,
    },
    /// It ran in this process and failed by a fault of our own. Nobody goes on trying.
    Ended {
        /// A sentence.
        why: String,
    },
    /// None runs, and we start none ourselves: we look for somebody else's start.
    Dormant(Dormancy),
}

/// Why a client starts no daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dormancy {
    /// The operator killed it (`killed` sentinel).
    Killed,
    /// Nobody has begun to work with us in this folder.
    NoProject(PathBuf),
    /// The project was in this folder, or the folder is not there at all.
    Gone(PathBuf),
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// The daemon refused.
    #[error("{}", .0.message)]
    Refused(Refusal),
    /// No daemon answers within the deadline of the call.
    #[error("the ctxrelay daemon is not reachable: {0}")]
    Unreachable(String),
    /// A daemon runs and does not let us in; another one may.
    #[error("{}", .0.message)]
    NotAdmitted(Refusal),
    /// None runs, and the operator wants none.
    #[error("the ctxrelay daemon is not reachable: it was stopped by the operator")]
    Killed,
    /// There is no project in this folder, so there is no daemon either.
    #[error("{} is no ctxrelay project: nothing is recorded or relayed there", .0.display())]
    NoProject(PathBuf),
    /// The project's folder, or ours in it, was moved or removed while a client worked there.
    #[error(
        "the project is no longer in {}: its folder, or the .contextrelay/ in it, was moved or removed",
        .0.display()
    )]
    ProjectGone(PathBuf),
    /// The call was sent and the connection broke before its answer: it may have taken effect.
    #[error("the connection to the ctxrelay daemon broke before it answered")]
    Unanswered,
    /// The answer is not of this protocol.
    #[error("the daemon's answer is not understood: {0}")]
    Protocol(String),
}

impl ClientError {
    /// Of a reply that does not fit its command.
    pub fn of_reply(reply: &Reply) -> Self {
        Self::Protocol(format!("`{}` answers another question", reply.kind()))
    }

    /// Whether there was no daemon to answer, or none any more: a further call would wait as long.
    pub fn is_lost(&self) -> bool {
        use ClientError::{Killed, NotAdmitted, Unanswered, Unreachable};
        matches!(self, Unreachable(_) | NotAdmitted(_) | Killed | Unanswered)
    }

    /// The stable word, sentence and next step of this error.
    pub fn to_refusal(&self) -> Refusal {
        match self {
            Self::Refused(refusal) | Self::NotAdmitted(refusal) => refusal.clone(),
            Self::Unreachable(_) => Refusal::new(
                RefusalCode::DaemonUnreachable,
                self.to_string(),
                "start it with `ctxrelay` or `ctxrelay daemon` in the project; this client keeps trying",
            ),
            // An agent reads this: it names no way past the operator.
            Self::Killed => Refusal::new(
                RefusalCode::DaemonUnreachable,
                self.to_string(),
                "only the operator can start it again; this client notices when that is done",
            ),
            Self::NoProject(root) => Refusal::new(
                RefusalCode::NoProject,
                self.to_string(),
                format!(
                    "to begin, your operator runs `ctxrelay init` (or `ctxrelay`) in {}; these \
                     tools work from then on, without a restart",
                    root.display()
                ),
            ),
            Self::ProjectGone(root) => Refusal::new(
                RefusalCode::FolderLost,
                self.to_string(),
                format!(
                    "your operator moves it back to {}, or starts the agents again in its new place; \
                     after `ctxrelay uninit`, `ctxrelay init` begins there again",
                    root.display()
                ),
            ),
            Self::Unanswered => Refusal::new(
                RefusalCode::Unanswered,
                self.to_string(),
                "read the record before you repeat the call: it may have taken effect",
            ),
            Self::Protocol(_) => Refusal::new(
                RefusalCode::Protocol,
                self.to_string(),
                "restart the agent or deck that says this, which may be the older one, and then the \
                 daemon, so that all are of one version",
            ),
        }
    }
}

/// A way to ask the daemon.
#[derive(Clone)]
pub struct Client {
    transport: Transport,
}

#[derive(Clone)]
enum Transport {
    InProcess(in_process::InProcessHandle),
    Websocket(websocket::WebSocketHandle),
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Client {
    /// Asks, and waits for the answer. Not sent twice by itself.
    ///
    /// # Errors
    ///
    /// See [`ClientError`]. Waits at most the transport's deadline (10 s, plus the command's own
    /// waiting time) for a daemon to be there, and for none where one of another protocol is.
    pub async fn call(&self, command: Command) -> Result<Reply, ClientError> {
        match &self.transport {
            Transport::InProcess(handle) => handle.call(command).await,
            Transport::Websocket(handle) => handle.call(command).await,
        }
    }

    /// What the reply to a command carries.
    ///
    /// # Errors
    ///
    /// As [`Self::call`]; also when the reply is of another kind.
    pub async fn ask_for<T: TryFrom<Reply, Error = Reply>>(
        &self,
        command: Command,
    ) -> Result<T, ClientError> {
        T::try_from(self.call(command).await?).map_err(|other| ClientError::of_reply(&other))
    }

    /// Notifications from now on.
    pub fn notifications(&self) -> broadcast::Receiver<Notification> {
        match &self.transport {
            Transport::InProcess(handle) => handle.notifications(),
            Transport::Websocket(handle) => handle.notifications(),
        }
    }

    /// Whether the daemon can be asked, now and from now on.
    pub fn connection(&self) -> watch::Receiver<Connection> {
        match &self.transport {
            Transport::InProcess(handle) => handle.connection(),
            Transport::Websocket(handle) => handle.connection(),
        }
    }
}
