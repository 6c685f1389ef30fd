//! Clearing: the session ends, archived or deleted for good, and nothing that was open in it
//! vanishes unsaid.

use crate::core::agent::Party;
use crate::core::entry::{Fate, LifecycleEvent};
use crate::daemon::owners::Daemon;
use crate::daemon::reply::{ReplySender, answer};
use crate::daemon::rollover::Rollover;
use crate::wire::control::{ClearParams, Cleared, Refusal, Reply};

impl Daemon {
    pub(super) fn clear(&mut self, params: &ClearParams, reply: ReplySender) {
        let cleared = self
            .may_end(params.session_id.as_ref())
            .and_then(|()| self.clear_now(params.discard));
        answer(reply, cleared.map(Reply::Cleared));
    }

    fn clear_now(&mut self, discard: bool) -> Result<Cleared, Refusal> {
        let (fate, how) = if discard {
            (Fate::Discarded, "deletes this session for good")
        } else {
            (Fate::Archived, "puts this session away")
        };
        let (cancelled, mut closing) = self.take_back_all();
        let word = self.entry(
            Party::Human,
            None,
            LifecycleEvent::SessionCleared,
            format!(
                "the operator {how}: {} messages are taken back, {} handoffs and {} proposals stay open",
                cancelled.len(),
                self.recorder.world().open_handoffs.len(),
                self.recorder.world().pending_proposals.len(),
            ),
            None,
        );
        closing.push(word);
        let rolled_over = self.roll_over(Rollover {
            fate,
            closing,
            carried: Vec::new(),
        });
        // Taken back they are in any case: the record of the old session says so by now, unless
        // it took nothing at all.
        let cancelled: Vec<_> = cancelled
            .into_iter()
            .filter(|id| !self.recorder.world().unsettled.contains_key(id))
            .collect();
        self.answer_receipts_of(&cancelled);
        let rolled_over = rolled_over?;
        self.handoff_dedup.retain(|_| false);
        self.claude_forgets();
        self.clients.waiters_mut().move_cursors(|_| None);
        Ok(Cleared {
            sealed: rolled_over.before.session_id,
            archive: rolled_over.archive,
            entries: rolled_over.before.entries,
            head: rolled_over.before.head,
            session_id: self.recorder.session_id().clone(),
            cancelled,
            left: rolled_over.left,
        })
    }
}
