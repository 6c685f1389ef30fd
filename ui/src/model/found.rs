//! [`FoundEntries`]: what a search in the whole record came to.

use super::agent::Party;

/// What was found, also of what the timeline has not loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundEntries {
    /// What was searched for, as typed.
    pub words: String,
    /// Newest first.
    pub rows: Vec<FoundRow>,
    /// How many entries match, those that are not among `rows` too.
    pub total: u64,
    /// There may be more than `total`.
    pub total_is_at_least: bool,
    /// How many entries could not be searched yet.
    pub behind: u64,
}

/// One entry that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundRow {
    /// Its place in the ledger.
    pub seq: u64,
    /// `message`, `handoff`, `note` …
    pub kind: String,
    /// Who.
    pub from: Party,
    /// The piece of its text with the words in it; raw.
    pub snippet: String,
}
