//! [`HandoffRow`] and [`Tasks`]: handed-off work, by column and by who owes what.

use std::sync::Arc;

use super::agent::Party;
use super::handoff_rows::HandoffRows;
use crate::named::named;

named! {
    /// Where a task stands, in the order of the list: what goes on comes first, and what is stuck before
    /// what only waits.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum TaskColumn {
        /// Being worked on.
        Active = "active",
        /// Something stands in the way.
        Blocked = "blocked",
        /// Handed over, nobody works on it.
        Open = "open",
        /// Open for too long.
        Stale = "stale",
        /// Answered.
        Done = "done",
    }
    /// The word over the column.
    pub fn as_str;
}

impl TaskColumn {
    /// In the order of the board, as work goes from left to right.
    pub const BOARD: [Self; 5] = [
        Self::Open,
        Self::Active,
        Self::Blocked,
        Self::Stale,
        Self::Done,
    ];

    /// Its place in [`Self::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }
}

/// How far a handoff has come: for one that is open, where it is stuck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HandoffStage {
    /// Recorded; nothing proves that its receiver has it.
    Unproven,
    /// Nobody can know whether its receiver has it.
    Ambiguous,
    /// Rejected, expired or taken back: its receiver never had it.
    Undelivered,
    /// In a turn of its receiver that runs.
    InTurn,
    /// Its receiver has it.
    Delivered,
    /// The turn that had it ended early.
    CutOff,
    /// A message answers it, and nothing has closed it.
    Answered,
    /// A blocker note names it.
    Blocked,
    /// Nothing is owed any more.
    Closed,
    /// As [`Self::Closed`]: who handed it over says so, and not its receiver.
    ClosedBySender,
}

impl HandoffStage {
    /// Whether it does not go on by itself: a person should look.
    pub fn is_stuck(self) -> bool {
        matches!(
            self,
            Self::Ambiguous | Self::Undelivered | Self::CutOff | Self::Blocked
        )
    }
}

/// One handoff. Tasks and Handoffs show the same ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffRow {
    /// Where it stands as a task.
    pub column: TaskColumn,
    /// How far it has come.
    pub stage: HandoffStage,
    /// Short id, for example `h7`.
    pub id_short: String,
    /// Its entry's line in the record; identifies the row, opened by `enter`.
    pub seq: u64,
    /// Who asked.
    pub from: Party,
    /// Who owes the answer.
    pub to: Party,
    /// The ask; raw. May be cut by the caller.
    pub ask: Arc<str>,
    /// Since when it stands as it does, ms since the epoch.
    pub since_ms: i64,
}

/// A question that has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionRow {
    /// Its entry's line in the record.
    pub seq: u64,
    /// Who asked.
    pub from: Party,
    /// Who owes the answer.
    pub to: Party,
    /// The beginning of what is asked; raw.
    pub ask: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tasks {
    /// The rows of each column, in the order of [`TaskColumn::ALL`]. Those of
    /// [`TaskColumn::Done`] are the latest ones.
    pub columns: [HandoffRows; 5],
    /// How many are done, those without a row too.
    pub done: u64,
}

impl Tasks {
    pub fn column(&self, column: TaskColumn) -> &HandoffRows {
        &self.columns[column.index()]
    }

    /// How many tasks a column has, whether they have a row or not.
    pub fn count(&self, column: TaskColumn) -> u64 {
        match column {
            TaskColumn::Done => self.done.max(self.column(column).len() as u64),
            _ => self.column(column).len() as u64,
        }
    }
}
