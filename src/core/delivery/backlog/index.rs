//! [`LaneRow`]: one row of a lane. [`LaneIndex`]: answers to queries over all rows of a lane,
//! updated with each change of a row.

use std::collections::BTreeSet;
use std::ops::RangeBounds;

use crate::delivery::offer::Offer;
use crate::delivery::{Delivery, DeliveryState, Rung};
use crate::entry::OnBusy;
use crate::id::Seq;

/// The number of rows in each state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LaneCounts {
    /// Rows that wait.
    pub queued: usize,
    /// Rows with an attempt whose end is not known.
    pub on_their_way: usize,
    /// Rows of messages whose fate nobody can know.
    pub ambiguous: usize,
}

impl LaneCounts {
    /// Of two lanes.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            queued: self.queued + other.queued,
            on_their_way: self.on_their_way + other.on_their_way,
            ambiguous: self.ambiguous + other.ambiguous,
        }
    }
}

/// A message that is not settled.
#[derive(Debug)]
pub(super) struct LaneRow {
    pub(super) delivery: Delivery,
    /// Its place on the ladder, once it was offered.
    pub(super) offer: Option<Offer>,
    /// Its text is on its way to nobody, and nothing about it is being recorded.
    pub(super) is_free: bool,
}

/// The rows of a lane by what is done with them next. Rows that are not free have no rung, are not
/// queued, and are not to be announced.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::delivery) struct LaneIndex {
    /// Queued, in the order of delivery: a steer overtakes.
    queued: BTreeSet<(bool, Seq)>,
    /// The same, by when they were queued, ms.
    queued_ms: BTreeSet<(i64, Seq)>,
    /// Not offered yet.
    unoffered: BTreeSet<Seq>,
    /// The doorbell is to ring for them.
    ring_unsent: BTreeSet<Seq>,
    /// The doorbell has rung for them.
    ring_sent: BTreeSet<Seq>,
    /// Not announced yet on the rung that they have reached, which is not the doorbell.
    untold: BTreeSet<Seq>,
    /// The times at which the doorbell rings once more for offered rows if Claude is idle, ms.
    ring_sent_once_ms: BTreeSet<(i64, Seq)>,
    /// Likewise, for rows that go down a rung.
    descending_ms: BTreeSet<(i64, Seq)>,
    /// All rows whose receiver never had the whole text, claimed and recorded ones included.
    news: BTreeSet<Seq>,
    /// All others.
    repeats: BTreeSet<Seq>,
    /// Those that were taken back.
    cancelled: BTreeSet<Seq>,
    /// The number of rows that have reached each rung.
    rungs: [usize; Rung::ALL.len()],
    counts: LaneCounts,
}

/// The place of a row in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Facts {
    seq: Seq,
    state: DeliveryState,
    is_repeat: bool,
    /// Since when it has been queued, ms, and whether it is a steer.
    queued: Option<(i64, bool)>,
    offer: Option<Offered>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Offered {
    Not,
    On {
        rung: Rung,
        is_told: bool,
        at_ms: i64,
        is_ring_sent_once: bool,
    },
}

impl Facts {
    fn of(row: &LaneRow) -> Self {
        let LaneRow {
            delivery,
            offer,
            is_free,
        } = row;
        let may_be_offered = *is_free
            && matches!(
                delivery.state,
                DeliveryState::Queued | DeliveryState::Attempted | DeliveryState::Offered
            );
        let is_queued = may_be_offered && delivery.state == DeliveryState::Queued;
        let offered = offer.as_ref().map_or(Offered::Not, |offer| Offered::On {
            rung: offer.rung,
            is_told: offer.is_told,
            at_ms: offer.at_ms,
            is_ring_sent_once: offer.is_ring_sent_once(),
        });
        Self {
            seq: delivery.seq,
            state: delivery.state,
            is_repeat: delivery.is_repeat(),
            queued: is_queued.then_some((delivery.changed_ms, delivery.on_busy == OnBusy::Steer)),
            offer: may_be_offered.then_some(offered),
        }
    }
}

impl LaneIndex {
    pub(super) fn add(&mut self, row: &LaneRow) {
        self.put(&Facts::of(row), true);
    }

    pub(super) fn take_out(&mut self, row: &LaneRow) {
        self.put(&Facts::of(row), false);
    }

    /// Stays right while a row is changed.
    pub(super) fn follow<R>(
        &mut self,
        row: &mut LaneRow,
        change: impl FnOnce(&mut LaneRow) -> R,
    ) -> R {
        let before = Facts::of(row);
        let changed = change(row);
        let after = Facts::of(row);
        if before != after {
            self.put(&before, false);
            self.put(&after, true);
        }
        changed
    }

    fn put(&mut self, facts: &Facts, is_there: bool) {
        let Facts { seq, state, .. } = *facts;
        match state {
            DeliveryState::Queued => count(&mut self.counts.queued, is_there),
            DeliveryState::Attempted | DeliveryState::Offered => {
                count(&mut self.counts.on_their_way, is_there);
            }
            DeliveryState::Ambiguous => count(&mut self.counts.ambiguous, is_there),
            DeliveryState::Cancelled => put(&mut self.cancelled, seq, is_there),
            _ => {}
        }
        let shown = match facts.is_repeat {
            true => &mut self.repeats,
            false => &mut self.news,
        };
        put(shown, seq, is_there);
        if let Some((since_ms, is_steer)) = facts.queued {
            put(&mut self.queued, (!is_steer, seq), is_there);
            put(&mut self.queued_ms, (since_ms, seq), is_there);
        }
        match facts.offer {
            None => {}
            Some(Offered::Not) => put(&mut self.unoffered, seq, is_there),
            Some(Offered::On {
                rung,
                is_told,
                at_ms,
                is_ring_sent_once,
            }) => {
                count(&mut self.rungs[rung as usize], is_there);
                let told = match (rung, is_told) {
                    (Rung::Doorbell, false) => Some(&mut self.ring_unsent),
                    (Rung::Doorbell, true) => Some(&mut self.ring_sent),
                    (_, false) => Some(&mut self.untold),
                    (_, true) => None,
                };
                if let Some(told) = told {
                    put(told, seq, is_there);
                }
                let due = match (rung, is_told) {
                    (Rung::Pull, _) | (Rung::Doorbell, false) => None,
                    _ if is_ring_sent_once => Some(&mut self.ring_sent_once_ms),
                    _ => Some(&mut self.descending_ms),
                };
                if let Some(due) = due {
                    put(due, (at_ms, seq), is_there);
                }
            }
        }
    }

    pub(super) fn counts(&self) -> LaneCounts {
        self.counts
    }

    /// The queued row that is handed over next, and whether it is a steer.
    pub(in crate::delivery) fn next_queued(&self) -> Option<(Seq, bool)> {
        let (is_behind, seq) = self.queued.first()?;
        Some((*seq, !is_behind))
    }

    /// Since when the oldest queued row is queued, ms.
    pub(in crate::delivery) fn oldest_queued_ms(&self) -> Option<i64> {
        self.queued_ms.first().map(|(since_ms, _)| *since_ms)
    }

    /// The rows that are queued since then or longer, ms, oldest first.
    pub(super) fn queued_until(&self, until_ms: i64) -> impl Iterator<Item = Seq> {
        until(&self.queued_ms, until_ms)
    }

    /// The first row behind that place that is to be told of; see [`Untold`].
    pub(in crate::delivery) fn next_untold(
        &self,
        after: Option<Seq>,
        untold: Untold,
    ) -> Option<Seq> {
        let sets = [
            (&self.unoffered, untold.unoffered),
            (&self.ring_unsent, untold.ring_unsent),
            (&self.ring_sent, untold.ring_sent),
            (&self.untold, true),
        ];
        let from = after.map_or(Seq(0), |after| Seq(after.0 + 1));
        let asked = sets.into_iter().filter(|(_, is_asked)| *is_asked);
        asked
            .filter_map(|(set, _)| set.range(from..).next().copied())
            .min()
    }

    /// Whether there is a row that was not offered yet.
    pub(in crate::delivery) fn has_unoffered(&self) -> bool {
        !self.unoffered.is_empty()
    }

    /// Whether there is a row for which the doorbell is to ring.
    pub(in crate::delivery) fn has_ring_unsent(&self) -> bool {
        !self.ring_unsent.is_empty()
    }

    /// When the first of those was offered for which the doorbell rings a second time when Claude
    /// stays idle, ms.
    pub(in crate::delivery) fn first_ring_sent_once_ms(&self) -> Option<i64> {
        self.ring_sent_once_ms.first().map(|(at_ms, _)| *at_ms)
    }

    /// When the first of those was offered that descend when Claude stays idle, ms.
    pub(in crate::delivery) fn first_descending_ms(&self) -> Option<i64> {
        self.descending_ms.first().map(|(at_ms, _)| *at_ms)
    }

    /// Those of the former that were offered then or before.
    pub(in crate::delivery) fn ring_sent_once_until(
        &self,
        until_ms: i64,
    ) -> impl Iterator<Item = Seq> {
        until(&self.ring_sent_once_ms, until_ms)
    }

    /// Those of the latter that were offered then or before.
    pub(in crate::delivery) fn descending_until(&self, until_ms: i64) -> impl Iterator<Item = Seq> {
        until(&self.descending_ms, until_ms)
    }

    pub(super) fn news(&self) -> impl Iterator<Item = Seq> {
        self.news.iter().copied()
    }

    pub(super) fn repeats(
        &self,
        places: impl RangeBounds<Seq>,
    ) -> impl DoubleEndedIterator<Item = Seq> {
        self.repeats.range(places).copied()
    }

    pub(super) fn last_repeat(&self) -> Option<Seq> {
        self.repeats.last().copied()
    }

    pub(super) fn cancelled(&self) -> impl Iterator<Item = Seq> {
        self.cancelled.iter().copied()
    }

    /// The worst rung that a row has come to.
    pub(in crate::delivery) fn worst_rung(&self) -> Option<Rung> {
        let mut rungs = Rung::ALL.into_iter().rev();
        rungs.find(|rung| self.rungs[*rung as usize] > 0)
    }
}

/// Which rows are to be announced, besides the unannounced ones on a rung that is not the doorbell.
#[derive(Debug, Clone, Copy)]
pub(in crate::delivery) struct Untold {
    /// Those that were not offered yet.
    pub unoffered: bool,
    /// Those for which the doorbell is to ring.
    pub ring_unsent: bool,
    /// Those for which a doorbell rang that is gone now.
    pub ring_sent: bool,
}

fn until(rows: &BTreeSet<(i64, Seq)>, until_ms: i64) -> impl Iterator<Item = Seq> {
    let rows = rows.range(..=(until_ms, Seq(u64::MAX)));
    rows.map(|(_, seq)| *seq)
}

fn put<T: Ord>(set: &mut BTreeSet<T>, row: T, is_there: bool) {
    if is_there {
        set.insert(row);
    } else {
        set.remove(&row);
    }
}

fn count(of: &mut usize, is_there: bool) {
    if is_there {
        *of += 1;
    } else {
        *of -= 1;
    }
}
