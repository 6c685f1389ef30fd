//! The record as Codex asks for it with its last words: read beside the loop, and sent to it as a
//! message of ours that is recorded behind the end of the turn.

use std::sync::Arc;

use crate::core::agent::{Agent, Party};
use crate::core::delivery::OnBusy;
use crate::core::entry::{EntryKind, GOES_ON_WITH, Message};
use crate::core::snapshot::Snapshot;
use crate::daemon::commands::context::context;
use crate::daemon::decisions::decision_messages::track;
use crate::daemon::event::{Event, RecordQuestion, RecordRead};
use crate::daemon::owners::Base;
use crate::store::ledger::Ledger;
use crate::wire::control::{ContextPage, ContextView, ReadContextParams};

/// The most of the record that an answer carries, in bytes: Codex reads it as the text of a turn,
/// and can ask again.
const CONTEXT_BYTES_MAX: usize = 24_000;

/// Entries that an answer begins with; halved until they fit.
const CONTEXT_ENTRIES: u32 = 40;

impl Base {
    /// Has the record read for Codex.
    pub(super) fn read_record_for_codex(&self, question: RecordQuestion) {
        let Some(events) = self.events.upgrade() else {
            return;
        };
        let ledger = self.recorder.ledger().clone();
        let world = Arc::clone(self.recorder.world());
        let session = self.recorder.session_id().clone();
        let under_way = self.operations.begin_beside();
        tokio::spawn(async move {
            let read = tokio::task::spawn_blocking(move || latest(&ledger, world)).await;
            // Codex waits for an answer in any case.
            let record = read.unwrap_or_else(|_| unread("a fault of ours, which the log tells of"));
            let read = RecordRead {
                question,
                session,
                record,
                under_way,
            };
            let _ = events.send(Event::RecordRead(Box::new(read))).await;
        });
    }

    /// The record was read for Codex.
    pub(in crate::daemon) fn on_record_read(&mut self, read: RecordRead) {
        let RecordRead {
            question,
            session,
            record,
            under_way: _heard,
        } = read;
        if session != *self.recorder.session_id() {
            // It tells of a session that may have been deleted for good meanwhile.
            return self.read_record_for_codex(question);
        }
        let about = match question.focus.as_str() {
            "" => String::new(),
            focus => format!(" (you asked about: {focus})"),
        };
        let mut entry = self.recorder.entry(
            Party::System,
            Some(Agent::Codex.into()),
            EntryKind::Message(Message::new(OnBusy::Queue)),
            format!("The latest of the record and all open handoffs{about}:\n{record}"),
            Some(question.pair),
        );
        if let Some(asked) = question.goes_on_with {
            let asked = asked.as_str().into();
            entry.meta.insert(GOES_ON_WITH.to_owned(), asked);
        }
        let id = entry.id.clone();
        self.recorder.keep_then(
            vec![entry],
            Box::new(move |daemon, stored| {
                if stored.is_ok() {
                    track(&daemon.base.recorder, &mut daemon.deliveries.outbox, &id);
                }
            }),
        );
    }
}

/// The latest entries and all open handoffs, in JSON. Blocking.
fn latest(ledger: &Ledger, world: Arc<Snapshot>) -> String {
    let mut limit = CONTEXT_ENTRIES;
    let params = ReadContextParams {
        view: ContextView::Summary,
        limit: Some(limit),
        ..ReadContextParams::default()
    };
    let mut page = match context(ledger, world, None, &params) {
        Ok(page) => page,
        Err(refusal) => return unread(&refusal.message),
    };
    loop {
        let text = serde_json::to_string(&page).unwrap_or_default();
        if text.len() <= CONTEXT_BYTES_MAX || limit == 1 {
            return text;
        }
        limit /= 2;
        leave_out_older(&mut page, limit as usize);
    }
}

/// Leaves the latest of its entries, so many at most, and the place of the others.
fn leave_out_older(page: &mut ContextPage, limit: usize) {
    let older = page.entries.len().saturating_sub(limit);
    if older > 0 {
        page.entries.drain(..older);
        let oldest = page.entries.first();
        page.cursor = oldest.map(|oldest| oldest["seq"].to_string());
        page.looked_at = None;
    }
}

fn unread(why: &str) -> String {
    format!("it cannot be read now: {why}")
}
