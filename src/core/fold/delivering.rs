//! What became of messages, and of the turns that had them.

use std::sync::Arc;

use crate::agent::{Agent, Party};
use crate::entry::{DeliveryRecord, DeliveryResult, Entry, TurnRecord, TurnStatus};
use crate::id::{EntryId, TurnId};
use crate::snapshot::{HandoffSnapshot, MessageSnapshot, Snapshot};

/// Follows a message until it is known what became of it.
pub(super) fn track(world: &mut Snapshot, entry: &Entry, answers: u32) {
    let (Some(to), Some(on_busy)) = (entry.receiver(), entry.on_busy()) else {
        return;
    };
    let carried = entry.carried.as_ref();
    let mut message = MessageSnapshot {
        seq: entry.seq,
        from: entry.source.clone(),
        to,
        at_ms: entry.timestamp_ms,
        sent_ms: Some(entry.sent_ms()).filter(|sent_ms| *sent_ms != entry.timestamp_ms),
        runtime_session: entry.runtime_session.clone(),
        on_busy,
        result: None,
        rung: carried.and_then(|carried| carried.rung.clone()),
        hash: None,
        cut_off_in: carried.map_or_else(Vec::new, |carried| carried.cut_off_in.clone()),
        answers,
        closed: carried.is_some_and(|carried| carried.answered),
        closed_by_sender: false,
        closed_by_operator: false,
        answered_in_turn: carried.is_some_and(|carried| carried.answered_in_turn),
        will_be_sent_again: carried.is_some_and(|carried| carried.will_be_sent_again),
    };
    let closed_by = carried.and_then(|carried| carried.closed_by.as_ref());
    // Somebody else's word does not speak for the operator.
    let is_believed = |by: &&Party| **by != Party::Human || !world.is_foreign(entry.seq);
    message.set_closed_by(closed_by.filter(is_believed));
    let id = entry.id.clone();
    let Some(carried) = carried.filter(|carried| carried.settled) else {
        world.unsettled.insert(id, Arc::new(message));
        return;
    };
    let message = Arc::new(message);
    if let Some(turn) = &carried.in_turn {
        world.in_turn.insert(id, (turn.clone(), message));
    } else if let Some(turn) = carried.cut_off_in.last() {
        cut_off(world, id, message, turn);
    }
}

/// Takes in what became of a message.
pub(super) fn fold_delivery(world: &mut Snapshot, entry: &Entry, record: &DeliveryRecord) {
    let proven = matches!(
        record.result,
        DeliveryResult::Confirmed | DeliveryResult::Acknowledged
    );
    let message = world.unsettled.get(&record.message_id);
    let may_have_arrived = record.may_have_arrived(message.and_then(|message| message.result));
    if let Some(handoff) = world.open_handoffs.get_mut(&record.message_id) {
        take_delivery(Arc::make_mut(handoff), record.result, may_have_arrived);
    } else if record.result == DeliveryResult::Cancelled {
        // Its sender closed it before it was given; a rejection may open it again.
        let mut closed = world.closed_handoffs.iter_mut();
        if let Some(handoff) = closed.find(|handoff| handoff.id == record.message_id) {
            // Whether it is answered was settled by what closed it.
            handoff.never_delivered = !handoff.delivered && !may_have_arrived;
        }
    }
    if proven && let Some(rung) = &record.rung {
        world.agents.entry(record.to).or_default().proven_rung =
            Some((rung.clone(), entry.timestamp_ms));
    }
    if matches!(
        record.result,
        DeliveryResult::Rejected | DeliveryResult::Expired | DeliveryResult::Cancelled
    ) && !may_have_arrived
    {
        // Nobody was asked, so the next thing that the receiver says is no answer to it.
        world
            .open_questions
            .retain(|_, open| open.id != record.message_id);
    }
    if matches!(
        record.result,
        DeliveryResult::Requeued | DeliveryResult::Cancelled
    ) && let Some(message) = world.cut_off.remove(&record.message_id)
    {
        if record.result == DeliveryResult::Requeued {
            // Codex had it, and is to have it once more.
            let message = Arc::unwrap_or_clone(message).requeued();
            world
                .unsettled
                .insert(record.message_id.clone(), Arc::new(message));
        }
        return;
    }
    let Some(message) = world.unsettled.get_mut(&record.message_id) else {
        return;
    };
    if let (DeliveryResult::Confirmed, Some(turn)) = (record.result, &record.turn_id) {
        let mut had = MessageSnapshot::clone(message);
        // Whether the turn began with it.
        had.rung.clone_from(&record.rung);
        let in_turn = (turn.clone(), Arc::new(had));
        world.in_turn.insert(record.message_id.clone(), in_turn);
    }
    if let (DeliveryResult::Requeued | DeliveryResult::Ambiguous, Some(turn)) =
        (record.result, &record.turn_id)
    {
        // Of a message that a compaction carried on: the turn itself is in the sealed session.
        Arc::make_mut(message).cut_off(turn);
    }
    if proven && !message.is_proven() {
        *world.delivered.entry(record.to).or_default() += 1;
    }
    let settled = match record.result {
        // Codex has what its thread has; Claude says itself when it has read.
        DeliveryResult::Confirmed => record.to == Agent::Codex,
        DeliveryResult::Acknowledged
        | DeliveryResult::Rejected
        | DeliveryResult::Expired
        | DeliveryResult::Cancelled => true,
        DeliveryResult::Ambiguous => message.is_proven(),
        DeliveryResult::Requeued => false,
    };
    if settled && record.result != DeliveryResult::Ambiguous {
        world.unsettled.remove(&record.message_id);
    } else if !settled {
        let message = Arc::make_mut(message);
        message.result = Some(record.result);
        // The operator wants it to be given all the same.
        if record.result == DeliveryResult::Requeued {
            (message.closed_by_sender, message.closed_by_operator) = (false, false);
        }
        if record.rung.is_some() {
            message.rung.clone_from(&record.rung);
        }
    }
}

/// Whether the receiver of a handoff has it.
fn take_delivery(handoff: &mut HandoffSnapshot, result: DeliveryResult, may_have_arrived: bool) {
    match result {
        DeliveryResult::Confirmed | DeliveryResult::Acknowledged => {
            handoff.delivered = true;
            (handoff.never_delivered, handoff.unanswered) = (false, false);
        }
        DeliveryResult::Rejected | DeliveryResult::Expired | DeliveryResult::Cancelled => {
            handoff.never_delivered = !handoff.delivered && !may_have_arrived;
            let is_taken_back = result == DeliveryResult::Cancelled;
            handoff.unanswered = handoff.never_delivered && is_taken_back;
        }
        DeliveryResult::Requeued => {
            (handoff.never_delivered, handoff.unanswered) = (false, false);
        }
        DeliveryResult::Ambiguous => {}
    }
}

/// What becomes of the messages that a turn had.
pub(super) fn fold_turn_end(world: &mut Snapshot, entry: &Entry, turn: &TurnRecord) {
    if turn.status == TurnStatus::InProgress {
        return;
    }
    let of_turn =
        |_: &EntryId, (had_by, _): &mut (TurnId, Arc<MessageSnapshot>)| *had_by == turn.turn_id;
    let mut ended: Vec<_> = world.in_turn.extract_if(.., of_turn).collect();
    // It may have ended behind the daemon, which the next one took for being cut off.
    let behind =
        |_: &EntryId, message: &mut Arc<MessageSnapshot>| message.was_last_in(&turn.turn_id);
    let behind = world.cut_off.extract_if(.., behind);
    ended.extend(behind.map(|(id, message)| (id, (turn.turn_id.clone(), message))));
    if turn.status == TurnStatus::Completed {
        return;
    }
    let sent_again = entry.sent_again();
    for (id, (_, mut message)) in ended {
        Arc::make_mut(&mut message).will_be_sent_again = sent_again.as_ref() == Some(&id);
        cut_off(world, id, message, &turn.turn_id);
    }
}

/// A turn that had a message ended early. What is closed was not cut off: its work is done.
pub(super) fn cut_off(
    world: &mut Snapshot,
    id: EntryId,
    mut message: Arc<MessageSnapshot>,
    turn: &TurnId,
) {
    if message.closed {
        return;
    }
    Arc::make_mut(&mut message).cut_off(turn);
    world.cut_off.insert(id, message);
}

/// The daemon that was to send them again is gone: their senders are told when the next one starts.
pub(super) fn forget_promises(world: &mut Snapshot) {
    let cut_off = world.cut_off.values_mut();
    for message in cut_off.filter(|message| message.will_be_sent_again) {
        Arc::make_mut(message).will_be_sent_again = false;
    }
}

/// A tool of a turn of Codex's answered the Claude that waits for that turn.
pub(super) fn fold_turn_answered(world: &mut Snapshot, entry: &Entry) {
    let Some(turn) = entry.answered_turn() else {
        return;
    };
    let pair = entry.pair();
    for (had_by, message) in world.in_turn.values_mut() {
        if *had_by == turn && message.pair() == pair {
            Arc::make_mut(message).answered_in_turn = true;
        }
    }
}

#[cfg(test)]
mod tests;
