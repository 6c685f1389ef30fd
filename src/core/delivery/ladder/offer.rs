//! [`Offer`]: one message's place on the ladder; [`Bridge`]: whom it is offered through.

use super::{DeliveryMode, Rung};
use crate::delivery::Moment;
use crate::id::EntryId;
use crate::trace;

/// The bridge that gets the deliveries.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bridge {
    pub(super) id: u64,
    pub(super) process: Option<u32>,
    pub(super) mode: DeliveryMode,
    /// Until then a doorbell may still come.
    pub(super) bell_due: i64,
}

/// One message's place on the ladder.
#[derive(Debug, Clone, Copy)]
pub(in crate::delivery) struct Offer {
    pub(in crate::delivery) rung: Rung,
    pub(in crate::delivery) at_ms: i64,
    /// It was pushed or rung; the rungs below need nothing.
    pub(in crate::delivery) is_told: bool,
    /// The doorbell rang, or is to ring, a second time.
    pub(in crate::delivery) is_second: bool,
    /// A turn has begun since.
    pub(in crate::delivery) turn_began: bool,
    /// Its body was pushed to the Claude that is there, perhaps in vain.
    pub(in crate::delivery) was_pushed: bool,
}

impl Offer {
    pub(in crate::delivery) fn at(rung: Rung, at: &Moment) -> Self {
        Self {
            rung,
            at_ms: at.now_ms,
            is_told: false,
            is_second: false,
            turn_began: false,
            was_pushed: false,
        }
    }

    /// The doorbell is to ring for it.
    pub(in crate::delivery) fn waits_for_ring(&self) -> bool {
        self.rung == Rung::Doorbell && !self.is_told
    }

    /// The doorbell has rung for it, and was not asked to do so again.
    pub(in crate::delivery) fn is_ring_sent_once(&self) -> bool {
        self.rung == Rung::Doorbell && self.is_told && !self.is_second
    }

    /// The doorbell is to ring for it a second time.
    pub(in crate::delivery) fn ring_again(&mut self) {
        self.is_told = false;
        self.is_second = true;
    }

    /// This way brought no proof.
    pub(in crate::delivery) fn descend(&mut self, id: &EntryId, at: &Moment) {
        self.descend_to(self.rung.below(), id, at);
    }

    /// The ways above this one brought no proof, or are not there.
    pub(in crate::delivery) fn descend_to(&mut self, rung: Rung, id: &EntryId, at: &Moment) {
        if rung != self.rung {
            trace::descends(id, rung.as_str());
        }
        *self = Self {
            was_pushed: self.was_pushed,
            ..Self::at(rung, at)
        };
    }
}
