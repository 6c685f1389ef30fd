//! [`CodexFlow`]: the lane to Codex. One message in flight, a steer overtakes, proof is the user
//! message that carries our id.
//!
//! [`CodexInput`] is what can come in, [`CodexState`] what is known of Codex itself; `pump` decides
//! what goes out.

mod asked_back;
mod carried;
mod compaction;
mod input;
mod pump;
mod recovering;
mod state;
mod trial;

use std::collections::{BTreeMap, VecDeque};

use asked_back::AskedBack;
pub use carried::CarriedFlow;
use compaction::CompactionHold;
pub use input::{Activity, AdapterAnswer, CodexInput};
pub use state::CodexState;
use trial::Trial;

use super::{Backlog, DeliveryEffect, DeliveryFact, DeliveryWay, Moment, OnBusy, Outcome};
use crate::agent::Agent;
use crate::entry::{DeliveryResult, ErrorCode, TurnStatus};
use crate::id::{AttemptId, EntryId, TurnId};

/// How many turns that have ended are remembered: more than can be told of twice, also by a history
/// that is read again.
const ENDED_MAX: usize = 256;

/// The deadlines of the lane to Codex, ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodexTimeouts {
    /// After a failure the lane rests this long before it tries again by itself.
    pub rest_ms: i64,
    /// How long recovery may take to find out about a message whose request was never answered. It
    /// waits for the thread to be idle, so this is generous.
    pub recovery_ms: i64,
    /// A message without an attempt for this long expires; `None`: never.
    pub expiry_ms: Option<i64>,
}

impl Default for CodexTimeouts {
    fn default() -> Self {
        Self {
            rest_ms: 15_000,
            recovery_ms: 60_000,
            expiry_ms: None,
        }
    }
}

/// What is known of Codex as a receiver. The messages themselves are in the [`Backlog`].
#[derive(Debug, Default)]
pub struct CodexFlow {
    timeouts: CodexTimeouts,
    state: CodexState,
    /// The turns that ended last: each ends once.
    ended: VecDeque<(TurnId, TurnStatus)>,
    trial: Trial,
    /// The app-server keeps its queue waiting, although no turn seems to run.
    is_kept: bool,
    /// Another process takes over, and delivers what waits.
    is_leaving: bool,
    /// Delivered to the app-server and not proven. One at a time, besides those of an earlier
    /// daemon and those that join a running turn while the app-server holds others.
    in_flight: Vec<EntryId>,
    /// The last message that was refused. Tried again at once only once, then after a rest.
    not_taken: Option<EntryId>,
    /// A message that left the app-server's queue and was found in no turn, and how often.
    gone: Option<(EntryId, u8)>,
    /// The last life without an available app-server, with the reason if known. While it lasts,
    /// nothing can be found out about messages in flight; the next life may fail alike.
    unavailable: Option<(u64, Option<ErrorCode>)>,
    resting_until: Option<i64>,
    compaction: Option<CompactionHold>,
    /// The messages that the running turn waits for.
    asked_back: AskedBack,
    /// Sent without an answer, each with the deadline for recovery to find out.
    unanswered: BTreeMap<EntryId, i64>,
    /// The answers about attempts that are on their way.
    heard: BTreeMap<EntryId, Heard>,
    /// The outcomes that senders get once the proof is durable.
    outcomes: BTreeMap<EntryId, Outcome>,
}

/// Answers about one attempt under one app-server. Each counts once: a repeated one is late, and
/// another answer may have followed it.
#[derive(Debug, PartialEq, Eq)]
struct Heard {
    life: u64,
    attempt: Option<AttemptId>,
    answers: Vec<AdapterAnswer>,
}

impl CodexFlow {
    /// A lane of which nothing is known yet.
    #[cfg(test)]
    pub fn new(timeouts: CodexTimeouts) -> Self {
        Self {
            timeouts,
            ..Self::default()
        }
    }

    /// Takes something in, and says what is to be done: first what follows from it, then what can
    /// go out now.
    pub fn apply(
        &mut self,
        backlog: &mut Backlog,
        input: CodexInput,
        at: &Moment,
    ) -> Vec<DeliveryEffect> {
        let mut effects = Vec::new();
        self.take(backlog, input, at, &mut effects);
        self.end_unwanted(backlog, &mut effects);
        self.release(&mut effects);
        self.pump(backlog, at, &mut effects);
        effects
    }

    /// What was not attempted for this long expires, ms; `None`: never.
    pub fn set_expiry(&mut self, expiry_ms: Option<i64>) {
        self.timeouts.expiry_ms = expiry_ms;
    }

    /// What Codex is and does.
    pub fn state(&self) -> &CodexState {
        &self.state
    }

    /// Whether it rests after a failure.
    pub fn is_resting(&self) -> bool {
        self.resting_until.is_some()
    }

    /// Whether it is worth a sender's second to wait for proof.
    pub fn may_deliver_soon(&self) -> bool {
        !self.state.keeps_back() && self.resting_until.is_none() && !self.is_compacting()
    }

    /// Whether it is known that the turn ended so.
    pub fn has_ended(&self, turn: &TurnId, status: TurnStatus) -> bool {
        let mut ended = self.ended.iter();
        ended.any(|(of, end)| of == turn && *end == status)
    }

    /// Messages were settled without it: what was heard of them is of no more use.
    pub fn forget_settled(&mut self, backlog: &Backlog) {
        self.heard.retain(|id, _| backlog.get(id).is_some());
        self.asked_back.forget_settled(backlog);
        self.outcomes.retain(|id, _| backlog.get(id).is_some());
    }

    /// Of how many messages something is remembered.
    #[cfg(any(test, feature = "testing"))]
    pub fn remembered(&self) -> usize {
        self.heard.len() + self.outcomes.len()
    }

    /// Nothing is on its way.
    pub fn is_quiet(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Something is on its way, and it can be found out what becomes of it.
    pub fn is_awaited(&self) -> bool {
        let unavailable = self.unavailable.as_ref();
        let has_none = unavailable.is_some_and(|(life, _)| *life == self.state.life());
        !self.in_flight.is_empty() && !has_none
    }

    /// Why there was no app-server to be had the last time that this was said.
    pub fn unavailable_for(&self) -> Option<&ErrorCode> {
        self.unavailable.as_ref()?.1.as_ref()
    }

    /// When something happens by itself, ms.
    pub fn next_ms(&self, backlog: &Backlog) -> Option<i64> {
        // The loop asks at each of its turns: the lane is not walked.
        let expiry = self.timeouts.expiry_ms.and_then(|expiry| {
            let oldest_ms = backlog.index_of_codex()?.oldest_queued_ms()?;
            Some(oldest_ms + expiry)
        });
        self.unanswered
            .values()
            .copied()
            .chain(self.resting_until)
            .chain(self.compaction.map(|hold| hold.until))
            .chain(self.asked_back.next_ms())
            .chain(expiry)
            .min()
    }

    fn take(
        &mut self,
        backlog: &mut Backlog,
        input: CodexInput,
        at: &Moment,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        if let Some((life, what)) = input.of_life()
            && !self.is_current(life, what, at, effects)
        {
            return;
        }
        match input {
            CodexInput::Began => self.began(backlog, at, effects),
            CodexInput::News => {}
            CodexInput::Promised { id } => backlog.promise(&id, effects),
            CodexInput::Awaited { id } => self.awaited(backlog, id, effects),
            CodexInput::Withdrawn { id } => self.withdraw(backlog, &id, effects),
            CodexInput::Tick => self.tick(backlog, at, effects),
            // That was taken in with its life.
            CodexInput::ServerStarted { .. } => {}
            CodexInput::ServerLost { gave_up, .. } => {
                self.state.server_gone();
                self.compaction = None;
                self.asked_back.begin_anew();
                if gave_up {
                    self.unavailable(None, at);
                }
            }
            CodexInput::Unavailable { code } => {
                self.state.server_gone();
                self.unavailable(Some(code), at);
            }
            CodexInput::Adopted { thread, .. } => {
                if self.state.adopt(thread) {
                    self.pause(false, effects);
                    self.can_be_found_out(at);
                }
                // Another conversation may take what this one refused, and is not compacted.
                self.not_taken = None;
                self.compaction = None;
                self.resting_until = None;
                self.asked_back.begin_anew();
            }
            CodexInput::Activity { activity, .. } => {
                let was_busy = self.state.is_busy();
                self.state.does(activity);
                if was_busy && !self.state.is_busy() {
                    self.can_be_found_out(at);
                }
                if !self.state.is_busy() {
                    self.asked_back.keep_nothing();
                }
                // Behind a turn that runs it is in its place.
                self.is_kept &= !self.state.is_busy();
            }
            CodexInput::TurnStarted { turn, .. } => {
                let runs = !self.ended.iter().any(|(ended, _)| *ended == turn);
                self.state.turn_began(turn, runs);
            }
            CodexInput::SignIn { needed, .. } => self.state.sign_in(needed),
            CodexInput::CompactionBegan { is_asked, .. } => {
                self.compaction_began(is_asked, at.now_ms);
            }
            CodexInput::Compacted { .. } => self.compacted(at.now_ms),
            CodexInput::CompactionOver { .. } => self.compaction = None,
            CodexInput::HumanMessage { turn, .. } => {
                // The human goes on, and the app-server's own queue with them.
                self.state.turn_began(turn, false);
                self.pause(false, effects);
            }
            CodexInput::Proof { id, turn, steered } => {
                self.proven(backlog, &id, turn, steered, effects);
            }
            CodexInput::TurnEnded {
                turn,
                status,
                ids,
                limited,
                died,
                ..
            } => {
                self.compaction_failed();
                let is_stopped = status == TurnStatus::Interrupted && !died;
                // Of the life that counts: one that is told late stopped nothing that runs now.
                if self.state.end_latest(&turn) && is_stopped {
                    self.pause(true, effects);
                }
                self.turn_ended(backlog, &turn, status, &ids, limited, effects);
            }
            CodexInput::Stopped { thread } => {
                if let Some(thread) = thread {
                    self.state.adopt(thread);
                }
                self.pause(true, effects);
            }
            CodexInput::Answer {
                life,
                id,
                attempt,
                answer,
            } => self.answered(backlog, life, &id, attempt.as_ref(), answer, at, effects),
            CodexInput::Wanted | CodexInput::Terminal { attached: true } => {
                self.resting_until = None
            }
            // What waits does not depend on it: turns run without a terminal.
            CodexInput::Terminal { attached: false } => {}
            CodexInput::NotSent { id } => {
                self.not_sent(backlog, id, at, effects);
                self.rest(at);
            }
            CodexInput::NotWanted { id } => self.not_sent(backlog, id, at, effects),
            CodexInput::Durable { id, result } => {
                self.durable(backlog, &id, result, at, effects);
            }
            CodexInput::NotDurable { id, result } => backlog.refuse_end(&id, result),
            CodexInput::ClaimEnded { id } => {
                backlog.take_back(&id, at.now_ms, effects);
                // Whether it was seen is not known; it comes as a turn, and says that it repeats.
                if backlog.apply(&id, DeliveryFact::NotTaken, at.now_ms) {
                    effects.push(DeliveryEffect::Store(id));
                }
            }
            CodexInput::LimitHolds => {
                self.state.rest_at_limit(true);
            }
            CodexInput::LimitOver => {
                if self.state.rests_at_limit() {
                    self.trial = Trial::Next;
                }
                self.rest_at_limit(false, effects);
            }
            CodexInput::Released => {
                self.pause(false, effects);
                self.resting_until = None;
                effects.push(DeliveryEffect::ReleaseQueue);
            }
        }
    }

    /// Whether a fact is of the app-server that counts.
    fn is_current(
        &mut self,
        life: u64,
        what: &'static str,
        at: &Moment,
        effects: &mut Vec<DeliveryEffect>,
    ) -> bool {
        if life > self.state.life() {
            // The first that is heard of it, whatever it is.
            self.new_life(life, at);
        }
        if life == self.state.life() {
            return true;
        }
        effects.push(DeliveryEffect::Stale {
            what,
            of: life,
            current: self.state.life(),
        });
        false
    }

    fn new_life(&mut self, life: u64, at: &Moment) {
        self.state.server_started(life);
        self.is_kept = false;
        self.not_taken = None;
        self.resting_until = None;
        self.compaction = None;
        self.asked_back.begin_anew();
        self.trial.begin_anew();
        self.begins_anew_to_find_out(at);
    }

    fn tick(&mut self, backlog: &mut Backlog, at: &Moment, effects: &mut Vec<DeliveryEffect>) {
        if self.resting_until.is_some_and(|until| until <= at.now_ms) {
            self.resting_until = None;
            // What is on its way is only found out about with a running app-server.
            if !self.is_quiet() && !self.state.is_running() {
                effects.push(DeliveryEffect::Wake);
            }
        }
        self.compaction.take_if(|hold| hold.until <= at.now_ms);
        self.asked_back.expire(at.now_ms);
        // Only an app-server with an idle thread can tell.
        let can_tell = self.state.is_running() && !self.state.is_busy();
        let mut overdue = Vec::new();
        for (id, until) in &mut self.unanswered {
            if *until <= at.now_ms {
                *until = at.now_ms + self.timeouts.recovery_ms;
                overdue.push(id.clone());
            }
        }
        for id in overdue.iter().filter(|_| can_tell) {
            self.give_up_knowing(backlog, id, effects);
        }
        if let Some(expiry) = self.timeouts.expiry_ms {
            backlog.expire(Agent::Codex, at.now_ms - expiry, effects);
        }
    }

    /// The app-server's proof that the message is in the conversation.
    fn proven(
        &mut self,
        backlog: &mut Backlog,
        id: &EntryId,
        turn: TurnId,
        steered: bool,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        if !backlog.is_proven_by(id, &turn) {
            return;
        }
        // Whatever else is known of it, it is no longer on its way.
        self.landed(id);
        self.not_taken = None;
        if backlog.get(id).is_none() || backlog.is_recording_result(id, DeliveryResult::Confirmed) {
            return;
        }
        let (rung, outcome) = if steered {
            (DeliveryWay::Steer, Outcome::JoinedActiveWork)
        } else {
            (DeliveryWay::Queue, Outcome::StartedNewTurn)
        };
        self.outcomes.insert(id.clone(), outcome);
        backlog.mark_recording(
            id,
            DeliveryResult::Confirmed,
            Some(rung),
            Some(turn),
            effects,
        );
    }

    fn turn_ended(
        &mut self,
        backlog: &mut Backlog,
        turn: &TurnId,
        status: TurnStatus,
        ids: &[EntryId],
        limited: bool,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        self.state.turn_over(turn);
        // That a message was in a turn is proof too, should nobody have said so before.
        for (at, id) in ids.iter().enumerate() {
            self.proven(backlog, id, turn.clone(), at > 0, effects);
        }
        if self.has_ended(turn, status) {
            return;
        }
        if self.ended.len() >= ENDED_MAX {
            self.ended.pop_front();
        }
        self.ended.push_back((turn.clone(), status));
        self.trial = Trial::None;
        if limited {
            self.rest_at_limit(true, effects);
        } else if status == TurnStatus::Completed {
            self.rest_at_limit(false, effects);
        }
        if matches!(status, TurnStatus::Interrupted | TurnStatus::Failed) {
            for id in ids.iter().filter(|id| backlog.is_proven_by(id, turn)) {
                let (id, turn) = (id.clone(), turn.clone());
                effects.push(DeliveryEffect::CutOff { id, turn });
            }
        }
    }

    fn rest_at_limit(&mut self, rests: bool, effects: &mut Vec<DeliveryEffect>) {
        if self.state.rest_at_limit(rests) {
            effects.push(DeliveryEffect::Limit(rests));
        }
    }

    fn pause(&mut self, paused: bool, effects: &mut Vec<DeliveryEffect>) {
        if self.state.pause(paused) {
            effects.push(DeliveryEffect::Paused(paused));
        }
    }

    /// No app-server is to be had.
    fn unavailable(&mut self, why: Option<ErrorCode>, at: &Moment) {
        let why = why.or_else(|| self.unavailable.take()?.1);
        self.unavailable = Some((self.state.life(), why));
        self.trial.begin_anew();
        self.rest(at);
    }

    fn rest(&mut self, at: &Moment) {
        self.resting_until = Some(at.now_ms + self.timeouts.rest_ms);
    }

    /// It is known what became of a message.
    fn landed(&mut self, id: &EntryId) {
        self.in_flight.retain(|flying| flying != id);
        self.unanswered.remove(id);
        self.asked_back.forget(id);
    }
}
