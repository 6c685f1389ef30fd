//! The project's gates: run when the operator says so, recorded as evidence.

use tokio::sync::mpsc;

use super::checks::{not_found, shortened};
use crate::adapters::gate::{self, GateFact, GateOrder, GateOutcome};
use crate::core::agent::Party;
use crate::core::entry::{
    Artifact, ArtifactKind, ArtifactStatus, Entry, EntryKind, GateRun, WorkTree,
};
use crate::core::id::Seq;
use crate::core::signing::{OperatorAct, SigningState};
use crate::core::snapshot::{GateInForce, GateSnapshot, TreeInQuestion};
use crate::daemon::agents::registering::tell_agents;
use crate::daemon::base::under_way::WorkBeside;
use crate::daemon::decisions::gates::ReleaseEnd;
use crate::daemon::decisions::signing::check_act;
use crate::daemon::event::Event;
use crate::daemon::owners::{Base, Decisions};
use crate::daemon::reply::{ReplySender, answer};
use crate::daemon::supervise::supervise;
use crate::wire::config::Gate;
use crate::wire::control::{
    GateReport, GatesReport, Recorded, Refusal, ReleaseOutcome, ReleaseToSign, Reply,
    RunGatesParams, SignReleaseParams,
};

/// How many facts of a gate may wait for the loop. What is only shown is left out beyond.
const FACTS_WAITING: usize = 4;

/// How much of a tree's id a sentence names.
const TREE_CHARS: usize = 12;

impl Decisions {
    pub(super) fn list_gates(&self, base: &Base) -> Reply {
        let (gates, world) = (base.configuration.told_gates(), base.recorder.world());
        let gates = gates.iter().map(|gate| GateReport::of(gate, world));
        Reply::Gates(GatesReport {
            gates: gates.collect(),
            running: self.gates.number(),
            ended: self.gates.ended().cloned(),
        })
    }

    pub(super) fn run_gates(
        &mut self,
        base: &mut Base,
        params: &RunGatesParams,
    ) -> Result<Reply, Refusal> {
        let gates = self.gates_to_run(base, params)?;
        self.gates.begin(gates, params.release);
        self.next_gate(base);
        Ok(self.list_gates(base))
    }

    pub(super) fn stop_gates(&mut self) -> Result<Reply, Refusal> {
        if self.gates.stop() {
            return Ok(Reply::Done);
        }
        Err(Refusal::wrong_state(
            "no gate is running",
            "see `ctxrelay gates list`",
        ))
    }

    fn gates_to_run(&self, base: &Base, params: &RunGatesParams) -> Result<Vec<Gate>, Refusal> {
        if !self.gates.is_idle() {
            return Err(Refusal::in_flight(
                "gates are running",
                "wait for their end, or stop them: `ctxrelay gates list` says how",
            ));
        }
        let gates = base.configuration.gates();
        let told = base.configuration.told_gates();
        if let Some(refusal) = cannot_run(&told, |gate| params.names.contains(&gate.name)) {
            return Err(refusal);
        }
        if let Some(name) = params.names.iter().find(|name| !has(gates, name)) {
            let known: Vec<&str> = gates.iter().map(|gate| gate.name.as_str()).collect();
            let hint = match known.as_slice() {
                [] => "no gate is in force: `ctxrelay trust --show`".to_owned(),
                known => format!("in force are: {}", known.join(", ")),
            };
            let shown = shortened(name);
            return Err(not_found(&format!("gate {shown}"), &hint));
        }
        let is_chosen = |gate: &&Gate| match params.names.as_slice() {
            [] => !params.release || gate.required,
            names => names.contains(&gate.name),
        };
        let chosen: Vec<Gate> = gates.iter().filter(is_chosen).cloned().collect();
        if chosen.is_empty() {
            if let Some(refusal) = cannot_run(&told, |_| true) {
                return Err(refusal);
            }
            return Err(Refusal::wrong_state(
                "there is no gate to run",
                "name commands in `gates` of config.json and trust them: `ctxrelay trust`",
            ));
        }
        Ok(chosen)
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
        let entry = base.gate_entry(outcome.clone());
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
        let Some((entry, to_sign)) = release.map(|ran| base.release_entry(ran)) else {
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

impl Base {
    fn gate_entry(&self, outcome: GateOutcome) -> Entry {
        let GateOutcome {
            status,
            run,
            output,
        } = outcome;
        let how = in_words(status, &run);
        let on = on_tree(run.tree.as_ref(), run.stale);
        let on = format!("{on}{}", beside(&run));
        let setup = match self.setup_of(&run) {
            Some(setup) => format!("$ {setup}\n"),
            None => String::new(),
        };
        let (name, cmd) = (&run.gate, &run.cmd);
        let content = format!("gate {name} {how}{on}\n{setup}$ {cmd}\n{output}");
        let artifact = Artifact {
            kind: ArtifactKind::TestReport,
            title: run.gate.clone(),
            summary: format!("{how}{on}"),
            status,
            evidence: vec![run.cmd.clone()],
            verified: Some(run),
            ran: None,
        };
        self.evidence(artifact, content)
    }

    /// What was run before a gate, if this is how it is trusted now.
    fn setup_of(&self, run: &GateRun) -> Option<&str> {
        let mut gates = self.configuration.gates().iter();
        gates.find(|gate| gate.spec() == run.spec)?.setup.as_deref()
    }

    /// What the daemon itself says of what was run.
    fn evidence(&self, artifact: Artifact, content: String) -> Entry {
        let kind = EntryKind::Artifact(artifact);
        self.recorder
            .entry(Party::System, None, kind, content, None)
    }

    /// One artifact about all that was run.
    fn release_entry(&self, ran: &[String]) -> (Entry, ReleaseToSign) {
        let world = self.recorder.world();
        let ran = ran.iter();
        let ran: Vec<&GateSnapshot> = ran.filter_map(|name| world.gates.get(name)).collect();
        let tree = ran.first().and_then(|first| first.run.tree.clone());
        let since = ran.iter().map(|gate| gate.began_after()).min();
        let mut gates = self.configuration.told_gates();
        // What all of them came to; which of them a proposal needs is another question.
        gates.iter_mut().for_each(|gate| gate.when.clear());
        let on = TreeInQuestion {
            tree: tree.as_ref(),
            since,
            ..TreeInQuestion::default()
        };
        let mut red = world.gate_blockers(&gates, &on);
        // On the commit alone each of them may be green; a release is all that lies there.
        let required = gates.iter().filter(|gate| gate.required);
        for gap in required.filter_map(|gate| world.gap_blocker(gate, on.tree)) {
            if !red.contains(&gap) {
                red.push(gap);
            }
        }
        let lines: Vec<String> = ran
            .iter()
            .map(|gate| format!("{}: {} · entry {}", gate.run.gate, gate.how(), gate.seq))
            .collect();
        let status = match red.is_empty() {
            true => ArtifactStatus::Passed,
            false => ArtifactStatus::Failed,
        };
        let on = on_tree(tree.as_ref(), false);
        let summary = match red.is_empty() {
            true if ran.len() == 1 => format!("the one required gate is green{on}"),
            true => format!("all {} required gates are green{on}", ran.len()),
            false => red.join("; "),
        };
        let content = format!("release gate: {summary}\n{}", lines.join("\n"));
        let artifact = Artifact {
            kind: ArtifactKind::ReleaseGate,
            title: "release gate".to_owned(),
            summary,
            status,
            evidence: lines,
            ..Artifact::default()
        };
        let runs: Vec<&str> = ran.iter().map(|gate| gate.id.as_str()).collect();
        let to_sign = ReleaseToSign {
            subject: runs.join(","),
            tree: WorkTree::pin(tree.as_ref()).to_owned(),
            verdict: artifact.status.as_str().to_owned(),
        };
        (self.evidence(artifact, content), to_sign)
    }
}

/// That one of these gates cannot be run, if there is such a one.
fn cannot_run(gates: &[GateInForce], is_meant: impl Fn(&GateInForce) -> bool) -> Option<Refusal> {
    let gate = gates
        .iter()
        .find(|gate| gate.unreadable.is_some() && is_meant(gate))?;
    let why = gate.unreadable.as_deref().unwrap_or_default();
    Some(Refusal::wrong_state(
        format!("gate {} cannot be run: {why}", gate.name),
        "mend it in config.json and trust it: `ctxrelay trust`",
    ))
}

fn has(gates: &[Gate], name: &str) -> bool {
    gates.iter().any(|gate| gate.name == name)
}

fn in_words(status: ArtifactStatus, run: &GateRun) -> String {
    let seconds = format!("{:.1} s", run.duration_ms as f64 / 1_000.0);
    let what = if run.setup_failed { "its setup " } else { "" };
    match (status, run.exit_code) {
        (ArtifactStatus::Passed, _) => format!("passed after {seconds}"),
        (ArtifactStatus::TimedOut, _) => {
            format!("{what}was not done after {seconds} and was ended")
        }
        (ArtifactStatus::Skipped, _) => format!("was stopped after {seconds}"),
        (ArtifactStatus::Blocked, _) => run
            .why
            .clone()
            .unwrap_or_else(|| "could not begin".to_owned()),
        (_, Some(code)) => format!("{what}failed with exit code {code} after {seconds}"),
        (_, None) => format!("{what}failed after {seconds}"),
    }
}

/// Where it ran that is not the project, and what it did not cover there; which files it may not have
/// seen as they lie there.
fn beside(run: &GateRun) -> String {
    if let Some(files) = &run.rewritten {
        let files = files.in_words();
        return format!(", REWRITTEN meanwhile: {files}: nobody knows what it saw of them");
    }
    let Some(isolated) = &run.isolated else {
        return String::new();
    };
    match isolated.gap() {
        Some(gap) => format!(", in a work tree of its own: NOT COVERED: {gap}"),
        None => ", in a work tree of its own".to_owned(),
    }
}

fn on_tree(tree: Option<&WorkTree>, is_stale: bool) -> String {
    match tree {
        None => String::new(),
        Some(tree) => {
            let id: String = tree.tree.chars().take(TREE_CHARS).collect();
            let stale = if is_stale {
                ", which changed meanwhile: STALE"
            } else {
                ""
            };
            format!(" on tree {id}{stale}")
        }
    }
}
