//! [`NextDaemonError`]: why no other process takes this one's place, with the next step.

use std::io;
use std::path::PathBuf;

use tokio::task::JoinError;

use crate::daemon::start_error::StartError;
use crate::wire::control::{Refusal, RefusalCode};

const LOG_HINT: &str = "see .contextrelay/state/contextrelay.log";

/// Why no other process goes on in place of this one.
#[derive(Debug, thiserror::Error)]
pub enum NextDaemonError {
    /// Its program did not start.
    #[error("could not start the next daemon, {}: {source}", program.display())]
    NotStarted { program: PathBuf, source: io::Error },
    /// Its program does not know this form of takeover.
    #[error("{} cannot take over: it is {version}", program.display())]
    OtherVersion {
        program: PathBuf,
        /// Of which version it is, as part of a sentence.
        version: String,
    },
    /// The daemon of this process does not leave now.
    #[error("{}", .0.message)]
    Refused(Refusal),
    /// The daemon of this process ended without a takeover.
    #[error("the daemon could not leave what was under way, and ended")]
    NotHandedOver,
    /// The next process has nothing of what it was given.
    #[error("the next daemon did not come up: {0}")]
    NotUp(String),
    /// After [`Self::NotUp`]: neither could this process go on with it.
    #[error(transparent)]
    NotKept(#[from] StartError),
    /// A thread of ours that talked to the next process panicked.
    #[error("could not let another process take over: {0}")]
    Interrupted(#[from] JoinError),
}

impl NextDaemonError {
    /// What somebody is told who asked for the takeover.
    pub fn to_refusal(&self) -> Refusal {
        let (code, hint) = match self {
            Self::Refused(refusal) => return refusal.clone(),
            Self::NotKept(error) => {
                let code = RefusalCode::Other(error.code().to_string());
                return Refusal::new(code, error.to_string(), error.hint());
            }
            Self::OtherVersion { .. } => (
                RefusalCode::CannotTakeOver,
                "stop the daemon and start the new one",
            ),
            Self::NotHandedOver => (RefusalCode::NotHandedOver, LOG_HINT),
            Self::NotUp(_) => (RefusalCode::SuccessorFailed, LOG_HINT),
            Self::NotStarted { .. } => (
                RefusalCode::Internal,
                "put the program back, or stop the daemon; it goes on until then",
            ),
            Self::Interrupted(_) => (RefusalCode::Internal, LOG_HINT),
        };
        Refusal::new(code, self.to_string(), hint)
    }
}
