//! When the ladder acts next, computed by a walk over all waiting messages.

use super::{Delivery, DeliveryState, Ladder, Rung};
use crate::delivery::Backlog;

impl Ladder {
    /// What [`Self::next_ms`] has to say.
    pub fn next_ms_afresh(&self, backlog: &Backlog) -> Option<i64> {
        let waiting: Vec<&Delivery> = self.waiting(backlog).collect();
        let queued = |row: &&&Delivery| row.state == DeliveryState::Queued;
        let queued = waiting.iter().filter(queued);
        let expiry = self
            .timeouts
            .expiry_ms
            .and_then(|expiry| Some(expiry + queued.map(|row| row.changed_ms).min()?));
        if self.rests_at_limit {
            return expiry.into_iter().chain(self.retry_at).min();
        }
        let has_bell = self.bell.is_some();
        let unproven = waiting.iter().filter_map(|row| {
            let offer = backlog.offer(&row.id)?;
            let began_ms = offer.at_ms.max(self.idles_since()?);
            if offer.rung == Rung::Pull || offer.waits_for_ring() {
                None
            } else if has_bell && offer.is_ring_sent_once() {
                Some(began_ms + self.timeouts.idle_ms / 2)
            } else {
                Some(began_ms + self.timeouts.idle_ms)
            }
        });
        let is_unoffered = |row: &&Delivery| backlog.offer(&row.id).is_none();
        let has_unoffered = waiting.iter().any(is_unoffered);
        let is_first = self.first_rung() == Some(Rung::Doorbell);
        let is_ring_unsent = |row: &&Delivery| {
            let offer = backlog.offer(&row.id);
            offer.map_or(is_first, |offer| offer.waits_for_ring())
        };
        let may_look = self.retry_at.is_none();
        let rings = may_look && has_bell && waiting.iter().any(is_ring_unsent);
        let waits_for_bell = may_look && !has_bell && has_unoffered;
        let bell_due = self.bridge.filter(|_| waits_for_bell);
        unproven
            .chain(rings.then(|| self.ringing.next_ms()))
            .chain(bell_due.map(|bridge| bridge.bell_due))
            .chain(self.retry_at)
            .chain(expiry)
            .min()
    }
}
