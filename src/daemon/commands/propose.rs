//! An agent proposes that its work is done.

use super::checks::{check_handles, check_text};
use crate::core::agent::Party;
use crate::core::entry::{EntryKind, FinalityProposal, TreeFound};
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
        let proposal_id = entry.id.clone();
        self.recorder.append(
            vec![entry],
            Box::new(move |daemon, result| {
                let recorded = result.is_ok().then(|| proposal_id.clone());
                answer(
                    reply,
                    result
                        .map(|stored| {
                            let seq = stored[0].entry.seq;
                            let world = daemon.base.recorder.world();
                            let mut blockers = world.told_blockers(&proposal.handles);
                            let gates = daemon.base.configuration.told_gates();
                            let on = TreeInQuestion {
                                tree: proposal.tree.as_ref(),
                                is_unreadable,
                                since: Some(seq),
                                changed: changed.as_ref(),
                            };
                            blockers.extend(world.gate_blockers(&gates, &on));
                            let gates = gates.iter().map(|gate| GateReport::of(gate, world));
                            let replaced = world.replaced_by(&proposal_id);
                            Reply::Proposed(Proposed {
                                replaces: replaced.map(|earlier| earlier.id.clone()).collect(),
                                proposal_id,
                                seq,
                                blockers_total: Some(blockers.total()),
                                blockers: blockers.into_rows(),
                                gates: gates.collect(),
                            })
                        })
                        .map_err(Clone::clone),
                );
                if let Some(proposal) = recorded {
                    daemon
                        .decisions
                        .begin_sign_off(&mut daemon.base, &proposal, changed.as_ref());
                }
            }),
        );
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
