//! [`Recorder`]: append → fold → publish, in one place.
//!
//! - Owns the open ledger and what follows it on the disk (head, checkpoints, search index, free
//!   space), the world folded from it, its latest entries, and what waits for the disk.
//! - Takes [`WriterEvent`](crate::store::ledger::WriterEvent)s and the loop's deadline.
//! - Returns [`RecorderAction`]s, which the loop carries out in order after the event: what to
//!   publish, who goes on, what to tell the operator. It calls nobody, not even to refuse at once.
//!
//! `T` is the continuation of an append; it is kept and handed back unread.

mod action;
mod close;
mod lost_facts;
mod next_session;
mod refusals;
#[cfg(test)]
mod tests;
mod writing;

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value};
use tokio::time::Instant;

pub(in crate::daemon) use action::RecorderAction;
pub(in crate::daemon) use close::{CloseHow, ClosingRecord};
pub(in crate::daemon) use next_session::{NotBegun, WriterEvents};
pub(in crate::daemon) use refusals::{GONE_HINT, space_refused};

use self::lost_facts::LostFacts;
use crate::core::alarm::Alarm;
use crate::core::entry::{Entry, EntryKind, TASK};
use crate::core::fold::fold;
use crate::core::id::{EntryId, RuntimeSession, Seq, SessionId};
use crate::core::redact::Redactor;
use crate::core::snapshot::Snapshot;
use crate::core::{agent::Party, trace};
use crate::daemon::base::clock::now_ms;
use crate::store::dirs::ProjectDirs;
use crate::store::disk_space::DiskSpace;
use crate::store::head::{Head, HeadKeeper};
use crate::store::ledger::{CheckpointKeeper, Ledger, Stored};
use crate::store::search::Search;

/// How many of the latest entries are kept in memory for reading context.
const RECENT_ENTRIES_MAX: usize = 1000;

/// The parts from which a recorder is built.
pub(in crate::daemon) struct RecorderParts {
    /// The project's folders.
    pub(in crate::daemon) dirs: ProjectDirs,
    /// Open for writing.
    pub(in crate::daemon) ledger: Ledger,
    /// Masks secrets in what is written.
    pub(in crate::daemon) redactor: Arc<Redactor>,
    /// What writes down, beside the ledger, how far it has come.
    pub(in crate::daemon) keepers: Keepers,
    /// The session whose ledger it is.
    pub(in crate::daemon) session_id: SessionId,
    /// The fold of the ledger.
    pub(in crate::daemon) world: Snapshot,
    /// Its latest entries, in their order.
    pub(in crate::daemon) recent: VecDeque<Arc<Stored>>,
    /// Makes the channel by which the writer of a next session reports to the loop.
    pub(in crate::daemon) writer_events: WriterEvents,
    /// Set once the project's folder is no longer in its place.
    pub(in crate::daemon) disowned: Arc<AtomicBool>,
}

/// What writes down, beside the ledger, how far it has come.
#[derive(Debug)]
pub(in crate::daemon) struct Keepers {
    /// The head outside of the project.
    pub(in crate::daemon) heads: HeadKeeper,
    /// The folded state, for a fast start.
    pub(in crate::daemon) checkpoints: CheckpointKeeper,
    /// The full text of the session.
    pub(in crate::daemon) search: Search,
    /// The free space on the disk.
    pub(in crate::daemon) space: Arc<DiskSpace>,
}

/// The owner of the record and of the world folded from it.
pub(in crate::daemon) struct Recorder<T> {
    dirs: ProjectDirs,
    ledger: Ledger,
    redactor: Arc<Redactor>,
    keepers: Keepers,
    session_id: SessionId,
    world: Arc<Snapshot>,
    recent: VecDeque<Arc<Stored>>,
    writer_events: WriterEvents,
    /// Appends that the writer has not answered, by token.
    pending: HashMap<u64, Pending<T>>,
    /// What the loop has to do, in its order.
    actions: VecDeque<RecorderAction<T>>,
    next_token: u64,
    /// Facts that the disk refused, in their order.
    unwritten: Vec<Unwritten<T>>,
    /// The entry that is written after the facts when this daemon ends.
    last_words: Option<Entry>,
    /// Facts that were given up, which the record does not mention yet.
    lost: Option<LostFacts>,
    write_again_at: Option<Instant>,
    /// The round in which facts are sent to the writer: once one has failed, it records no later
    /// fact of that round.
    round: u64,
    /// How far the writer had been asked when it was last given what the disk had refused.
    tried_again: AskedUntil,
    /// The last append failed, and none has succeeded since.
    is_refusing: bool,
    /// The operator was told that something cannot be recorded, and not yet that all of it is.
    is_outage_told: bool,
    /// The record has, or is to have, an entry on the outage.
    is_outage_noted: bool,
    /// When the disk had accepted everything again that it had refused.
    outage_ended_at: Option<Instant>,
    /// The session's file was taken away, and nothing has been recorded since.
    is_ledger_gone: bool,
    /// The writer has failed: nothing can be recorded any more.
    is_writer_gone: bool,
    /// The project's folder is no longer in its place: nothing is written there any more.
    disowned: Arc<AtomicBool>,
    /// Entries whose whole text is lost, as the record already says.
    lost_texts: HashSet<EntryId>,
}

/// A moment, by how far the writer had been asked then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::daemon) struct AskedUntil(u64);

/// A batch that is being written.
struct Pending<T> {
    then: Option<T>,
    /// The entries of a fact, which is sent again when the disk refuses it.
    fact: Option<Vec<Entry>>,
    /// It has waited for the disk before: it keeps its place.
    is_again: bool,
}

impl<T> Pending<T> {
    fn of(then: Option<T>, fact: Option<Vec<Entry>>) -> Self {
        Self {
            then,
            fact,
            is_again: false,
        }
    }
}

/// A fact that waits until the disk accepts it.
struct Unwritten<T> {
    /// Determines its place among the others.
    token: u64,
    entries: Vec<Entry>,
    then: Option<T>,
}

impl<T> Recorder<T> {
    /// The owner of an open record.
    pub(in crate::daemon) fn new(parts: RecorderParts) -> Self {
        let RecorderParts {
            dirs,
            ledger,
            redactor,
            keepers,
            session_id,
            world,
            recent,
            writer_events,
            disowned,
        } = parts;
        Self {
            dirs,
            ledger,
            redactor,
            keepers,
            session_id,
            world: Arc::new(world),
            recent,
            writer_events,
            pending: HashMap::new(),
            actions: VecDeque::new(),
            next_token: 0,
            unwritten: Vec::new(),
            last_words: None,
            lost: None,
            write_again_at: None,
            round: 0,
            tried_again: AskedUntil(0),
            is_refusing: false,
            is_outage_told: false,
            is_outage_noted: false,
            outage_ended_at: None,
            is_ledger_gone: false,
            is_writer_gone: false,
            disowned,
            lost_texts: HashSet::new(),
        }
    }

    /// The session's ledger, for reading.
    pub(in crate::daemon) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The session that is being recorded.
    pub(in crate::daemon) fn session_id(&self) -> &SessionId {
        &self.session_id
    }

    /// The fold of everything that is durable.
    pub(in crate::daemon) fn world(&self) -> &Arc<Snapshot> {
        &self.world
    }

    /// The latest entries, in their order.
    pub(in crate::daemon) fn recent(&self) -> &VecDeque<Arc<Stored>> {
        &self.recent
    }

    /// Masks secrets in what is written.
    pub(in crate::daemon) fn redactor(&self) -> &Arc<Redactor> {
        &self.redactor
    }

    /// The index of the session's full text.
    pub(in crate::daemon) fn search(&self) -> &Search {
        &self.keepers.search
    }

    /// The free space on the disk.
    pub(in crate::daemon) fn space(&self) -> &Arc<DiskSpace> {
        &self.keepers.space
    }

    /// The head outside of the project.
    #[cfg(test)]
    pub(in crate::daemon) fn heads(&self) -> &crate::store::head::Heads {
        self.keepers.heads.heads()
    }

    /// Where the head outside of the project lies.
    pub(in crate::daemon) fn head_path(&self) -> PathBuf {
        self.keepers.heads.heads().path()
    }

    /// Has the head outside written once more, for who keeps it to find out whether it can be, and
    /// when it can be again.
    fn try_head(&self) {
        if let Some(last) = self.recent.back() {
            self.keepers.heads.set(self.head_at(last));
        }
    }

    /// An entry that is kept in memory.
    pub(in crate::daemon) fn recent_entry(&self, seq: Seq) -> Option<Arc<Stored>> {
        let at = self
            .recent
            .binary_search_by_key(&seq, |stored| stored.entry.seq);
        self.recent.get(at.ok()?).map(Arc::clone)
    }

    /// An entry from memory or from disk.
    #[cfg(test)]
    pub(in crate::daemon) fn stored(&self, seq: Seq) -> Option<Arc<Stored>> {
        let recent = self.recent_entry(seq);
        recent.or_else(|| self.ledger.read(seq).ok().flatten().map(Arc::new))
    }

    /// The entry of an id, from memory or from disk; nothing where this session has none.
    ///
    /// # Errors
    ///
    /// When an older entry that may have the id cannot be read.
    pub(in crate::daemon) fn stored_of(&self, id: &EntryId) -> io::Result<Option<Arc<Stored>>> {
        let found = self.ledger.stored_of(id, |seq| self.recent_entry(seq));
        found.inspect_err(|error| tracing::warn!(%error, %id, "an entry could not be read"))
    }

    /// Its number.
    ///
    /// # Errors
    ///
    /// As [`Self::stored_of`].
    pub(in crate::daemon) fn seq_of(&self, id: &EntryId) -> io::Result<Option<Seq>> {
        let found = self.stored_of(id)?;
        Ok(found.map(|stored| stored.entry.seq))
    }

    /// Those of these messages that an agent wrote. What the operator typed is for them to repeat.
    pub(in crate::daemon) fn written_by_agents(&self, ids: &[EntryId]) -> Vec<EntryId> {
        ids.iter()
            .filter(|id| matches!(self.author(id), Some(Party::Agent(_))))
            .cloned()
            .collect()
    }

    /// Who wrote a message; nobody who can be told where the record does not have it, or it is neither
    /// under way nor can be read.
    fn author(&self, id: &EntryId) -> Option<Party> {
        if let Some(message) = self.world.message_under_way(id) {
            return Some(message.from.clone());
        }
        let stored = self.stored_of(id).ok().flatten()?;
        Some(stored.entry.source.clone())
    }

    /// An entry of now.
    pub(in crate::daemon) fn entry(
        &self,
        source: Party,
        target: Option<Party>,
        kind: impl Into<EntryKind>,
        content: impl Into<String>,
        runtime_session: Option<RuntimeSession>,
    ) -> Entry {
        let kind = kind.into();
        Entry {
            id: EntryId::new(uuid::Uuid::now_v7().to_string()),
            timestamp_ms: now_ms(),
            session_id: self.session_id.clone(),
            target,
            content: content.into(),
            meta: self.meta_of(&kind, runtime_session.as_ref()),
            runtime_session,
            ..Entry::new(source, kind)
        }
    }

    /// What an entry says beside its details: the task that is current, when it is work.
    fn meta_of(&self, kind: &EntryKind, pair: Option<&RuntimeSession>) -> Map<String, Value> {
        let shared = RuntimeSession::default();
        let task = match kind.is_work() {
            true => self.world.current_task(pair.unwrap_or(&shared)),
            false => None,
        };
        let task = task.map(|task| (TASK.to_owned(), task.id.as_str().into()));
        task.into_iter().collect()
    }

    /// How many appends the writer has not answered yet, or the loop has not followed.
    pub(in crate::daemon) fn pending_count(&self) -> usize {
        self.pending.len() + self.actions.len() + usize::from(self.last_words.is_some())
    }

    /// How far the writer has been asked by now.
    pub(in crate::daemon) fn asked(&self) -> AskedUntil {
        AskedUntil(self.next_token)
    }

    /// Whether the writer has answered all that it was asked by then: what was recorded of it is
    /// in the [world](Self::world).
    pub(in crate::daemon) fn has_answered(&self, asked: AskedUntil) -> bool {
        self.pending.keys().all(|token| *token >= asked.0)
    }

    /// Whether something that has happened is not recorded because the disk refuses.
    pub(in crate::daemon) fn has_unwritten(&self) -> bool {
        !self.unwritten.is_empty()
    }

    /// Whether that is so, or it is not known yet that the disk takes everything again.
    pub(in crate::daemon) fn has_outage(&self) -> bool {
        self.has_unwritten() || self.is_outage_told
    }

    /// The last append failed, and none has succeeded since.
    pub(in crate::daemon) fn is_read_only(&self) -> bool {
        self.is_refusing
    }

    /// Whether the session's file was taken away, and nothing has been recorded since.
    pub(in crate::daemon) fn is_ledger_gone(&self) -> bool {
        self.is_ledger_gone
    }

    /// The project's folder is no longer in its place: nothing is written there any more.
    pub(in crate::daemon) fn disown(&self) {
        self.disowned.store(true, Ordering::Release);
    }

    /// Whether the project's folder is not where it was.
    pub(in crate::daemon) fn is_disowned(&self) -> bool {
        self.disowned.load(Ordering::Acquire)
    }

    /// The whole text of an entry is lost. Whether the record is still to say so.
    pub(in crate::daemon) fn note_lost_text(&mut self, id: &EntryId) -> bool {
        self.lost_texts.insert(id.clone())
    }

    /// The head of this session once it has come to an entry.
    fn head_at(&self, last: &Stored) -> Head {
        Head {
            seq: last.entry.seq.0,
            hash: last.hash.clone(),
            session_id: self.session_id.clone(),
        }
    }

    /// Folds what is durable, and has everybody on the disk who follows the record know how far
    /// it is.
    fn take_in(&mut self, entries: &[Arc<Stored>]) {
        for stored in entries {
            log_progress(&stored.entry);
            let world = Arc::make_mut(&mut self.world);
            fold(world, &stored.entry);
            world.note_hash(&stored.entry.id, &stored.hash);
            if self.recent.len() == RECENT_ENTRIES_MAX {
                self.recent.pop_front();
            }
            self.recent.push_back(Arc::clone(stored));
        }
        self.keepers.search.grown();
        for stored in entries {
            if let Some(alarm) = Alarm::of(&stored.entry) {
                self.keepers.heads.heads().told(&alarm);
            }
        }
        if let Some(last) = entries.last() {
            self.keepers.heads.set(self.head_at(last));
            self.keepers
                .checkpoints
                .moved(&self.ledger, &self.session_id, &self.world, &last.hash);
        }
    }
}

/// Has the log say how far a message or a request for approval has come.
fn log_progress(entry: &Entry) {
    let seq = entry.seq.0;
    match &entry.kind {
        EntryKind::Message(_) | EntryKind::Handoff(_) => {
            trace::message(&entry.id).in_scope(|| tracing::debug!(seq, "recorded"));
        }
        EntryKind::Delivery(record) => {
            trace::attempt(&record.message_id, record.attempt_id.as_ref()).in_scope(|| {
                tracing::debug!(seq, result = ?record.result, rung = record.rung.as_ref().map(tracing::field::display), "settled");
            });
        }
        EntryKind::Approval(record) => {
            let step = record.step.as_str();
            trace::approval(&record.approval_id)
                .in_scope(|| tracing::debug!(seq, step, "recorded"));
        }
        _ => {}
    }
}
