//! The project's gates: run when the operator says so, recorded as evidence.

use tokio::sync::mpsc;

use super::asked_gates::{gates_to_run, list_gates};
use super::gate_evidence::{gate_entry, release_entry};
use crate::adapters::gate::{self, GateFact, GateOrder, GateOutcome};
use crate::core::id::Seq;
use crate::core::signing::{OperatorAct, SigningState};
use crate::daemon::agents::registering::tell_agents;
use crate::daemon::base::under_way::WorkBeside;
use crate::daemon::decisions::gates::ReleaseEnd;
use crate::daemon::decisions::signing::check_act;
use crate::daemon::event::Event;
use crate::daemon::owners::{Base, Decisions};
use crate::daemon::reply::{ReplySender, answer};
use crate::daemon::supervise::supervise;
use crate::wire::control::{
    Recorded, Refusal, ReleaseOutcome, ReleaseToSign, Reply, RunGatesParams, SignReleaseParams,
};

/// How many facts of a gate may wait for the loop. What is only shown is left out beyond.
const FACTS_WAITING: usize = 4;

impl Decisions {
    pub(super) fn run_gates(
        &mut self,
        base: &mut Base,
        params: &RunGatesParams,
    ) -> Result<Reply, Refusal> {
        let gates = gates_to_run(&self.gates, &base.configuration, params)?;
        self.gates.begin(gates, params.release);
        self.next_gate(base);
        let world = base.recorder.world();
        Ok(list_gates(&self.gates, &base.configuration, world))
    }

    /// Begins the next gate of the run, or ends the run.
    pub(super) fn next_gate(&mut self, base: &mut Base) {
        let session = base.recorder.session_id();
        let next = self.gates.next(base.clock.now_ms(), session);
        base.clients.status_changed();
        let Some((gate, stop)) = next else {
            return self.gates_done(base);
        };
        let Some(events) = base.events.upgrade() else {
            return;
        };
        let user = base.configuration.user();
        let worktrees = user.map(|user| user.worktrees(&base.dirs.instance_id()));
        let registry = user.map(|user| user.registry.clone());
        let order = GateOrder {
            gate,
            began_after: base.recorder.world().seq,
            registry: registry.unwrap_or_default(),
            worktrees: worktrees.unwrap_or_default(),
            root: base.dirs.root.clone(),
            hold_program: base.identity.own_program().to_owned(),
        };
        let (told, mut facts) = mpsc::channel(FACTS_WAITING);
        let follow = async move {
            while let Some(fact) = facts.recv().await {
                if let GateFact::Began { pid, keeper } = &fact {
                    // It is the project's own code, which an agent may have written.
                    tell_agents(&events, vec![*pid, *keeper]).await;
                }
                if events.send(Event::Gate(fact)).await.is_err() {
                    break;
                }
            }
        };
        let failed = Event::WorkFailed {
            what: WorkBeside::Gate,
            under_way: None,
        };
        // As one, so that nothing of a gate that failed is told behind its end.
        let run = async move {
            tracing::debug!("a gate begins");
            tokio::join!(gate::run(order, stop, told), follow);
        };
        supervise(base.events.clone(), failed, run);
    }

    /// The run under which a gate failed by a fault of ours proves nothing: it is over.
    pub(in crate::daemon) fn gate_failed(&mut self, base: &mut Base, why: String) {
        self.gates.give_up(why);
        self.next_gate(base);
    }

    pub(in crate::daemon) fn on_gate(&mut self, base: &mut Base, fact: GateFact) {
        match fact {
            // Said before.
            GateFact::Began { .. } => {}
            GateFact::Printed(text) => {
                // The status shows it, which agents can read as well.
                let (text, _) = base.recorder.redactor().redact_text(&text);
                if self.gates.printed(&text) {
                    base.clients.status_changed();
                }
            }
            GateFact::Ended(outcome) => {
                base.work_done(&WorkBeside::Gate);
                self.append_gate(base, *outcome);
            }
        }
    }

    fn append_gate(&self, base: &mut Base, mut outcome: GateOutcome) {
        if !self.gates.began_in(base.recorder.session_id()) {
            // Before all of this session, whatever number was its last in the one before.
            outcome.run.began_after = Some(Seq(0));
        }
        let entry = gate_entry(&base.recorder, &base.configuration, outcome.clone());
        base.recorder.append(
            vec![entry],
            Box::new(move |daemon, result| {
                let Err(refusal) = result else {
                    return daemon.decisions.next_gate(&mut daemon.base);
                };
                // Without room for a long text the end of it is better than no evidence.
                let redactor = daemon.base.recorder.redactor();
                if let Some(brief) = outcome.brief(redactor) {
                    return daemon.decisions.append_gate(&mut daemon.base, brief);
                }
                tracing::warn!(code = %refusal.code, "a gate could not be recorded");
                daemon.decisions.gates.give_up(refusal.message.clone());
                daemon.decisions.next_gate(&mut daemon.base);
            }),
        );
    }

    /// No gate is left to run.
    fn gates_done(&mut self, base: &mut Base) {
        let release = self.gates.release();
        let of = |ran: &[String]| release_entry(&base.recorder, &base.configuration, ran);
        let Some((entry, to_sign)) = release.map(of) else {
            return self.end_gates(base, ReleaseEnd::None);
        };
        let signing = base.recorder.world().signing.as_ref();
        if signing.is_some_and(SigningState::signs_acts) {
            return self.end_gates(base, ReleaseEnd::Unsigned(Box::new(entry), to_sign));
        }
        let (id, outcome) = (entry.id.clone(), ReleaseOutcome::of(&entry));
        base.recorder.append(
            vec![entry],
            Box::new(move |daemon, result| {
                daemon.decisions.end_gates(
                    &mut daemon.base,
                    match result {
                        Ok(_) => ReleaseEnd::Recorded(id, outcome),
                        Err(_) => ReleaseEnd::None,
                    },
                );
            }),
        );
    }

    fn end_gates(&mut self, base: &mut Base, release: ReleaseEnd) {
        if let Some(proposal) = self.gates.end(release) {
            base.gates_ran_for(proposal);
        }
        base.clients.status_changed();
        // One that needs no gate any more begins none.
        while let Some((proposal, changed)) = self.gates.next_proposal() {
            self.begin_sign_off(base, &proposal, changed.as_ref());
        }
    }

    /// Records what the last release gate came to, once the operator has signed it.
    pub(super) fn sign_release(
        &self,
        base: &mut Base,
        params: SignReleaseParams,
        reply: ReplySender,
    ) {
        let Some((entry, to_sign)) = self.gates.unsigned(params.run) else {
            let refusal = Refusal::wrong_state(
                "no release gate of that run waits for a signature",
                "run it again: `ctxrelay release-gate`",
            );
            return answer(reply, Err(refusal));
        };
        let signature = &params.signature;
        let ReleaseToSign {
            subject, verdict, ..
        } = to_sign;
        let signed = Some(signature).filter(|signed| signed.tree == to_sign.tree);
        if let Err(refusal) = check_act(
            &base.recorder,
            OperatorAct::Release,
            signed,
            subject,
            verdict,
        ) {
            return answer(reply, Err(refusal));
        }
        let mut entry = entry.clone();
        signature.put_on(&mut entry);
        base.recorder.append(
            vec![entry],
            Box::new(move |daemon, result| {
                let recorded = result.map(|stored| Recorded::of(&stored[0].entry));
                if let Ok(recorded) = &recorded {
                    daemon.decisions.gates.signed(recorded.entry_id.clone());
                }
                answer(reply, recorded.map(Reply::Recorded).map_err(Clone::clone));
            }),
        );
    }
}
