//! The record as a message from us, where Codex asks for it in its final message. It is appended in
//! one write with the end of that turn, so that a crash cannot lose the question.

use std::sync::Arc;

use crate::core::agent::{Agent, Party};
use crate::core::delivery::OnBusy;
use crate::core::entry::{Entry, EntryKind, Message};
use crate::core::id::RuntimeSession;
use crate::daemon::commands::context::context;
use crate::daemon::owners::Base;
use crate::wire::control::{ContextPage, ContextView, ReadContextParams};

/// The most of the record that an answer carries, in bytes: Codex reads it as the text of a turn,
/// and can ask again.
const CONTEXT_BYTES_MAX: usize = 24_000;

/// Entries that an answer begins with; halved until they fit.
const CONTEXT_ENTRIES: u32 = 40;

impl Base {
    /// The answer to a question about the record.
    pub(super) fn context_answer(&self, focus: &str, pair: RuntimeSession) -> Entry {
        let about = match focus {
            "" => String::new(),
            focus => format!(" (you asked about: {focus})"),
        };
        let record = self.latest();
        self.recorder.entry(
            Party::System,
            Some(Agent::Codex.into()),
            EntryKind::Message(Message::new(OnBusy::Queue)),
            format!("The latest of the record and all open handoffs{about}:\n{record}"),
            Some(pair),
        )
    }

    /// The latest entries and all open handoffs, in JSON; or why they cannot be read.
    fn latest(&self) -> String {
        let mut limit = CONTEXT_ENTRIES;
        let params = ReadContextParams {
            view: ContextView::Summary,
            limit: Some(limit),
            ..ReadContextParams::default()
        };
        let world = Arc::clone(self.recorder.world());
        let mut page = match context(self.recorder.ledger(), world, None, &params) {
            Ok(page) => page,
            Err(refusal) => return format!("it cannot be read now: {}", refusal.message),
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
