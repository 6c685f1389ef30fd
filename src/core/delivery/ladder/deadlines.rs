//! What happens on the ladder by itself, and when.

use super::{Ladder, Offer, Rung};
use crate::agent::Agent;
use crate::delivery::{Backlog, DeliveryEffect, DeliveryState, Moment};

impl Ladder {
    /// When something happens by itself, ms. Claims of the backlog are not in it.
    pub fn next_ms(&self, backlog: &Backlog) -> Option<i64> {
        if self.is_limited {
            return self
                .expiry_ms(backlog)
                .into_iter()
                .chain(self.retry_at)
                .min();
        }
        let unproven = self.waiting(backlog).filter_map(|row| {
            let offer = self.offers.get(&row.id)?;
            self.idle_since.and_then(|since| self.idle_ms(offer, since))
        });
        let waits_for_bell = self.bell.is_none()
            && self.retry_at.is_none()
            && self
                .waiting(backlog)
                .any(|row| !self.offers.contains_key(&row.id));
        let bell_due = self.bridge.map(|bridge| bridge.bell_due);
        let bell_due = bell_due.filter(|_| waits_for_bell);
        unproven
            .chain(self.unrung_ms(backlog))
            .chain(self.retry_at)
            .chain(self.expiry_ms(backlog))
            .chain(bell_due)
            .min()
    }

    /// Time has passed.
    pub(super) fn tick(
        &mut self,
        backlog: &mut Backlog,
        at: &Moment,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        if self.retry_at.is_some_and(|until| until <= at.now_ms) {
            self.retry_at = None;
        }
        if let Some(since) = self.idle_since.filter(|_| !self.is_limited) {
            let (terms, has_bell) = (self.terms, self.bell.is_some());
            let told = self.offers.iter_mut();
            for (id, offer) in told.filter(|(_, offer)| !offer.waits_for_ring()) {
                let idle_ms = at.now_ms - offer.at_ms.max(since);
                if idle_ms >= terms.idle_ms {
                    self.is_deaf |= offer.rung == Rung::Channel;
                    offer.descend(id, at);
                } else if idle_ms >= terms.idle_ms / 2 && has_bell && offer.is_rung_once() {
                    offer.ring_again();
                }
            }
        }
        if let Some(expiry) = self.terms.expiry_ms {
            backlog.expire(Agent::Claude, at.now_ms - expiry, effects);
        }
    }

    /// When a message gets its second ring or descends, while Claude is idle, ms.
    fn idle_ms(&self, offer: &Offer, idle_since: i64) -> Option<i64> {
        if offer.rung == Rung::Pull || offer.waits_for_ring() {
            return None;
        }
        let began = offer.at_ms.max(idle_since);
        // A Claude that heard its doorbell starts a turn within a second; a line can be lost on its
        // side.
        let is_half = self.bell.is_some() && offer.is_rung_once();
        Some(
            began
                + if is_half {
                    self.terms.idle_ms / 2
                } else {
                    self.terms.idle_ms
                },
        )
    }

    /// When the doorbell may ring for what waits for it, ms.
    fn unrung_ms(&self, backlog: &Backlog) -> Option<i64> {
        if self.bell.is_none() || self.retry_at.is_some() {
            return None;
        }
        let is_first = self.first_rung() == Some(Rung::Doorbell);
        let waits = self.waiting(backlog).any(|row| {
            let offer = self.offers.get(&row.id);
            offer.map_or(is_first, |offer| offer.waits_for_ring())
        });
        waits.then(|| self.ringing.next_ms())
    }

    fn expiry_ms(&self, backlog: &Backlog) -> Option<i64> {
        let expiry = self.terms.expiry_ms?;
        self.waiting(backlog)
            .filter(|row| row.state == DeliveryState::Queued)
            .map(|row| row.changed_ms + expiry)
            .min()
    }
}
