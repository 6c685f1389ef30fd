//! The lane to Codex, input by input.

mod asked_back;
mod compaction;

use crate::agent::Agent;
use crate::delivery::{
    Activity, AdapterAnswer, Backlog, CodexFlow, CodexInput, CodexTimeouts, Delivery,
    DeliveryEffect, DeliveryState, Moment, Shown,
};
use crate::entry::{DeliveryResult, OnBusy, Outcome, TurnStatus};
use crate::id::{AttemptId, EntryId, RuntimeSession, Seq, ThreadId, TurnId};

struct Lane {
    flow: CodexFlow,
    backlog: Backlog,
    now_ms: i64,
}

impl Lane {
    /// With an app-server and an idle thread.
    fn new(timeouts: CodexTimeouts) -> Self {
        let mut lane = Self {
            flow: CodexFlow::new(timeouts),
            backlog: Backlog::default(),
            now_ms: 0,
        };
        lane.hear(CodexInput::ServerStarted { life: 1 });
        let thread = ThreadId::new("t");
        lane.hear(CodexInput::Adopted { life: 1, thread });
        lane.activity(Activity::Idle);
        lane
    }

    fn hear(&mut self, input: CodexInput) -> Vec<DeliveryEffect> {
        self.now_ms += 1;
        let at = Moment {
            now_ms: self.now_ms,
            attempt: AttemptId::new(format!("a{}", self.now_ms)),
        };
        self.flow.apply(&mut self.backlog, input, &at)
    }

    fn activity(&mut self, activity: Activity) -> Vec<DeliveryEffect> {
        self.hear(CodexInput::Activity { life: 1, activity })
    }

    fn send(&mut self, seq: u64, on_busy: OnBusy) -> Vec<DeliveryEffect> {
        self.backlog.insert(Delivery::recorded(
            id(seq),
            Seq(seq),
            Agent::Codex,
            RuntimeSession::default(),
            on_busy,
            self.now_ms,
        ));
        self.hear(CodexInput::News)
    }

    fn answer(&mut self, seq: u64, answer: AdapterAnswer) -> Vec<DeliveryEffect> {
        let attempt = self
            .backlog
            .get(&id(seq))
            .and_then(|row| row.attempt.clone());
        self.hear(CodexInput::Answer {
            life: 1,
            id: id(seq),
            attempt,
            answer,
        })
    }

    fn turn_ended(
        &mut self,
        turn: &str,
        status: TurnStatus,
        ids: Vec<EntryId>,
    ) -> Vec<DeliveryEffect> {
        self.hear(CodexInput::TurnEnded {
            life: 1,
            turn: TurnId::new(turn),
            status,
            ids,
            limited: false,
            died: false,
        })
    }
}

fn id(seq: u64) -> EntryId {
    EntryId::new(format!("m{seq}"))
}

fn handed(effects: &[DeliveryEffect]) -> Vec<EntryId> {
    let handed = handed_over(effects).into_iter();
    handed.map(|(id, _)| id).collect()
}

fn handed_over(effects: &[DeliveryEffect]) -> Vec<(EntryId, bool)> {
    let handed = effects.iter().filter_map(|effect| match effect {
        DeliveryEffect::DeliverToAdapter { id, repeat, .. } => Some((id.clone(), *repeat)),
        _ => None,
    });
    handed.collect()
}

#[test]
fn the_row_is_written_before_the_message_leaves() {
    let mut lane = Lane::new(CodexTimeouts::default());
    let effects = lane.send(1, OnBusy::Queue);
    assert_eq!(effects[0], DeliveryEffect::Store(id(1)));
    assert_eq!(handed_over(&effects), [(id(1), false)]);
    assert_eq!(effects[1].leaves(), Some(&id(1)));
    // One at a time.
    assert_eq!(lane.send(2, OnBusy::Queue), []);
}

#[test]
fn what_is_for_a_codex_without_an_account_waits_until_somebody_signs_in() {
    let mut lane = Lane::new(CodexTimeouts::default());
    let sign_in = |needed| CodexInput::SignIn { life: 1, needed };
    lane.hear(sign_in(true));
    assert!(!lane.flow.may_deliver_soon());
    assert_eq!(lane.send(1, OnBusy::Queue), []);
    assert_eq!(handed(&lane.hear(sign_in(false))), [id(1)]);
    // Nor does it leave when it was about to.
    let attempt = lane.backlog.get(&id(1)).unwrap().attempt.clone().unwrap();
    assert!(lane.flow.may_leave(&lane.backlog, &id(1), &attempt));
    lane.hear(sign_in(true));
    assert!(!lane.flow.may_leave(&lane.backlog, &id(1), &attempt));
    // Of the next app-server nothing is known yet.
    lane.hear(CodexInput::NotWanted { id: id(1) });
    assert_eq!(
        handed(&lane.hear(CodexInput::ServerStarted { life: 2 })),
        [id(1)]
    );
}

#[test]
fn after_the_human_stopped_a_turn_the_lane_is_paused_until_they_go_on() {
    let mut lane = Lane::new(CodexTimeouts::default());
    lane.activity(Activity::Busy { waiting: false });
    let turn = TurnId::new("t1");
    lane.hear(CodexInput::TurnStarted { life: 1, turn });
    lane.activity(Activity::Idle);
    let effects = lane.turn_ended("t1", TurnStatus::Interrupted, Vec::new());
    assert_eq!(effects, [DeliveryEffect::Paused(true)]);
    assert_eq!(lane.send(1, OnBusy::Queue), []);
    let turn = TurnId::new("t2");
    let effects = lane.hear(CodexInput::HumanMessage { life: 1, turn });
    assert_eq!(handed_over(&effects), [(id(1), false)]);
}

#[test]
fn a_turn_that_was_cut_off_with_its_app_server_holds_nothing() {
    let mut lane = Lane::new(CodexTimeouts::default());
    lane.send(1, OnBusy::Queue);
    let turn = TurnId::new("t1");
    lane.hear(CodexInput::TurnStarted {
        life: 1,
        turn: turn.clone(),
    });
    let proof = CodexInput::Proof {
        id: id(1),
        turn: turn.clone(),
        steered: false,
    };
    lane.hear(proof);
    let (gave_up, result) = (false, DeliveryResult::Confirmed);
    lane.hear(CodexInput::Durable { id: id(1), result });
    lane.hear(CodexInput::ServerLost { life: 1, gave_up });
    lane.hear(CodexInput::ServerStarted { life: 2 });
    let effects = lane.hear(CodexInput::TurnEnded {
        life: 2,
        turn: turn.clone(),
        status: TurnStatus::Interrupted,
        ids: vec![id(1)],
        limited: false,
        died: true,
    });
    // It is shown, and not sent again.
    assert_eq!(effects, [DeliveryEffect::CutOff { id: id(1), turn }]);
    assert!(!lane.flow.state().is_paused());
}

#[test]
fn what_an_idle_thread_holds_goes_on_unless_the_human_stopped_a_turn() {
    let mut lane = Lane::new(CodexTimeouts::default());
    lane.activity(Activity::Idle);
    lane.send(1, OnBusy::Queue);
    lane.answer(1, AdapterAnswer::Queued);
    assert_eq!(
        lane.answer(1, AdapterAnswer::StillQueued),
        [DeliveryEffect::ReleaseQueue]
    );
    // Once: it was asked for.
    assert_eq!(lane.activity(Activity::Idle), []);

    // What the thread does may come later.
    let mut lane = Lane::new(CodexTimeouts::default());
    lane.send(1, OnBusy::Queue);
    lane.hear(CodexInput::ServerStarted { life: 2 });
    let (life, id, attempt, answer) = (2, id(1), None, AdapterAnswer::StillQueued);
    lane.hear(CodexInput::Answer {
        life,
        id,
        attempt,
        answer,
    });
    let activity = Activity::Idle;
    let effects = lane.hear(CodexInput::Activity { life: 2, activity });
    assert_eq!(effects, [DeliveryEffect::ReleaseQueue]);

    // A turn of before, met in the history.
    let mut lane = Lane::new(CodexTimeouts::default());
    lane.send(1, OnBusy::Queue);
    let turn = TurnId::new("t1");
    lane.hear(CodexInput::TurnStarted {
        life: 1,
        turn: turn.clone(),
    });
    lane.hear(CodexInput::TurnEnded {
        life: 1,
        turn,
        status: TurnStatus::Interrupted,
        ids: Vec::new(),
        limited: false,
        died: true,
    });
    assert!(!lane.flow.state().is_paused());

    let mut lane = Lane::new(CodexTimeouts::default());
    lane.activity(Activity::Busy { waiting: false });
    lane.send(1, OnBusy::Queue);
    lane.answer(1, AdapterAnswer::Queued);
    let turn = TurnId::new("t1");
    lane.hear(CodexInput::TurnStarted { life: 1, turn });
    lane.activity(Activity::Idle);
    lane.turn_ended("t1", TurnStatus::Interrupted, Vec::new());
    assert_eq!(lane.answer(1, AdapterAnswer::StillQueued), []);
}

#[test]
fn what_waits_behind_a_turn_that_runs_is_left_alone() {
    let mut lane = Lane::new(CodexTimeouts::default());
    lane.activity(Activity::Busy { waiting: false });
    lane.send(1, OnBusy::Queue);
    lane.answer(1, AdapterAnswer::Queued);
    assert_eq!(lane.answer(1, AdapterAnswer::StillQueued), []);
}

#[test]
fn what_the_human_stopped_before_a_restart_is_paused_in_that_thread() {
    for (thread, is_paused) in [("t", true), ("another", false)] {
        let mut lane = Lane::new(CodexTimeouts::default());
        let thread = Some(ThreadId::new(thread));
        let effects = lane.hear(CodexInput::Stopped { thread });
        assert_eq!(effects, [DeliveryEffect::Paused(true)]);
        lane.hear(CodexInput::ServerStarted { life: 2 });
        let thread = ThreadId::new("t");
        lane.hear(CodexInput::Adopted { life: 2, thread });
        assert_eq!(lane.flow.state().is_paused(), is_paused);
    }
}

#[test]
fn a_limit_holds_what_comes_until_a_turn_has_worked() {
    let mut lane = Lane::new(CodexTimeouts::default());
    lane.hear(CodexInput::TurnEnded {
        life: 1,
        turn: TurnId::new("t1"),
        status: TurnStatus::Failed,
        ids: Vec::new(),
        limited: true,
        died: false,
    });
    assert_eq!(lane.send(1, OnBusy::Steer), []);
    let turn = TurnId::new("t2");
    assert_eq!(lane.hear(CodexInput::HumanMessage { life: 1, turn }), []);
    let effects = lane.turn_ended("t2", TurnStatus::Completed, Vec::new());
    assert_eq!(effects[0], DeliveryEffect::Limit(false));
    assert_eq!(handed_over(&effects), [(id(1), false)]);
}

#[test]
fn what_an_earlier_app_server_or_attempt_says_is_refused() {
    let mut lane = Lane::new(CodexTimeouts::default());
    lane.send(1, OnBusy::Queue);
    let first = lane.backlog.get(&id(1)).and_then(|row| row.attempt.clone());
    let effects = lane.answer(1, AdapterAnswer::NotTaken);
    assert_eq!(handed_over(&effects), [(id(1), false)]);
    let late = |life| CodexInput::Answer {
        life,
        id: id(1),
        attempt: first.clone(),
        answer: AdapterAnswer::NotTaken,
    };
    for (life, what) in [(1, "attempt"), (0, "answer")] {
        let current = 1;
        let of = life;
        let refused = DeliveryEffect::Stale { what, of, current };
        assert_eq!(lane.hear(late(life)), [refused]);
    }
    assert!(
        lane.backlog
            .get(&id(1))
            .is_some_and(Delivery::is_on_its_way)
    );
}

#[test]
fn what_nobody_can_know_is_given_up_and_only_the_operator_sends_it_again() {
    let mut lane = Lane::new(CodexTimeouts::default());
    lane.send(1, OnBusy::Queue);
    lane.answer(1, AdapterAnswer::Unanswered);
    lane.now_ms = lane.flow.next_ms(&lane.backlog).unwrap();
    let effects = lane.hear(CodexInput::Tick);
    let result = DeliveryResult::Ambiguous;
    assert!(matches!(
        &effects[..],
        [DeliveryEffect::Append {
            result: DeliveryResult::Ambiguous,
            ..
        }]
    ));
    lane.hear(CodexInput::Durable { id: id(1), result });
    let state = lane.backlog.get(&id(1)).map(|row| row.state);
    assert_eq!(state, Some(DeliveryState::Ambiguous));
    assert_eq!(handed_over(&lane.hear(CodexInput::News)), []);
    let result = DeliveryResult::Requeued;
    let effects = lane.hear(CodexInput::Durable { id: id(1), result });
    // It may have been shown, and says so.
    assert_eq!(handed_over(&effects), [(id(1), true)]);
}

#[test]
fn what_is_lost_from_sight_a_second_time_is_given_up_too() {
    let mut lane = Lane::new(CodexTimeouts::default());
    lane.send(1, OnBusy::Queue);
    lane.answer(1, AdapterAnswer::Unanswered);
    lane.answer(1, AdapterAnswer::StillQueued);
    assert_eq!(lane.flow.next_ms(&lane.backlog), None);
    lane.answer(1, AdapterAnswer::Unanswered);
    lane.now_ms = lane.flow.next_ms(&lane.backlog).unwrap();
    let effects = lane.hear(CodexInput::Tick);
    assert!(matches!(
        &effects[..],
        [DeliveryEffect::Append {
            result: DeliveryResult::Ambiguous,
            ..
        }]
    ));
}

#[test]
fn one_that_is_rejected_on_its_way_holds_up_nothing_behind_it() {
    let mut lane = Lane::new(CodexTimeouts::default());
    lane.send(1, OnBusy::Queue);
    assert_eq!(handed_over(&lane.send(2, OnBusy::Queue)), []);
    let (rejected, result) = (id(1), DeliveryResult::Rejected);
    let mut effects = Vec::new();
    lane.backlog
        .mark_recording(&rejected, result, None, None, &mut effects);
    let effects = lane.hear(CodexInput::Durable {
        id: rejected.clone(),
        result,
    });
    assert_eq!(handed_over(&effects), [(id(2), false)]);
    let told = DeliveryEffect::Receipt {
        id: rejected,
        outcome: Outcome::Rejected,
    };
    assert!(effects.contains(&told), "{effects:?}");
}

#[test]
fn what_waits_for_too_long_expires_on_the_record() {
    let mut lane = Lane::new(CodexTimeouts {
        expiry_ms: Some(1_000),
        ..CodexTimeouts::default()
    });
    lane.send(1, OnBusy::Queue);
    lane.send(2, OnBusy::Queue);
    lane.now_ms = lane.flow.next_ms(&lane.backlog).unwrap();
    let effects = lane.hear(CodexInput::Tick);
    let Some(DeliveryEffect::Append {
        id: expired,
        result,
        ..
    }) = effects.first()
    else {
        panic!("{effects:?}");
    };
    // The one on its way is not the queue's to expire.
    assert_eq!((expired, *result), (&id(2), DeliveryResult::Expired));
}

/// A turn that ends at the limit, or does not.
fn turn_ended(turn: &str, limited: bool) -> CodexInput {
    CodexInput::TurnEnded {
        life: 1,
        turn: TurnId::new(turn),
        status: if limited {
            TurnStatus::Failed
        } else {
            TurnStatus::Completed
        },
        ids: Vec::new(),
        limited,
        died: false,
    }
}

#[test]
fn after_a_limit_one_message_is_the_test() {
    let mut lane = Lane::new(CodexTimeouts::default());
    lane.hear(turn_ended("u1", true));
    for seq in 1..=3 {
        assert_eq!(handed(&lane.send(seq, OnBusy::Queue)), []);
    }
    assert_eq!(handed(&lane.hear(CodexInput::LimitOver)), [id(1)]);
    // Codex refuses it: the next try is the test.
    assert_eq!(handed(&lane.answer(1, AdapterAnswer::NotTaken)), [id(1)]);
    let proof = CodexInput::Proof {
        id: id(1),
        turn: TurnId::new("u2"),
        steered: false,
    };
    assert_eq!(handed(&lane.hear(proof)), []);
    lane.activity(Activity::Busy { waiting: false });
    // The operator removes one that waits: the test still runs.
    assert_eq!(handed(&lane.send(5, OnBusy::Queue)), []);
    let removed = CodexInput::Durable {
        id: id(5),
        result: DeliveryResult::Cancelled,
    };
    assert_eq!(handed(&lane.hear(removed)), []);
    // It is urgent: it joins the very turn that is the test.
    assert_eq!(handed(&lane.send(4, OnBusy::Steer)), [id(4)]);
    // Idle comes before the end of the turn.
    assert_eq!(handed(&lane.activity(Activity::Idle)), []);
    lane.hear(CodexInput::Proof {
        id: id(4),
        turn: TurnId::new("u2"),
        steered: true,
    });
    assert_eq!(handed(&lane.hear(turn_ended("u2", true))), []);
    assert_eq!(handed(&lane.hear(CodexInput::LimitOver)), [id(2)]);
    lane.hear(CodexInput::Proof {
        id: id(2),
        turn: TurnId::new("u3"),
        steered: false,
    });
    assert_eq!(handed(&lane.hear(turn_ended("u3", false))), [id(3)]);
}

#[test]
fn what_leaves_codexs_queue_for_no_turn_again_and_again_is_left_to_the_operator() {
    let mut lane = Lane::new(CodexTimeouts::default());
    assert_eq!(handed(&lane.send(1, OnBusy::Queue)), [id(1)]);
    for _ in 0..2 {
        lane.answer(1, AdapterAnswer::Queued);
        assert_eq!(handed(&lane.answer(1, AdapterAnswer::NotTaken)), [id(1)]);
    }
    lane.answer(1, AdapterAnswer::Queued);
    let effects = lane.answer(1, AdapterAnswer::NotTaken);
    assert_eq!(handed(&effects), []);
    let result = DeliveryResult::Ambiguous;
    let given_up = |effect: &DeliveryEffect| matches!(effect, DeliveryEffect::Append { id: it, result: its, .. } if *it == id(1) && *its == result);
    assert!(effects.iter().any(given_up), "{effects:?}");
    // What comes behind it goes out.
    assert_eq!(handed(&lane.send(2, OnBusy::Queue)), [id(2)]);
}

#[test]
fn a_message_that_was_not_to_leave_any_more_does_not_rest_the_lane() {
    let mut lane = Lane::new(CodexTimeouts {
        rest_ms: 15_000,
        ..CodexTimeouts::default()
    });
    let held = handed(&lane.send(1, OnBusy::Queue));
    assert_eq!(held, [id(1)]);
    // The limit comes while its row is being written.
    lane.hear(CodexInput::LimitHolds);
    assert_eq!(handed(&lane.hear(CodexInput::NotWanted { id: id(1) })), []);
    let row = lane.backlog.get(&id(1)).map(|row| row.state);
    assert_eq!(row, Some(DeliveryState::Queued));
    assert!(!lane.flow.is_resting());
    assert_eq!(handed(&lane.hear(CodexInput::LimitOver)), [id(1)]);
    // Where something is wrong it rests.
    lane.hear(CodexInput::NotSent { id: id(1) });
    assert!(lane.flow.is_resting());
}

#[test]
fn a_turn_that_had_a_message_before_it_was_sent_again_proves_nothing_of_that() {
    let mut lane = Lane::new(CodexTimeouts::default());
    let pair = RuntimeSession::default();
    let row = Delivery::recorded(id(1), Seq(1), Agent::Codex, pair, OnBusy::Queue, 0);
    lane.backlog.insert_again(Delivery {
        cut_off_in: vec![TurnId::new("u1")],
        ..row
    });
    let proof = |turn| CodexInput::Proof {
        id: id(1),
        turn: TurnId::new(turn),
        steered: false,
    };
    assert_eq!(handed_over(&lane.hear(CodexInput::News)), [(id(1), true)]);
    // A history that is read anew tells of it once more, and of its end.
    assert_eq!(lane.hear(proof("u1")), []);
    let interrupted = TurnStatus::Interrupted;
    assert_eq!(lane.turn_ended("u1", interrupted, vec![id(1)]), []);
    assert!(!lane.flow.is_quiet());
    let effects = lane.hear(proof("u2"));
    assert!(
        matches!(
            &effects[..],
            [DeliveryEffect::Append { result: DeliveryResult::Confirmed, turn: Some(turn), .. }]
                if turn.as_str() == "u2"
        ),
        "{effects:?}"
    );
}

/// `m1` was sent without an answer, and recovery has a moment left.
fn nearly_given_up() -> Lane {
    let mut lane = Lane::new(CodexTimeouts::default());
    lane.send(1, OnBusy::Queue);
    lane.answer(1, AdapterAnswer::Unanswered);
    lane.activity(Activity::Busy { waiting: false });
    lane.now_ms = lane.flow.next_ms(&lane.backlog).unwrap() - 3;
    lane
}

#[test]
fn when_a_turn_ends_recovery_has_the_time_to_find_out_and_no_more() {
    let mut lane = nearly_given_up();
    lane.activity(Activity::Idle);
    lane.now_ms += 2_500;
    assert_eq!(lane.hear(CodexInput::Tick), []);
    // The adapter has looked twice.
    let effects = lane.answer(1, AdapterAnswer::NotTaken);
    assert_eq!(handed(&effects), [id(1)]);

    // Nobody looks for it any more, and its person goes on and on.
    let mut lane = nearly_given_up();
    for _ in 0..3 {
        lane.activity(Activity::Idle);
        lane.activity(Activity::Busy { waiting: false });
    }
    lane.activity(Activity::Idle);
    lane.now_ms += 5_000;
    let effects = lane.hear(CodexInput::Tick);
    let is_given_up = |effect: &DeliveryEffect| matches!(effect, DeliveryEffect::Append { result, .. } if *result == DeliveryResult::Ambiguous);
    assert!(effects.iter().any(is_given_up), "{effects:?}");
}

#[test]
fn when_an_app_server_comes_up_recovery_has_its_whole_time_to_find_out() {
    let mut lane = nearly_given_up();
    let gave_up = false;
    lane.hear(CodexInput::ServerLost { life: 1, gave_up });
    lane.hear(CodexInput::ServerStarted { life: 2 });
    lane.now_ms += 2_500;
    assert_eq!(lane.hear(CodexInput::Tick), []);
}

#[test]
fn whoever_sent_what_is_taken_back_or_expires_hears_that_nobody_gets_it() {
    for result in [DeliveryResult::Cancelled, DeliveryResult::Expired] {
        let mut lane = Lane::new(CodexTimeouts::default());
        lane.activity(Activity::Busy { waiting: false });
        lane.send(1, OnBusy::Queue);
        lane.send(2, OnBusy::Queue);
        let effects = lane.hear(CodexInput::Durable { id: id(2), result });
        let told = DeliveryEffect::Receipt {
            id: id(2),
            outcome: Outcome::Rejected,
        };
        assert!(effects.contains(&told), "{effects:?}");
        assert!(lane.backlog.get(&id(2)).is_none());
    }
}

#[test]
fn of_what_is_settled_without_it_the_lane_remembers_nothing() {
    let mut lane = Lane::new(CodexTimeouts::default());
    for seq in [1, 2] {
        lane.send(seq, OnBusy::Queue);
    }
    lane.answer(1, AdapterAnswer::NotTaken);
    lane.flow.forget_settled(&lane.backlog);
    assert_eq!(lane.flow.remembered(), 1);
    lane.backlog.settle(&id(1));
    lane.flow.forget_settled(&lane.backlog);
    assert_eq!(lane.flow.remembered(), 0);
}
