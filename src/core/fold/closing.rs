//! What opens and closes questions, handoffs and blockers.

use std::sync::Arc;

use super::{is_signed, push_recent};
use crate::agent::{Agent, Party};
use crate::entry::{Entry, EntryKind, FinalityDecision, FinalityProposal, Message, NoteKind};
use crate::id::{EntryId, RuntimeSession};
use crate::kept_text::brief;
use crate::snapshot::{
    HandoffSnapshot, ProposalEnd, ProposalSnapshot, QuestionSnapshot, RECENT_MAX, Snapshot,
    UntoldDecision,
};

/// A message whose sender waits for an answer.
pub(super) fn open_question(world: &mut Snapshot, entry: &Entry, message: &Message) {
    let is_over = entry
        .carried
        .as_ref()
        .is_some_and(|carried| carried.answered);
    if let (true, false, Some(to)) = (message.require_reply, is_over, entry.receiver()) {
        world.open_questions.insert(
            entry.seq,
            QuestionSnapshot {
                id: entry.id.clone(),
                from: entry.source.clone(),
                to,
                runtime_session: entry.runtime_session.clone(),
                at_ms: entry.timestamp_ms,
                text: brief(&entry.content),
            },
        );
    }
}

/// What is said to a handoff without closing it.
pub(super) fn take_answer(world: &mut Snapshot, entry: &Entry, message: &Message) {
    if let (Some(id), Party::System) = (&message.in_reply_to, &entry.source)
        && let Some(cut_off) = world.cut_off.get_mut(id)
    {
        // Its sender knows now.
        Arc::make_mut(cut_off).will_be_sent_again = false;
    }
    let carried = entry.carried.as_ref();
    let is_past = carried.is_some_and(|carried| carried.past_answer);
    let Some(id) = entry.answer_to().filter(|_| !is_past) else {
        return;
    };
    if let Some(handoff) = world.open_handoffs.get_mut(id) {
        let handoff = Arc::make_mut(handoff);
        handoff.answer = Some(entry.id.clone());
        if message.from_turn.is_some() {
            handoff.final_answer = Some(entry.seq);
        }
        // It came behind the turn that was cut off; a carried one came before it.
        if entry.carried.is_none() {
            world.cut_off.remove(id);
        }
    }
}

/// Closes the questions that an entry answers. Only what names a question answers it: what its
/// receiver happens to say next may be about anything.
pub(super) fn close_answered(world: &mut Snapshot, entry: &Entry) {
    if world.open_questions.is_empty() {
        return;
    }
    let in_reply_to = match &entry.kind {
        EntryKind::Message(message) => message.in_reply_to.as_ref(),
        EntryKind::Handoff(_) => None,
        // Nobody gets a note: with it who asked says that the matter is settled, or the operator does.
        EntryKind::Note { note, handles, .. } if *note != NoteKind::Blocker => {
            return close_questions(world, &entry.source, |open| {
                let may_end = open.from == entry.source || entry.source == Party::Human;
                may_end
                    && handles.contains(&open.id)
                    && is_same_pair(open.runtime_session.as_ref(), entry)
            });
        }
        _ => return,
    };
    close_questions(world, &entry.source, |open| {
        let is_named = in_reply_to == Some(&open.id) || entry.handles().contains(&open.id);
        is_named && answers(entry, open)
    });
}

fn close_questions(world: &mut Snapshot, by: &Party, is_over: impl Fn(&QuestionSnapshot) -> bool) {
    let closed = world.open_questions.extract_if(.., |_, open| is_over(open));
    for (_, question) in closed.collect::<Vec<_>>() {
        set_closed(world, &question.id, true, Some(by));
    }
}

/// A question or a handoff is closed, or open again. What its receiver does with a closed one from now
/// on may fail: it is not sent again for that.
fn set_closed(world: &mut Snapshot, id: &EntryId, is_closed: bool, by: Option<&Party>) {
    if is_closed {
        world.cut_off.remove(id);
    }
    if let Some((_, message)) = world.in_turn.get_mut(id) {
        Arc::make_mut(message).closed = is_closed;
    }
    if let Some(message) = world.unsettled.get_mut(id) {
        let message = Arc::make_mut(message);
        message.closed = is_closed;
        message.set_closed_by(by);
    }
}

/// Whether the one who was asked says it to the one who asked. A person reads all that is said.
fn answers(entry: &Entry, open: &QuestionSnapshot) -> bool {
    entry.source == Party::Agent(open.to)
        && (open.from.agent().is_none() || entry.target.as_ref() == Some(&open.from))
        && is_same_pair(open.runtime_session.as_ref(), entry)
}

/// What an older ledger holds without a pair is shared by all.
fn is_same_pair(pair: Option<&RuntimeSession>, entry: &Entry) -> bool {
    match (pair, &entry.runtime_session) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    }
}

/// An agent takes its own proposal back, as long as nobody decided it.
pub(super) fn withdraw(world: &mut Snapshot, entry: &Entry, proposal: &EntryId) {
    let is_its_own = world
        .pending_proposals
        .get(proposal)
        .is_some_and(|proposal| proposal.by == entry.source);
    if is_its_own {
        end(world, proposal, ProposalEnd::Withdrawn(entry.id.clone()));
    }
}

/// Ends the proposals of which a later one resolves all handoffs. What resolves none stands for
/// itself.
pub(super) fn supersede(world: &mut Snapshot, entry: &Entry, later: &FinalityProposal) {
    let earlier: Vec<EntryId> = world
        .pending_proposals
        .values()
        .filter(|earlier| {
            let handles = &earlier.proposal.handles;
            !handles.is_empty()
                && handles.iter().all(|id| later.handles.contains(id))
                && is_same_pair(earlier.runtime_session.as_ref(), entry)
        })
        .map(|earlier| earlier.id.clone())
        .collect();
    for proposal in earlier {
        end(world, &proposal, ProposalEnd::Superseded(entry.id.clone()));
    }
}

fn end(world: &mut Snapshot, proposal: &EntryId, how: ProposalEnd) {
    if let Some(mut proposal) = world.pending_proposals.remove(proposal) {
        proposal.ended = Some(how);
        push_recent(&mut world.ended_proposals, proposal);
    }
}

/// The proposal that a decision is about: one that waits, or one that ended without a decision.
/// Versions that knew no such end let the operator decide it, and a decision that the record has
/// stands above it.
fn take_undecided(world: &mut Snapshot, id: &EntryId) -> Option<ProposalSnapshot> {
    world.pending_proposals.remove(id).or_else(|| {
        let ended = &mut world.ended_proposals;
        let at = ended.iter().position(|proposal| proposal.id == *id)?;
        ended.remove(at)
    })
}

/// Returns whether it decides something. The first decision stands: a second one for the same
/// proposal finds nothing undecided, and closes nothing.
pub(super) fn fold_decision(
    world: &mut Snapshot,
    entry: &Entry,
    decision: &FinalityDecision,
) -> bool {
    if !is_signed(world, entry, decision) {
        return false;
    }
    if decision.is_auto() && !is_proven(world, entry, decision) {
        return false;
    }
    let Some(mut proposal) = take_undecided(world, &decision.proposal_id) else {
        return false;
    };
    if decision.approved {
        // The operator saw what stood in the way. What is carried on has its place behind what was seen.
        // They may have been asked before an earlier approval, or in a session that was longer.
        let before = world.judged_through();
        let seen = decision.seen.filter(|_| entry.carried.is_none());
        world.approved_through = entry.seq;
        world.seen_through = seen.map(|seen| seen.min(entry.seq).max(before));
        let judged = world.judged_through();
        world.open_blockers.retain(|blocker| blocker.seq > judged);
        world.failed_before.retain(|claim| claim.seq > judged);
        world.approved_tree.clone_from(&decision.tree);
    } else {
        reopen(world, &proposal.proposal.handles);
    }
    if !decision.tells.is_empty() && entry.carried.is_none() {
        world.untold_decisions.insert(
            entry.id.clone(),
            UntoldDecision {
                seq: entry.seq,
                proposal_id: decision.proposal_id.clone(),
                to: decision.tells.clone(),
                hash: None,
            },
        );
    }
    proposal.decision = Some((decision.clone(), entry.timestamp_ms));
    proposal.ended = None;
    push_recent(&mut world.decided_proposals, proposal);
    true
}

/// Whether what the gates decided is what the record has of them: the daemon's word, and each run
/// that it names green on the very tree that it approves. One that was carried over was proven where
/// it was made; the runs may be gone.
fn is_proven(world: &Snapshot, entry: &Entry, decision: &FinalityDecision) -> bool {
    let is_green = |id: &EntryId| {
        let mut runs = world.gates.values();
        runs.any(|gate| {
            let is_of_tree = gate.run.tree.as_ref().map(|tree| &tree.tree)
                == decision.tree.as_ref().map(|tree| &tree.tree);
            gate.id == *id && gate.is_green() && is_of_tree
        })
    };
    let is_of_system = entry.source == Party::System && decision.approved;
    let is_named = decision.tree.is_some() && decision.runs.iter().all(is_green);
    is_of_system && (entry.carried.is_some() || is_named)
}

/// An agent has its message about a decision.
pub(super) fn decision_is_told(world: &mut Snapshot, decision: &EntryId, to: Option<Agent>) {
    if let (Some(untold), Some(to)) = (world.untold_decisions.get_mut(decision), to) {
        untold.to.retain(|agent| *agent != to);
        if untold.to.is_empty() {
            world.untold_decisions.remove(decision);
        }
    }
}

/// What a rejected proposal had resolved is not resolved, and what was answered to it is no answer.
fn reopen(world: &mut Snapshot, resolved: &[EntryId]) {
    for id in resolved {
        let closed = world.closed_handoffs.iter().position(|one| one.id == *id);
        if let Some(mut handoff) = closed.and_then(|at| world.closed_handoffs.remove(at)) {
            handoff.handled_by = None;
            handoff.closed_by = None;
            handoff.unanswered = false;
            world.closed_handoffs_total = world.closed_handoffs_total.saturating_sub(1);
            world.open_handoffs.insert(id.clone(), Arc::new(handoff));
            set_closed(world, id, false, None);
        }
        if let Some(handoff) = world.open_handoffs.get_mut(id) {
            let handoff = Arc::make_mut(handoff);
            (handoff.answer, handoff.final_answer) = (None, None);
        }
    }
}

/// Keeps a closed handoff among the latest. The oldest gives way, but none that a pending proposal
/// names: a rejection opens it again.
pub(super) fn keep_closed(world: &mut Snapshot, closed: HandoffSnapshot) {
    let mut too_many = (world.closed_handoffs.len() + 1).saturating_sub(RECENT_MAX);
    let pending = &world.pending_proposals;
    let is_named = |id: &EntryId| {
        let mut proposals = pending.values();
        proposals.any(|pending| pending.proposal.handles.contains(id))
    };
    world.closed_handoffs.retain(|earlier| {
        let gives_way = too_many > 0 && !is_named(&earlier.id);
        too_many -= usize::from(gives_way);
        !gives_way
    });
    world.closed_handoffs.push_back(closed);
}

/// Whether an entry closes what it names. A proposal names what it would close, and a blocker what it
/// blocks: neither closes it.
pub(super) fn closes(entry: &Entry) -> bool {
    match &entry.kind {
        EntryKind::FinalityProposal(_) => false,
        EntryKind::Note { note, .. } => *note != NoteKind::Blocker,
        EntryKind::FinalityDecision(decision) => decision.approved,
        _ => true,
    }
}

/// Whose word an entry is that closes what it names: the yes to a proposal lets that count.
pub(super) fn closer(world: &Snapshot, entry: &Entry) -> Option<Party> {
    let EntryKind::FinalityDecision(decision) = &entry.kind else {
        return Some(entry.source.clone());
    };
    let mut decided = world.decided_proposals.iter().rev();
    let proposal = decided.find(|proposal| proposal.id == decision.proposal_id)?;
    Some(proposal.by.clone())
}

/// Closes the handoffs, and lifts the blockers, that an entry names.
pub(super) fn close_handled(world: &mut Snapshot, entry: &Entry) {
    if !closes(entry) || entry.handles().is_empty() {
        return;
    }
    let by = closer(world, entry);
    for id in entry.handles() {
        if let Some(handoff) = world.open_handoffs.remove(id) {
            let mut handoff = Arc::unwrap_or_clone(handoff);
            let pair = handoff.runtime_session.as_ref();
            let is_of_pair = is_same_pair(pair, entry);
            let is_answered = handoff.answer.is_some() || handoff.final_answer.is_some();
            handoff.unanswered = !is_answered && by != handoff.to;
            handoff.handled_by = Some((entry.id.clone(), entry.timestamp_ms));
            handoff.closed_by = Some(entry.source.clone());
            world.closed_handoffs_total += 1;
            keep_closed(world, handoff);
            // An agent of another pair is not the one who sent it.
            let by = by.as_ref();
            let by = by.filter(|by| is_of_pair || **by == Party::Human);
            set_closed(world, id, true, by);
        }
    }
    let open = &world.open_handoffs;
    world.open_blockers.retain(|blocker| {
        let is_over = !blocker.holds_up.is_empty()
            && blocker.holds_up.iter().all(|id| !open.contains_key(id));
        !is_over && !entry.handles().contains(&blocker.id)
    });
}

#[cfg(test)]
mod tests;
