//! Notes, artifacts and proposals.

use super::{check_length, check_text};
use crate::core::agent::{Agent, Party};
use crate::core::entry::{Artifact, Entry, EntryKind, FinalityProposal, WorkTree};
use crate::core::id::EntryId;
use crate::daemon::attach::ConnId;
use crate::daemon::owners::Daemon;
use crate::daemon::reply::{ReplySender, answer};
use crate::wire::control::{
    ArtifactParams, NoteParams, ProposeParams, Proposed, Recorded, Refusal, RefusalCode, Reply,
};

impl Daemon {
    pub(super) fn append_note(&mut self, conn: ConnId, params: NoteParams, reply: ReplySender) {
        let checked = check_text("text", &params.text)
            .and_then(|()| self.check_handles(&params.handles))
            .and_then(|()| self.check_withdrawal(params.agent, params.withdraws.as_ref()));
        if let Err(refusal) = checked {
            return answer(reply, Err(refusal));
        }
        let runtime_session = self.runtime_session(conn, params.runtime_session_id);
        let entry = self.entry(
            params.agent.into(),
            None,
            EntryKind::Note {
                note: params.kind,
                handles: params.handles,
                withdraws: params.withdraws,
            },
            params.text,
            Some(runtime_session),
        );
        self.record_one(entry, reply);
    }

    /// Only its own proposal can an agent take back, and only one that nobody decides or decided.
    fn check_withdrawal(&self, agent: Agent, proposal: Option<&EntryId>) -> Result<(), Refusal> {
        let Some(id) = proposal else { return Ok(()) };
        let Some(pending) = self.recorder.world().pending_proposals.get(id) else {
            return Err(self.not_pending(id));
        };
        if pending.by != Party::Agent(agent) {
            return Err(Refusal::new(
                RefusalCode::WrongState,
                format!("proposal {id} is of {}", pending.by),
                "only who proposed can take it back; say with `decline` or a note what is wrong",
            ));
        }
        self.deciding.check(id)
    }

    /// Why a proposal does not wait for a decision.
    pub(super) fn not_pending(&self, id: &EntryId) -> Refusal {
        let Some(over) = self.recorder.world().proposal(id) else {
            return not_found(
                &format!("pending proposal {id}"),
                "see `ctxrelay finality list`",
            );
        };
        let by = match &over.ended {
            Some(end) => format!(" by entry {}", end.by()),
            None => String::new(),
        };
        Refusal::new(
            RefusalCode::WrongState,
            format!("proposal {id} does not wait any more: {}{by}", over.state()),
            "see `ctxrelay finality list`",
        )
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
        self.record(
            vec![entry],
            Box::new(move |_, result| {
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
        reply: Option<ReplySender>,
    ) {
        let checked = check_text("summary", &params.summary)
            .and_then(|()| check_text("evidence", &params.evidence.join("\n")))
            .and_then(|()| self.check_handles(&params.handles));
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
            return self.record_fact(vec![entry], Box::new(|_, _| {}));
        };
        let proposal_id = entry.id.clone();
        self.record(
            vec![entry],
            Box::new(move |daemon, result| {
                answer(
                    reply,
                    result
                        .map(|stored| {
                            let seq = stored[0].entry.seq;
                            let world = daemon.recorder.world();
                            let mut blockers = world.blockers(&proposal);
                            let (gates, tree) = (daemon.told_gates(), proposal.tree.as_ref());
                            blockers.extend(world.gate_blockers(&gates, tree, Some(seq)));
                            Reply::Proposed(Proposed {
                                proposal_id,
                                seq,
                                blockers,
                            })
                        })
                        .map_err(Clone::clone),
                );
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

/// Refuses what is no number and no id.
pub(in crate::daemon) fn not_found(what: &str, hint: &str) -> Refusal {
    Refusal::new(RefusalCode::NotFound, format!("there is no {what}"), hint)
}
