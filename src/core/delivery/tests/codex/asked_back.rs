//! What lies behind the turn that waits for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::agent::Party;
use crate::snapshot::MessageSnapshot;

/// `m1` lies in the app-server's queue behind a turn, and `m2` waits here.
fn behind_a_turn() -> Lane {
    let mut lane = Lane::new(CodexTimeouts::default());
    lane.activity(Activity::Busy { waiting: false });
    lane.send(1, OnBusy::Queue);
    lane.answer(1, AdapterAnswer::Queued);
    lane.send(2, OnBusy::Queue);
    lane
}

fn awaited(lane: &mut Lane, seq: u64) -> Vec<DeliveryEffect> {
    lane.hear(CodexInput::Awaited { id: id(seq) })
}

fn state(lane: &Lane, seq: u64) -> DeliveryState {
    lane.backlog.get(&id(seq)).unwrap().state
}

#[test]
fn what_the_operator_takes_back_is_cancelled_once_it_is_out_of_the_queue_and_else_begins() {
    for answer in [AdapterAnswer::TakenBack, AdapterAnswer::NotTaken] {
        let mut lane = behind_a_turn();
        let withdrawn = || CodexInput::Withdrawn { id: id(1) };
        // Its row says so before the operator hears of it.
        let asked = [
            DeliveryEffect::Store(id(1)),
            DeliveryEffect::TakeBack(id(1)),
        ];
        assert_eq!(lane.hear(withdrawn()), asked, "{answer:?}");
        assert!(lane.backlog.get(&id(1)).unwrap().withdrawn);
        assert_eq!(lane.hear(withdrawn()), []);
        let effects = lane.answer(1, answer);
        let is_cancelled = |effect: &DeliveryEffect| {
            matches!(effect, DeliveryEffect::Append { id: it, result, .. }
                if *it == id(1) && *result == DeliveryResult::Cancelled)
        };
        assert!(effects.iter().any(is_cancelled), "{effects:?}");
        // Nobody has it, and the record can say so.
        assert_eq!(state(&lane, 1), DeliveryState::Queued);
        assert_eq!(handed(&effects), [id(2)]);
    }
    // It began a turn meanwhile.
    let mut lane = behind_a_turn();
    lane.hear(CodexInput::Withdrawn { id: id(1) });
    let proof = CodexInput::Proof {
        id: id(1),
        turn: TurnId::new("u1"),
        steered: false,
    };
    let effects = lane.hear(proof);
    assert!(
        effects.iter().any(|effect| matches!(
            effect,
            DeliveryEffect::Append { result, .. } if *result == DeliveryResult::Confirmed
        )),
        "{effects:?}"
    );
    // What is on its way, and not known to lie there, is not.
    assert_eq!(state(&lane, 2), DeliveryState::Attempted);
    assert_eq!(lane.hear(CodexInput::Withdrawn { id: id(2) }), []);
}

#[test]
fn what_the_turn_waits_for_is_asked_back_once_and_is_not_handed_over_again_at_once() {
    let mut lane = behind_a_turn();
    assert_eq!(awaited(&mut lane, 1), [DeliveryEffect::TakeBack(id(1))]);
    assert_eq!(awaited(&mut lane, 1), []);
    let effects = lane.answer(1, AdapterAnswer::TakenBack);
    assert_eq!(effects, [DeliveryEffect::Store(id(1))]);
    assert_eq!(state(&lane, 1), DeliveryState::Queued);
    assert!(lane.flow.is_quiet() && !lane.flow.is_resting());
    // Nor does what waits behind it overtake it.
    assert_eq!(lane.hear(CodexInput::News), []);
    // The turn has it.
    let at = AttemptId::new("page");
    lane.backlog
        .claim(&id(1), Shown::Whole, &at, 10, lane.now_ms, &mut Vec::new());
    assert_eq!(handed(&lane.hear(CodexInput::News)), [id(2)]);
}

#[test]
fn what_is_not_taken_after_all_goes_out_when_no_turn_runs_or_after_a_while() {
    let mut lane = behind_a_turn();
    awaited(&mut lane, 1);
    lane.answer(1, AdapterAnswer::TakenBack);
    assert_eq!(handed(&lane.activity(Activity::Idle)), [id(1)]);

    let mut lane = behind_a_turn();
    awaited(&mut lane, 1);
    lane.answer(1, AdapterAnswer::TakenBack);
    let until = lane.flow.next_ms(&lane.backlog).unwrap();
    lane.now_ms = until - 2;
    assert_eq!(handed(&lane.hear(CodexInput::Tick)), []);
    assert_eq!(handed(&lane.hear(CodexInput::Tick)), [id(1)]);
}

#[test]
fn what_is_not_in_the_queue_behind_a_turn_is_not_asked_back() {
    let mut lane = Lane::new(CodexTimeouts::default());
    lane.send(1, OnBusy::Queue);
    // Not answered, no turn runs, or nobody knows the message.
    assert_eq!(awaited(&mut lane, 1), []);
    lane.answer(1, AdapterAnswer::Queued);
    assert_eq!(awaited(&mut lane, 1), []);
    assert_eq!(awaited(&mut lane, 9), []);
    // It is in the turn that runs.
    lane.activity(Activity::Busy { waiting: false });
    lane.hear(CodexInput::Proof {
        id: id(1),
        turn: TurnId::new("u"),
        steered: false,
    });
    assert_eq!(awaited(&mut lane, 1), []);
    // It is taken out too late.
    assert_eq!(lane.answer(1, AdapterAnswer::TakenBack), []);
}

#[test]
fn it_is_asked_back_again_once_it_was_heard_to_lie_there_again() {
    let mut lane = behind_a_turn();
    awaited(&mut lane, 1);
    lane.answer(1, AdapterAnswer::StillQueued);
    assert_eq!(awaited(&mut lane, 1), [DeliveryEffect::TakeBack(id(1))]);
    // The request died with its app-server.
    let gave_up = false;
    lane.hear(CodexInput::ServerLost { life: 1, gave_up });
    assert_eq!(awaited(&mut lane, 1), []);
    lane.hear(CodexInput::ServerStarted { life: 2 });
    let activity = Activity::Busy { waiting: false };
    lane.hear(CodexInput::Activity { life: 2, activity });
    assert_eq!(awaited(&mut lane, 1), [DeliveryEffect::TakeBack(id(1))]);
    // An answer of the one before says nothing of this one.
    let stale = lane.answer(1, AdapterAnswer::TakenBack);
    assert!(matches!(stale[..], [DeliveryEffect::Stale { .. }]));
    assert_eq!(state(&lane, 1), DeliveryState::Offered);
}

/// Another process finds these rows, and the record has this of `m1`.
fn next_process(rows: Vec<Delivery>, change: impl FnOnce(&mut MessageSnapshot)) -> Lane {
    let mut message = MessageSnapshot {
        seq: Seq(1),
        from: Party::Agent(Agent::Claude),
        to: Agent::Codex,
        at_ms: 0,
        sent_ms: None,
        runtime_session: None,
        on_busy: OnBusy::Queue,
        result: None,
        rung: None,
        hash: None,
        cut_off_in: Vec::new(),
        answers: 0,
        closed: false,
        closed_by_sender: false,
        closed_by_operator: false,
        answered_in_turn: false,
        will_be_sent_again: false,
    };
    change(&mut message);
    let unsettled = BTreeMap::from([(id(1), Arc::new(message))]);
    let mut lane = Lane::new(CodexTimeouts::default());
    lane.backlog = Backlog::restore(rows, &unsettled, false).backlog;
    lane
}

fn is_cancelled(effects: &[DeliveryEffect]) -> bool {
    effects.iter().any(|effect| {
        matches!(effect, DeliveryEffect::Append { id: it, result, .. }
            if *it == id(1) && *result == DeliveryResult::Cancelled)
    })
}

#[test]
fn what_was_taken_back_stays_so_in_the_next_process_until_it_is_wanted_again() {
    let offered = |is_withdrawn: bool| {
        let mut lane = behind_a_turn();
        if is_withdrawn {
            lane.hear(CodexInput::Withdrawn { id: id(1) });
        }
        vec![lane.backlog.get(&id(1)).unwrap().clone()]
    };
    let closed = |message: &mut MessageSnapshot| {
        (message.closed, message.closed_by_operator) = (true, true);
    };
    // The removal is in the row; the process may have died behind the operator's note alone.
    for mut lane in [
        next_process(offered(true), |_| {}),
        next_process(offered(false), closed),
    ] {
        assert!(lane.backlog.is_unwanted(&id(1)));
        let began = lane.hear(CodexInput::Began);
        let recovers = DeliveryEffect::Recover(vec![id(1)]);
        assert!(began.contains(&recovers), "{began:?}");
        let effects = lane.answer(1, AdapterAnswer::TakenBack);
        assert!(is_cancelled(&effects), "{effects:?}");
        assert_eq!(handed(&effects), []);
    }
    // Left in the queue it is asked back; found nowhere it ends.
    let mut lane = next_process(offered(true), |_| {});
    lane.hear(CodexInput::Began);
    let effects = lane.answer(1, AdapterAnswer::StillQueued);
    let asks = DeliveryEffect::TakeBack(id(1));
    assert!(effects.contains(&asks), "{effects:?}");
    assert!(is_cancelled(&lane.answer(1, AdapterAnswer::NotTaken)));
    // Nobody knew what became of it, and the operator wants it once more.
    let mut lane = next_process(offered(true), |_| {});
    let (result, now_ms) = (DeliveryResult::Ambiguous, lane.now_ms);
    let mut effects = Vec::new();
    lane.backlog.durable(&id(1), result, now_ms, &mut effects);
    let gave_up = lane.backlog.get(&id(1)).unwrap().clone();
    let requeued = |message: &mut MessageSnapshot| message.result = Some(DeliveryResult::Requeued);
    let after_a_crash = next_process(vec![gave_up], requeued);
    let result = DeliveryResult::Requeued;
    lane.backlog.durable(&id(1), result, now_ms, &mut effects);
    for lane in [lane, after_a_crash] {
        assert!(!lane.backlog.is_unwanted(&id(1)));
        let row = lane.backlog.get(&id(1)).unwrap();
        assert!(!row.withdrawn && row.state == DeliveryState::Queued);
    }
}
