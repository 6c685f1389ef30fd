//! Decides what goes out, and handles the answers.

use super::{
    Activity, AdapterAnswer, AttemptId, Backlog, CodexFlow, DeliveryEffect, DeliveryFact,
    DeliveryResult, EntryId, Heard, Moment, OnBusy, Outcome,
};
use crate::delivery::{Delivery, DeliveryState};

/// How often a message may leave the app-server's queue and be found in no turn: a person who goes
/// from thread to thread takes it along once or twice.
const GONE_MAX: u8 = 2;

impl CodexFlow {
    /// An idle thread that leaves its queue alone takes a turn for stopped by the human. None was:
    /// the app-server was asked to end just when it began.
    pub(super) fn release(&mut self, effects: &mut Vec<DeliveryEffect>) {
        let is_idle = self.state.activity() == Some(Activity::Idle) && !self.in_flight.is_empty();
        if is_idle && !self.state.is_paused() && std::mem::take(&mut self.is_kept) {
            effects.push(DeliveryEffect::ReleaseQueue);
        }
    }

    /// Hands the next message over when nothing is on its way.
    pub(super) fn pump(
        &mut self,
        backlog: &mut Backlog,
        at: &Moment,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        if self.state.keeps_back()
            || self.is_leaving
            || self.resting_until.is_some()
            || self.is_compacting()
        {
            return;
        }
        // What the app-server holds waits there for the end of the turn. What is to join that turn
        // does not wait with it.
        let is_free = self.in_flight.is_empty();
        let all_held = self.in_flight.iter().all(|id| {
            backlog
                .get(id)
                .is_none_or(|row| row.state == DeliveryState::Offered)
        });
        let may_overtake = all_held && self.state.is_busy();
        if !is_free && !may_overtake {
            return;
        }
        let is_free = is_free && !self.trial.runs();
        // A steer overtakes; nothing else does.
        let next = backlog
            .index_of_codex()
            .and_then(|index| index.next_queued())
            .filter(|(_, is_steer)| is_free || *is_steer)
            .and_then(|(seq, _)| backlog.of_codex(seq))
            .map(|row| (row.id.clone(), row.on_busy, row.is_repeat()));
        let Some((id, on_busy, repeat)) = next else {
            return;
        };
        if self.is_kept_for_turn(backlog, &id) {
            return;
        }
        backlog.apply(
            &id,
            DeliveryFact::AttemptBegan(at.attempt.clone()),
            at.now_ms,
        );
        backlog.goes_into(&id, self.state.thread());
        self.in_flight.push(id.clone());
        self.trial.goes_out(&id);
        effects.push(DeliveryEffect::Store(id.clone()));
        effects.push(DeliveryEffect::DeliverToAdapter {
            id,
            attempt: at.attempt.clone(),
            on_busy,
            repeat,
        });
    }

    /// Whether what was to be handed over once its row is written still is: meanwhile it may have
    /// been proven, or closed by its sender, or the human, a limit or a compaction may have come.
    pub fn may_leave(&self, backlog: &Backlog, id: &EntryId, attempt: &AttemptId) -> bool {
        let is_wanted = backlog.get(id).is_some_and(|row| {
            row.attempt.as_ref() == Some(attempt)
                && row.is_on_its_way()
                && backlog.may_be_offered(row)
                && !backlog.is_unwanted(id)
        });
        is_wanted && !self.state.keeps_back() && !self.is_compacting()
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of one input, and what every step needs"
    )]
    pub(super) fn answered(
        &mut self,
        backlog: &mut Backlog,
        life: u64,
        id: &EntryId,
        attempt: Option<&AttemptId>,
        answer: AdapterAnswer,
        at: &Moment,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        let Some(row) = backlog.get(id) else {
            // It is settled, and nothing is left to be said about it.
            return self.landed(id);
        };
        let is_late = attempt.is_some() && attempt != row.attempt.as_ref();
        if is_late {
            effects.push(DeliveryEffect::Stale {
                what: "attempt",
                of: life,
                current: self.state.life(),
            });
            return;
        }
        if !row.is_on_its_way() || backlog.is_recording_result(id, DeliveryResult::Confirmed) {
            // It is proven, or given up, or was given back already.
            return;
        }
        if matches!(answer, AdapterAnswer::Queued | AdapterAnswer::StillQueued) {
            self.asked_back.forget(id);
        }
        if !self.is_news(life, id, attempt, answer) {
            return;
        }
        match answer {
            AdapterAnswer::Queued | AdapterAnswer::StillQueued => {
                if answer == AdapterAnswer::StillQueued {
                    self.unanswered.remove(id);
                }
                self.not_taken = None;
                if backlog.apply(id, DeliveryFact::Offered, at.now_ms) {
                    effects.push(DeliveryEffect::Store(id.clone()));
                }
                if !self.in_flight.contains(id) {
                    self.in_flight.push(id.clone());
                }
                if answer == AdapterAnswer::StillQueued
                    && !self.state.is_busy()
                    && !self.state.is_paused()
                {
                    self.is_kept = true;
                }
            }
            AdapterAnswer::NotTaken => self.was_not_taken(backlog, id, at, effects),
            AdapterAnswer::TakenBack => self.was_taken_back(backlog, id, at, effects),
            AdapterAnswer::Unanswered => {
                let until = at.now_ms + self.timeouts.recovery_ms;
                self.unanswered.insert(id.clone(), until);
            }
        }
    }

    /// Whether an answer is heard for the first time.
    fn is_news(
        &mut self,
        life: u64,
        id: &EntryId,
        attempt: Option<&AttemptId>,
        answer: AdapterAnswer,
    ) -> bool {
        let known = self
            .heard
            .get(id)
            .is_some_and(|heard| heard.life == life && heard.attempt.as_ref() == attempt);
        if !known {
            let heard = Heard {
                life,
                attempt: attempt.cloned(),
                answers: Vec::new(),
            };
            self.heard.insert(id.clone(), heard);
        }
        self.heard.get_mut(id).is_some_and(|heard| {
            // Each of the two takes back the other, however often a connection is lost.
            match answer {
                AdapterAnswer::StillQueued => {
                    heard.answers.retain(|it| *it != AdapterAnswer::Unanswered);
                }
                AdapterAnswer::Unanswered => {
                    heard.answers.retain(|it| *it != AdapterAnswer::StillQueued);
                }
                _ => {}
            }
            let is_news = !heard.answers.contains(&answer);
            if is_news {
                heard.answers.push(answer);
            }
            is_news
        })
    }

    /// Nothing of it has left.
    pub(super) fn not_sent(
        &mut self,
        backlog: &mut Backlog,
        id: EntryId,
        at: &Moment,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        self.landed(&id);
        self.trial.untried(&id);
        comes_back(backlog, &id, at, effects);
    }

    fn was_not_taken(
        &mut self,
        backlog: &mut Backlog,
        id: &EntryId,
        at: &Moment,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        self.landed(id);
        self.trial.untried(id);
        if backlog.is_unwanted(id) {
            // It ends next.
            return comes_back(backlog, id, at, effects);
        }
        let row = backlog.get(id);
        let rejects = row.is_some_and(|row| row.on_busy == OnBusy::Reject && !row.is_repeat());
        if self.state.is_busy() && rejects {
            // Codex began to work before the message reached it, and its sender wants no waiting.
            return backlog.mark_recording(id, DeliveryResult::Rejected, None, None, effects);
        }
        if row.is_some_and(|row| row.state == DeliveryState::Offered) && self.is_gone_again(id) {
            return backlog.mark_recording(id, DeliveryResult::Ambiguous, None, None, effects);
        }
        comes_back(backlog, id, at, effects);
        let twice = self.not_taken.as_ref() == Some(id);
        self.not_taken = Some(id.clone());
        // Once more at once: the conversation may have moved on. A message that is refused again
        // would be offered and refused for ever.
        if !self.state.is_running() || twice {
            self.rest(at);
        }
    }

    /// Whether a message that the app-server had has been found nowhere too often: an app-server
    /// that begins turns without our id has it each time, and would do the work without end.
    fn is_gone_again(&mut self, id: &EntryId) -> bool {
        let (gone, times) = self.gone.get_or_insert_with(|| (id.clone(), 0));
        if gone != id {
            (*gone, *times) = (id.clone(), 0);
        }
        *times += 1;
        *times > GONE_MAX
    }

    /// The ledger says what became of a message.
    pub(super) fn durable(
        &mut self,
        backlog: &mut Backlog,
        id: &EntryId,
        result: DeliveryResult,
        at: &Moment,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        backlog.durable(id, result, at.now_ms, effects);
        let outcome = match result {
            DeliveryResult::Confirmed => self.outcomes.remove(id),
            DeliveryResult::Ambiguous => Some(Outcome::Ambiguous),
            // Nobody gets it, whatever the cause.
            DeliveryResult::Rejected | DeliveryResult::Cancelled | DeliveryResult::Expired => {
                Some(Outcome::Rejected)
            }
            _ => None,
        };
        let row = backlog.get(id);
        if !row.is_some_and(Delivery::is_on_its_way) {
            // Also when the operator calls ambiguous what is on its way: nobody waits for it then,
            // and the lane goes on. In the app-server's queue it would begin a turn all the same.
            let is_given_up = result == DeliveryResult::Ambiguous && self.in_flight.contains(id);
            if is_given_up && self.state.is_running() {
                effects.push(DeliveryEffect::TakeBack(id.clone()));
            }
            self.landed(id);
            if result != DeliveryResult::Confirmed {
                // It tried nothing out.
                self.trial.untried(id);
            }
        }
        if row.is_none() {
            self.heard.remove(id);
            self.outcomes.remove(id);
        }
        if let Some(outcome) = outcome {
            let id = id.clone();
            effects.push(DeliveryEffect::Receipt { id, outcome });
        }
    }
}

/// Nobody has it: its row may say that an attempt began, and nobody makes one.
pub(super) fn comes_back(
    backlog: &mut Backlog,
    id: &EntryId,
    at: &Moment,
    effects: &mut Vec<DeliveryEffect>,
) {
    if backlog.apply(id, DeliveryFact::NotTaken, at.now_ms) {
        effects.push(DeliveryEffect::Store(id.clone()));
    }
}
