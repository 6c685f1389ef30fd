//! [`fold`]: `Snapshot + Entry -> Snapshot`. Replay and live use this one function.

mod acting;
mod approving;
mod closing;
mod continuing;
mod delivering;
mod exchanging;
mod reviewing;
mod running;
mod signing;
mod tasking;

use std::collections::VecDeque;
use std::sync::Arc;

use super::alarm::{Alarm, AlarmSnapshot};
use super::entry::{Artifact, CommandRun, Entry, EntryKind, FinalityProposal, NoteKind};
use super::id::EntryId;
use super::kept_text::{brief, cut, cut_all};
use super::signing::ActSignature;
use super::snapshot::{
    ArtifactSnapshot, BlockerSnapshot, ErrorSnapshot, HandoffSnapshot, NoteSnapshot,
    ProposalSnapshot, RECENT_MAX, Snapshot,
};
use acting::fold_activity;
use approving::{fold_answer, fold_approval, withdraw_question};
use closing::{
    close_answered, close_handled, decision_is_told, fold_decision, keep_closed, open_question,
    supersede, take_answer, withdraw,
};
use continuing::{fold_continuity, note_of_state};
use delivering::{fold_delivery, fold_turn_answered, track};
use exchanging::fold_exchange;
use reviewing::{claim_finding, fold_finding};
use running::{fold_agent, fold_lifecycle, fold_turn};
use signing::{is_act_believed, is_signed};
use tasking::{fold_task, rebuild_task, work_of_task};

/// Takes one entry in. Cannot fail: what makes no sense any more changes nothing.
pub fn fold(world: &mut Snapshot, entry: &Entry) {
    world.entries += 1;
    world.seq = entry.seq;
    world.last_at_ms = entry.timestamp_ms;
    if world.session_id.as_ref() != Some(&entry.session_id) {
        world.session_id = Some(entry.session_id.clone());
    }
    let name = entry.kind.type_name();
    match world.counts.get_mut(name) {
        Some(count) => *count += 1,
        None => {
            world.counts.insert(name.to_owned(), 1);
        }
    }
    let is_past_foreign = entry.seq > world.foreign_through;
    if entry.is_carried_foreign() && entry.is_of_operator() && is_past_foreign {
        world.foreign_carried.insert(entry.seq);
    }
    if world.is_foreign(entry.seq) && entry.is_of_operator() {
        return show(world, entry);
    }

    if !is_act_believed(world, entry) {
        return;
    }
    if entry.only_rebuilds_task() {
        return rebuild_task(world, entry);
    }
    fold_activity(world, entry);
    let answers = fold_exchange(world, entry);
    match &entry.kind {
        EntryKind::SessionStarted { predecessor } => {
            world.predecessor.clone_from(predecessor);
            world.follows_since_ms = predecessor.as_ref().map(|_| entry.timestamp_ms);
            world.begun_by = ActSignature::of(entry);
        }
        EntryKind::Message(message) => {
            track(world, entry, answers);
            open_question(world, entry, message);
            fold_answer(world, entry, message);
            if let Some(decision) = &message.decision {
                decision_is_told(world, decision, entry.receiver());
            }
            take_answer(world, entry, message);
        }
        EntryKind::Handoff(handoff) => {
            track(world, entry, answers);
            open_handoff(world, entry, &handoff.reason);
        }
        EntryKind::Note {
            note,
            handles,
            withdraws,
        } => {
            fold_note(world, entry, *note, handles);
            note_of_state(world, entry, *note);
            claim_finding(world, entry);
            if let Some(withdrawn) = withdraws {
                withdraw(world, entry, withdrawn);
                withdraw_question(world, entry, withdrawn);
            }
        }
        EntryKind::Artifact(artifact) => fold_artifact(world, entry, artifact),
        EntryKind::FinalityProposal(proposal) => propose(world, entry, proposal),
        EntryKind::FinalityDecision(decision) => {
            if !fold_decision(world, entry, decision) {
                return;
            }
        }
        EntryKind::Delivery(record) => fold_delivery(world, entry, record),
        EntryKind::AgentChanged(change) => fold_agent(world, entry, change),
        EntryKind::Turn(turn) => fold_turn(world, entry, turn),
        EntryKind::Approval(record) => fold_approval(world, entry, record),
        EntryKind::Continuity(record) => fold_continuity(world, entry, record),
        EntryKind::Finding(record) => fold_finding(world, entry, record),
        EntryKind::Task(record) => fold_task(world, entry, record),
        EntryKind::Lifecycle { event } => fold_lifecycle(world, entry, event),
        EntryKind::Error { code } => {
            push_recent(
                &mut world.errors,
                ErrorSnapshot {
                    seq: entry.seq,
                    at_ms: entry.timestamp_ms,
                    code: code.clone(),
                    text: cut(&entry.content),
                },
            );
            fold_alarm(world, entry);
        }
        EntryKind::Other { .. } => {}
    }

    fold_turn_answered(world, entry);
    close_answered(world, entry);
    close_handled(world, entry);
    work_of_task(world, entry);
}

/// Forgets how far messages are on their way. ContextRelay 3 kept that in another place and under
/// other ids, so that by its record alone every message it ever took would be on its way.
pub fn forget_deliveries(world: &mut Snapshot) {
    world.unsettled.clear();
    world.open_questions.clear();
}

/// What somebody else says in the operator's name is shown where it stands, and has no effect: it
/// decides, closes and answers nothing, and is delivered to nobody.
fn show(world: &mut Snapshot, entry: &Entry) {
    match &entry.kind {
        EntryKind::SessionStarted { predecessor } => world.predecessor.clone_from(predecessor),
        EntryKind::Handoff(handoff) => open_handoff(world, entry, &handoff.reason),
        EntryKind::Note { note, .. } => fold_note(world, entry, *note, &[]),
        _ => {}
    }
}

fn fold_alarm(world: &mut Snapshot, entry: &Entry) {
    if let Some(alarm) = Alarm::of(entry) {
        raise(world, entry, alarm);
    }
}

/// What an entry is or says is an alarm, until the operator has acknowledged it by that entry's id.
fn raise(world: &mut Snapshot, entry: &Entry, alarm: Alarm) {
    if let Alarm::MessageAltered { others: more, .. } = &alarm
        && let Some(others) = world.alarms.iter_mut().find_map(others_altered)
    {
        // However many are edited at once: one row, and no other alarm gives way to them.
        *others += 1 + more;
        return;
    }
    if world.alarms.len() >= RECENT_MAX {
        let seen = world
            .alarms
            .iter()
            .position(|alarm| alarm.acknowledged_ms.is_some());
        world.alarms.remove(seen.unwrap_or(0));
    }
    world.alarms.push_back(AlarmSnapshot {
        id: entry.id.clone(),
        seq: entry.seq,
        at_ms: entry.timestamp_ms,
        alarm,
        acknowledged_ms: None,
    });
}

/// How many messages an alarm counts that nobody has acknowledged.
fn others_altered(open: &mut AlarmSnapshot) -> Option<&mut u64> {
    match &mut open.alarm {
        Alarm::MessageAltered { others, .. } if open.acknowledged_ms.is_none() => Some(others),
        _ => None,
    }
}

fn open_handoff(world: &mut Snapshot, entry: &Entry, reason: &str) {
    let carried = entry.carried.as_ref();
    let is_over = carried.is_some_and(|carried| carried.answered);
    let handoff = HandoffSnapshot {
        id: entry.id.clone(),
        seq: entry.seq,
        from: entry.source.clone(),
        to: entry.target.clone(),
        ask: cut(&entry.content).into(),
        reason: cut(reason),
        at_ms: entry.timestamp_ms,
        runtime_session: entry.runtime_session.clone(),
        delivered: false,
        never_delivered: false,
        unanswered: carried.is_some_and(|carried| carried.unanswered),
        answer: None,
        final_answer: None,
        blocked_by: None,
        handled_by: is_over.then(|| (entry.id.clone(), entry.timestamp_ms)),
        closed_by: None,
    };
    if is_over {
        // It was counted where it was closed.
        return keep_closed(world, handoff);
    }
    let open = &mut world.open_handoffs;
    open.insert(entry.id.clone(), Arc::new(handoff));
}

fn fold_note(world: &mut Snapshot, entry: &Entry, note: NoteKind, handles: &[EntryId]) {
    if let Some(agent) = entry.source.agent() {
        world.agents.entry(agent).or_default().last_note_ms = Some(entry.timestamp_ms);
    }
    if note == NoteKind::Blocker {
        world.open_blockers.push_back(BlockerSnapshot {
            id: entry.id.clone(),
            seq: entry.seq,
            by: entry.source.clone(),
            at_ms: entry.timestamp_ms,
            text: brief(&entry.content),
            holds_up: handles
                .iter()
                .filter(|id| world.open_handoffs.contains_key(id))
                .cloned()
                .collect(),
        });
        for id in handles {
            if let Some(handoff) = world.open_handoffs.get_mut(id) {
                Arc::make_mut(handoff).blocked_by = Some(entry.id.clone());
            }
        }
    }
    push_recent(
        &mut world.notes,
        NoteSnapshot {
            id: entry.id.clone(),
            seq: entry.seq,
            by: entry.source.clone(),
            at_ms: entry.timestamp_ms,
            kind: note,
            text: cut(&entry.content),
        },
    );
}

fn propose(world: &mut Snapshot, entry: &Entry, proposal: &FinalityProposal) {
    supersede(world, entry, proposal);
    let proposed = ProposalSnapshot {
        id: entry.id.clone(),
        seq: entry.seq,
        by: entry.source.clone(),
        at_ms: entry.timestamp_ms,
        proposal: FinalityProposal {
            summary: cut(&proposal.summary),
            evidence: cut_all(&proposal.evidence),
            remaining_risk: proposal.remaining_risk.as_deref().map(cut),
            handles: proposal.handles.clone(),
            tree: proposal.tree.clone(),
        },
        decision: None,
        ended: None,
        runtime_session: entry.runtime_session.clone(),
        hash: None,
    };
    let pending = &mut world.pending_proposals;
    pending.insert(entry.id.clone(), proposed);
}

fn fold_artifact(world: &mut Snapshot, entry: &Entry, artifact: &Artifact) {
    if let Some(run) = entry.gate_run() {
        world.take_gate_run(&entry.id, artifact.status, run);
    }
    world.take_artifact(ArtifactSnapshot {
        id: entry.id.clone(),
        seq: entry.seq,
        by: entry.source.clone(),
        at_ms: entry.timestamp_ms,
        artifact: Artifact {
            kind: cut(artifact.kind.as_str()).into(),
            title: cut(&artifact.title),
            summary: cut(&artifact.summary),
            status: artifact.status,
            evidence: cut_all(&artifact.evidence),
            verified: entry.gate_run().cloned(),
            ran: artifact.ran.as_ref().map(CommandRun::cut),
        },
        runtime_session: entry.runtime_session.clone(),
    });
}

pub(crate) fn push_recent<T>(recent: &mut VecDeque<T>, item: T) {
    if recent.len() == RECENT_MAX {
        recent.pop_front();
    }
    recent.push_back(item);
}
