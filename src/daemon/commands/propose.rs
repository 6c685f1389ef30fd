//! An agent proposes that its work is done.

use super::checks::{check_handles, check_text};
use crate::core::agent::Party;
use crate::core::entry::{EntryKind, FinalityProposal, TreeFound};
use crate::core::id::{EntryId, Seq};
use crate::core::snapshot::{ChangedFiles, TreeInQuestion};
use crate::daemon::attach::ConnId;
use crate::daemon::owners::Base;
use crate::daemon::reply::{ReplySender, answer};
use crate::wire::control::{GateReport, ProposeParams, Proposed, Reply};

impl Base {
    pub(in crate::daemon) fn propose(
        &mut self,
        conn: ConnId,
        params: ProposeParams,
        tree: TreeFound,
        changed: Option<ChangedFiles>,
        reply: Option<ReplySender>,
    ) {
        let checked = check_text("summary", &params.summary)
            .and_then(|()| check_text("evidence", &params.evidence.join("\n")))
            .and_then(|()| check_handles(&self.recorder, &params.handles));
        if let Err(refusal) = checked {
            match reply {
                Some(reply) => answer(reply, Err(refusal)),
                None => tracing::warn!(code = %refusal.code, "a proposal by marker was refused"),
            }
            return;
        }
        let is_unreadable = tree.is_unreadable();
        let runtime_session = self.clients.pair(conn, params.runtime_session_id);
        let proposal = FinalityProposal {
            summary: params.summary,
            evidence: params.evidence,
            remaining_risk: params.remaining_risk.filter(|risk| !risk.trim().is_empty()),
            handles: params.handles,
            tree: tree.into_tree(),
        };
        let content = rendering(&proposal);
        let entry = self.recorder.entry(
            params.agent.into(),
            Some(Party::Human),
            EntryKind::FinalityProposal(proposal.clone()),
            content,
            Some(runtime_session),
        );
        let Some(reply) = reply else {
            // Nobody is there who could try again.
            let id = entry.id.clone();
            return self.recorder.keep_then(
                vec![entry],
                Box::new(move |daemon, result| {
                    if result.is_ok() {
                        daemon
                            .decisions
                            .begin_sign_off(&mut daemon.base, &id, changed.as_ref());
                    }
                }),
            );
        };
        let id = entry.id.clone();
        self.recorder.append(
            vec![entry],
            Box::new(move |daemon, result| {
                let is_recorded = result.is_ok();
                let told = result.map_err(Clone::clone).map(|stored| {
                    let seq = stored[0].entry.seq;
                    let on = TreeInQuestion {
                        tree: proposal.tree.as_ref(),
                        is_unreadable,
                        since: Some(seq),
                        changed: changed.as_ref(),
                    };
                    Reply::Proposed(daemon.base.proposed(&id, seq, &proposal, &on))
                });
                answer(reply, told);
                if is_recorded {
                    daemon
                        .decisions
                        .begin_sign_off(&mut daemon.base, &id, changed.as_ref());
                }
            }),
        );
    }

    /// The answer to a proposal that was just recorded: what it replaces, and what blocks it.
    fn proposed(
        &self,
        id: &EntryId,
        seq: Seq,
        proposal: &FinalityProposal,
        on: &TreeInQuestion<'_>,
    ) -> Proposed {
        let world = self.recorder.world();
        let gates = self.configuration.told_gates();
        let mut blockers = world.told_blockers(&proposal.handles);
        blockers.extend(world.gate_blockers(&gates, on));
        let replaced = world.replaced_by(id);
        Proposed {
            proposal_id: id.clone(),
            seq,
            replaces: replaced.map(|earlier| earlier.id.clone()).collect(),
            blockers_total: Some(blockers.total()),
            blockers: blockers.into_rows(),
            gates: gates
                .iter()
                .map(|gate| GateReport::of(gate, world))
                .collect(),
        }
    }
}

fn rendering(proposal: &FinalityProposal) -> String {
    let mut text = proposal.summary.clone();
    for evidence in &proposal.evidence {
        text.push_str("\nevidence: ");
        text.push_str(evidence);
    }
    if let Some(risk) = &proposal.remaining_risk {
        text.push_str("\nremaining risk: ");
        text.push_str(risk);
    }
    text
}
