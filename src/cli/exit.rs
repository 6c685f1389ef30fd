//! [`ExitKind`]: the exit codes; [`Failure`]: the result of a verb that cannot do its work.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use crate::client::ClientError;
use crate::host::{DaemonFault, NextDaemonError, StartError, TakeoverError};
use crate::wire::control::{FailureCode, ProgramCode, Refusal, RefusalCode};

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExitKind {
    /// It did what it was asked.
    Ok,
    /// A fault of ours.
    Internal,
    /// The command line makes no sense.
    Usage,
    /// The configuration, the project or the record is not as it has to be.
    State,
    /// The daemon or an agent's program is not there.
    Unavailable,
    /// Refused by policy or by the operator.
    Refused,
    /// A check ran and failed.
    CheckFailed,
}

impl ExitKind {
    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Internal => 1,
            Self::Usage => 2,
            Self::State => 3,
            Self::Unavailable => 4,
            Self::Refused => 5,
            Self::CheckFailed => 6,
        }
    }

    /// The kind of a refusal of the daemon.
    fn of_refusal(code: &RefusalCode) -> Self {
        match code {
            RefusalCode::NotSigned | RefusalCode::OperatorOnly | RefusalCode::Rejected | RefusalCode::WrongRole => {
                Self::Refused
            }
            RefusalCode::InvalidArguments | RefusalCode::TooLarge => Self::Usage,
            RefusalCode::BlobAltered
            | RefusalCode::BlobMissing
            | RefusalCode::BlobUnreadable
            | RefusalCode::ClearFailed
            | RefusalCode::DiskLow
            | RefusalCode::EntryRefused
            | RefusalCode::FolderLost
            | RefusalCode::HeadUnwritable
            | RefusalCode::InFlight
            | RefusalCode::LedgerUnreadable
            | RefusalCode::LedgerUnwritable
            | RefusalCode::LongTextsFull
            | RefusalCode::NewBlockers
            | RefusalCode::NoProcess
            | RefusalCode::NoProject
            | RefusalCode::NoSuchTurn
            | RefusalCode::NotFound
            | RefusalCode::NotFromHere
            | RefusalCode::NotLimited
            | RefusalCode::NotSilent
            | RefusalCode::NothingCutOff
            | RefusalCode::QueueUnwritable
            | RefusalCode::RebuildFailed
            | RefusalCode::RecordAltered
            | RefusalCode::SearchFailed
            | RefusalCode::StaleConfig
            | RefusalCode::StaleSession
            | RefusalCode::StaleTree
            | RefusalCode::TrustFailed
            | RefusalCode::WrongState => Self::State,
            RefusalCode::GatesNotGreen => Self::CheckFailed,
            RefusalCode::Busy
            | RefusalCode::Cancelled
            | RefusalCode::CannotTakeOver
            | RefusalCode::CodexRefused
            | RefusalCode::CodexUnavailable
            | RefusalCode::DaemonEnded
            | RefusalCode::DaemonMoving
            | RefusalCode::DaemonStopping
            | RefusalCode::DaemonUnreachable
            | RefusalCode::HostedByDeck
            | RefusalCode::NoHello
            | RefusalCode::NotHandedOver
            | RefusalCode::Overloaded
            | RefusalCode::Protocol
            | RefusalCode::ProtocolVersion
            | RefusalCode::QueueFull
            | RefusalCode::SuccessorFailed
            | RefusalCode::TooManyClients
            | RefusalCode::TooManyWaiters
            | RefusalCode::Unanswered
            // A daemon of another version, or no daemon of ours: it has none of our words.
            | RefusalCode::Rpc(_) => Self::Unavailable,
            // A word that this version does not know is as good as a fault.
            RefusalCode::Internal | RefusalCode::WriterGone | RefusalCode::Other(_) => {
                Self::Internal
            }
        }
    }
}

impl From<ExitKind> for ExitCode {
    fn from(kind: ExitKind) -> Self {
        Self::from(kind.code())
    }
}

/// Why a verb did not do its work: a stable word, a sentence and the next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The exit code's meaning.
    pub kind: ExitKind,
    pub code: FailureCode,
    /// A sentence.
    pub message: String,
    /// The next step; empty when there is none.
    pub hint: String,
}

/// The next step where there is no record yet.
pub const START_ONE: &str = "start one with `ctxrelay` or `ctxrelay init`";

/// The next step where no daemon runs.
const START_A_DAEMON: &str = "start it with `ctxrelay`, or with `ctxrelay daemon --detach`";

/// What a verb ends with.
pub type CliOutcome = Result<ExitKind, Failure>;

impl Failure {
    /// A failure.
    pub fn new(
        kind: ExitKind,
        code: impl Into<FailureCode>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            code: code.into(),
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// Bad configuration or state.
    pub fn state(
        code: impl Into<FailureCode>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::new(ExitKind::State, code, message, hint)
    }

    /// Something outside of us is missing.
    pub fn unavailable(
        code: impl Into<FailureCode>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::new(ExitKind::Unavailable, code, message, hint)
    }

    /// The command line makes no sense.
    pub fn usage(
        code: impl Into<FailureCode>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::new(ExitKind::Usage, code, message, hint)
    }

    /// Arguments that do not go together, or cannot be meant.
    pub fn invalid(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::usage(RefusalCode::InvalidArguments, message, hint)
    }

    /// Not for this process, or not confirmed.
    pub fn refused(
        code: impl Into<FailureCode>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::new(ExitKind::Refused, code, message, hint)
    }

    /// A file or folder of the project that cannot be written.
    pub fn unwritable(path: &Path, error: impl fmt::Display, hint: &str) -> Self {
        let message = format!("cannot write {}: {error}", path.display());
        Self::state(ProgramCode::Unwritable, message, hint)
    }

    /// A fault of ours or of the system.
    pub fn internal(doing: &str, error: impl fmt::Display) -> Self {
        Self::new(
            ExitKind::Internal,
            RefusalCode::Internal,
            format!("could not {doing}: {error}"),
            "see .contextrelay/state/contextrelay.log",
        )
    }

    /// No daemon runs, and this verb needs one.
    pub fn no_daemon() -> Self {
        Self::from(Refusal::new(
            RefusalCode::DaemonUnreachable,
            "no daemon runs for this project",
            START_A_DAEMON,
        ))
    }

    /// The project has no record, which this verb needs.
    pub fn no_session(hint: &str) -> Self {
        Self::state(
            ProgramCode::NoSession,
            "there is no record in this project yet",
            hint,
        )
    }

    /// Whether it is a refusal with this code.
    pub fn is(&self, code: &RefusalCode) -> bool {
        matches!(&self.code, FailureCode::Refusal(is) if is == code)
    }

    /// The reader of our output has gone. No fault, and nobody is there to be told.
    pub fn is_silent(&self) -> bool {
        self.kind == ExitKind::Ok
    }

    /// What writing to standard output came to.
    pub fn from_output(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::new(ExitKind::Ok, ProgramCode::BrokenPipe, "", "");
        }
        if matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        ) {
            return Self::state(
                ProgramCode::Unwritable,
                format!("cannot write the output: {error}"),
                "make room where it goes to, and run it again",
            );
        }
        Self::internal("write the output", error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self {
            kind: ExitKind::of_refusal(&refusal.code),
            code: refusal.code.into(),
            message: refusal.message,
            hint: refusal.hint,
        }
    }
}

/// A verb ends with it: it does not go on looking for a daemon, as decks and bridges do.
impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let failure = Self::from(error.to_refusal());
        let hint = match error {
            ClientError::Unreachable(_) => START_A_DAEMON,
            ClientError::Killed => "only the operator can start it again",
            _ => return failure,
        };
        Self {
            hint: hint.to_owned(),
            ..failure
        }
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        let kind = match &error {
            StartError::Owned | StartError::Killed => ExitKind::Unavailable,
            StartError::Unwritable { .. }
            | StartError::NoLocks { .. }
            | StartError::PortTaken { .. }
            | StartError::NoPorts { .. }
            | StartError::Ledger(_)
            | StartError::Queue(_)
            | StartError::NotYielded
            | StartError::Socket { .. } => ExitKind::State,
        };
        Self::new(kind, error.code(), error.to_string(), error.hint())
    }
}

impl From<NextDaemonError> for Failure {
    fn from(error: NextDaemonError) -> Self {
        match error {
            NextDaemonError::NotKept(error) => error.into(),
            error => error.to_refusal().into(),
        }
    }
}

impl From<TakeoverError> for Failure {
    fn from(error: TakeoverError) -> Self {
        match error {
            TakeoverError::Nobody(_) => Self::usage(
                ProgramCode::NothingToTakeOver,
                error.to_string(),
                "this is how one daemon starts the next; use `ctxrelay daemon`",
            ),
            TakeoverError::CannotStart(error) => error.into(),
            error => Self::internal("take over", error),
        }
    }
}

impl From<DaemonFault> for Failure {
    fn from(fault: DaemonFault) -> Self {
        let kind = match fault {
            DaemonFault::Unrecorded
            | DaemonFault::Unmarked
            | DaemonFault::LockLost
            | DaemonFault::FolderLost => ExitKind::State,
            DaemonFault::Loop
            | DaemonFault::Writer
            | DaemonFault::Queue
            | DaemonFault::Codex
            | DaemonFault::Service
            | DaemonFault::Hung => ExitKind::Internal,
        };
        Self::new(kind, fault.code(), fault.to_string(), fault.hint())
    }
}

#[cfg(test)]
mod tests;
