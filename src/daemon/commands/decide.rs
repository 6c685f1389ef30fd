//! Decisions of the operator on finality.

use super::check_length;
use super::record::not_found;
use crate::core::agent::Party;
use crate::core::entry::{EntryKind, FinalityDecision, WorkTree};
use crate::daemon::event::{ReplySender, TreePurpose};
use crate::daemon::run::{Daemon, answer};
use crate::wire::control::{DecideParams, Recorded, Refusal, RefusalCode, Reply};

impl Daemon {
    pub(in crate::daemon) fn on_tree(&mut self, purpose: TreePurpose, tree: Option<WorkTree>) {
        match purpose {
            TreePurpose::Propose {
                conn,
                params,
                reply,
            } => self.propose(conn, params, tree, reply),
            TreePurpose::Decide { params, reply } => self.decide(params, tree, reply),
        }
    }

    fn decide(&mut self, params: DecideParams, tree: Option<WorkTree>, reply: ReplySender) {
        let Some(pending) = self.world.pending_proposals.get(&params.proposal_id) else {
            return answer(
                reply,
                Err(not_found(
                    &format!("pending proposal {}", params.proposal_id),
                    "see `ctxrelay finality list`; it may be decided already",
                )),
            );
        };
        if self.deciding.contains(&params.proposal_id) {
            return answer(
                reply,
                Err(Refusal::new(
                    RefusalCode::InFlight,
                    "a decision on this proposal is just being recorded",
                    "look again: `ctxrelay finality list`",
                )),
            );
        }
        let reason = params.reason.filter(|reason| !reason.trim().is_empty());
        if !params.approve && reason.is_none() {
            return answer(
                reply,
                Err(Refusal::new(
                    RefusalCode::InvalidArguments,
                    "a rejection needs a reason",
                    "say what has to change: the agents read it",
                )),
            );
        }
        if let Some(Err(refusal)) = reason.as_deref().map(|text| check_length("reason", text)) {
            return answer(reply, Err(refusal));
        }
        let proposal = pending.clone();
        let proposal_id = params.proposal_id.clone();
        let summary = &proposal.proposal.summary;
        let handles = if params.approve {
            proposal.proposal.handles.clone()
        } else {
            Vec::new()
        };
        let tells = self.told_of_decisions(&proposal.by);
        let content = match (&reason, params.approve) {
            (Some(reason), true) => format!("approved: {summary}\nreason: {reason}"),
            (None, true) => format!("approved: {summary}"),
            (reason, false) => format!(
                "rejected: {summary}\nreason: {}",
                reason.as_deref().unwrap_or_default()
            ),
        };
        let entry = self.entry(
            Party::Human,
            Some(proposal.by.clone()),
            EntryKind::FinalityDecision(FinalityDecision {
                proposal_id: params.proposal_id,
                approved: params.approve,
                reason,
                tree,
                handles,
                tells: tells.clone(),
            }),
            content,
            None,
        );
        let entry_id = entry.id.clone();
        let mut entries = self.decision_messages(&entry, &proposal, &tells);
        entries.insert(0, entry);
        self.deciding.insert(proposal_id.clone());
        self.record(
            entries,
            Box::new(move |daemon, result| {
                daemon.deciding.remove(&proposal_id);
                for stored in result.unwrap_or_default() {
                    daemon.track_recorded(&stored.entry.id);
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
}
