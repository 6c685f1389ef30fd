//! What a [`Ladder`] offers next: each message by the best rung that it has not descended from.

use super::{DeliveryMode, Ladder, Rung};
use crate::delivery::backlog::Untold;
use crate::delivery::offer::Offer;
use crate::delivery::{Backlog, Delivery, DeliveryEffect, DeliveryFact, Moment, Shown};

/// How many messages are pushed at once. Each needs its row on disk first and a place in the
/// client's outlet, which both are shared with everything else that the daemon does.
const PUSHES_MAX: usize = 32;

/// After that many, the next follow this much later, ms: a client empties its outlet meanwhile.
const PUSH_PAUSE_MS: i64 = 50;

impl Ladder {
    /// Everything may be offered again: Claude's context, or its bridge, is a new one.
    pub(super) fn forget_offers(&mut self, backlog: &mut Backlog) {
        backlog.forget_offers(&self.pair);
        self.retry_at = None;
    }

    /// Everything may be offered again, but what the doorbell of the same Claude was rung for.
    pub(super) fn forget_unrung(&mut self, backlog: &mut Backlog) {
        backlog.change_offers(&self.pair, |_, offer| offer.is_rung());
        self.retry_at = None;
    }

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
        let has_bell = self.bell.is_some();
        let may_ring = self.ringing.next_ms() <= at.now_ms;
        // Each entry of the record comes by here: what was told already is not looked at twice.
        let untold = Untold {
            // Several that wait for the doorbell share one line. Until then they are not offered:
            // should a better way turn up, they go first there.
            unoffered: first != Rung::Doorbell || may_ring,
            ring_unsent: !has_bell || may_ring,
            ring_sent: !has_bell,
        };
        let shown = self.pushed_as();
        let mut rings = Vec::new();
        let (mut pushes, mut last) = (0, None);
        while let Some(row) = backlog.next_untold(&self.pair, last, untold) {
            last = Some(row.seq);
            let (id, repeat) = (row.id.clone(), row.is_repeat());
            let offer = backlog.offer(&id).copied();
            let mut offer = offer.unwrap_or_else(|| Offer::at(first, at));
            if offer.rung == Rung::Doorbell && !has_bell {
                offer.descend_to(Rung::Hooks, &id, at);
            }
            match (offer.rung, self.bridge) {
                (Rung::Channel, Some(_)) if pushes == PUSHES_MAX => {
                    self.retry_at = Some(at.now_ms + PUSH_PAUSE_MS);
                    break;
                }
                (Rung::Channel, Some(bridge)) => {
                    pushes += 1;
                    offer.was_pushed = true;
                    let push_ms = self.timeouts.push_ms;
                    backlog.claim(&id, shown, &at.attempt, push_ms, at.now_ms, effects);
                    let bridge = bridge.id;
                    effects.push(DeliveryEffect::Push {
                        bridge,
                        id: id.clone(),
                        repeat,
                    });
                }
                (Rung::Doorbell, _) => rings.push(id.clone()),
                (Rung::Channel | Rung::Hooks | Rung::Pull, _) => {}
            }
            offer.is_told = true;
            backlog.set_offer(&id, Some(offer));
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
                bridge.mode == DeliveryMode::Auto && at.now_ms < bridge.bell_due
            });
        !self.rests_at_limit && self.retry_at.is_none() && !waits_for_bell
    }

    /// What has left with a push. Where channels are off nobody hears of it.
    fn pushed_as(&self) -> Shown {
        if self.proven == Some(Rung::Channel) {
            Shown::Whole
        } else {
            Shown::Nothing
        }
    }
}
