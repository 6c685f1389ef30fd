//! Notes, artifacts and proposals.

use super::checks::{check_handles, check_length, check_text};
use super::pending::check_withdrawal;
use super::sender;
use crate::core::agent::Party;
use crate::core::entry::{Artifact, Entry, EntryKind, FinalityProposal, WorkTree};
use crate::core::snapshot::{ChangedFiles, TreeInQuestion};
use crate::daemon::attach::ConnId;
use crate::daemon::owners::Daemon;
use crate::daemon::reply::{ReplySender, answer};
use crate::wire::control::{
    ArtifactParams, GateReport, NoteParams, ProposeParams, Proposed, Recorded, Reply,
};

impl Daemon {
    pub(super) fn append_note(&mut self, conn: ConnId, params: NoteParams, reply: ReplySender) {
        let from = sender(params.agent);
        let checked = check_text("text", &params.text)
            .and_then(|()| check_handles(&self.recorder, &params.handles))
            .and_then(|()| {
                check_withdrawal(
                    self.recorder.world(),
                    &self.deciding,
                    &self.approvals,
                    &from,
                    params.withdraws.as_ref(),
                )
            });
        if let Err(refusal) = checked {
            return answer(reply, Err(refusal));
        }
        let runtime_session = self.runtime_session(conn, params.runtime_session_id);
        let mut entry = self.entry(
            from,
            None,
            EntryKind::Note {
                note: params.kind,
                handles: params.handles,
                withdraws: params.withdraws,
            },
            params.text,
            Some(runtime_session),
        );
        if let Some(finding) = &params.finding
            && let Err(refusal) = self.claim_finding(&mut entry, finding)
        {
            return answer(reply, Err(refusal));
        }
        self.record_one(entry, reply);
    }

    pub(super) fn record_artifact(
        &mut self,
        conn: ConnId,
        params: ArtifactParams,
        reply: ReplySender,
    ) {
        let checked = check_text("kind", &params.kind)
            .and_then(|()| check_text("title", &params.title))
            .and_then(|()| check_length("summary", &params.summary))
            .and_then(|()| check_length("evidence", &params.evidence.concat()));
        if let Err(refusal) = checked {
            return answer(reply, Err(refusal));
        }
        let runtime_session = self.runtime_session(conn, params.runtime_session_id);
        let content = format!(
            "{} · {} · {}\n{}",
            params.kind,
            params.status.as_str(),
            params.title,
            params.summary
        );
        let entry = self.entry(
            params.agent.into(),
            None,
            EntryKind::Artifact(Artifact {
                kind: params.kind,
                title: params.title,
                summary: params.summary,
                status: params.status,
                evidence: params.evidence,
                verified: None,
            }),
            content,
            Some(runtime_session),
        );
        self.record_one(entry, reply);
    }

    fn record_one(&mut self, entry: Entry, reply: ReplySender) {
        let entry_id = entry.id.clone();
        let takes_back = matches!(
            entry.kind,
            EntryKind::Note {
                withdraws: Some(_),
                ..
            }
        );
        self.record(
            vec![entry],
            Box::new(move |daemon, result| {
                if takes_back {
                    // Questions that wait are counted there.
                    daemon.status_changed();
                }
                answer(
                    reply,
                    result
                        .map(|stored| {
                            Reply::Recorded(Recorded {
                                entry_id,
                                seq: stored[0].entry.seq,
                            })
                        })
                        .map_err(Clone::clone),
                );
            }),
        );
    }

    pub(in crate::daemon) fn propose(
        &mut self,
        conn: ConnId,
        params: ProposeParams,
        tree: Option<WorkTree>,
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
        let runtime_session = self.runtime_session(conn, params.runtime_session_id);
        let proposal = FinalityProposal {
            summary: params.summary,
            evidence: params.evidence,
            remaining_risk: params.remaining_risk.filter(|risk| !risk.trim().is_empty()),
            handles: params.handles,
            tree,
        };
        let content = rendering(&proposal);
        let entry = self.entry(
            params.agent.into(),
            Some(Party::Human),
            EntryKind::FinalityProposal(proposal.clone()),
            content,
            Some(runtime_session),
        );
        let Some(reply) = reply else {
            // Nobody is there who could try again.
            let id = entry.id.clone();
            return self.record_fact(
                vec![entry],
                Box::new(move |daemon, result| {
                    if result.is_ok() {
                        daemon.begin_sign_off(&id, changed.as_ref());
                    }
                }),
            );
        };
        let proposal_id = entry.id.clone();
        self.record(
            vec![entry],
            Box::new(move |daemon, result| {
                let recorded = result.is_ok().then(|| proposal_id.clone());
                answer(
                    reply,
                    result
                        .map(|stored| {
                            let seq = stored[0].entry.seq;
                            let world = daemon.recorder.world();
                            let mut blockers = world.blockers(&proposal);
                            let gates = daemon.told_gates();
                            let on = TreeInQuestion {
                                tree: proposal.tree.as_ref(),
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
                                blockers,
                                gates: gates.collect(),
                            })
                        })
                        .map_err(Clone::clone),
                );
                if let Some(proposal) = recorded {
                    daemon.begin_sign_off(&proposal, changed.as_ref());
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
