//! [`UnclearMessage`]: a message for which nobody can know whether its receiver has it.

use super::Party;

/// One of those that stand behind a row of the inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnclearMessage {
    /// Its id; comes back in the effects.
    pub id: String,
    /// Its line of the record.
    pub line: u64,
    /// When it was recorded, ms since the epoch.
    pub at_ms: i64,
    /// Who sent it.
    pub from: Party,
    /// The beginning of its text, once it was read; see [`crate::Effect::ReadWords`].
    pub words: Option<String>,
}
