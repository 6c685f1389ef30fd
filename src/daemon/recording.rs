//! Append, fold, publish: how the loop records, and what it does while the disk refuses.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Map;
use tokio::time::Instant;

use super::fault::DaemonFault;
use super::run::{Daemon, RECENT_ENTRIES_MAX, now_ms};
use super::space::space_refused;
use crate::core::agent::Party;
use crate::core::delivery::ClaudeInput;
use crate::core::entry::{Entry, EntryKind, ErrorCode};
use crate::core::fold::fold;
use crate::core::id::{EntryId, RuntimeSession, Seq};
use crate::core::trace;
use crate::store::head::Head;
use crate::store::ledger::{Ledger, LedgerError, NotTaken, Stored, WriterEvent};
use crate::wire::control::{Notification, Refusal, RefusalCode};

/// What happens once a batch is durable, or has failed.
pub(super) type Then = Box<dyn FnOnce(&mut Daemon, Result<&[Arc<Stored>], &Refusal>) + Send>;

/// What happens once a fact is durable.
pub(super) type ThenDurable = Box<dyn FnOnce(&mut Daemon, &[Arc<Stored>]) + Send>;

/// After the disk refused what has happened already, it is asked again this often.
pub(super) const WRITE_AGAIN: Duration = Duration::from_secs(1);

/// The key of the notice that the record cannot be written.
const LEDGER_UNWRITABLE: &str = "ledger_unwritable";

/// How many facts are kept while the disk refuses. Codex gets nothing new meanwhile, so that few
/// can come.
const UNWRITTEN_MAX: usize = 256;

/// A batch that is being written.
pub(super) struct Pending {
    then: Then,
}

impl Daemon {
    /// Appends, and calls back when it is durable or has failed.
    pub(super) fn record(&mut self, entries: Vec<Entry>, then: Then) {
        self.append(entries, Ledger::append, then);
    }

    fn append(
        &mut self,
        entries: Vec<Entry>,
        append: fn(&Ledger, u64, Vec<Entry>) -> Result<(), NotTaken>,
        then: Then,
    ) {
        if self.disowned.load(Ordering::Acquire) {
            let refusal = Refusal::new(
                RefusalCode::FolderLost,
                "this project's folder was removed or renamed",
                "nothing was recorded; put the folder back, or begin anew with `ctxrelay init`",
            );
            return then(self, Err(&refusal));
        }
        let token = self.next_token;
        self.next_token += 1;
        match append(&self.ledger, token, entries) {
            Ok(()) => {
                self.pending.insert(token, Pending { then });
            }
            Err(NotTaken::WriterGone) => {
                let path = self.ledger.path().to_path_buf();
                let refusal = self.writer_gone(&LedgerError::WriterGone { path });
                then(self, Err(&refusal));
            }
            Err(NotTaken::Full) => {
                let refusal = Refusal::new(
                    RefusalCode::Overloaded,
                    "the ledger's queue is full",
                    "nothing was recorded; try again in a moment",
                );
                then(self, Err(&refusal));
            }
        }
    }

    /// Appends what has happened already. While the disk refuses it is kept and tried again: it
    /// cannot be undone, and nobody else would tell it a second time.
    pub(super) fn record_fact(&mut self, entries: Vec<Entry>, then: ThenDurable) {
        if self.has_unwritten() && self.unwritten.len() < UNWRITTEN_MAX {
            // Behind what waits already: the record tells things in their order.
            return self.unwritten.push((entries, then));
        }
        let kept = entries.clone();
        self.append(
            entries,
            Ledger::append_fact,
            Box::new(move |daemon, result| match result {
                Ok(stored) => then(daemon, stored),
                Err(refusal)
                    if refusal.code != RefusalCode::EntryRefused
                        && daemon.fault.get().is_none()
                        && daemon.unwritten.len() < UNWRITTEN_MAX =>
                {
                    daemon.fact_refused(&kept, refusal, true);
                    daemon.unwritten.push((kept, then));
                    daemon
                        .write_again_at
                        .get_or_insert_with(|| Instant::now() + WRITE_AGAIN);
                }
                Err(refusal) => {
                    tracing::error!(code = %refusal.code, "a fact could not be recorded");
                    daemon.fact_refused(&kept, refusal, false);
                }
            }),
        );
    }

    pub(super) fn write_again(&mut self) {
        if self.write_again_at.is_some_and(|at| Instant::now() >= at) {
            self.write_again_at = None;
            for (mut entries, then) in std::mem::take(&mut self.unwritten) {
                // The session that they were of may be sealed by now.
                for entry in &mut entries {
                    entry.session_id = self.session_id.clone();
                }
                self.record_fact(entries, then);
            }
        }
    }

    /// Appends what nobody waits for.
    pub(super) fn note_fact(
        &mut self,
        source: Party,
        kind: impl Into<EntryKind>,
        content: impl Into<String>,
    ) {
        let entry = self.entry(source, None, kind, content, None);
        self.record(
            vec![entry],
            Box::new(|_, result| {
                if let Err(refusal) = result {
                    tracing::warn!(code = %refusal.code, "a fact could not be recorded");
                }
            }),
        );
    }

    /// As [`Self::note_fact`], for what a later start goes by: it is kept while the disk refuses.
    pub(super) fn keep_fact(
        &mut self,
        source: Party,
        kind: impl Into<EntryKind>,
        content: impl Into<String>,
    ) {
        let entry = self.entry(source, None, kind, content, None);
        self.record_fact(vec![entry], Box::new(|_, _| {}));
    }

    /// An entry of now.
    pub(super) fn entry(
        &self,
        source: Party,
        target: Option<Party>,
        kind: impl Into<EntryKind>,
        content: impl Into<String>,
        runtime_session: Option<RuntimeSession>,
    ) -> Entry {
        Entry {
            id: EntryId::new(uuid::Uuid::now_v7().to_string()),
            timestamp_ms: now_ms(),
            session_id: self.session_id.clone(),
            source,
            target,
            content: content.into(),
            whole: None,
            kind: kind.into(),
            runtime_session,
            carried: None,
            meta: Map::new(),
            seq: Seq(0),
        }
    }

    pub(super) fn on_writer(&mut self, event: WriterEvent) {
        match event {
            WriterEvent::Durable { token, entries } => {
                self.ledger_gone = false;
                for stored in &entries {
                    self.publish(stored);
                }
                self.come_to(&entries);
                match self.pending.remove(&token) {
                    Some(pending) => (pending.then)(self, Ok(&entries)),
                    None => self.forget_taken_back(&entries),
                }
                self.claude_hears(ClaudeInput::Recordable);
                self.pump();
            }
            WriterEvent::Failed {
                token,
                error: error @ LedgerError::Refused { .. },
            } => {
                let refusal = Refusal::new(
                    RefusalCode::EntryRefused,
                    error.to_string(),
                    "nothing was recorded; say it in fewer words",
                );
                if let Some(pending) = self.pending.remove(&token) {
                    (pending.then)(self, Err(&refusal));
                }
            }
            WriterEvent::Failed {
                token,
                error: error @ LedgerError::HeadUnwritable { .. },
            } => {
                let refusal = Refusal::new(
                    RefusalCode::HeadUnwritable,
                    error.to_string(),
                    "make that folder writable, or free some space, and say it again",
                );
                if let Some(pending) = self.pending.remove(&token) {
                    (pending.then)(self, Err(&refusal));
                }
            }
            WriterEvent::Failed {
                token,
                error: LedgerError::NoRoom(refusal),
            } => {
                self.space_changed();
                if let Some(pending) = self.pending.remove(&token) {
                    (pending.then)(self, Err(&space_refused(&refusal)));
                }
            }
            WriterEvent::Foreign(alarm) => self.raise_alarm(alarm),
            WriterEvent::Gone(error) => {
                let refusal = self.writer_gone(&error);
                for (_, pending) in std::mem::take(&mut self.pending) {
                    (pending.then)(self, Err(&refusal));
                }
            }
            WriterEvent::Failed { token, error } => {
                let refusal = Refusal::new(
                    RefusalCode::LedgerUnwritable,
                    format!("the record could not be written: {error}"),
                    "nothing was recorded; free space or make the project writable, it goes on by itself",
                );
                let begins = !self.is_read_only();
                if self.notices.set(LEDGER_UNWRITABLE, refusal.message.clone()) {
                    self.status_changed();
                }
                self.ledger_gone = matches!(error, LedgerError::Gone { .. });
                // A file that was taken away stays so until somebody restarts the daemon.
                if begins && !self.ledger_gone {
                    self.record_outage(refusal.message.clone());
                }
                if let Some(pending) = self.pending.remove(&token) {
                    (pending.then)(self, Err(&refusal));
                }
            }
            WriterEvent::Recovered => {
                if self.notices.clear(LEDGER_UNWRITABLE) {
                    self.status_changed();
                }
                self.claude_hears(ClaudeInput::Recordable);
            }
        }
    }

    /// Nothing can be recorded any more: the daemon ends, and who waits hears why.
    fn writer_gone(&mut self, error: &LedgerError) -> Refusal {
        self.fault.set(DaemonFault::Writer);
        Refusal::new(
            RefusalCode::WriterGone,
            error.to_string(),
            DaemonFault::HINT,
        )
    }

    /// The last append failed, and none has succeeded since.
    pub(super) fn is_read_only(&self) -> bool {
        self.notices.has(LEDGER_UNWRITABLE)
    }

    /// Has the record say that it could not be written. Asking the disk again and again with this
    /// very entry is what finds out that it works again, though nobody else writes.
    fn record_outage(&mut self, why: String) {
        let kind = ErrorCode::LedgerUnwritable;
        let entry = self.entry(Party::System, None, kind, why, None);
        self.record_fact(vec![entry], Box::new(|_, _| {}));
    }

    /// Has everybody who follows the record know how far it is.
    pub(super) fn come_to(&mut self, entries: &[Arc<Stored>]) {
        self.keepers.search.grown();
        self.told_of_alarms(entries);
        if let Some(last) = entries.last() {
            self.keepers.heads.set(Head {
                seq: last.entry.seq.0,
                hash: last.hash.clone(),
                session_id: self.session_id.clone(),
            });
            self.keepers
                .checkpoints
                .moved(&self.ledger, &self.session_id, &self.world, &last.hash);
        }
    }

    /// Fold, then tell. Only durable entries come here.
    pub(super) fn publish(&mut self, stored: &Arc<Stored>) {
        follow(&stored.entry);
        let world = Arc::make_mut(&mut self.world);
        fold(world, &stored.entry);
        world.note_hash(&stored.entry.id, &stored.hash);
        if self.recent.len() == RECENT_ENTRIES_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(Arc::clone(stored));
        self.clients
            .tell_subscribers(|| Notification::Entry(stored.to_value()));
    }

    /// Whether something that has happened is not recorded because the disk refuses.
    pub(super) fn has_unwritten(&self) -> bool {
        !self.unwritten.is_empty()
    }

    pub(super) fn pending_count(&self) -> usize {
        self.pending.len()
    }
}

/// Has the log say how far a message has come.
fn follow(entry: &Entry) {
    let seq = entry.seq.0;
    match &entry.kind {
        EntryKind::Message(_) | EntryKind::Handoff(_) => {
            trace::message(&entry.id).in_scope(|| tracing::debug!(seq, "recorded"));
        }
        EntryKind::Delivery(record) => {
            trace::attempt(&record.message_id, record.attempt_id.as_ref()).in_scope(|| {
                tracing::debug!(seq, result = ?record.result, rung = record.rung, "settled");
            });
        }
        _ => {}
    }
}
