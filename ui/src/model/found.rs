//! [`FoundEntries`]: the results of a search of the whole record.

use super::agent::Party;
use super::capsule::CapsuleStanding;
use crate::named::named;

named! {
    /// Where is searched.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum SearchScope {
        /// In the record, all of it.
        #[default]
        Record = "record",
        /// In the tasks that can travel.
        Capsules = "capsules",
        /// In the sessions that are sealed.
        Archives = "archives",
        /// In all of these.
        All = "all",
    }
    /// Its name, as `ctxrelay search --in` has it too.
    pub fn name;
}

impl SearchScope {
    /// The one after it, round the end.
    pub fn next(self) -> Self {
        let at = Self::ALL.iter().position(|it| *it == self);
        Self::ALL[at.map_or(0, |at| at + 1) % Self::ALL.len()]
    }

    /// Its words in a sentence.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Record => "the whole record",
            Self::Capsules => "all capsules",
            Self::Archives => "all sealed sessions",
            Self::All => "record, capsules and archives",
        }
    }
}

/// What was found, also of what the timeline has not loaded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FoundEntries {
    /// As in [`crate::Effect::Search`].
    pub number: u64,
    /// What was searched for, as typed.
    pub words: String,
    /// Newest first; of several places one after the other.
    pub rows: Vec<FoundRow>,
    /// How many entries match, those that are not among `rows` too.
    pub total: u64,
    /// There may be more than `total`.
    pub total_is_at_least: bool,
    /// Where more of them begin, for [`crate::Effect::Search`]; `None` at the end.
    pub cursor: Option<String>,
    /// `rows` go on behind those of the page before.
    pub goes_on: bool,
    /// How many entries could not be searched yet.
    pub behind: u64,
    /// How many lines of the record could not be read, and are not among the hits.
    pub unread_lines: u64,
    /// Why nothing could be searched, one sentence.
    pub fault: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundTask {
    /// Its id; raw.
    pub id: String,
    /// Its title, where it is known; raw.
    pub title: String,
    /// How what last went out of it stands to the work tree of now, where that can be told.
    pub standing: Option<CapsuleStanding>,
}

/// One entry that was found, or one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundRow {
    /// Its place in the ledger; of a task that of the entry that says so.
    pub seq: u64,
    /// `message`, `handoff`, `note` …, `capsule`
    pub kind: String,
    /// The task, where it is one.
    pub task: Option<FoundTask>,
    /// The record does not vouch for it: it was brought from elsewhere, or anybody put it there.
    pub is_foreign: bool,
    /// The session of another record that it stands in.
    pub session: Option<String>,
    /// When, ms since the epoch.
    pub at_ms: i64,
    pub from: Party,
    /// For whom.
    pub to: Option<Party>,
    /// The piece of its text with the words in it; raw.
    pub snippet: String,
    /// What of it was found: ranges in characters, from and to.
    pub marks: Vec<(u32, u32)>,
}
