//! What hooks carry into a turn, and what becomes of it at the end of that turn.

use super::{HookPoint, Ladder, Rung};
use crate::delivery::{Backlog, DeliveryEffect, Moment};
use crate::entry::OnBusy;
use crate::id::{EntryId, Seq};

impl Ladder {
    /// What a hook may carry into the model's context at this point, oldest first. The prompt
    /// takes everything; the others what the better ways have failed with, and what a hook of the
    /// same turn had no room for. At its limit Claude gets nothing: that turn will most likely
    /// fail before the model reads it.
    pub fn carries(&self, backlog: &Backlog, carrier: HookPoint) -> Vec<EntryId> {
        // Whether the rest of it arrives is not known yet, or it has not left: nothing overtakes it
        // meanwhile.
        let under_way = backlog
            .of_pair(&self.pair)
            .find(|row| {
                let is_under_way = backlog.is_cut_claimed(&row.id)
                    || backlog.is_leaving(&row.id)
                    || backlog.is_pushed_unheard(&row.id);
                is_under_way && !backlog.is_recording(&row.id)
            })
            .map(|row| row.seq);
        self.waiting(backlog)
            .filter(|_| !self.rests_at_limit)
            .filter(|row| {
                row.on_busy == OnBusy::Steer || under_way.is_none_or(|first| row.seq < first)
            })
            .filter(|row| {
                carrier == HookPoint::Prompt
                    || (carrier == HookPoint::Tool && row.on_busy == OnBusy::Steer)
                    || self.left_over.is_some_and(|upto| row.seq <= upto)
                    || backlog
                        .offer(&row.id)
                        .is_some_and(|offer| offer.rung >= Rung::Hooks)
            })
            .map(|row| row.id.clone())
            .collect()
    }

    /// The turn is about to end. Where no doorbell hangs nobody wakes Claude afterwards: its stop
    /// carries what was pushed before this turn, which brought no proof of it.
    pub(super) fn turn_stops(&mut self, backlog: &mut Backlog, at: &Moment) {
        if self.bell.is_some() || self.proven == Some(Rung::Channel) {
            return;
        }
        let is_unheard = |id: &EntryId| {
            let offer = backlog.offer(id);
            offer.is_some_and(|offer| offer.turn_began && offer.rung == Rung::Channel)
        };
        let unheard = self.waiting(backlog).filter(|row| is_unheard(&row.id));
        let unheard: Vec<Seq> = unheard.map(|row| row.seq).collect();
        self.is_deaf |= !unheard.is_empty();
        backlog.change_offers_at(&self.pair, &unheard, |id, offer| {
            offer.descend_to(Rung::Hooks, id, at);
        });
    }

    /// Whether no hook will carry these when the doorbell rings for them: what stands first has to
    /// be fetched, and nothing overtakes it; or the doorbell rang before, and no hook came.
    pub(super) fn must_ask(&self, backlog: &Backlog, rings_for: &[EntryId]) -> bool {
        let is_second = |id: &EntryId| backlog.offer(id).is_some_and(|offer| offer.is_second);
        self.waits_for_a_fetch(backlog) || rings_for.iter().all(is_second)
    }

    /// Whether all that waits does so behind a text that Claude has to fetch.
    pub(super) fn waits_for_a_fetch(&self, backlog: &Backlog) -> bool {
        let mut lane = backlog.of_pair(&self.pair);
        let first = lane.find(|row| {
            (backlog.may_be_offered(row) || backlog.is_claimed(&row.id))
                && !backlog.is_recording(&row.id)
        });
        self.to_fetch.is_some() && first.map(|row| &row.id) == self.to_fetch.as_ref()
    }

    /// The model knows nothing of what it was given: what was proven stays to be asked for.
    pub(super) fn forget_context(
        &mut self,
        backlog: &mut Backlog,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        self.left_over = None;
        backlog.out_of_turn(&self.pair, effects);
    }
}
