//! [`Offer`]: one message's place on the ladder.

use super::{Moment, Rung};
use crate::id::EntryId;
use crate::trace;

/// One message's place on the ladder.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offer {
    pub(super) rung: Rung,
    pub(super) at_ms: i64,
    /// It was pushed or rung; the rungs below need nothing.
    pub(super) is_told: bool,
    /// The doorbell rang, or is to ring, a second time.
    pub(super) is_second: bool,
    /// A turn has begun since.
    pub(super) turn_began: bool,
    /// Its body was pushed to the Claude that is there, perhaps in vain.
    pub(super) was_pushed: bool,
}

impl Offer {
    pub(super) fn at(rung: Rung, at: &Moment) -> Self {
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
    pub(super) fn waits_for_ring(&self) -> bool {
        self.rung == Rung::Doorbell && !self.is_told
    }

    /// The doorbell has rung for it, as often as it was to.
    pub(super) fn is_rung(&self) -> bool {
        self.rung == Rung::Doorbell && self.is_told
    }

    /// The doorbell has rung for it, and was not asked to do so again.
    pub(super) fn is_ring_sent_once(&self) -> bool {
        self.is_rung() && !self.is_second
    }

    /// The doorbell is to ring for it a second time.
    pub(super) fn ring_again(&mut self) {
        self.is_told = false;
        self.is_second = true;
    }

    /// This way brought no proof.
    pub(super) fn descend(&mut self, id: &EntryId, at: &Moment) {
        self.descend_to(self.rung.below(), id, at);
    }

    /// The ways above this one brought no proof, or are not there.
    pub(super) fn descend_to(&mut self, rung: Rung, id: &EntryId, at: &Moment) {
        if rung != self.rung {
            trace::descends(id, rung.as_str());
        }
        *self = Self {
            was_pushed: self.was_pushed,
            ..Self::at(rung, at)
        };
    }
}
