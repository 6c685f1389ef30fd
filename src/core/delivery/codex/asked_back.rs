//! Takes back a message that lies in the app-server's queue behind the very turn that waits for it.
//!
//! The turn cannot end before it has the message, and the message would begin the next turn. So it
//! is requested back, and the waiting call in that turn gets it. If the app-server does not give it
//! back, it has begun as a turn, or nobody can tell: then nothing changes.

use super::pump::comes_back;
use super::{Agent, Backlog, CodexFlow, DeliveryEffect, EntryId, Moment};
use crate::delivery::{Delivery, DeliveryState};

/// How long a message that was taken back is kept for a call of the turn, ms: its text may have to
/// be read. After that, or as soon as no turn runs, it goes out again.
const KEPT_MS: i64 = 2_000;

/// Messages that we asked back, and the one that was given back.
#[derive(Debug, Default)]
pub(super) struct AskedBack {
    /// Asked back since they were reported in the queue: once for each report.
    asked: Vec<EntryId>,
    /// The message that was given back, kept until this time.
    kept: Option<(EntryId, i64)>,
}

impl AskedBack {
    /// It is known where the message is; it may be asked for again.
    pub(super) fn forget(&mut self, id: &EntryId) {
        self.asked.retain(|asked| asked != id);
    }

    /// Messages were settled without the lane.
    pub(super) fn forget_settled(&mut self, backlog: &Backlog) {
        self.asked.retain(|id| backlog.get(id).is_some());
    }

    /// Nothing is kept any more: who would have asked asks no longer.
    pub(super) fn keep_nothing(&mut self) {
        self.kept = None;
    }

    /// Another app-server or thread: what was asked of the one before is not answered.
    pub(super) fn begin_anew(&mut self) {
        *self = Self::default();
    }

    /// When what is kept goes out again, ms.
    pub(super) fn next_ms(&self) -> Option<i64> {
        self.kept.as_ref().map(|(_, until)| *until)
    }

    pub(super) fn expire(&mut self, now_ms: i64) {
        self.kept.take_if(|(_, until)| *until <= now_ms);
    }

    /// Whether this one is kept for a call of the turn.
    pub(super) fn keeps(&self, id: &EntryId) -> bool {
        self.kept.as_ref().is_some_and(|(kept, _)| kept == id)
    }
}

impl CodexFlow {
    /// Whether the message is in the app-server's queue, and could be asked back.
    pub fn is_in_its_queue(&self, backlog: &Backlog, id: &EntryId) -> bool {
        let row = backlog.get(id);
        let is_in_queue = row
            .is_some_and(|row| row.state == DeliveryState::Offered && backlog.may_be_offered(row));
        is_in_queue && self.in_flight.contains(id) && self.state.is_running() && !self.is_leaving
    }

    /// Whether it lies there behind a turn that runs, and was not asked back yet.
    fn may_ask_back(&self, backlog: &Backlog, id: &EntryId) -> bool {
        self.is_in_its_queue(backlog, id)
            && self.state.is_busy()
            && !self.asked_back.asked.contains(id)
    }

    /// What could be asked back for the turn that runs.
    pub fn to_ask_back<'a>(&'a self, backlog: &'a Backlog) -> impl Iterator<Item = &'a EntryId> {
        let in_flight = self.in_flight.iter();
        in_flight.filter(|id| self.may_ask_back(backlog, id))
    }

    /// The turn that runs waits for the message.
    pub(super) fn awaited(
        &mut self,
        backlog: &Backlog,
        id: EntryId,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        if self.may_ask_back(backlog, &id) {
            self.asked_back.asked.push(id.clone());
            effects.push(DeliveryEffect::TakeBack(id));
        }
    }

    /// The operator takes it back: it is cancelled once it is not in the queue any more. One that has
    /// begun a turn meanwhile is not given back, and its proof tells.
    pub(super) fn withdraw(
        &mut self,
        backlog: &mut Backlog,
        id: &EntryId,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        if !self.is_in_its_queue(backlog, id) {
            return;
        }
        if !backlog.is_unwanted(id) {
            // A turn may have asked for it in vain.
            self.asked_back.forget(id);
        }
        backlog.withdraw(id, effects);
    }

    /// What nobody is to get any more ends once it is nowhere, and is asked back once it is in the
    /// queue.
    pub(super) fn end_unwanted(
        &mut self,
        backlog: &mut Backlog,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        backlog.end_unwanted(Agent::Codex, effects);
        let backlog = &*backlog;
        for id in backlog.unwanted() {
            if self.is_in_its_queue(backlog, id) && !self.asked_back.asked.contains(id) {
                self.asked_back.asked.push(id.clone());
                effects.push(DeliveryEffect::TakeBack(id.clone()));
            }
        }
    }

    /// It is not in the queue any more, and has begun nothing.
    pub(super) fn was_taken_back(
        &mut self,
        backlog: &mut Backlog,
        id: &EntryId,
        at: &Moment,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        self.landed(id);
        self.trial.untried(id);
        comes_back(backlog, id, at, effects);
        // What is unwanted ends next, as any that waits and nobody has.
        if self.state.is_busy() && !backlog.is_unwanted(id) {
            self.asked_back.kept = Some((id.clone(), at.now_ms + KEPT_MS));
        }
    }

    /// Whether a message that could go out is kept for the turn that waits for it.
    pub(super) fn is_kept_for_turn(&mut self, backlog: &Backlog, id: &EntryId) -> bool {
        let waits = |row: &Delivery| row.state == DeliveryState::Queued;
        self.asked_back
            .kept
            .take_if(|(kept, _)| !backlog.get(kept).is_some_and(waits));
        self.asked_back.keeps(id)
    }
}
