//! [`Model`]: what the daemon told so far. The same fold as the daemon's keeps it current, so
//! that an entry costs no call.

mod line_gaps;

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use self::line_gaps::LineGaps;
use super::present::RowFilter;
use super::run::DeckAbout;
use super::work::WorkIndex;
use crate::core::entry::{DeliveryRecord, Entry, EntryKind};
use crate::core::fold::fold;
use crate::core::id::{EntryId, Seq, SessionId};
use crate::core::snapshot::Snapshot;
use crate::wire::control::EntryPage;
use crate::wire::line;
use crate::wire::status::Status;

/// How many entries are kept for the timeline unless the operator scrolls further back.
const ENTRIES_MAX: usize = 2_000;

/// How we stand to the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DaemonLink {
    /// It is being started in this process; what is being done.
    Starting(String),
    /// It runs in this process.
    Hosting,
    /// It runs in another one and answers.
    Attached,
    /// It does not answer.
    Reconnecting(String),
    /// It ran in this process and has ended.
    Ended(String),
}

/// What the daemon told.
#[derive(Debug)]
pub struct Model {
    /// How we stand to it.
    pub link: DaemonLink,
    /// Its status, once told.
    pub status: Status,
    /// All of it was read at least once; until then nothing is claimed.
    pub is_read: bool,
    /// Why it cannot be read now, one sentence.
    pub unread: Option<String>,
    /// The folded world.
    pub world: Snapshot,
    /// The latest entries, oldest first.
    pub entries: VecDeque<Entry>,
    /// What became of messages, and when: the steps among the entries that are kept.
    pub deliveries: BTreeMap<EntryId, Vec<(DeliveryRecord, i64)>>,
    /// Where older entries can be read on.
    pub older: Option<String>,
    /// How often older ones were read.
    pub pages: u64,
    /// What names the work tree ([`pin`](crate::core::entry::WorkTree::pin)); `None` until somebody looked.
    pub tree: Option<String>,
    /// Agents that were started from this deck: when, ms since the epoch.
    pub started: BTreeMap<crate::core::agent::Agent, i64>,
    /// Its open handoffs as rows.
    pub work: WorkIndex,
    /// Whose deck it is.
    pub about: DeckAbout,
    /// Of the part of the record that is loaded.
    bad_lines: LineGaps,
    keep: usize,
}

impl Model {
    /// Nothing was told yet.
    pub fn new(link: DaemonLink, about: DeckAbout) -> Self {
        Self {
            link,
            status: Status::default(),
            is_read: false,
            unread: None,
            world: Snapshot::default(),
            entries: VecDeque::new(),
            deliveries: BTreeMap::new(),
            older: None,
            pages: 0,
            tree: None,
            started: BTreeMap::new(),
            work: WorkIndex::default(),
            about,
            bad_lines: LineGaps::default(),
            keep: ENTRIES_MAX,
        }
    }

    /// Begins again from what was just read, the page newest first.
    pub fn reset(&mut self, world: Snapshot, page: EntryPage) {
        self.world = world;
        self.work = WorkIndex::of(&self.world, self.world.last_at_ms);
        self.is_read = true;
        self.unread = None;
        self.entries.clear();
        self.deliveries.clear();
        self.bad_lines.clear();
        self.older.clone_from(&page.cursor);
        let has_places = has_places(&page);
        let mut entries = entries(page);
        // What was appended between the two reads comes as a notification too.
        entries.retain(|entry| entry.seq <= self.world.seq);
        if has_places {
            self.note_bad_lines(&entries);
        }
        for entry in entries.into_iter().rev() {
            self.remember(entry);
        }
    }

    /// An entry was appended. Returns `false` when one before it is missing: read again.
    pub fn append(&mut self, entry: &Entry) -> bool {
        if matches!(entry.kind, EntryKind::SessionStarted { .. })
            && self.world.session_id.as_ref() != Some(&entry.session_id)
        {
            // A clear: the world begins anew, the agents are still who they are.
            return false;
        }
        if entry.seq <= self.world.seq {
            return true;
        }
        let in_order = entry.seq.0 == self.world.seq.0 + 1 || self.world.seq == Seq(0);
        let touched = WorkIndex::touched(&self.world, entry);
        fold(&mut self.world, entry);
        self.work.take(&self.world, touched);
        self.remember(entry.clone());
        in_order
    }

    /// Older entries were read, newest first. Returns whether there was a row among them.
    pub fn prepend(&mut self, page: EntryPage) -> bool {
        self.older.clone_from(&page.cursor);
        self.pages += 1;
        self.keep += page.entries.len();
        let has_places = has_places(&page);
        let entries = entries(page);
        let has_bad_lines = has_places && self.note_bad_lines(&entries);
        let mut rows = RowFilter::default();
        let has_row = entries.iter().rev().any(|entry| rows.takes(entry));
        for entry in entries {
            if let EntryKind::Delivery(record) = &entry.kind {
                self.deliveries
                    .entry(record.message_id.clone())
                    .or_default()
                    .insert(0, (record.clone(), entry.timestamp_ms));
            }
            self.entries.push_front(entry);
        }
        has_row || has_bad_lines
    }

    /// Time has passed, which makes handoffs stale.
    pub fn advance(&mut self, now_ms: i64) {
        self.work.advance(&self.world, now_ms);
    }

    /// The lines among those that are loaded which could not be read.
    pub fn bad_lines(&self) -> &LineGaps {
        &self.bad_lines
    }

    /// Notes the lines that are missing among these entries, newest first, which stand right before
    /// those that are loaded. Returns whether there are any.
    fn note_bad_lines(&mut self, entries: &[Entry]) -> bool {
        let loaded = self.entries.front().map(|entry| entry.seq.0);
        let beginning = self.older.is_none().then_some(0);
        let lines = entries.iter().map(|entry| entry.seq.0);
        let lines: Vec<u64> = loaded.into_iter().chain(lines).chain(beginning).collect();
        let mut has_some = false;
        for pair in lines.windows(2) {
            has_some |= self.bad_lines.note_between(pair[1], pair[0]);
        }
        has_some
    }

    fn remember(&mut self, entry: Entry) {
        if let EntryKind::Delivery(record) = &entry.kind {
            self.deliveries
                .entry(record.message_id.clone())
                .or_default()
                .push((record.clone(), entry.timestamp_ms));
        }
        if self.entries.len() == self.keep {
            self.drop_oldest();
        }
        self.entries.push_back(entry);
    }

    /// Lets go of the oldest entry; whoever scrolls back reads it again.
    fn drop_oldest(&mut self) {
        let Some(gone) = self.entries.pop_front() else {
            return;
        };
        if let EntryKind::Delivery(record) = &gone.kind
            && let Some(steps) = self.deliveries.get_mut(&record.message_id)
        {
            // They stand in the order of the record.
            steps.remove(0);
            if steps.is_empty() {
                self.deliveries.remove(&record.message_id);
            }
        }
        // A cursor is the line before which the next page ends. What has no number of its own, from
        // a daemon of an earlier build, gives none.
        let oldest = self
            .entries
            .front()
            .map_or(gone.seq.0 + 1, |entry| entry.seq.0);
        if gone.seq > Seq(0) {
            self.older = Some(oldest.to_string());
            self.bad_lines.forget_before(oldest);
        }
    }
}

/// Whether it says where its entries stand: a daemon of an earlier build does not.
fn has_places(page: &EntryPage) -> bool {
    page.places.len() == page.entries.len()
}

/// The entry of a line as JSON, with the number of that line where it is known: what ContextRelay 3
/// wrote carries none itself. `None` for a line that is none.
pub fn entry(value: Value, place: Option<u64>) -> Option<Entry> {
    let text = serde_json::to_vec(&value).ok()?;
    let mut entry = line::parse(&text).ok()?.entry;
    if let Some(place) = place {
        entry.seq = Seq(place);
    }
    Some(entry)
}

fn entries(page: EntryPage) -> Vec<Entry> {
    // A daemon of an earlier build names no places.
    let places = page.places.into_iter().map(Some);
    page.entries
        .into_iter()
        .zip(places.chain(std::iter::repeat(None)))
        .filter_map(|(value, place)| entry(value, place))
        .collect()
}

/// How a session's record is named on the screen: the time in an id tells sessions apart for
/// machines, the digits behind it for people.
pub fn session_name(id: &SessionId) -> &str {
    let id = id.as_str();
    id.rsplit_once('_').map_or(id, |(_, digits)| digits)
}

#[cfg(test)]
mod tests;
