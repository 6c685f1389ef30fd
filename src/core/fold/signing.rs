//! Entries without effect because they lack a signature while decisions are signed.

use super::raise;
use crate::alarm::Alarm;
use crate::entry::{Entry, FinalityDecision};
use crate::signing::{NotSigned, OperatorAct, SignedProposal, SigningChange, SigningState};
use crate::snapshot::Snapshot;

/// Takes a change of signing in; one that the key did not sign changes nothing and is an alarm. So
/// is a session that goes on from a signed one and was not begun by the key.
pub(super) fn fold_signing(world: &mut Snapshot, entry: &Entry) {
    let change = SigningChange::of(entry);
    let after = change.map(|change| SigningState::after(world.signing.as_ref(), change, entry.seq));
    let Some(Ok(state)) = after else {
        return raise(world, entry, Alarm::UnsignedChange { seq: entry.seq.0 });
    };
    world.signing = state;
    let begins = world
        .signing
        .as_ref()
        .filter(|state| state.since == entry.seq);
    let checked = begins.map(|state| {
        let session = entry.session_id.as_str();
        let (before, by) = (world.predecessor.as_ref(), world.begun_by.as_ref());
        state.notice.check_session(session, before, by)
    });
    if let Some(Err(why)) = checked {
        let (seq, act) = (entry.seq.0, OperatorAct::Clear);
        raise(world, entry, Alarm::UnsignedAct { seq, act, why });
    }
}

/// Whether an act of the operator beside decisions is believed. One that is not is an alarm.
pub(super) fn is_act_believed(world: &mut Snapshot, entry: &Entry) -> bool {
    let state = world.signing.as_mut().filter(|state| state.signs_acts());
    let Some((state, act)) = state.zip(OperatorAct::of(entry)) else {
        return true;
    };
    match state.check_entry(act, entry) {
        Ok(()) => {
            state.act = entry.seq;
            state.head = None;
            true
        }
        Err(why) => {
            let seq = entry.seq.0;
            raise(world, entry, Alarm::UnsignedAct { seq, act, why });
            false
        }
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
