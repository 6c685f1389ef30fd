//! [`RecoveryView`]: where the work stands after a break, and how each agent goes on.

use super::agent::Agent;

/// Something that happened, or is open.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecoveryRow {
    /// When, ms since the epoch; `None` when that says nothing.
    pub at_ms: Option<i64>,
    /// By which it can be named; may be empty.
    pub id: String,
    /// Of a failure; empty for all else.
    pub code: String,
    /// In words, often an agent's; hostile.
    pub text: String,
}

/// What there is of one sort, the latest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecoveryPart {
    /// Its name.
    pub title: String,
    /// Behind the name: who said it, or how many there are; may be empty.
    pub note: String,
    /// When it was said, ms since the epoch, where that belongs to the whole.
    pub at_ms: Option<i64>,
    /// May be empty.
    pub rows: Vec<RecoveryRow>,
}

/// How an agent goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRecovery {
    pub agent: Agent,
    /// The command line that takes its conversation up again.
    pub command: String,
    /// What to tell it then; hostile.
    pub prompt: String,
}

/// As the record and git tell it, at one reading.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecoveryView {
    /// What one needs to know, in the order in which it is shown.
    pub parts: Vec<RecoveryPart>,
    /// Each agent of the pair.
    pub agents: Vec<AgentRecovery>,
}
