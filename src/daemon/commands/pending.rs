//! What waits for the operator: who may withdraw it, and why a proposal does not wait.

use super::checks::not_found;
use crate::core::agent::Party;
use crate::core::id::EntryId;
use crate::core::snapshot::Snapshot;
use crate::daemon::decisions::approvals::Approvals;
use crate::daemon::decisions::pending_decisions::PendingDecisions;
use crate::wire::control::Refusal;

/// Only its own proposal or question can an agent take back, and only one that nobody decides or
/// decided, answers or answered.
pub(super) fn check_withdrawal(
    world: &Snapshot,
    deciding: &PendingDecisions,
    approvals: &Approvals,
    by: &Party,
    withdrawn: Option<&EntryId>,
) -> Result<(), Refusal> {
    let Some(id) = withdrawn else { return Ok(()) };
    if let Some(asked) = world.open_approvals.get(id) {
        if !asked.is_question_of(by) {
            return Err(Refusal::wrong_state(
                format!("request {id} is no question of yours"),
                "only a question that you asked with `ask_user` can be taken back",
            ));
        }
        return approvals.check(id);
    }
    let Some(pending) = world.pending_proposals.get(id) else {
        return Err(not_pending(world, id));
    };
    if pending.by != *by {
        return Err(Refusal::wrong_state(
            format!("proposal {id} is of {}", pending.by),
            "only who proposed can take it back; say with `decline` or a note what is wrong",
        ));
    }
    deciding.check(id)
}

/// Why a proposal does not wait for a decision.
pub(super) fn not_pending(world: &Snapshot, id: &EntryId) -> Refusal {
    let Some(over) = world.proposal(id) else {
        return not_found(
            &format!("pending proposal {id}"),
            "see `ctxrelay finality list`",
        );
    };
    Refusal::wrong_state(over.why_over(), "see `ctxrelay finality list`")
}
