//! Claims: texts on their way to an agent that asked, or pushed to one. Nobody else gets a claimed
//! message.

use super::Backlog;
use crate::delivery::{Delivery, DeliveryEffect, DeliveryFact, DeliveryState, Shown};
use crate::id::{AttemptId, EntryId};

/// A text is on its way to an agent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    /// How long it may take after it has left, ms.
    takes_ms: i64,
    /// When it counts as taken or not; unknown until it has left, however long its row takes.
    until_ms: Option<i64>,
    /// The row before the claim.
    before: BeforeClaim,
    /// It has left this process.
    has_left: bool,
}

impl Claim {
    pub(super) fn is_leaving(&self) -> bool {
        self.until_ms.is_none()
    }
}

/// The fields of a row that a claim changes.
#[derive(Debug, Clone, Copy)]
struct BeforeClaim {
    shown: Shown,
    state: DeliveryState,
    attempts: u32,
    changed_ms: i64,
}

impl BeforeClaim {
    fn of(row: &Delivery) -> Self {
        Self {
            shown: row.shown,
            state: row.state,
            attempts: row.attempts,
            changed_ms: row.changed_ms,
        }
    }

    /// Returns whether the row changes. It keeps the name of the attempt: answers about that one
    /// still come, and its row may be on disk.
    fn put_back(self, row: &mut Delivery) -> bool {
        let was_shown = std::mem::replace(&mut row.shown, self.shown) != self.shown;
        // A state that it has come to since the claim stays.
        let was_attempted = row.state == DeliveryState::Attempted && row.attempts != self.attempts;
        if was_attempted {
            row.state = self.state;
            row.attempts = self.attempts;
            row.changed_ms = self.changed_ms;
        }
        was_shown || was_attempted
    }
}

impl Backlog {
    /// Whether its body is on its way to somebody who asked.
    pub fn is_claimed(&self, id: &EntryId) -> bool {
        self.claims.contains_key(id)
    }

    /// Whether its body is about to leave, and waits for its row.
    pub fn is_leaving(&self, id: &EntryId) -> bool {
        self.claims.get(id).is_some_and(Claim::is_leaving)
    }

    /// Its body is no longer here: from now on it may take until the claim ends.
    pub fn sent(&mut self, id: &EntryId, now_ms: i64) {
        if let Some(claim) = self.claims.get_mut(id) {
            claim.until_ms = Some(now_ms + claim.takes_ms);
        }
    }

    /// As [`Self::sent`], and somebody has it: it cannot be taken back until it is known whether it
    /// arrived.
    pub fn left(&mut self, id: &EntryId, now_ms: i64) {
        self.sent(id, now_ms);
        if let Some(claim) = self.claims.get_mut(id) {
            claim.has_left = true;
        }
    }

    /// It was pushed: somebody has it, unless channels are off, where nobody hears of it.
    pub fn pushed(&mut self, id: &EntryId, now_ms: i64) {
        match self.get(id).is_some_and(|row| row.shown == Shown::Whole) {
            true => self.left(id, now_ms),
            false => {
                self.sent(id, now_ms);
                // What did leave counts, whatever becomes of another copy.
                let now = self.get(id).map(BeforeClaim::of);
                if let (Some(now), Some(claim)) = (now, self.claims.get_mut(id)) {
                    claim.before = now;
                }
            }
        }
    }

    /// Whether its body has left for somebody who asked, and is not known to have arrived.
    pub fn has_left(&self, id: &EntryId) -> bool {
        self.claims.get(id).is_some_and(|claim| claim.has_left)
    }

    /// Whether that is so of a message of which the receiver has had no more than the beginning.
    pub fn is_cut_claimed(&self, id: &EntryId) -> bool {
        let is_cut = self.get(id).is_some_and(|row| row.shown == Shown::Head);
        let claim = self.claims.get(id);
        claim.is_some_and(|claim| is_cut || claim.before.shown == Shown::Head)
    }

    /// Whether it was pushed a moment ago to a Claude that nothing has shown to hear pushes: it may
    /// cross what a hook carries.
    pub fn is_pushed_unheard(&self, id: &EntryId) -> bool {
        // An agent that asks for a message is shown at least its beginning.
        let is_unseen = |row: &Delivery| row.is_on_its_way() && row.shown == Shown::Nothing;
        self.is_claimed(id) && self.get(id).is_some_and(is_unseen)
    }

    /// Whether bodies are on their way to somebody who asked.
    pub fn has_claims(&self) -> bool {
        !self.claims.is_empty()
    }

    /// So much of its text goes to an agent that reads it at once; nobody else gets it until it is
    /// known whether it arrived, or that took longer than `takes_ms` from when it is [sent](Self::sent).
    pub fn claim(
        &mut self,
        id: &EntryId,
        shown: Shown,
        attempt: &AttemptId,
        takes_ms: i64,
        now_ms: i64,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        let Some(now) = self.get(id).map(BeforeClaim::of) else {
            return;
        };
        // Two copies that wait for the same row: if neither leaves, there was no attempt.
        let leaving = self.claims.get(id).filter(|claim| claim.is_leaving());
        let before = leaving.map_or(now, |claim| claim.before);
        let claim = Claim {
            takes_ms,
            until_ms: None,
            before,
            // One that is asked for again may be there already.
            has_left: self.has_left(id),
        };
        self.claims.insert(id.clone(), claim);
        self.look_whether_free(id);
        if self.apply(id, DeliveryFact::HandedOut(attempt.clone(), shown), now_ms) {
            effects.push(DeliveryEffect::Store(id.clone()));
        }
    }

    /// Its text did not leave after all: the attempt counts for nothing. Its row may be on disk
    /// already and say otherwise.
    pub fn take_back(&mut self, id: &EntryId, now_ms: i64, effects: &mut Vec<DeliveryEffect>) {
        if self.has_left(id) {
            // Another time it did, and may be there already.
            self.sent(id, now_ms);
            return;
        }
        let Some(claim) = self.end_claim(id) else {
            return;
        };
        let taken_back = self.change(id, |row| claim.before.put_back(&mut row.delivery));
        if taken_back == Some(true) {
            effects.push(DeliveryEffect::Store(id.clone()));
        }
    }

    /// When the next claim runs out, ms.
    pub fn next_claim_ms(&self) -> Option<i64> {
        self.claims
            .values()
            .filter_map(|claim| claim.until_ms)
            .min()
    }

    /// Ends the claims whose time is over: nobody said that these messages arrived.
    pub fn expire_claims(&mut self, now_ms: i64) -> Vec<EntryId> {
        let expired: Vec<EntryId> = self
            .claims
            .iter()
            .filter(|(_, claim)| claim.until_ms.is_some_and(|until| until <= now_ms))
            .map(|(id, _)| id.clone())
            .collect();
        for id in &expired {
            self.end_claim(id);
        }
        expired
    }

    /// Its text is on its way to nobody any more.
    pub(super) fn end_claim(&mut self, id: &EntryId) -> Option<Claim> {
        let claim = self.claims.remove(id)?;
        self.look_whether_free(id);
        Some(claim)
    }
}
