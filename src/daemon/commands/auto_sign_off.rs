//! Mode `auto`: the gates sign off. The daemon runs the required gates once a proposal is recorded,
//! and approves it if all are green on exactly the tree that was proposed and nothing else blocks
//! it. In every other case the proposal waits for the operator, and its agent is told why.

use super::verdict::DecisionVerdict;
use crate::core::agent::Party;
use crate::core::delivery::OnBusy;
use crate::core::entry::{EntryKind, Message, TreeFound, WorkTree};
use crate::core::id::EntryId;
use crate::core::policy::SignOffMode;
use crate::core::snapshot::{
    ChangedFiles, GateInForce, GateStatus, ProposalSnapshot, Snapshot, ToldBlockers, TreeInQuestion,
};
use crate::daemon::base::configuration::Configuration;
use crate::daemon::deliveries::envelope::note_head;
use crate::daemon::event::TreePurpose;
use crate::daemon::owners::{Base, Decisions};
use crate::wire::config::Gate;

/// How many reasons an agent is told.
const REASONS_MAX: usize = 10;

impl Decisions {
    /// A proposal was recorded: in mode `auto` the gates that it needs are run now, or behind the
    /// run that is under way.
    pub(super) fn begin_sign_off(
        &mut self,
        base: &mut Base,
        proposal: &EntryId,
        changed: Option<&ChangedFiles>,
    ) {
        if base.sign_off() != SignOffMode::Auto {
            return;
        }
        if !self.gates.is_idle() {
            // What is trusted, and whether it still waits, is looked at when its turn comes.
            return self.gates.put_behind(proposal.clone(), changed.cloned());
        }
        let world = base.recorder.world();
        let Some(pending) = world.pending_proposals.get(proposal) else {
            return;
        };
        let on = question(pending, pending.proposal.tree.as_ref(), changed);
        // Without git nothing names what would be approved.
        if on.tree.is_none() {
            return;
        }
        let is_needed =
            |gate: &&Gate| gate.required && world.is_needed(&GateInForce::from(*gate), &on);
        let gates = base.configuration.gates().iter().filter(is_needed);
        let gates: Vec<Gate> = gates.cloned().collect();
        if gates.is_empty() {
            return;
        }
        self.gates.begin_for(proposal.clone(), gates);
        self.next_gate(base);
    }

    /// Approves what the gates have shown, or tells its agent what stands in the way.
    pub(super) fn end_sign_off(
        &mut self,
        base: &mut Base,
        proposal: &EntryId,
        tree: TreeFound,
        changed: Option<&ChangedFiles>,
    ) {
        let world = base.recorder.world();
        // What could not be read proves nothing: it is never the tree that was proposed.
        let tree = tree.into_tree();
        let Some(pending) = world.pending_proposals.get(proposal).cloned() else {
            return;
        };
        if self.deciding.check(proposal).is_err() {
            return;
        }
        let seen = world.seq;
        let judged = match base.sign_off() {
            SignOffMode::Auto => {
                judge(world, &base.configuration, &pending, tree.as_ref(), changed)
            }
            SignOffMode::Manual => {
                Err(vec!["the operator switched to mode manual meanwhile".to_owned()].into())
            }
        };
        match judged {
            Ok(runs) => {
                let verdict = DecisionVerdict {
                    approved: true,
                    reason: None,
                    tree,
                    runs,
                    seen: Some(seen),
                    signature: None,
                };
                self.append_decision(base, &pending, verdict, None);
            }
            Err(why) => base.tell_not_signed_off(&pending, why),
        }
    }
}

impl Base {
    /// Who signs off: where decisions are signed, the operator alone.
    pub(in crate::daemon) fn sign_off(&self) -> SignOffMode {
        match self.recorder.world().signing {
            Some(_) => SignOffMode::Manual,
            None => self.configuration.sign_off(),
        }
    }

    /// The gates that were run for a proposal are done.
    pub(super) fn gates_ran_for(&self, proposal: EntryId) {
        self.read_tree(TreePurpose::SignOff { proposal });
    }

    /// The agent hears it, so that it can go on; the proposal waits for the operator.
    fn tell_not_signed_off(&mut self, pending: &ProposalSnapshot, why: ToldBlockers) {
        let Some(agent) = pending.by.agent() else {
            return;
        };
        let mut text = format!(
            "The gates did not approve proposal {}; it waits for the operator.",
            pending.id
        );
        for why in why.at_most(REASONS_MAX) {
            text.push_str("\n- ");
            text.push_str(&why);
        }
        text.push_str("\nMend what stands in the way and propose again; no answer is needed.");
        let message = Message {
            in_reply_to: Some(pending.id.clone()),
            ..Message::new(OnBusy::Queue)
        };
        let mut entry = self.recorder.entry(
            Party::System,
            Some(agent.into()),
            EntryKind::Message(message),
            text,
            pending.runtime_session.clone(),
        );
        note_head(&self.commit, &mut entry);
        self.append_messages(vec![entry]);
    }
}

/// The runs that prove a proposal, or what stands in the way.
fn judge(
    world: &Snapshot,
    configuration: &Configuration,
    pending: &ProposalSnapshot,
    tree: Option<&WorkTree>,
    changed: Option<&ChangedFiles>,
) -> Result<Vec<EntryId>, ToldBlockers> {
    let proposed = pending.proposal.tree.as_ref();
    if tree.is_none() || WorkTree::pin(tree) != WorkTree::pin(proposed) {
        return Err(
            vec!["the work tree is not the one that was proposed any more".to_owned()].into(),
        );
    }
    let on = question(pending, tree, changed);
    let gates = configuration.told_gates();
    let mut why = world.told_blockers(&pending.proposal.handles);
    why.extend(world.gate_blockers(&gates, &on));
    let mut runs = Vec::new();
    let required = gates.iter().filter(|gate| gate.required);
    for gate in required.filter(|gate| world.is_needed(gate, &on)) {
        let Some(latest) = world.gates.get(&gate.name) else {
            continue;
        };
        let is_green = world.gate_status(gate, &on) == GateStatus::Green;
        if is_green && latest.flaky {
            let name = &gate.name;
            why.extend([format!(
                "required gate {name} is FLAKY: it was red on this tree before"
            )]);
        } else if let Some(files) = latest.run.rewritten.as_ref().filter(|_| is_green) {
            let (name, files) = (&gate.name, files.in_words());
            why.extend([format!(
                "{files} changed while required gate {name} ran and came back: nobody knows \
                 what it saw"
            )]);
        } else if is_green && latest.seq > pending.seq {
            runs.push(latest.id.clone());
        } else if is_green {
            why.extend([format!("required gate {} was not run again", gate.name)]);
        }
    }
    if why.is_empty() && runs.is_empty() {
        why.extend(["no required gate is in force".to_owned()]);
    }
    if why.is_empty() { Ok(runs) } else { Err(why) }
}

fn question<'a>(
    pending: &ProposalSnapshot,
    tree: Option<&'a WorkTree>,
    changed: Option<&'a ChangedFiles>,
) -> TreeInQuestion<'a> {
    TreeInQuestion {
        tree,
        is_unreadable: false,
        since: Some(pending.seq),
        changed,
    }
}
