//! The operator's decisions on proposals.

use super::answers::told_of_decisions;
use super::verdict::{DecisionVerdict, decision_verdict};
use crate::core::agent::Party;
use crate::core::entry::{EntryKind, FinalityDecision, TreeFound, WorkTree};
use crate::core::id::EntryId;
use crate::core::snapshot::{ChangedFiles, ProposalSnapshot};
use crate::daemon::decisions::decision_messages::{decision_messages, track_recorded};
use crate::daemon::owners::{Base, Decisions};
use crate::daemon::reply::{ReplySender, answer};
use crate::wire::control::{DecideParams, Recorded, Reply};

impl Decisions {
    pub(super) fn decide(
        &mut self,
        base: &mut Base,
        params: DecideParams,
        tree: TreeFound,
        changed: Option<&ChangedFiles>,
        reply: ReplySender,
    ) {
        let judged = decision_verdict(
            base.recorder.world(),
            &self.deciding,
            &base.configuration,
            params,
            tree,
            changed,
        );
        match judged {
            Ok((proposal, verdict)) => {
                self.append_decision(base, &proposal, verdict, Some(reply));
            }
            Err(refusal) => answer(reply, Err(refusal)),
        }
    }

    /// Records a decision on a proposal that waits, with the messages that tell the agents.
    pub(super) fn append_decision(
        &mut self,
        base: &mut Base,
        proposal: &ProposalSnapshot,
        verdict: DecisionVerdict,
        reply: Option<ReplySender>,
    ) {
        let DecisionVerdict {
            approved,
            reason,
            tree,
            runs,
            seen,
            signature,
        } = verdict;
        let proposal_id = proposal.id.clone();
        let summary = &proposal.proposal.summary;
        let handles = if approved {
            proposal.proposal.handles.clone()
        } else {
            Vec::new()
        };
        let tells = told_of_decisions(
            &base.programs,
            base.recorder.world(),
            &base.clients,
            &proposal.by,
        );
        let content = match (&reason, approved) {
            (None, true) if !runs.is_empty() => {
                let ids: Vec<&str> = runs.iter().map(EntryId::as_str).collect();
                let (tree, ids) = (WorkTree::pin(tree.as_ref()), ids.join(", "));
                format!("approved in mode auto on tree {tree} by the gate runs {ids}: {summary}")
            }
            (Some(reason), true) => format!("approved: {summary}\nreason: {reason}"),
            (None, true) => format!("approved: {summary}"),
            (reason, false) => format!(
                "rejected: {summary}\nreason: {}",
                reason.as_deref().unwrap_or_default()
            ),
        };
        let by = match runs.is_empty() {
            true => Party::Human,
            false => Party::System,
        };
        let entry = base.recorder.entry(
            by,
            Some(proposal.by.clone()),
            EntryKind::FinalityDecision(FinalityDecision {
                proposal_id: proposal_id.clone(),
                approved,
                reason,
                tree,
                handles,
                seen,
                tells: tells.clone(),
                runs,
                signature,
            }),
            content,
            None,
        );
        let mut entries = decision_messages(&base.recorder, &base.commit, &entry, proposal, &tells);
        entries.insert(0, entry);
        self.deciding.begin(proposal_id.clone());
        base.recorder.append(
            entries,
            Box::new(move |daemon, result| {
                daemon.decisions.deciding.end(&proposal_id);
                let recorded = result.unwrap_or_default();
                track_recorded(&daemon.base, &mut daemon.deliveries.outbox, recorded);
                let Some(reply) = reply else {
                    if let Err(refusal) = result {
                        tracing::warn!(code = %refusal.code, "an approval could not be recorded");
                    }
                    return;
                };
                let recorded = result.map(|stored| Recorded::of(&stored[0].entry));
                answer(reply, recorded.map(Reply::Recorded).map_err(Clone::clone));
            }),
        );
    }
}
