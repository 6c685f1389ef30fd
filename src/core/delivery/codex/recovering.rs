//! Finding out what became of what an earlier process, or an earlier app-server, was given.

use super::{Agent, Backlog, CodexFlow, DeliveryEffect, DeliveryResult, EntryId, Moment};
use crate::delivery::Delivery;

impl CodexFlow {
    /// The app-server can tell from now on what became of what is on its way: recovery has its whole
    /// time. What was left of it may be less than its looks take.
    pub(super) fn can_be_found_out(&mut self, at: &Moment) {
        for until in self.unanswered.values_mut() {
            *until = at.now_ms + self.terms.recovery_ms;
        }
    }

    /// After a start: what was attempted before and has no proof is for the adapter to find out,
    /// and nothing newer goes out before.
    pub(super) fn began(
        &mut self,
        backlog: &Backlog,
        at: &Moment,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        let ids: Vec<EntryId> = backlog
            .lane(Agent::Codex)
            .filter(|row| row.is_on_its_way())
            .map(|row| row.id.clone())
            .collect();
        if ids.is_empty() {
            return;
        }
        let until = at.now_ms + self.terms.recovery_ms;
        self.in_flight.clone_from(&ids);
        self.unanswered = ids.iter().map(|id| (id.clone(), until)).collect();
        effects.push(DeliveryEffect::Recover(ids));
    }

    /// Nobody can find out any more whether Codex has the message.
    pub(super) fn give_up_knowing(
        &mut self,
        backlog: &mut Backlog,
        id: &EntryId,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        self.landed(id);
        self.untried();
        if !backlog.get(id).is_some_and(Delivery::is_on_its_way) {
            return;
        }
        backlog.record(id, DeliveryResult::Ambiguous, None, None, effects);
    }
}
