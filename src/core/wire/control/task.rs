//! The arguments of the operator's commands about a task that can travel.

use serde::{Deserialize, Serialize};

use super::StatedValue;
use crate::id::{CapsuleId, EntryId, RuntimeSession, Seq};

/// The longest title of a task, in characters.
pub const TITLE_CHARS_MAX: usize = 120;

/// Arguments of [`Command::ChangeTask`](super::Command::ChangeTask).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskParams {
    /// What to do.
    pub change: TaskChange,
    /// The pair; the connection's own when absent.
    pub runtime_session_id: Option<RuntimeSession>,
}

/// What to do with a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TaskChange {
    /// Begin one, and make it the current one.
    Open {
        /// One line, [`TITLE_CHARS_MAX`] characters at most.
        title: String,
        /// What is to be reached.
        goal: Option<String>,
        /// An open handoff that it begins with.
        handoff: Option<EntryId>,
    },
    /// Make it the current one.
    Use { task: CapsuleId },
    /// It is over.
    Close {
        task: CapsuleId,
        /// What came of it.
        outcome: Option<String>,
    },
    /// Say something of it.
    Edit {
        task: CapsuleId,
        /// Another title, as in [`Self::Open`].
        title: Option<String>,
        /// What is so, [`STATED_MAX`](super::STATED_MAX) values at most.
        #[serde(default)]
        values: Vec<StatedValue>,
    },
    /// A capsule from elsewhere was checked and is kept.
    Import {
        task: CapsuleId,
        /// Its digest, 64 lower-case hex digits.
        digest: String,
    },
    /// It goes on.
    Reopen { task: CapsuleId },
    /// Its capsule goes out as a file.
    Export {
        task: CapsuleId,
        /// The digest of the file, 64 lower-case hex digits.
        digest: String,
        /// The digest of the copy kept here, where that is replaced.
        kept: Option<String>,
        /// Changes that no commit has go along.
        #[serde(default)]
        patch: bool,
        /// What gates printed goes along.
        #[serde(default)]
        outputs: bool,
        /// It was made of an open task: refused where that is closed by then, since the close keeps
        /// where git stood.
        #[serde(default)]
        open: bool,
    },
    /// Its capsule is kept as it stands.
    Keep {
        task: CapsuleId,
        /// Its digest, 64 lower-case hex digits.
        digest: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskChanged {
    /// The task.
    pub id: CapsuleId,
    /// Where the change stands in the ledger.
    pub seq: Seq,
}
