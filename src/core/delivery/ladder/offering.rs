//! What a [`Ladder`] offers next: each message by the best way that it has not come down from.

use super::offer::Offer;
use super::{Ladder, LadderMode, Rung};
use crate::delivery::{Backlog, Delivery, DeliveryEffect, DeliveryFact, Moment, Shown};
use crate::id::EntryId;

/// How many offers are remembered before those of settled messages are forgotten. More than a
/// lane can hold is never kept.
const OFFERS_MAX: usize = 1_000;

/// How many messages are pushed at once. Each needs its row on disk first and a place in the
/// client's outlet, which both are shared with everything else that the daemon does.
const PUSHES_MAX: usize = 32;

/// After that many, the next follow this much later, ms: a client empties its outlet meanwhile.
const PUSH_PAUSE_MS: i64 = 50;

impl Ladder {
    /// Offers what has not been offered yet, or not on the rung that it has come to.
    pub(super) fn offer(
        &mut self,
        backlog: &mut Backlog,
        at: &Moment,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        let Some(first) = self.first_rung().filter(|first| self.offers_on(*first, at)) else {
            return;
        };
        // Each entry of the record comes by here: what was told already is not looked at twice.
        let untold: Vec<EntryId> = self
            .waiting(backlog)
            .filter(|row| {
                self.offers.get(&row.id).is_none_or(|offer| {
                    !offer.is_told || offer.rung == Rung::Doorbell && self.bell.is_none()
                })
            })
            .map(|row| row.id.clone())
            .collect();
        let may_ring = self.ringing.next_ms() <= at.now_ms;
        let shown = self.pushed_as();
        let mut rings = Vec::new();
        let mut pushes = 0;
        for id in untold {
            if first == Rung::Doorbell && !may_ring && !self.offers.contains_key(&id) {
                // Several that wait for it share one line. Until then they are not offered: should
                // a better way turn up, they go first there.
                continue;
            }
            let offer = self
                .offers
                .entry(id.clone())
                .or_insert_with(|| Offer::at(first, at));
            if offer.rung == Rung::Doorbell && self.bell.is_none() {
                *offer = Offer::at(Rung::Hooks, at);
            }
            match (offer.rung, self.bridge) {
                (Rung::Channel, Some(_)) if pushes == PUSHES_MAX => {
                    self.retry_at = Some(at.now_ms + PUSH_PAUSE_MS);
                    break;
                }
                (Rung::Channel, Some(bridge)) => {
                    pushes += 1;
                    let repeat = backlog.get(&id).is_some_and(Delivery::is_repeat);
                    let until = at.now_ms + self.terms.push_ms;
                    offer.was_pushed = true;
                    backlog.claim(&id, shown, &at.attempt, until, at.now_ms, effects);
                    let bridge = bridge.id;
                    effects.push(DeliveryEffect::Push {
                        bridge,
                        id: id.clone(),
                        repeat,
                    });
                }
                (Rung::Doorbell, _) if !may_ring => continue,
                (Rung::Doorbell, _) => rings.push(id.clone()),
                (Rung::Channel | Rung::Hooks | Rung::Pull, _) => {}
            }
            offer.is_told = true;
        }
        if let (Some(bell), false) = (self.bell, rings.is_empty()) {
            self.ringing.ring(at.now_ms);
            let asks = self.must_ask(backlog, &rings);
            effects.push(DeliveryEffect::Ring {
                bell,
                ids: rings,
                asks,
            });
        }
        self.forget_settled(backlog);
    }

    /// The row of a message that is being recorded, as it will be when it is pushed at once; none
    /// when that is not what would come. To be written ahead: see [`super::super::RowsAhead`].
    pub fn row_ahead(&self, mut row: Delivery, at: &Moment) -> Option<Delivery> {
        let is_pushed = self.first_rung() == Some(Rung::Channel)
            && self.bridge.is_some()
            && self.offers_on(Rung::Channel, at);
        let pushed = DeliveryFact::HandedOut(at.attempt.clone(), self.pushed_as());
        (is_pushed && row.apply(pushed, at.now_ms)).then_some(row)
    }

    /// Whether anything is offered now, when it begins on this rung.
    fn offers_on(&self, first: Rung, at: &Moment) -> bool {
        let waits_for_bell = first == Rung::Channel
            && self.proven != Some(Rung::Channel)
            && self.bridge.is_some_and(|bridge| {
                bridge.mode == LadderMode::Auto && at.now_ms < bridge.bell_due
            });
        !self.is_limited && self.retry_at.is_none() && !waits_for_bell
    }

    /// What has left with a push. Where channels are off nobody hears of it.
    fn pushed_as(&self) -> Shown {
        if self.proven == Some(Rung::Channel) {
            Shown::Whole
        } else {
            Shown::Nothing
        }
    }

    /// What is settled is announced no more; forgotten now and then, so that a long session does
    /// not remember every message it ever had.
    fn forget_settled(&mut self, backlog: &Backlog) {
        if self.offers.len() > OFFERS_MAX {
            self.offers.retain(|id, _| backlog.get(id).is_some());
        }
    }
}
