//! [`DaemonFault`]: why a daemon ends unasked; and [`Ended`]: how its loop came to an end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::takeover::LoopState;
use crate::core::entry::ErrorCode;
use crate::store::dirs::ProjectDirs;
use crate::store::failed;

/// A failure of our own after which the daemon cannot go on, or for which it did not end in order; or
/// that somebody else took its place away. Told without what the panic said, which may quote what was
/// being handled; where it happened stands in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum DaemonFault {
    /// The loop panicked.
    #[error("the daemon failed by a fault of ctxrelay's own")]
    Loop,
    /// The thread that writes the record panicked.
    #[error("the writer of the record failed by a fault of ctxrelay's own, and the daemon with it")]
    Writer,
    /// The thread that writes the queue panicked.
    #[error("the writer of the queue failed by a fault of ctxrelay's own, and the daemon with it")]
    Queue,
    /// The Codex adapter panicked: what it knew of messages under way is gone with it, and only a
    /// start finds that out again.
    #[error("the Codex adapter failed by a fault of ctxrelay's own, and the daemon with it")]
    Codex,
    /// What takes connections, watches the project's files, reads its work tree or shows where the
    /// daemon is panicked: the daemon would go on deaf, blind or unseen.
    #[error("a part of the daemon failed by a fault of ctxrelay's own, and the daemon with it")]
    Service,
    /// It was to end, and the disk refused what had happened, also when it was asked once more.
    #[error("the daemon ended while the disk refused: what happened last is not recorded")]
    Unrecorded,
    /// It ended in order, and could not say so outside of the project: the next start would take it
    /// for one that was killed.
    #[error(
        "the daemon ended in order, and its end could not be marked in the registry outside of the \
         project"
    )]
    Unmarked,
    /// It was to end, and the disk did not take its last words in time. What writes them goes on, so
    /// that this process keeps the owner's lock until it ends.
    #[error("the daemon did not end in order: what writes the record and the queue is not done")]
    Hung,
    /// Somebody else took away its lock, alone or with the state folder: nobody could find it there.
    #[error(
        "the daemon ended because its lock was removed or renamed, alone or with the state folder"
    )]
    LockLost,
    /// Somebody else took away the folder that has the record.
    #[error(
        "the daemon ended because the project's folder, or .contextrelay in it, was removed or renamed"
    )]
    FolderLost,
}

impl DaemonFault {
    /// Those that a start finds the mark of.
    const ALL: [Self; 7] = [
        Self::Loop,
        Self::Writer,
        Self::Queue,
        Self::Codex,
        Self::Service,
        Self::Unrecorded,
        Self::Unmarked,
    ];

    /// The next step.
    pub const HINT: &str = "what was acknowledged is on disk; start the daemon again, and report \
                            what .contextrelay/state/contextrelay.log says of the panic";

    /// What is to be done about this one.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Hung => {
                "what was acknowledged is on disk; see that the disk of the project works, and \
                 .contextrelay/state/contextrelay.log; a daemon can start once this process has ended"
            }
            Self::Unrecorded => {
                "what was acknowledged is on disk; make room there, or make the project writable, and \
                 start again; .contextrelay/state/contextrelay.log says how much is missing"
            }
            Self::Unmarked => {
                "what was acknowledged is on disk; `ctxrelay doctor` names the folder that cannot be \
                 written: make room there, or make it writable for you, and start again"
            }
            Self::LockLost => {
                "the record is there: start again with `ctxrelay`, which makes the state folder again"
            }
            Self::FolderLost => {
                "see where the folder is: `ctxrelay` there goes on with its record; if it was deleted, \
                 put it back from a backup; without it `ctxrelay` here begins a new record"
            }
            Self::Loop | Self::Writer | Self::Queue | Self::Codex | Self::Service => Self::HINT,
        }
    }

    /// Whether nothing of ours failed: the place was taken away. The process that has the daemon says
    /// so and ends, for a start from within it would be another project's, or of another record.
    pub fn is_place_lost(self) -> bool {
        matches!(self, Self::LockLost | Self::FolderLost)
    }

    /// The stable word.
    pub fn code(self) -> ErrorCode {
        match self {
            Self::Loop => ErrorCode::DaemonFailed,
            Self::Writer => ErrorCode::WriterGone,
            Self::Queue => ErrorCode::QueueWriterGone,
            Self::Codex => ErrorCode::AdapterFailed,
            Self::Service => ErrorCode::ServiceFailed,
            Self::Unrecorded => ErrorCode::FactsLost,
            Self::Hung => ErrorCode::NotInOrder,
            Self::Unmarked => ErrorCode::EndUnmarked,
            Self::LockLost => ErrorCode::LockLost,
            Self::FolderLost => ErrorCode::FolderLost,
        }
    }

    /// Whether a daemon that has come to its end leaves a mark of it.
    pub(super) fn is_for_next_start(self) -> bool {
        matches!(self, Self::Service | Self::Unrecorded | Self::Unmarked)
    }

    /// Has the next start know of it.
    pub(super) fn leave_mark(self, dirs: &ProjectDirs) {
        if let Err(error) = failed::write(dirs, &self.code().to_string()) {
            tracing::warn!(%error, "the next start will not know that this daemon failed");
        }
    }

    /// The fault of a word.
    pub(super) fn of_code(code: &ErrorCode) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.code() == *code)
    }
}

/// Whether a daemon ends, and the fault that ended it, once there is one. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(super) struct FaultSlot(Arc<DaemonEnd>);

#[derive(Debug, Default)]
struct DaemonEnd {
    fault: OnceLock<DaemonFault>,
    has_begun: AtomicBool,
    is_hung: AtomicBool,
}

impl FaultSlot {
    /// One failure leads to the next: the first is the one to tell of.
    pub(super) fn set(&self, fault: DaemonFault) {
        if fault == DaemonFault::Hung {
            self.0.is_hung.store(true, Ordering::Release);
        }
        let _ = self.0.fault.set(fault);
    }

    pub(super) fn get(&self) -> Option<DaemonFault> {
        self.0.fault.get().copied()
    }

    /// Whether it hung when it ended, whatever the fault before that was.
    pub(super) fn is_hung(&self) -> bool {
        self.0.is_hung.load(Ordering::Acquire)
    }

    /// The loop takes nothing more.
    pub(super) fn begin_end(&self) {
        self.0.has_begun.store(true, Ordering::Release);
    }

    /// Whether the loop takes nothing more, and nobody has ended it by a fault.
    pub(super) fn has_ended(&self) -> bool {
        self.0.has_begun.load(Ordering::Acquire)
    }
}

/// How the loop came to its end.
#[derive(Debug)]
pub(super) enum Ended {
    /// It was told to, or nobody needed it.
    Stopped,
    /// Another process is to go on with this.
    Left(Box<LoopState>),
    /// Something of ours failed, or its place was taken away.
    Failed(DaemonFault),
}
