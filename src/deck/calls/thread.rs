//! [`read_thread`]: reads a handoff or question with everything that belongs to it, from the record
//! and not only from what the timeline has loaded.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use ctxrelay_ui::model::{self as ui, EntryPlace};
use tokio::time::timeout;

use crate::client::{Client, Connection};
use crate::core::entry::{Entry, EntryKind, EntryType};
use crate::core::id::EntryId;
use crate::deck::followed::model::{Model, entries, entry, session_name};
use crate::deck::followed::rows::row;
use crate::wire::control::{Command, LedgerListParams, Reply};
use crate::wire::search::{SearchPage, SearchParams};

/// Steps from an entry to the one that it belongs to.
const STEPS_MAX: usize = 10;

/// Entries of a thread that are shown.
const ENTRIES_MAX: usize = 200;

/// Entries whose own answers are looked for.
const ASKED_MAX: usize = 50;

/// Entries that one names which are read with it: each is a question to the daemon.
const NAMED_MAX: usize = 20;

/// How long each of them may take; a daemon that runs answers within milliseconds.
const NAMED_WAIT: Duration = Duration::from_secs(1);

/// Artifacts that are shown as made meanwhile.
const ARTIFACTS_MAX: u32 = 20;

/// Reads the thread that an entry belongs to.
pub(in crate::deck) async fn read_thread(
    client: &Client,
    model: &Model,
    asked: EntryPlace,
) -> ui::ThreadView {
    let fault = |asked: EntryPlace, fault: &str| ui::ThreadView {
        asked,
        name: String::new(),
        rows: Vec::new(),
        is_cut: false,
        fault: Some(fault.to_owned()),
    };
    let Some(first) = show(client, asked.line.to_string(), Some(asked.line)).await else {
        return fault(asked, "This entry cannot be read now.");
    };
    if session_name(&first.session_id) != asked.session {
        return fault(asked, "Another record began meanwhile.");
    }
    let root = root(client, first.clone()).await;
    let mut thread = Thread::new(root);
    thread.take(first);
    while let Some(id) = thread.asks.pop_front() {
        for line in references(client, &id).await {
            if thread.entries.contains_key(&line) {
                continue;
            }
            if thread.entries.len() >= ENTRIES_MAX {
                thread.is_cut = true;
                break;
            }
            if let Some(found) = show(client, line.to_string(), Some(line)).await
                && found.belongs_to().contains(&&id)
            {
                thread.take(found);
            }
        }
    }
    let meanwhile = artifacts(client, model, &thread).await;
    let mut rows: Vec<ui::TimelineRow> = Vec::new();
    for entry in thread.entries.values() {
        rows.push(row(&model.row_facts(), entry, false));
    }
    for artifact in meanwhile {
        if !thread.entries.contains_key(&artifact.seq.0) {
            let mut made = row(&model.row_facts(), &artifact, false);
            made.mark = Some("made meanwhile".to_owned());
            rows.push(made);
        }
    }
    rows.sort_by_key(|row| row.seq);
    ui::ThreadView {
        asked,
        name: thread.name,
        rows,
        is_cut: thread.is_cut,
        fault: None,
    }
}

/// What is known of a thread so far.
struct Thread {
    name: String,
    root: Entry,
    /// By their line.
    entries: BTreeMap<u64, Entry>,
    /// Entries whose answers are not looked for yet.
    asks: VecDeque<EntryId>,
    asked: BTreeSet<EntryId>,
    is_cut: bool,
}

impl Thread {
    fn new(root: Entry) -> Self {
        let name = match &root.kind {
            EntryKind::Handoff(_) => format!("h{}", root.seq),
            kind => format!("{} {}", kind.type_name().replace('_', " "), root.seq),
        };
        let mut thread = Self {
            name,
            root: root.clone(),
            entries: BTreeMap::new(),
            asks: VecDeque::new(),
            asked: BTreeSet::new(),
            is_cut: false,
        };
        thread.take(root);
        thread
    }

    fn take(&mut self, entry: Entry) {
        let is_root = entry.id == self.root.id;
        // What another handoff leads to is that one's thread.
        let has_answers = match &entry.kind {
            EntryKind::Message(_) | EntryKind::FinalityProposal(_) => true,
            _ => is_root,
        };
        if has_answers && self.asked.insert(entry.id.clone()) {
            if self.asked.len() <= ASKED_MAX {
                self.asks.push_back(entry.id.clone());
            } else {
                self.is_cut = true;
            }
        }
        self.entries.insert(entry.seq.0, entry);
    }
}

/// The entries that one names, with how it names them. What cannot be read is left out: its id stands
/// among the details.
pub(in crate::deck) async fn named(
    client: &Client,
    model: &Model,
    entry: &Entry,
) -> Vec<ui::EntryRef> {
    let mut found: Vec<ui::EntryRef> = Vec::new();
    let first = match &entry.kind {
        EntryKind::Message(_) => "answers",
        EntryKind::FinalityDecision(_) => "decides on",
        EntryKind::Note { .. } => "withdraws",
        _ => "handles",
    };
    let ids = entry.belongs_to();
    let direct = ids.len() - entry.handles().len();
    for (at, id) in ids.into_iter().enumerate().take(NAMED_MAX) {
        let label = if at < direct { first } else { "handles" };
        // What is read beside an entry holds it up no longer than this, and none where the daemon is
        // gone.
        if !matches!(&*client.connection().borrow(), Connection::Connected(_)) {
            break;
        }
        let Ok(shown) = timeout(NAMED_WAIT, show(client, id.to_string(), None)).await else {
            break;
        };
        let Some(entry) = shown else {
            continue;
        };
        let row = row(&model.row_facts(), &entry, false);
        // An answer handles what it answers, mostly: it is one entry.
        if row.seq > 0 && found.iter().all(|known| known.row.seq != row.seq) {
            let label = label.to_owned();
            found.push(ui::EntryRef { label, row });
        }
    }
    found
}

/// The handoff, or the first message, that an entry belongs to.
async fn root(client: &Client, mut entry: Entry) -> Entry {
    for _ in 0..STEPS_MAX {
        if matches!(entry.kind, EntryKind::Handoff(_)) {
            break;
        }
        let Some(id) = entry.belongs_to().first().map(|id| id.to_string()) else {
            break;
        };
        match show(client, id, None).await {
            // Of an entry of ContextRelay 3 a daemon of an earlier build does not say where it stands.
            Some(before) if before.seq.0 > 0 => entry = before,
            _ => break,
        }
    }
    entry
}

async fn show(client: &Client, name: String, line: Option<u64>) -> Option<Entry> {
    let show = Command::LedgerShow {
        entry: name,
        full: false,
        // By its id it is known who it is, and not where it stands.
        placed: line.is_none(),
    };
    match client.call(show).await {
        Ok(Reply::Entry(found)) => entry(found, line),
        Ok(Reply::Entries(page)) => entries(page).into_iter().next(),
        _ => None,
    }
}

/// The lines that name an id, oldest first.
async fn references(client: &Client, id: &EntryId) -> Vec<u64> {
    let search = Command::LedgerSearch(SearchParams {
        words: format!("\"{id}\""),
        limit: Some(ENTRIES_MAX as u32),
        ..SearchParams::default()
    });
    let page: SearchPage = client.ask_for(search).await.unwrap_or_default();
    page.hits.iter().rev().map(|hit| hit.seq).collect()
}

/// What the receiver of a handoff recorded as evidence while it was open. Artifacts name no handoff.
async fn artifacts(client: &Client, model: &Model, thread: &Thread) -> Vec<Entry> {
    let root = &thread.root;
    let (EntryKind::Handoff(_), Some(receiver)) = (&root.kind, root.receiver()) else {
        return Vec::new();
    };
    let is_open = model.world.open_handoffs.contains_key(&root.id);
    let last = thread
        .entries
        .values()
        .map(|entry| entry.timestamp_ms)
        .max();
    let list = Command::LedgerList(LedgerListParams {
        entry_type: Some(EntryType::Artifact.to_string()),
        source: Some(receiver.as_str().to_owned()),
        since_ms: Some(root.timestamp_ms),
        until_ms: last.filter(|_| !is_open),
        limit: Some(ARTIFACTS_MAX),
        ascending: true,
        ..LedgerListParams::default()
    });
    entries(client.ask_for(list).await.unwrap_or_default())
}
