//! Changes to messages on which no lane has to decide: their senders closed them, the operator
//! failed to take one back, they left with an answer, or turns had them.

use super::Outbox;
use crate::core::agent::Agent;
use crate::core::delivery::{ClaimedTexts, DeliveryEffect, LaterInput};
use crate::core::id::EntryId;

impl Outbox {
    /// Whether its own sender closed this message, so that nobody is to get it any more.
    pub(in crate::daemon) fn set_unwanted(&mut self, id: EntryId, is_closed: bool) {
        self.backlog.set_unwanted(id, is_closed);
    }

    /// Has end what nobody is to get any more of this agent's, as far as the operator could take it
    /// back now. What is to be recorded.
    pub(in crate::daemon) fn end_unwanted(&mut self, to: Agent) -> Vec<DeliveryEffect> {
        let mut effects = Vec::new();
        self.backlog.end_unwanted(to, &mut effects);
        effects
    }

    /// The row that was to say that it is taken back could not be written.
    pub(in crate::daemon) fn withdraw_not(&mut self, id: &EntryId) {
        self.backlog.withdraw_not(id);
    }

    /// These texts have left, or nobody `took` them. What the machines are to hear of that at once.
    pub(in crate::daemon) fn claims_are_over(
        &mut self,
        claimed: ClaimedTexts,
        took: bool,
        now_ms: i64,
    ) -> Vec<LaterInput> {
        claimed.are_over(&mut self.backlog, took, now_ms)
    }

    /// These were read by a turn that came to its end. What is to be recorded.
    pub(in crate::daemon) fn were_read(&mut self, ids: &[EntryId]) -> Vec<DeliveryEffect> {
        let mut effects = Vec::new();
        self.backlog.were_read(ids, &mut effects);
        effects
    }

    /// What a hook handed over has left these unread: the end of no turn reads them. What is to be
    /// stored.
    pub(in crate::daemon) fn left_unread(&mut self, ids: &[EntryId]) -> Vec<DeliveryEffect> {
        let mut effects = Vec::new();
        for id in ids {
            self.backlog.left_unread(id, &mut effects);
        }
        effects
    }
}
