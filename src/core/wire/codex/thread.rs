//! [`Thread`] and [`ThreadStatus`].

use serde::Deserialize;

/// A thread, as far as we read it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Thread {
    pub id: String,
    /// Kept in memory only: a helper's mark.
    pub ephemeral: bool,
    /// `user`, `thread_title`, …; absent for a thread that a plain client made.
    pub thread_source: Option<String>,
    /// The thread that a subagent works for.
    pub parent_thread_id: Option<String>,
    /// Where its rollout lies; absent for helpers.
    pub path: Option<String>,
    /// Its folder.
    pub cwd: Option<String>,
    /// Its name, once it has one.
    pub name: Option<String>,
    /// What it does.
    pub status: ThreadStatus,
}

impl Thread {
    /// Whether a human may be looking at it: no helper (`ephemeral`, `threadSource` of its own,
    /// no rollout) and no subagent.
    ///
    /// The terminal opens helper threads, for titles, on the same connection; text delivered
    /// there is lost (Codex 0.169.0, observed).
    pub fn is_conversation(&self) -> bool {
        let of_a_human = match self.thread_source.as_deref() {
            Some(source) => source == "user",
            None => self.path.is_some(),
        };
        !self.id.is_empty() && !self.ephemeral && self.parent_thread_id.is_none() && of_a_human
    }
}

/// What a thread does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ThreadStatus {
    /// `notLoaded`, `idle`, `active`, `systemError`, or a word of a newer Codex.
    #[serde(rename = "type")]
    pub kind: String,
    /// `waitingOnApproval`, `waitingOnUserInput`.
    pub active_flags: Vec<String>,
}

impl ThreadStatus {
    /// Whether a turn runs.
    pub fn is_active(&self) -> bool {
        self.kind == "active"
    }
}
