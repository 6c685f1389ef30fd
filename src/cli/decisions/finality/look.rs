//! [`Look`]: what proposals are checked against.

use crate::adapters::git::found::tree_found;
use crate::adapters::git::work_tree::TreeReading;
use crate::cli::context::CliContext;
use crate::core::entry::{TreeFound, WorkTree};
use crate::core::policy::SignOffMode;
use crate::core::snapshot::{
    ChangedChecks, ChangedFiles, GateInForce, ProposalSnapshot, Snapshot, TreeInQuestion,
};
use crate::store::config;

/// The record, the gates in force, and what changed since the last approval.
pub(super) struct Look<'a> {
    pub(super) world: &'a Snapshot,
    pub(super) gates: Vec<GateInForce>,
    changed: Option<ChangedFiles>,
    /// The work tree of now, looked at only where a proposal waits.
    now: TreeFound,
}

impl<'a> Look<'a> {
    pub(super) fn new(context: &CliContext, world: &'a Snapshot) -> Self {
        let approved = world.approved_tree.as_ref();
        let changed = approved.and_then(|approved| {
            TreeReading::since(&context.project.dirs.root, Some(approved))?.changed
        });
        let gates = gates(context);
        Self {
            world,
            gates,
            changed,
            now: tree_now(context, world),
        }
    }

    /// As far as the gates need it: without asking git where no gate depends on what changed.
    pub(super) fn at_gates(context: &CliContext, world: &'a Snapshot) -> Self {
        let gates = gates(context);
        if gates.iter().any(|gate| !gate.when.is_empty()) {
            return Self::new(context, world);
        }
        Self {
            world,
            gates,
            changed: None,
            now: tree_now(context, world),
        }
    }

    /// What names the work tree of now, when a proposal waits and it is not what was proposed.
    pub(super) fn stale(&self, proposal: &ProposalSnapshot) -> Option<&str> {
        let now = self.now.pin();
        let proposed = WorkTree::pin(proposal.proposal.tree.as_ref());
        (proposal.is_pending() && now != proposed).then_some(now)
    }

    /// What the required gates have against a proposal.
    pub(super) fn gate_blockers(&self, proposal: &ProposalSnapshot) -> Vec<String> {
        self.world.gate_blockers(&self.gates, &self.on(proposal))
    }

    /// The tests and manifests that changed since the last approval.
    pub(super) fn changed_checks(&self) -> ChangedChecks {
        self.world.changed_checks(self.changed.as_ref())
    }

    /// The tree to ask the gates about: while a proposal waits that of now, which an approval is of.
    pub(super) fn on<'b>(&'b self, proposal: &'b ProposalSnapshot) -> TreeInQuestion<'b> {
        let is_pending = proposal.is_pending();
        TreeInQuestion {
            tree: match is_pending {
                true => self.now.tree(),
                false => proposal.proposal.tree.as_ref(),
            },
            is_unreadable: is_pending && self.now.is_unreadable(),
            since: Some(proposal.seq),
            changed: self.changed.as_ref(),
        }
    }

    /// What stands in the way of a proposal: what the record says, and the gates.
    pub(super) fn blockers(&self, proposal: &ProposalSnapshot) -> Vec<String> {
        let mut blockers = self.world.blockers(&proposal.proposal);
        blockers.extend(self.gate_blockers(proposal));
        blockers
    }
}

fn tree_now(context: &CliContext, world: &Snapshot) -> TreeFound {
    if world.pending_proposals.is_empty() {
        return TreeFound::NoRepository;
    }
    tree_found(&context.project.dirs.root)
}

/// The gates that are trusted now, with what among them cannot be run.
pub(super) fn gates(context: &CliContext) -> Vec<GateInForce> {
    let project = &context.project;
    let loaded = config::load(&project.dirs, &project.user_dirs);
    loaded.config.gates_in_force()
}

/// Who says that work is done, as it is trusted now.
pub(super) fn mode(context: &CliContext) -> SignOffMode {
    let project = &context.project;
    let loaded = config::load(&project.dirs, &project.user_dirs);
    loaded.config.finality.mode
}
