//! [`ClaudeChange`]: a change of Claude's state, as it is recorded.

use crate::agent::AgentState;

/// A change of Claude's state, as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClaudeChange {
    pub state: AgentState,
    /// Its process.
    pub pid: Option<u32>,
    /// The reason, for people.
    pub why: Option<String>,
}
