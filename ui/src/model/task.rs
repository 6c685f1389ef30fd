//! [`Tasks`] and [`HandoffRow`]: work handed over, as lanes and as a list.

use super::agent::Party;

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskColumn {
    /// Handed over, nobody works on it.
    Open,
    /// Being worked on.
    Active,
    /// Something stands in the way.
    Blocked,
    /// Open for too long.
    Stale,
    /// Answered.
    Done,
}

impl TaskColumn {
    /// In the order of the lanes.
    pub const ALL: [Self; 5] = [
        Self::Active,
        Self::Open,
        Self::Blocked,
        Self::Stale,
        Self::Done,
    ];

    /// The word over the lane.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Active => "active",
            Self::Blocked => "blocked",
            Self::Stale => "stale",
            Self::Done => "done",
        }
    }
}

/// How many tasks each lane has; the rows may be capped, these are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaneCounts {
    /// In [`TaskColumn::Open`].
    pub open: u32,
    /// In [`TaskColumn::Active`].
    pub active: u32,
    /// In [`TaskColumn::Blocked`].
    pub blocked: u32,
    /// In [`TaskColumn::Stale`].
    pub stale: u32,
    /// In [`TaskColumn::Done`].
    pub done: u32,
}

impl LaneCounts {
    /// The count of one lane.
    pub fn of(self, lane: TaskColumn) -> u32 {
        match lane {
            TaskColumn::Open => self.open,
            TaskColumn::Active => self.active,
            TaskColumn::Blocked => self.blocked,
            TaskColumn::Stale => self.stale,
            TaskColumn::Done => self.done,
        }
    }
}

/// One task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    /// Where it stands.
    pub lane: TaskColumn,
    /// Short id, for example `h7`.
    pub id_short: String,
    /// Its entry's line in the record; identifies the row, opened by `enter`.
    pub seq: u64,
    /// Who asked.
    pub from: Party,
    /// Who works on it.
    pub to: Party,
    /// The ask.
    pub text: String,
    /// Since when it is in this lane, ms since the epoch.
    pub since_ms: i64,
}

/// All tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tasks {
    /// Counts.
    pub counts: LaneCounts,
    /// Rows, in any order; the pane sorts them into lanes and keeps their order within one.
    pub rows: Vec<TaskRow>,
}

/// Whether a handoff is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HandoffState {
    /// Not proved to have arrived.
    Unconfirmed,
    /// Arrived, not answered.
    Open,
    /// Answered.
    Done,
    /// Refused or given up.
    Failed,
}

impl HandoffState {
    /// The word on the row.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unconfirmed => "unconfirmed",
            Self::Open => "open",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

/// One handoff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffRow {
    /// Short id.
    pub id_short: String,
    /// Its entry's line in the record; identifies the row, opened by `enter`.
    pub seq: u64,
    /// Since when it is in this state, ms since the epoch; the same as its task's.
    pub since_ms: i64,
    /// Who asked.
    pub from: Party,
    /// Whom.
    pub to: Party,
    /// Where it stands.
    pub state: HandoffState,
    /// The ask.
    pub ask: String,
    /// Why.
    pub reason: String,
    /// What answered it, in a few words; empty while open.
    pub answer: String,
}
