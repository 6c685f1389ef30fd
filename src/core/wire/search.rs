//! The protocol of a search in the record and of a rebuild of what is derived from it:
//! [`SearchParams`] and [`SearchPage`], [`RebuildParams`] and [`IndexReport`]; and a result from
//! several places together: [`FoundPage`].

use serde::{Deserialize, Serialize};

use crate::capsule::Freshness;
use crate::entry::EntryType;
use crate::id::{EntryId, FindingId, SessionId};
use crate::wire::window::RowQuery;
use crate::word::OpenWord;

/// Arguments of [`super::control::Command::LedgerSearch`],
/// [`super::control::Command::SearchCapsules`] and [`super::control::Command::SearchSealed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct SearchParams {
    /// The words, as typed: all of them must be there; `"a phrase"`, `begin*`. Nothing else in
    /// it means anything. 1,000 characters at most.
    pub words: String,
    /// At most this many hits; 50 when absent, 1,000 at most.
    pub limit: Option<u32>,
    /// Go on from here: the `cursor` of the page before.
    pub after: Option<String>,
    /// Only rows of the timeline that are wanted.
    #[serde(skip_serializing_if = "RowQuery::is_empty")]
    pub query: RowQuery,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct SearchPage {
    /// The session that was searched, where it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Newest first.
    pub hits: Vec<SearchHit>,
    /// How many entries match, on all pages; counted up to 10,000.
    pub total: u64,
    /// There may be more than `total`.
    #[serde(default)]
    pub total_is_at_least: bool,
    /// More; `None` at the end.
    pub cursor: Option<String>,
    /// The last entry that is in the index; 0 without an index.
    #[serde(default)]
    pub indexed_to: u64,
    /// How many entries could not be searched, because the index is still being built.
    #[serde(default)]
    pub behind: u64,
    /// How many lines of the record could not be read: none of them is among the hits.
    #[serde(default, skip_serializing_if = "is_none")]
    pub unread_lines: u64,
}

impl SearchPage {
    /// Where several sessions are searched: of this one.
    #[must_use]
    pub fn of_session(mut self, session: &SessionId) -> Self {
        for hit in &mut self.hits {
            hit.session = Some(session.clone());
        }
        self
    }
}

/// What was found in sessions that are sealed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct SealedPage {
    /// It; the cursor may go on with a session that has nothing.
    pub page: SearchPage,
    /// How many sessions are too long to be searched for somebody who waits.
    #[serde(default)]
    pub too_long: u64,
    /// How many cannot be read.
    #[serde(default)]
    pub unread: u64,
}

/// An entry that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    /// Its place in the ledger.
    pub seq: u64,
    pub id: EntryId,
    /// Its session, where several were searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// Its `type`.
    #[serde(rename = "type")]
    pub entry_type: OpenWord<EntryType>,
    /// Who caused it.
    pub source: String,
    /// For whom it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// When it was recorded, ms since the epoch.
    pub at: i64,
    /// The piece of its text around the first match, breaks as spaces, `…` where it goes on.
    pub snippet: String,
    /// Who says it in a review, where it is a review's text; the finding where only that is known.
    /// It is a stranger's text, also where another party recorded it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<String>,
    /// The finding of a review that it is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<FindingId>,
    /// The words found: ranges of `snippet` in characters (Unicode scalar values), from and to.
    #[serde(default)]
    pub marks: Vec<(u32, u32)>,
    /// The record does not lead back to it, or it is somebody else's word: it was brought, or anybody
    /// put it there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub apart: bool,
    /// The operator handed a task over by it: it says again what was said before, as it was then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tells_task: bool,
}

impl SearchHit {
    /// Its place among several sessions, as their cursor names it.
    pub fn place(&self) -> String {
        let session = self.session.as_ref().map_or("", SessionId::as_str);
        format!("{session}:{}", self.seq)
    }
}

/// Where something was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FoundIn {
    /// An entry of the current session.
    Record,
    /// An entry of a session that is sealed.
    Archive,
    /// A task that can travel, of this project or from elsewhere.
    Capsule,
}

impl FoundHit {
    /// Whether somebody wrote it who is neither the operator nor one of the agents here.
    pub fn is_strangers(&self) -> bool {
        self.foreign || self.unvouched || self.hit.review.is_some()
    }
}

impl FoundIn {
    /// In all places, in the order in which they are shown, which cursors go by.
    pub const ALL: [Self; 3] = [Self::Capsule, Self::Record, Self::Archive];
}

/// Something that was found, and where. That of a capsule has the capsule's id, and the place of
/// the entry that it cites, or else of the last one that it was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundHit {
    /// Where.
    pub kind: FoundIn,
    #[serde(flatten)]
    pub hit: SearchHit,
    /// How a capsule stands to the work tree of now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freshness: Option<Freshness>,
    /// Of a capsule: the record does not vouch for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
    /// Of a capsule: what was found stands in a kept file alone, and neither the record nor an import
    /// that it tells of vouches for the file. Of an entry: as [`SearchHit::apart`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unvouched: bool,
    /// Of a capsule: its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Of a capsule: no entry is known that says so, as of a title, so that the place is only that of
    /// the last entry that it was made from.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uncited: bool,
}

/// What was found in several places: capsules, then the current session, then the others, youngest
/// first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct FoundPage {
    /// One after the other.
    pub hits: Vec<FoundHit>,
    /// How many there are, on all pages and in all places that were searched.
    pub total: u64,
    /// There may be more than `total`.
    #[serde(default)]
    pub total_is_at_least: bool,
    /// More; `None` at the end.
    pub cursor: Option<String>,
    /// How many entries could not be searched, because the index is still being built.
    #[serde(default)]
    pub behind: u64,
    /// How many lines of the record could not be read: none of them is among the hits.
    #[serde(default, skip_serializing_if = "is_none")]
    pub unread_lines: u64,
}

/// Arguments of [`super::control::Command::LedgerRebuild`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct RebuildParams {
    /// Throw away what is derived and rebuild it; otherwise only say how far it is.
    pub begin: bool,
}

/// How far what is derived from the record is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct IndexReport {
    pub session_id: Option<SessionId>,
    /// The last entry in the search index.
    pub indexed_to: u64,
    /// The last entry of the record.
    pub head: u64,
    /// Files that were removed by this very call; they are made again in the background.
    pub removed: Vec<String>,
    /// Why the index does not go on, when it does not.
    pub fault: Option<String>,
}

/// Whether there are none.
pub(crate) fn is_none(count: &u64) -> bool {
    *count == 0
}
