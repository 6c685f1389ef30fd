//! What happens on the ladder without an input, and when.

use super::{Ladder, Rung};
use crate::agent::Agent;
use crate::delivery::backlog::LaneIndex;
use crate::delivery::{Backlog, DeliveryEffect, Moment};
use crate::id::Seq;

impl Ladder {
    /// When something happens by itself, ms. Claims of the backlog are not in it.
    ///
    /// The loop asks at each of its turns: nothing here may walk the lane.
    pub fn next_ms(&self, backlog: &Backlog) -> Option<i64> {
        let index = backlog.index_of(&self.pair);
        let expiry = index.and_then(|index| self.expiry_ms(index));
        if self.rests_at_limit {
            return expiry.into_iter().chain(self.retry_at).min();
        }
        let of_rows = index.map_or([None; 4], |index| {
            [
                self.second_ring_ms(index),
                self.descent_ms(index),
                self.ring_unsent_ms(index),
                self.bell_due(index),
            ]
        });
        let of_rows = of_rows.into_iter().flatten();
        of_rows.chain(self.retry_at).chain(expiry).min()
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
        if let Some(since) = self.idles_since().filter(|_| !self.rests_at_limit) {
            self.was_idle(backlog, since, at);
        }
        if let Some(expiry) = self.timeouts.expiry_ms {
            backlog.expire(Agent::Claude, at.now_ms - expiry, effects);
        }
    }

    /// Claude has done nothing since then: the doorbell rings once more, or a way is given up.
    fn was_idle(&mut self, backlog: &mut Backlog, since_ms: i64, at: &Moment) {
        let Some(index) = backlog.index_of(&self.pair) else {
            return;
        };
        let idle_since = |idle_ms: i64| at.now_ms - idle_ms;
        let descends_until = idle_since(self.timeouts.idle_ms);
        let rings_until = idle_since(self.second_ring_after());
        let mut due: Vec<Seq> = Vec::new();
        if since_ms <= rings_until {
            due.extend(index.ring_sent_once_until(rings_until));
        }
        if since_ms <= descends_until {
            due.extend(index.descending_until(descends_until));
        }
        due.sort_unstable();
        let (is_deaf, has_bell) = (&mut self.is_deaf, self.bell.is_some());
        backlog.change_offers_at(&self.pair, &due, |id, offer| {
            let is_over = offer.at_ms.max(since_ms) <= descends_until;
            if has_bell && offer.is_ring_sent_once() && !is_over {
                offer.ring_again();
            } else {
                *is_deaf |= offer.rung == Rung::Channel;
                offer.descend(id, at);
            }
        });
    }

    /// How long an idle Claude may take until the doorbell rings for the second time. One that heard
    /// it starts a turn within a second; a line can be lost on its side.
    fn second_ring_after(&self) -> i64 {
        if self.bell.is_some() {
            self.timeouts.idle_ms / 2
        } else {
            self.timeouts.idle_ms
        }
    }

    fn second_ring_ms(&self, index: &LaneIndex) -> Option<i64> {
        let offered_ms = index.first_ring_sent_once_ms()?;
        Some(offered_ms.max(self.idles_since()?) + self.second_ring_after())
    }

    /// When a message descends, while Claude is idle, ms.
    fn descent_ms(&self, index: &LaneIndex) -> Option<i64> {
        let offered_ms = index.first_descending_ms()?;
        Some(offered_ms.max(self.idles_since()?) + self.timeouts.idle_ms)
    }

    /// When the doorbell may ring for what waits for it, ms.
    fn ring_unsent_ms(&self, index: &LaneIndex) -> Option<i64> {
        if self.bell.is_none() || self.retry_at.is_some() {
            return None;
        }
        let is_first = self.first_rung() == Some(Rung::Doorbell);
        let waits = index.has_ring_unsent() || is_first && index.has_unoffered();
        waits.then(|| self.ringing.next_ms())
    }

    /// Until when what waits does so for a doorbell, ms.
    fn bell_due(&self, index: &LaneIndex) -> Option<i64> {
        let waits = self.bell.is_none() && self.retry_at.is_none() && index.has_unoffered();
        self.bridge.filter(|_| waits).map(|bridge| bridge.bell_due)
    }

    fn expiry_ms(&self, index: &LaneIndex) -> Option<i64> {
        Some(index.oldest_queued_ms()? + self.timeouts.expiry_ms?)
    }
}
