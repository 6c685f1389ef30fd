//! [`Mutant`]: the real machines with one mistake put between them and what they hear and say.
//!
//! The machines know nothing of it: a mistake changes an input, an effect or a row on its way.

use std::collections::BTreeSet;

use super::fault::Fault;
use crate::agent::Agent;
use crate::delivery::{
    Admission, Backlog, CarriedFlow, CodexFlow, CodexInput, DeliveryEffect, DeliveryFact,
    DeliveryState, Ladder, LadderInput, Moment,
};
use crate::entry::{DeliveryResult, DeliveryWay};
use crate::id::EntryId;

/// What a mistake remembers of one life of the daemon; without one, nothing changes.
#[derive(Debug, Default)]
pub struct Mutant {
    fault: Option<Fault>,
    /// What went along with the first, in one text.
    glued: Vec<(EntryId, EntryId)>,
    /// What waited when the bridge came, and counts as known there.
    known: BTreeSet<EntryId>,
    /// What the doorbell rang for.
    rung: BTreeSet<EntryId>,
    /// What no hook has room for.
    to_fetch: Option<EntryId>,
}

impl Mutant {
    pub fn new(fault: Option<Fault>) -> Self {
        Self {
            fault,
            ..Self::default()
        }
    }

    fn makes(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// Hands something to the lane to Codex.
    pub fn codex(
        &mut self,
        flow: &mut CodexFlow,
        backlog: &mut Backlog,
        mut input: CodexInput,
        at: &Moment,
    ) -> Vec<DeliveryEffect> {
        if self.makes(Fault::StaleGeneration) {
            believe(&mut input, flow.state().life());
        }
        if self.makes(Fault::LimitIgnored) {
            match &mut input {
                CodexInput::TurnEnded { limited, .. } => *limited = false,
                CodexInput::LimitHolds => input = CodexInput::News,
                _ => {}
            }
        }
        let heard = input.clone();
        let mut effects = flow.apply(backlog, input, at);
        match self.fault {
            Some(Fault::Glue) => self.glue(backlog, &heard, at, &mut effects),
            Some(Fault::ClearedWithTerminal)
                if heard == (CodexInput::Terminal { attached: false }) =>
            {
                for id in queued(backlog) {
                    backlog.settle(&id);
                    effects.push(DeliveryEffect::Forget(id));
                }
            }
            Some(Fault::ResendAmbiguous) if heard == CodexInput::Tick => {
                effects.retain(|effect| match effect {
                    DeliveryEffect::Append { id, result, .. }
                        if *result == DeliveryResult::Ambiguous =>
                    {
                        backlog.not_recorded(id, *result);
                        backlog.apply(id, DeliveryFact::NotTaken, at.now_ms);
                        false
                    }
                    _ => true,
                });
            }
            Some(Fault::HeldByNobody) if heard != CodexInput::Released => {
                effects.retain(|effect| *effect != DeliveryEffect::ReleaseQueue);
            }
            Some(Fault::LeftBehindItsTurn) => {
                effects.retain(|effect| !matches!(effect, DeliveryEffect::TakeBack(_)));
            }
            _ => {}
        }
        effects
    }

    /// Everything else that waits goes along with what is handed over, and is proven with it.
    fn glue(
        &mut self,
        backlog: &mut Backlog,
        heard: &CodexInput,
        at: &Moment,
        effects: &mut Vec<DeliveryEffect>,
    ) {
        if let CodexInput::Durable {
            id,
            result: result @ DeliveryResult::Confirmed,
        } = heard
        {
            for (_, glued) in self.glued.extract_if(.., |(first, _)| first == id) {
                backlog.mark_recording(&glued, *result, Some(DeliveryWay::Queue), None, effects);
            }
        }
        let first = effects.iter().find_map(|effect| match effect {
            DeliveryEffect::DeliverToAdapter { id, .. } => Some(id.clone()),
            _ => None,
        });
        let Some(first) = first else { return };
        for id in queued(backlog) {
            let began = DeliveryFact::AttemptBegan(at.attempt.clone());
            backlog.apply(&id, began, at.now_ms);
            self.glued.push((first.clone(), id));
        }
    }

    /// Hands something to the ladder of Claude.
    pub fn ladder(
        &mut self,
        ladder: &mut Ladder,
        backlog: &mut Backlog,
        mut input: LadderInput,
        at: &Moment,
    ) -> Vec<DeliveryEffect> {
        match &input {
            LadderInput::Attached { .. } => {
                let waiting = backlog.lane(Agent::Claude);
                let waiting = waiting.filter(|row| backlog.may_be_offered(row));
                self.known = waiting.map(|row| row.id.clone()).collect();
                self.rung.clear();
            }
            LadderInput::LeftOver { to_fetch, .. } => self.to_fetch.clone_from(to_fetch),
            LadderInput::TurnWorked { .. } if self.makes(Fault::NeverRead) => {
                input = LadderInput::TurnEnded { limited: false };
            }
            LadderInput::TurnWorked { is_read, .. } if self.makes(Fault::DiedOvertaken) => {
                let (rests, is_read) = (false, *is_read);
                input = LadderInput::TurnWorked { rests, is_read };
            }
            LadderInput::TurnLost if self.makes(Fault::LostTurnKept) => {
                input = LadderInput::News;
            }
            _ => {}
        }
        let handed_out = match &input {
            LadderInput::HandedOut { whole, head } if self.makes(Fault::ReadConsumes) => {
                whole.iter().chain(head).cloned().collect()
            }
            _ => Vec::new(),
        };
        let mut effects = ladder.apply(backlog, input, at);
        for id in handed_out {
            let result = DeliveryResult::Confirmed;
            backlog.mark_recording(&id, result, Some(DeliveryWay::Pull), None, &mut effects);
        }
        match self.fault {
            Some(Fault::CursorLost) => effects.retain_mut(|effect| unless(effect, &self.known)),
            Some(Fault::BacklogStranded) => effects.retain_mut(|effect| {
                let rings = match effect {
                    DeliveryEffect::Ring { ids, .. } => ids.clone(),
                    _ => Vec::new(),
                };
                let stays = unless(effect, &self.rung);
                self.rung.extend(rings);
                stays
            }),
            _ => {}
        }
        effects
    }

    /// What a hook may carry.
    pub fn carries(&self, mut ids: Vec<EntryId>) -> Vec<EntryId> {
        if self.makes(Fault::CutOvertaken) {
            ids.retain(|id| self.to_fetch.as_ref() != Some(id));
        }
        ids
    }

    /// What turns had whose words were read.
    pub fn were_read(&self, had: Vec<EntryId>) -> Vec<EntryId> {
        match self.fault {
            Some(Fault::ReadLaterForgotten) => Vec::new(),
            _ => had,
        }
    }

    /// What the next process is told.
    pub fn carried(&self, carried: CarriedFlow) -> CarriedFlow {
        if !self.makes(Fault::LimitNotCarried) {
            return carried;
        }
        let mut value = serde_json::to_value(carried).unwrap();
        value["isLimited"] = false.into();
        serde_json::from_value(value).unwrap()
    }

    /// The answer to a request that may be the same as one before.
    pub fn admission(&self, answer: Admission) -> Admission {
        match answer {
            Admission::Undecided(id) if self.makes(Fault::DedupeBeforeAdmission) => {
                Admission::Same(id)
            }
            answer => answer,
        }
    }

    /// Whether it is heard that a request was refused.
    pub fn hears_refusals(&self) -> bool {
        !self.makes(Fault::DedupeBeforeAdmission)
    }

    /// Whether the watchdog hears that a turn waits for the human.
    pub fn hears_approvals(&self) -> bool {
        !self.makes(Fault::WatchdogDuringApproval)
    }
}

/// What waits for Codex and was not attempted.
fn queued(backlog: &Backlog) -> Vec<EntryId> {
    backlog
        .lane(Agent::Codex)
        .filter(|row| row.state == DeliveryState::Queued && backlog.may_be_offered(row))
        .map(|row| row.id.clone())
        .collect()
}

/// Takes these messages out of what tells Claude of them. `false`: nothing is left to be told.
fn unless(effect: &mut DeliveryEffect, hidden: &BTreeSet<EntryId>) -> bool {
    match effect {
        DeliveryEffect::Ring { ids, .. } => {
            ids.retain(|id| !hidden.contains(id));
            !ids.is_empty()
        }
        DeliveryEffect::Push { id, .. } => !hidden.contains(id),
        _ => true,
    }
}

/// Makes what an app-server or an attempt that is gone says look as if it were of today.
fn believe(input: &mut CodexInput, now: u64) {
    match input {
        CodexInput::ServerLost { life, .. }
        | CodexInput::Adopted { life, .. }
        | CodexInput::Activity { life, .. }
        | CodexInput::TurnStarted { life, .. }
        | CodexInput::SignIn { life, .. }
        | CodexInput::HumanMessage { life, .. }
        | CodexInput::TurnEnded { life, .. } => *life = now.max(*life),
        CodexInput::Answer { life, attempt, .. } => {
            *life = now.max(*life);
            *attempt = None;
        }
        _ => {}
    }
}
