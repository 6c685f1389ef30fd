//! [`Model`]: what the daemon told so far. The same fold as the daemon's keeps it current, so
//! that an entry costs no call.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use crate::core::entry::{DeliveryRecord, Entry, EntryKind, WorkTree};
use crate::core::fold::fold;
use crate::core::id::{EntryId, Seq};
use crate::core::snapshot::Snapshot;
use crate::wire::line;
use crate::wire::status::Status;

/// How many entries are kept for the timeline unless the operator scrolls further back.
const ENTRIES_MAX: usize = 2_000;

/// How we stand to the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DaemonLink {
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
    /// The folded world.
    pub world: Snapshot,
    /// The latest entries, oldest first.
    pub entries: VecDeque<Entry>,
    /// What became of messages, and when.
    pub deliveries: BTreeMap<EntryId, Vec<(DeliveryRecord, i64)>>,
    /// Where older entries can be read on.
    pub older: Option<String>,
    /// The work tree, when somebody looked.
    pub tree: Option<WorkTree>,
    /// The agents are scripted.
    pub demo: bool,
    /// Agents that were started from this deck: when, ms since the epoch.
    pub started: BTreeMap<crate::core::agent::Agent, i64>,
    /// The project's name.
    pub project: String,
    /// The pair.
    pub runtime_session: String,
    keep: usize,
}

impl Model {
    /// Nothing was told yet.
    pub fn new(link: DaemonLink, project: String, runtime_session: String, demo: bool) -> Self {
        Self {
            link,
            status: Status::default(),
            world: Snapshot::default(),
            entries: VecDeque::new(),
            deliveries: BTreeMap::new(),
            older: None,
            tree: None,
            demo,
            started: BTreeMap::new(),
            project,
            runtime_session,
            keep: ENTRIES_MAX,
        }
    }

    /// Begins again from what was just read.
    pub fn reset(&mut self, world: Snapshot, newest_first: Vec<Value>, older: Option<String>) {
        self.world = world;
        self.entries.clear();
        self.deliveries.clear();
        self.older = older;
        let mut entries: Vec<Entry> = newest_first.into_iter().filter_map(entry).collect();
        entries.reverse();
        for entry in entries {
            // What was appended between the two reads comes as a notification too.
            if entry.seq <= self.world.seq {
                self.remember(entry);
            }
        }
    }

    /// An entry was appended. Returns `false` when one before it is missing: read again.
    pub fn append(&mut self, value: Value) -> bool {
        let Some(entry) = entry(value) else {
            return true;
        };
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
        fold(&mut self.world, &entry);
        self.remember(entry);
        in_order
    }

    /// Older entries were read.
    pub fn prepend(&mut self, newest_first: Vec<Value>, older: Option<String>) {
        self.older = older;
        self.keep += newest_first.len();
        for entry in newest_first.into_iter().filter_map(entry) {
            if let EntryKind::Delivery(record) = &entry.kind {
                self.deliveries
                    .entry(record.message_id.clone())
                    .or_default()
                    .insert(0, (record.clone(), entry.timestamp_ms));
            }
            self.entries.push_front(entry);
        }
    }

    fn remember(&mut self, entry: Entry) {
        if let EntryKind::Delivery(record) = &entry.kind {
            self.deliveries
                .entry(record.message_id.clone())
                .or_default()
                .push((record.clone(), entry.timestamp_ms));
        }
        if self.entries.len() == self.keep
            && let Some(gone) = self.entries.pop_front()
        {
            self.deliveries.remove(&gone.id);
        }
        self.entries.push_back(entry);
    }
}

/// The entry of a line as JSON; `None` for a line that is none.
pub fn entry(value: Value) -> Option<Entry> {
    let text = serde_json::to_vec(&value).ok()?;
    line::parse(&text).ok().map(|parsed| parsed.entry)
}
