//! What became of messages, and of the turns that had them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::keep_latest;
use crate::agent::Agent;
use crate::entry::{DeliveryRecord, DeliveryResult, Entry, TurnRecord, TurnStatus};
use crate::id::{EntryId, TurnId};
use crate::snapshot::{HandoffSnapshot, MessageSnapshot, Snapshot};

/// Takes in what became of a message.
pub(super) fn fold_delivery(world: &mut Snapshot, entry: &Entry, record: &DeliveryRecord) {
    let proven = matches!(
        record.result,
        DeliveryResult::Confirmed | DeliveryResult::Acknowledged
    );
    if let Some(handoff) = world.open_handoffs.get_mut(&record.message_id) {
        take_delivery(Arc::make_mut(handoff), record.result);
    }
    if proven && let Some(rung) = &record.rung {
        world.agents.entry(record.to).or_default().proven_rung =
            Some((rung.clone(), entry.timestamp_ms));
    }
    if matches!(
        record.result,
        DeliveryResult::Rejected | DeliveryResult::Expired | DeliveryResult::Cancelled
    ) {
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
            world
                .unsettled
                .insert(record.message_id.clone(), Arc::new(message.requeued()));
        }
        return;
    }
    let Some(message) = world.unsettled.get_mut(&record.message_id) else {
        return;
    };
    if let (DeliveryResult::Confirmed, Some(turn)) = (record.result, &record.turn_id) {
        let mut in_turn = (turn.clone(), MessageSnapshot::clone(message));
        // Whether the turn began with it.
        in_turn.1.rung.clone_from(&record.rung);
        keep_latest(&mut world.in_turn, |(_, message)| message.seq);
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
        if record.rung.is_some() {
            message.rung.clone_from(&record.rung);
        }
    }
}

/// Whether the receiver of a handoff has it.
fn take_delivery(handoff: &mut HandoffSnapshot, result: DeliveryResult) {
    match result {
        DeliveryResult::Confirmed | DeliveryResult::Acknowledged => {
            handoff.delivered = true;
            handoff.never_delivered = false;
        }
        DeliveryResult::Rejected | DeliveryResult::Expired | DeliveryResult::Cancelled => {
            handoff.never_delivered = !handoff.delivered;
        }
        DeliveryResult::Requeued => handoff.never_delivered = false,
        DeliveryResult::Ambiguous => {}
    }
}

/// What becomes of the messages that a turn had.
pub(super) fn fold_turn_end(
    in_turn: &mut BTreeMap<EntryId, (TurnId, MessageSnapshot)>,
    cut_off: &mut BTreeMap<EntryId, MessageSnapshot>,
    turn: &TurnRecord,
) {
    if turn.status == TurnStatus::InProgress {
        return;
    }
    let ended = in_turn.extract_if(.., |_, (had_by, _)| *had_by == turn.turn_id);
    for (id, (_, mut message)) in ended {
        if turn.status != TurnStatus::Completed {
            keep_latest(cut_off, |message| message.seq);
            message.cut_off(&turn.turn_id);
            cut_off.insert(id, message);
        }
    }
}
