//! Finds out what became of messages that an earlier process, or an earlier app-server, was given.

use super::{Agent, Backlog, CodexFlow, DeliveryEffect, DeliveryResult, EntryId, Moment};
use crate::delivery::Delivery;

/// What all looks behind a turn take, and as much again, ms.
const LOOKS_MS: i64 = 5_000;

impl CodexFlow {
    /// Another app-server can tell what became of what is on its way: recovery has its whole time.
    pub(super) fn begins_anew_to_find_out(&mut self, at: &Moment) {
        for until in self.unanswered.values_mut() {
            *until = at.now_ms + self.timeouts.recovery_ms;
        }
    }

    /// A turn is over, behind which it can be looked for what is on its way: there is time for that.
    /// No more: what nobody looks for any longer must not wait for a person who goes on and on.
    pub(super) fn can_be_found_out(&mut self, at: &Moment) {
        for until in self.unanswered.values_mut() {
            *until = (*until).max(at.now_ms + LOOKS_MS);
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
        let until = at.now_ms + self.timeouts.recovery_ms;
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
        self.trial.untried(id);
        if !backlog.get(id).is_some_and(Delivery::is_on_its_way) {
            return;
        }
        backlog.mark_recording(id, DeliveryResult::Ambiguous, None, None, effects);
    }
}
