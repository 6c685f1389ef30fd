//! [`FoundEntries`]: what a search in the whole record came to.

use super::agent::Party;

/// Where is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SearchScope {
    /// In the record, all of it.
    #[default]
    Record,
    /// In the sessions that are sealed.
    Archives,
}

impl SearchScope {
    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Self::Record => Self::Archives,
            Self::Archives => Self::Record,
        }
    }

    /// Its words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Record => "the whole record",
            Self::Archives => "all sealed sessions",
        }
    }
}

/// What was found, also of what the timeline has not loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundEntries {
    /// As in [`crate::Effect::Search`].
    pub number: u64,
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
    /// Why nothing could be searched, one sentence.
    pub fault: Option<String>,
}

/// One entry that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundRow {
    /// Its place in the ledger.
    pub seq: u64,
    /// `message`, `handoff`, `note` …
    pub kind: String,
    /// The session of another record that it stands in.
    pub session: Option<String>,
    /// When, ms since the epoch.
    pub at_ms: i64,
    /// Who.
    pub from: Party,
    /// For whom.
    pub to: Option<Party>,
    /// The piece of its text with the words in it; raw.
    pub snippet: String,
    /// What of it was found: ranges in characters, from and to.
    pub marks: Vec<(u32, u32)>,
}
