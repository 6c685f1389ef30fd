//! [`WatchFact`]: what the watcher found.

use crate::adapters::claude::hooks_switch::HooksOff;
use crate::core::id::SessionId;
use crate::store::config::Loaded;
use crate::store::ledger::VerifyReport;

/// What somebody else did to the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touch {
    /// It has no name any more, or was moved away.
    Removed,
    /// Another file, or something that is no file, has its name.
    Replaced,
    /// It is shorter than what was acknowledged.
    Truncated,
    /// Bytes that are not ours stand at its end, or stood there.
    Appended,
    /// It was written to in its middle.
    Edited,
    /// Its permissions were changed.
    PermissionsChanged,
}

impl Touch {
    /// A fragment for a sentence about the record.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Removed => "removed",
            Self::Replaced => "replaced by another file",
            Self::Truncated => "cut",
            Self::Appended => "appended to",
            Self::Edited => "edited",
            Self::PermissionsChanged => "given other permissions",
        }
    }
}

/// What `verify` says of the file as it lies there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileVerdict {
    /// It could be read.
    Report(VerifyReport),
    /// It could not.
    Unreadable(String),
}

impl FileVerdict {
    /// Whether every entry in the file is as it was written, and nothing else stands there. Alarms
    /// that the record tells of do not count.
    pub fn is_whole(&self) -> bool {
        matches!(self, Self::Report(report) if report.first_bad.is_none())
    }
}

impl std::fmt::Display for FileVerdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreadable(why) => write!(f, "the file cannot be read: {why}"),
            Self::Report(report) => match &report.first_bad {
                Some(bad) => write!(
                    f,
                    "the first bad entry is {} (line {}, {})",
                    bad.seq,
                    bad.line,
                    bad.reason.as_str()
                ),
                None if report.has_foreign_lines() => {
                    f.write_str("lines stand behind its end that are not believed")
                }
                None => write!(
                    f,
                    "all {} chained entries in the file are as they were written",
                    report.chained
                ),
            },
        }
    }
}

/// What wakes the loop.
#[derive(Debug)]
pub enum WatchFact {
    /// `config.json` says something else.
    Config {
        /// What counts now.
        loaded: Box<Loaded>,
        /// The keys that changed, dotted; of a file that is no JSON none.
        changed: Vec<String>,
        /// How often the operator had trusted it before this was read.
        trusts: u64,
    },
    /// `current` names something else than the session it should.
    Current {
        /// What it names; `None` when it names nothing.
        found: Option<SessionId>,
    },
    /// Somebody else touched the ledger.
    Ledger {
        /// Whose ledger.
        session: SessionId,
        /// What was done.
        touches: Vec<Touch>,
        /// What `verify` says.
        verdict: FileVerdict,
    },
    /// The ledger's file is whole no longer, or is whole again.
    Chain {
        /// Whose ledger.
        session: SessionId,
        /// The file has its place, and every entry in it is as it was written.
        is_whole: bool,
    },
    /// The ledger's file has its place and its permissions, and every entry in it is as it was
    /// written: what was told of it is over.
    TouchOver {
        /// Whose ledger.
        session: SessionId,
    },
    /// The owner's lock of this daemon has lost its name, in a project that is there: a process
    /// that looks for an owner finds none.
    LockLost,
    /// The project's folder has lost its name: nothing that lies there is this daemon's.
    FolderLost,
    /// Something else is to be said of the room on the disk.
    Space,
    /// A file switches Claude's hooks off, or none does any more.
    Hooks(Option<HooksOff>),
    /// The system gives no signs: it is looked at from time to time instead.
    Degraded { why: String },
}
