//! What has no effect without a signature, while decisions are signed.

use super::raise;
use crate::alarm::Alarm;
use crate::entry::{Entry, FinalityDecision};
use crate::signing::{NotSigned, SignedProposal, SigningChange, SigningState};
use crate::snapshot::Snapshot;

/// Takes a change of signing in; one that the key did not sign changes nothing and is an alarm.
pub(super) fn fold_signing(world: &mut Snapshot, entry: &Entry) {
    let after = SigningChange::of(entry)
        .map(|change| SigningState::after(world.signing.as_ref(), change, entry.seq));
    match after {
        Some(Ok(state)) => world.signing = state,
        _ => raise(world, entry, Alarm::UnsignedChange { seq: entry.seq.0 }),
    }
}

/// Whether a decision is believed as far as signatures go. One that is not is an alarm.
pub(super) fn is_signed(world: &mut Snapshot, entry: &Entry, decision: &FinalityDecision) -> bool {
    let Some(signing) = &world.signing else {
        return true;
    };
    let proposal = world.proposal(&decision.proposal_id);
    let proposal = proposal.map(|proposal| SignedProposal {
        head: proposal.hash.as_deref(),
        handles: &proposal.proposal.handles,
    });
    let checked = match decision.is_auto() {
        // No key signs what the gates decide.
        true => Err(NotSigned::Missing),
        false => signing.check(decision, proposal),
    };
    let Err(why) = checked else {
        return true;
    };
    let alarm = Alarm::UnsignedDecision {
        seq: entry.seq.0,
        proposal: decision.proposal_id.clone(),
        why,
    };
    raise(world, entry, alarm);
    false
}

#[cfg(test)]
mod tests;
