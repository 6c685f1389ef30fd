//! What the operator's decision on a proposal comes to, and what keeps it from being one.

use super::checks::check_length;
use super::pending::not_pending;
use crate::core::entry::{DecisionSignature, FinalityDecision, TreeFound, WorkTree};
use crate::core::id::{EntryId, Seq};
use crate::core::signing::{NotSigned, SignedProposal, SigningState};
use crate::core::snapshot::{ChangedFiles, ProposalSnapshot, Snapshot, TreeInQuestion};
use crate::daemon::base::configuration::Configuration;
use crate::daemon::decisions::pending_decisions::PendingDecisions;
use crate::wire::control::{DecideParams, Refusal, RefusalCode};

/// What is said of a proposal.
#[derive(Debug)]
pub(super) struct DecisionVerdict {
    pub(super) approved: bool,
    pub(super) reason: Option<String>,
    /// The work tree of now; of a signed rejection, that of then.
    pub(super) tree: Option<WorkTree>,
    /// The gates' runs that decided; none where the operator does.
    pub(super) runs: Vec<EntryId>,
    /// The last entry of what was seen.
    pub(super) seen: Option<Seq>,
    /// The operator's signature, where decisions are signed.
    pub(super) signature: Option<DecisionSignature>,
}

/// What the operator says of a proposal, where that may be said now.
pub(super) fn decision_verdict(
    world: &Snapshot,
    deciding: &PendingDecisions,
    configuration: &Configuration,
    params: DecideParams,
    tree: TreeFound,
    changed: Option<&ChangedFiles>,
) -> Result<(ProposalSnapshot, DecisionVerdict), Refusal> {
    let Some(pending) = world.pending_proposals.get(&params.proposal_id) else {
        return Err(not_pending(world, &params.proposal_id));
    };
    deciding.check(&params.proposal_id)?;
    if params.approve {
        check_tree(
            pending.proposal.tree.as_ref(),
            &tree,
            params.stale_tree.as_deref(),
        )?;
        check_seen(world, &params)?;
        let on = TreeInQuestion {
            tree: tree.tree(),
            is_unreadable: tree.is_unreadable(),
            since: Some(pending.seq),
            changed,
        };
        check_gates(world, configuration, &on)?;
    }
    let reason = params.reason.filter(|reason| !reason.trim().is_empty());
    if !params.approve && reason.is_none() {
        return Err(Refusal::invalid(
            "a rejection needs a reason",
            "say what has to change: the agents read it",
        ));
    }
    if let Some(text) = &reason {
        check_length("reason", text)?;
    }
    // Signing may wait for a touch, and while an agent writes the tree is another one by then. A
    // rejection approves none, so that it says which one it was signed on.
    let signed_tree = params
        .signed_tree
        .filter(|_| !params.approve && params.signature.is_some());
    let verdict = DecisionVerdict {
        approved: params.approve,
        reason,
        tree: signed_tree.or_else(|| tree.into_tree()),
        runs: Vec::new(),
        seen: params.seen,
        signature: params.signature,
    };
    if let Some(signing) = &world.signing {
        check_signed(signing, pending, &verdict)?;
    }
    Ok((pending.clone(), verdict))
}

/// What the record would not believe is not recorded.
fn check_signed(
    signing: &SigningState,
    proposal: &ProposalSnapshot,
    verdict: &DecisionVerdict,
) -> Result<(), Refusal> {
    let decision = FinalityDecision {
        tree: verdict.tree.clone(),
        signature: verdict.signature.clone(),
        ..FinalityDecision::of(proposal.id.clone(), verdict.approved)
    };
    let subject = SignedProposal {
        head: proposal.hash.as_deref(),
        handles: &proposal.proposal.handles,
    };
    let checked = signing.check(&decision, Some(subject));
    checked.map_err(|why| {
        let signer = &signing.notice.signer;
        let (text, next) = match why {
            NotSigned::Missing => (
                format!("decisions are signed here, by the key {signer}"),
                "decide in the deck or in a terminal, where the passphrase is asked for",
            ),
            _ => (
                format!("the decision does not count: {why}, or the work tree changed meanwhile"),
                "nothing was recorded; run the command again",
            ),
        };
        Refusal::new(RefusalCode::NotSigned, text, next)
    })
}

/// What stands in the way now was there when the operator was asked.
fn check_seen(world: &Snapshot, params: &DecideParams) -> Result<(), Refusal> {
    if let Some(told) = &params.session_id
        && world.session_id.as_ref() != Some(told)
    {
        return Err(unseen("the record began again since you were asked"));
    }
    let blocker = params
        .seen
        .and_then(|seen| world.blockers_since(seen).next());
    match blocker {
        Some(blocker) => Err(unseen(&format!("since you were asked: {blocker}"))),
        None => Ok(()),
    }
}

/// Nobody ends by an approval what they were not shown.
fn unseen(why: &str) -> Refusal {
    Refusal::new(
        RefusalCode::NewBlockers,
        why,
        "look at the proposal again: an approval ends what stands against it",
    )
}

/// What is approved is what was proposed, or else exactly what the operator saw and named.
fn check_tree(
    proposed: Option<&WorkTree>,
    now: &TreeFound,
    seen: Option<&str>,
) -> Result<(), Refusal> {
    let is_unreadable = now.is_unreadable();
    let (proposed, now) = (WorkTree::pin(proposed), now.pin());
    if proposed == now || seen == Some(now) {
        return Ok(());
    }
    Err(Refusal::new(
        RefusalCode::StaleTree,
        match seen {
            _ if is_unreadable => format!(
                "STALE: tree {proposed} was proposed, and the work tree of now could not be read"
            ),
            Some(_) => format!("the work tree has changed again: it is {now} now"),
            None => format!("STALE: tree {proposed} was proposed, and the work tree is {now} now"),
        },
        "look at what changed; to approve it nonetheless, type the word that the card asks for",
    ))
}

/// Nothing is approved while a required gate is not green on the tree of now.
fn check_gates(
    world: &Snapshot,
    configuration: &Configuration,
    on: &TreeInQuestion<'_>,
) -> Result<(), Refusal> {
    if configuration.is_trust_unknown() {
        return Err(Refusal::new(
            RefusalCode::GatesNotGreen,
            "what you trusted cannot be read, so that nobody knows which gates are required",
            "look at config.json and trust it again: `ctxrelay trust`",
        ));
    }
    let red = world.gate_blockers(&configuration.told_gates(), on);
    if red.is_empty() {
        return Ok(());
    }
    Err(Refusal::new(
        RefusalCode::GatesNotGreen,
        red.join("; "),
        "run the gates: `g` on the card, or `ctxrelay gates run`; reject what does not pass",
    ))
}
