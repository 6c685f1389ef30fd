//! The ways to Claude, rung by rung.

use crate::agent::Agent;
use crate::delivery::{
    Backlog, Delivery, DeliveryEffect, DeliveryFact, DeliveryMode, DeliveryState, EndedTurns,
    HookPoint, Ladder, LadderInput, LadderTimeouts, Moment, Rung,
};
use crate::entry::{DeliveryResult, DeliveryWay, OnBusy};
use crate::id::{AttemptId, EntryId, RuntimeSession, Seq};

struct Way {
    ladder: Ladder,
    backlog: Backlog,
    now_ms: i64,
}

impl Way {
    fn new(mode: DeliveryMode, bell: bool) -> Self {
        let mut way = Self {
            ladder: Ladder::new(RuntimeSession::default(), LadderTimeouts::default(), false),
            backlog: Backlog::default(),
            now_ms: 10_000,
        };
        way.hear(LadderInput::Attached {
            bridge: 1,
            process: Some(7),
            mode,
        });
        if bell {
            way.hear(LadderInput::BellHung { bell: 2 });
        }
        way
    }

    /// A hook has handed the message into the turn that runs.
    fn in_a_turn_with_it() -> Self {
        let mut way = Self::new(DeliveryMode::Auto, true);
        way.send();
        way.hear(LadderInput::TurnBegan);
        let rung = DeliveryWay::Hook;
        let ids = vec![id()];
        way.hear(LadderInput::Proven { ids, rung });
        let result = DeliveryResult::Confirmed;
        way.hear(LadderInput::Durable { id: id(), result });
        way
    }

    fn hear(&mut self, input: LadderInput) -> Vec<DeliveryEffect> {
        self.now_ms += 1;
        let at = Moment {
            now_ms: self.now_ms,
            attempt: AttemptId::new(format!("a{}", self.now_ms)),
        };
        let effects = self.ladder.apply(&mut self.backlog, input, &at);
        // Rows are written at once here, and what waits for them leaves.
        for id in effects.iter().filter_map(DeliveryEffect::leaves) {
            self.backlog.sent(id, self.now_ms);
        }
        effects
    }

    fn send(&mut self) -> Vec<DeliveryEffect> {
        self.send_on(OnBusy::Queue)
    }

    fn send_on(&mut self, on_busy: OnBusy) -> Vec<DeliveryEffect> {
        self.insert(id(), 1, on_busy);
        self.hear(LadderInput::News)
    }

    /// As [`Self::send`], one that comes behind it.
    fn send_next(&mut self, name: &str, seq: u64) -> (EntryId, Vec<DeliveryEffect>) {
        let next = EntryId::new(name);
        self.insert(next.clone(), seq, OnBusy::Queue);
        (next, self.hear(LadderInput::News))
    }

    fn insert(&mut self, id: EntryId, seq: u64, on_busy: OnBusy) {
        self.backlog.insert(Delivery::recorded(
            id,
            Seq(seq),
            Agent::Claude,
            RuntimeSession::default(),
            on_busy,
            self.now_ms,
        ));
    }

    /// Without a doorbell, and past the time in which one may still come.
    fn by_channel() -> Self {
        let mut way = Self::new(DeliveryMode::Auto, false);
        way.wait(LadderTimeouts::default().bell_ms);
        way
    }

    fn push_is_over(&mut self) {
        self.wait(LadderTimeouts::default().push_ms);
    }

    fn carried(&self, carrier: HookPoint) -> usize {
        self.ladder.carries(&self.backlog, carrier).len()
    }

    /// Claims of the past are over.
    fn wait(&mut self, ms: i64) -> Vec<DeliveryEffect> {
        self.now_ms += ms;
        self.backlog.expire_claims(self.now_ms);
        self.hear(LadderInput::Tick)
    }
}

fn id() -> EntryId {
    EntryId::new("m1")
}

#[test]
fn without_proof_an_offer_descends_rung_by_rung() {
    let mut way = Way::new(DeliveryMode::Push, true);
    let effects = way.send();
    assert!(matches!(
        &effects[..],
        [
            DeliveryEffect::Store(_),
            DeliveryEffect::Push {
                bridge: 1,
                repeat: false,
                ..
            }
        ]
    ));
    let idle = LadderTimeouts::default().idle_ms;
    let ring = DeliveryEffect::Ring {
        bell: 2,
        ids: vec![id()],
        asks: false,
    };
    assert_eq!(way.wait(idle), [ring]);
    assert_eq!(way.carried(HookPoint::Tool), 0);
    // A whole turn without proof: the doorbell rings once more, and Claude is asked to fetch it.
    way.hear(LadderInput::TurnBegan);
    let again = way.hear(LadderInput::TurnEnded { limited: false });
    assert!(matches!(
        &again[..],
        [DeliveryEffect::Ring { asks: true, .. }]
    ));
    way.hear(LadderInput::TurnBegan);
    assert_eq!(way.hear(LadderInput::TurnEnded { limited: false }), []);
    assert_eq!(way.backlog.rung_of(&id()), Some(Rung::Hooks));
    assert_eq!(way.carried(HookPoint::Tool), 1);
    way.wait(idle);
    assert_eq!(way.backlog.rung_of(&id()), Some(Rung::Pull));
    assert_eq!(way.ladder.next_ms(&way.backlog), None);
}

#[test]
fn after_proof_nothing_is_offered_unasked() {
    let mut way = Way::new(DeliveryMode::Auto, true);
    way.send();
    assert_eq!(way.carried(HookPoint::Prompt), 1);
    let rung = DeliveryWay::Hook;
    let effects = way.hear(LadderInput::Proven {
        ids: vec![id()],
        rung,
    });
    assert!(matches!(
        &effects[..],
        [DeliveryEffect::Append {
            result: DeliveryResult::Confirmed,
            ..
        }]
    ));
    // Not while it is being recorded either.
    assert_eq!(way.carried(HookPoint::Prompt), 0);
    let result = DeliveryResult::Confirmed;
    way.hear(LadderInput::Durable { id: id(), result });
    assert_eq!(way.carried(HookPoint::Prompt), 0);
    assert_eq!(way.ladder.proven(), Some(Rung::Doorbell));
    // Its row says that no later turn reads it.
    let effects = way.hear(LadderInput::NewContext);
    assert_eq!(effects, [DeliveryEffect::Store(id())]);
    let effects = way.hear(LadderInput::Acknowledged { ids: vec![id()] });
    assert!(matches!(
        &effects[..],
        [DeliveryEffect::Append {
            result: DeliveryResult::Acknowledged,
            ..
        }]
    ));
}

#[test]
fn a_channel_waits_a_moment_for_the_doorbell() {
    let mut way = Way::new(DeliveryMode::Auto, false);
    assert_eq!(way.send(), []);
    let due = way.ladder.next_ms(&way.backlog).unwrap();
    assert!(due <= 10_001 + LadderTimeouts::default().bell_ms);
    way.now_ms = due;
    let effects = way.hear(LadderInput::Tick);
    assert!(matches!(
        &effects[..],
        [DeliveryEffect::Store(_), DeliveryEffect::Push { .. }]
    ));
}

#[test]
fn a_claude_that_heard_no_push_gets_no_more_of_them_until_one_proves_itself() {
    let mut way = Way::new(DeliveryMode::Auto, false);
    way.send();
    way.wait(LadderTimeouts::default().bell_ms);
    way.wait(LadderTimeouts::default().idle_ms);
    assert!(way.ladder.is_deaf());
    assert_eq!(way.ladder.first_rung(), Some(Rung::Hooks));
    assert_eq!(way.carried(HookPoint::Stop), 1);
    // The same Claude over another connection is as deaf, another one need not be.
    let attached = |bridge, process| LadderInput::Attached {
        bridge,
        process: Some(process),
        mode: DeliveryMode::Auto,
    };
    way.hear(LadderInput::Left { bridge: 1 });
    assert_eq!(way.hear(attached(3, 7)), []);
    assert_eq!(way.ladder.first_rung(), Some(Rung::Hooks));
    way.hear(attached(4, 8));
    assert_eq!(way.ladder.first_rung(), Some(Rung::Channel));
}

#[test]
fn a_doorbell_without_its_bridge_is_rung_and_a_limit_silences_all() {
    let mut way = Way::new(DeliveryMode::Auto, true);
    way.hear(LadderInput::Left { bridge: 1 });
    assert_eq!(way.ladder.first_rung(), Some(Rung::Doorbell));
    let ring = DeliveryEffect::Ring {
        bell: 2,
        ids: vec![id()],
        asks: false,
    };
    assert_eq!(way.send(), [ring]);
    way.hear(LadderInput::TurnEnded { limited: true });
    assert_eq!(way.carried(HookPoint::Prompt), 0);
    way.hear(LadderInput::LimitOver);
    assert_eq!(way.carried(HookPoint::Prompt), 1);
    assert_eq!(way.hear(LadderInput::BellGone { bell: 2 }), []);
    assert_eq!(way.ladder.first_rung(), None);
}

#[test]
fn a_turn_that_the_human_stopped_leaves_what_hooks_handed_into_it_to_the_next_one() {
    for others_limit in [false, true] {
        let mut way = Way::in_a_turn_with_it();
        if others_limit {
            // Another pair's turn ran into it.
            way.hear(LadderInput::LimitHolds);
        }
        way.hear(LadderInput::TurnStopped);
        way.hear(LadderInput::TurnBegan);
        let effects = way.hear(LadderInput::TurnWorked {
            rests: false,
            is_read: true,
        });
        let is_read = |effect: &DeliveryEffect| {
            matches!(
                effect,
                DeliveryEffect::Append {
                    result: DeliveryResult::Acknowledged,
                    ..
                }
            )
        };
        assert!(effects.iter().any(is_read), "{others_limit}: {effects:?}");
    }
}

#[test]
fn what_a_turn_left_unread_no_later_turn_reads_in_another_life_of_the_daemon_either() {
    let mut way = Way::in_a_turn_with_it();
    let effects = way.hear(LadderInput::TurnEnded { limited: true });
    assert!(
        effects.contains(&DeliveryEffect::Store(id())),
        "{effects:?}"
    );
    let row = way.backlog.get(&id()).unwrap();
    assert!(row.lost_turn && !row.in_turn);
}

#[test]
fn what_a_claude_had_whose_process_has_ended_is_read_by_no_turn() {
    let mut way = Way::in_a_turn_with_it();
    way.hear(LadderInput::Left { bridge: 1 });
    // Another one's.
    assert_eq!(way.hear(LadderInput::Ended { process: 8 }), []);
    let stored = [DeliveryEffect::Store(id())];
    assert_eq!(way.hear(LadderInput::Ended { process: 7 }), stored);
    assert_eq!(way.hear(LadderInput::Ended { process: 7 }), []);
    // Its last hook is heard behind its end.
    let next = EntryId::new("m2");
    way.insert(next.clone(), 2, OnBusy::Queue);
    way.hear(LadderInput::Proven {
        ids: vec![next.clone()],
        rung: DeliveryWay::Hook,
    });
    let result = DeliveryResult::Confirmed;
    let id_of_next = next.clone();
    way.hear(LadderInput::Durable {
        id: id_of_next,
        result,
    });
    let mode = DeliveryMode::Auto;
    for process in [8, 9] {
        way.hear(LadderInput::Attached {
            bridge: 3,
            process: Some(process),
            mode,
        });
    }
    assert_eq!(
        way.backlog.lost_turns().collect::<Vec<_>>(),
        [id(), next],
        "each once"
    );
    // The end of the one before says nothing about the one that has come.
    way.hear(LadderInput::TurnBegan);
    let (third, _) = way.send_next("m3", 3);
    way.hear(LadderInput::Proven {
        ids: vec![third.clone()],
        rung: DeliveryWay::Hook,
    });
    assert_eq!(way.hear(LadderInput::Ended { process: 8 }), []);
    assert_eq!(way.backlog.in_turn(&RuntimeSession::default()), [third]);
}

#[test]
fn a_ring_that_came_into_a_turn_is_not_repeated_at_its_end_and_is_when_claude_stays_idle() {
    let mut way = Way::new(DeliveryMode::Auto, true);
    assert!(matches!(
        &way.send()[..],
        [DeliveryEffect::Ring { asks: false, .. }]
    ));
    // Its prompt's hook told nobody that it began.
    way.hear(LadderInput::TurnRuns);
    let idle = LadderTimeouts::default().idle_ms;
    assert_eq!(way.wait(idle), [], "its turn runs");
    assert_eq!(way.hear(worked()), []);
    let next_ms = way.ladder.next_ms(&way.backlog).unwrap();
    assert_eq!(next_ms, way.now_ms + idle / 2);
    assert!(matches!(
        &way.wait(idle / 2)[..],
        [DeliveryEffect::Ring { asks: true, .. }]
    ));
    // One that began behind the ring was of it.
    let mut way = Way::new(DeliveryMode::Auto, true);
    way.send();
    way.hear(LadderInput::TurnBegan);
    way.hear(LadderInput::TurnRuns);
    assert!(matches!(
        &way.hear(worked())[..],
        [DeliveryEffect::Ring { asks: true, .. }]
    ));
}

#[test]
fn a_new_bridge_is_told_everything_and_a_limited_claude_nothing() {
    let mut way = Way::new(DeliveryMode::Auto, true);
    way.send();
    let again = way.hear(LadderInput::Attached {
        bridge: 3,
        process: Some(7),
        mode: DeliveryMode::Auto,
    });
    assert_eq!(
        again,
        [DeliveryEffect::Ring {
            bell: 2,
            ids: vec![id()],
            asks: false,
        }]
    );
    // What an old bridge's end says is nothing about the new one.
    way.hear(LadderInput::Left { bridge: 1 });
    assert_eq!(way.ladder.receiver(), Some(3));
    assert!(!way.ladder.is_receivers(Some(8)));
    way.hear(LadderInput::TurnEnded { limited: true });
    assert_eq!(way.hear(LadderInput::NewContext), []);
    let effects = way.hear(LadderInput::TurnEnded { limited: false });
    assert_eq!(effects[0], DeliveryEffect::Limit(false));
    assert!(matches!(effects[1], DeliveryEffect::Ring { .. }));
}

#[test]
fn what_is_to_join_the_turn_comes_with_the_next_tool_call_and_the_rest_does_not() {
    for (on_busy, carried) in [(OnBusy::Steer, 1), (OnBusy::Queue, 0)] {
        let mut way = Way::new(DeliveryMode::Auto, true);
        way.hear(LadderInput::TurnBegan);
        way.send_on(on_busy);
        assert_eq!(way.carried(HookPoint::Tool), carried, "{on_busy:?}");
        // The end of the turn is the doorbell's.
        assert_eq!(way.carried(HookPoint::Stop), 0, "{on_busy:?}");
    }
}

#[test]
fn many_messages_at_once_ring_no_more_often_than_claude_shows() {
    let mut way = Way::new(DeliveryMode::Auto, true);
    way.hear(LadderInput::TurnBegan);
    let (mut rings, mut named) = (Vec::new(), Vec::new());
    let mut note = |now_ms: i64, effects: Vec<DeliveryEffect>| {
        for effect in effects {
            let DeliveryEffect::Ring { ids, .. } = effect else {
                panic!("{effect:?}")
            };
            rings.push(now_ms);
            named.extend(ids);
        }
    };
    let ids: Vec<EntryId> = (0..60).map(|n| EntryId::new(format!("n{n}"))).collect();
    for (seq, id) in (1..).zip(&ids) {
        way.backlog.insert(Delivery::recorded(
            id.clone(),
            Seq(seq),
            Agent::Claude,
            RuntimeSession::default(),
            OnBusy::Queue,
            way.now_ms,
        ));
        let effects = way.hear(LadderInput::News);
        note(way.now_ms, effects);
    }
    while let Some(due) = way.ladder.next_ms(&way.backlog) {
        assert!(due > way.now_ms, "nothing happens at {due}");
        way.now_ms = due;
        let effects = way.hear(LadderInput::Tick);
        note(way.now_ms, effects);
    }
    // Each once, in order, in no more lines than fit: ten at once and one more every two seconds.
    assert_eq!(named, ids);
    let first = rings[0];
    for (count, at) in (1..).zip(&rings) {
        assert!(count <= 10 + (at - first) / 2_000, "{rings:?}");
    }
}

#[test]
fn a_ring_that_claude_did_not_hear_is_repeated_once() {
    let mut way = Way::new(DeliveryMode::Auto, true);
    assert!(matches!(&way.send()[..], [DeliveryEffect::Ring { .. }]));
    let idle = LadderTimeouts::default().idle_ms;
    assert!(matches!(
        &way.wait(idle / 2)[..],
        [DeliveryEffect::Ring { .. }]
    ));
    assert_eq!(way.backlog.rung_of(&id()), Some(Rung::Doorbell));
    assert_eq!(way.wait(idle / 2), []);
    assert_eq!(way.backlog.rung_of(&id()), Some(Rung::Hooks));
    // One that works hears it when its turn ends, and is not rung again before.
    let mut way = Way::new(DeliveryMode::Auto, true);
    way.hear(LadderInput::TurnBegan);
    way.send();
    assert_eq!(way.ladder.next_ms(&way.backlog), None);
}

fn handed(whole: bool) -> LadderInput {
    let ids = vec![id()];
    LadderInput::HandedOut {
        head: (!whole).then(id),
        whole: if whole { ids } else { Vec::new() },
    }
}

#[test]
fn a_push_that_nothing_proves_makes_no_repeat_and_an_acknowledged_one_does() {
    let mut way = Way::new(DeliveryMode::Push, false);
    way.send();
    assert!(!way.backlog.get(&id()).unwrap().is_repeat());
    // A hook that carries it proves the hook, and nothing about channels.
    way.wait(LadderTimeouts::default().push_ms);
    way.hear(handed(true));
    let rung = DeliveryWay::Hook;
    let ids = vec![id()];
    way.hear(LadderInput::Proven { ids, rung });
    assert_eq!(way.ladder.proven(), None);

    let mut way = Way::new(DeliveryMode::Push, false);
    way.send();
    let second = EntryId::new("m2");
    way.backlog.insert(Delivery::recorded(
        second.clone(),
        Seq(2),
        Agent::Claude,
        RuntimeSession::default(),
        OnBusy::Queue,
        way.now_ms,
    ));
    way.hear(LadderInput::News);
    // Known by its text, which left by no other way: the second one arrived as well.
    let effects = way.hear(LadderInput::Acknowledged { ids: vec![id()] });
    assert_eq!(way.ladder.proven(), Some(Rung::Channel));
    assert!(way.backlog.get(&second).unwrap().is_repeat());
    assert!(
        effects.contains(&DeliveryEffect::Store(second)),
        "{effects:?}"
    );
}

#[test]
fn an_acknowledged_or_fetched_head_settles_nothing() {
    let mut way = Way::new(DeliveryMode::Auto, true);
    way.send();
    way.hear(handed(false));
    let ids = vec![id()];
    let proven = LadderInput::Proven {
        ids: ids.clone(),
        rung: DeliveryWay::Pull,
    };
    assert_eq!(way.hear(proven.clone()), []);
    let acknowledged = LadderInput::Acknowledged { ids };
    assert_eq!(way.hear(acknowledged.clone()), []);
    assert!(!way.backlog.get(&id()).unwrap().is_repeat());
    // With its last character it is whole.
    way.hear(handed(true));
    assert!(way.backlog.get(&id()).unwrap().is_repeat());
    // The call that fetched the end may have been cancelled: the beginning alone was read then.
    assert_eq!(way.hear(acknowledged.clone()), []);
    assert_eq!(way.hear(proven).len(), 1);
    let result = DeliveryResult::Confirmed;
    way.hear(LadderInput::Durable { id: id(), result });
    assert_eq!(way.hear(acknowledged).len(), 1);
}

#[test]
fn what_was_fetched_to_its_end_can_be_acknowledged_before_that_is_on_the_disk() {
    let mut way = Way::new(DeliveryMode::Auto, true);
    way.send();
    way.hear(handed(false));
    way.hear(handed(true));
    let proven = LadderInput::Proven {
        ids: vec![id()],
        rung: DeliveryWay::Pull,
    };
    assert_eq!(way.hear(proven).len(), 1);
    let acknowledged = LadderInput::Acknowledged { ids: vec![id()] };
    assert_eq!(way.hear(acknowledged).len(), 1);
}

#[test]
fn a_text_that_did_not_leave_is_no_repeat() {
    let mut way = Way::new(DeliveryMode::Auto, true);
    way.send();
    way.hear(handed(true));
    let effects = way.hear(LadderInput::NotStored { id: id() });
    assert!(
        effects.contains(&DeliveryEffect::Store(id())),
        "{effects:?}"
    );
    assert!(!way.backlog.get(&id()).unwrap().is_repeat());
}

#[test]
fn a_push_that_did_not_leave_is_no_attempt_however_often_it_is_tried() {
    let mut way = Way::new(DeliveryMode::Push, false);
    way.send();
    let row = |way: &Way| way.backlog.get(&id()).unwrap().clone();
    assert_eq!(row(&way).state, DeliveryState::Attempted);
    for _ in 0..3 {
        // A row that is on disk already says otherwise: it is written again.
        let effects = way.hear(LadderInput::NotStored { id: id() });
        assert!(effects.contains(&DeliveryEffect::Store(id())));
        let waits = row(&way);
        assert_eq!((waits.state, waits.attempts), (DeliveryState::Queued, 0));
        assert_eq!(waits.changed_ms, 10_001, "as long as it waits");
        let effects = way.wait(LadderTimeouts::default().outlet_ms);
        assert!(is_pushed(&effects), "{effects:?}");
        assert_eq!(row(&way).attempts, 1);
    }
    // A state that it comes to in between stays, whatever becomes of the copy that is on its way.
    way.backlog
        .apply(&id(), DeliveryFact::Confirmed, way.now_ms);
    way.hear(LadderInput::NotStored { id: id() });
    assert_eq!(row(&way).state, DeliveryState::Confirmed);
}

#[test]
fn two_copies_of_which_neither_left_are_no_attempts_and_one_that_did_is_one() {
    for has_left in [false, true] {
        let mut way = Way::new(DeliveryMode::Push, false);
        way.insert(id(), 1, OnBusy::Queue);
        let at = Moment {
            now_ms: way.now_ms,
            attempt: AttemptId::new("slow"),
        };
        let effects = way.ladder.apply(&mut way.backlog, LadderInput::News, &at);
        assert!(is_pushed(&effects));
        // Its beginning is asked for while the push waits for its row.
        way.hear(handed(false));
        if has_left {
            way.backlog.pushed(&id(), way.now_ms);
        }
        for _ in 0..2 {
            way.hear(LadderInput::NotStored { id: id() });
        }
        let row = way.backlog.get(&id()).unwrap();
        let wanted = match has_left {
            true => (DeliveryState::Attempted, 2),
            false => (DeliveryState::Queued, 0),
        };
        assert_eq!((row.state, row.attempts), wanted);
    }
}

#[test]
fn a_copy_that_did_not_leave_leaves_the_attempts_before_it() {
    let mut way = Way::new(DeliveryMode::Push, false);
    way.send();
    way.push_is_over();
    way.hear(handed(true));
    assert_eq!(way.backlog.get(&id()).unwrap().attempts, 2);
    way.hear(LadderInput::NotStored { id: id() });
    let row = way.backlog.get(&id()).unwrap();
    assert_eq!((row.state, row.attempts), (DeliveryState::Attempted, 1));
}

#[test]
fn a_push_that_waits_for_its_row_has_not_left_and_no_hook_overtakes_it() {
    let mut way = Way::new(DeliveryMode::Push, false);
    way.send();
    let insert = |way: &mut Way, name: &str, seq: u64| {
        let second = EntryId::new(name);
        let (to, pair) = (Agent::Claude, RuntimeSession::default());
        let row = Delivery::recorded(
            second.clone(),
            Seq(seq),
            to,
            pair,
            OnBusy::Queue,
            way.now_ms,
        );
        way.backlog.insert(row);
        second
    };
    let second = insert(&mut way, "m2", 2);
    let at = Moment {
        now_ms: way.now_ms,
        attempt: AttemptId::new("slow"),
    };
    let effects = way.ladder.apply(&mut way.backlog, LadderInput::News, &at);
    assert!(
        effects
            .iter()
            .any(|effect| effect.leaves() == Some(&second))
    );
    insert(&mut way, "m3", 3);
    assert_eq!(way.carried(HookPoint::Prompt), 0);
    // The first one is proven by its text: channels are on.
    let ids = vec![id()];
    way.ladder
        .apply(&mut way.backlog, LadderInput::Acknowledged { ids }, &at);
    assert_eq!(way.ladder.proven(), Some(Rung::Channel));
    assert!(!way.backlog.get(&second).unwrap().is_repeat());
}

fn worked() -> LadderInput {
    LadderInput::TurnWorked {
        rests: false,
        is_read: true,
    }
}

fn is_pushed(effects: &[DeliveryEffect]) -> bool {
    let is_push = |effect: &DeliveryEffect| matches!(effect, DeliveryEffect::Push { .. });
    effects.iter().any(is_push)
}

#[test]
fn what_was_still_being_pushed_when_a_turn_began_is_carried_by_the_stop_of_that_turn() {
    let mut way = Way::by_channel();
    assert!(is_pushed(&way.send()));
    assert_eq!(way.carried(HookPoint::Prompt), 0);
    way.hear(LadderInput::TurnBegan);
    way.push_is_over();
    assert_eq!(way.carried(HookPoint::Tool), 0);
    assert_eq!(way.carried(HookPoint::Stop), 0);
    way.hear(LadderInput::TurnStops);
    assert_eq!(way.carried(HookPoint::Stop), 1);
    assert!(!way.backlog.get(&id()).unwrap().is_repeat());
    assert!(way.ladder.is_deaf());
    // The turn ends after all: that says nothing more about it.
    way.hear(worked());
    assert_eq!(way.backlog.rung_of(&id()), Some(Rung::Hooks));
    // It was pushed all the same, and may yet turn out to be heard.
    way.hear(LadderInput::Acknowledged { ids: vec![id()] });
    assert_eq!(way.ladder.proven(), Some(Rung::Channel));
    assert!(!way.ladder.is_deaf());
}

#[test]
fn a_stop_gives_up_no_push_that_may_yet_arrive_or_be_rung_for() {
    // Its time is not over.
    let mut way = Way::by_channel();
    way.send();
    way.hear(LadderInput::TurnBegan);
    way.hear(LadderInput::TurnStops);
    assert_eq!(way.carried(HookPoint::Stop), 0);
    assert_eq!(way.backlog.rung_of(&id()), Some(Rung::Channel));
    // It came within the turn.
    let mut way = Way::by_channel();
    way.hear(LadderInput::TurnBegan);
    way.send();
    way.push_is_over();
    way.hear(LadderInput::TurnStops);
    assert_eq!(way.carried(HookPoint::Stop), 0);
    // Channels are on.
    let mut way = Way::by_channel();
    way.send();
    way.hear(LadderInput::Acknowledged { ids: vec![id()] });
    way.send_next("m2", 2);
    way.hear(LadderInput::TurnBegan);
    way.push_is_over();
    way.hear(LadderInput::TurnStops);
    assert_eq!(way.carried(HookPoint::Stop), 0);
    // A doorbell rings for it when the turn has ended.
    let mut way = Way::new(DeliveryMode::Push, true);
    way.send();
    way.hear(LadderInput::TurnBegan);
    way.push_is_over();
    way.hear(LadderInput::TurnStops);
    assert_eq!(way.carried(HookPoint::Stop), 0);
    let effects = way.hear(worked());
    assert!(matches!(&effects[..], [DeliveryEffect::Ring { .. }]));
}

#[test]
fn a_push_that_waits_for_its_row_when_a_turn_begins_is_not_given_up_by_its_end() {
    let mut way = Way::by_channel();
    way.insert(id(), 1, OnBusy::Queue);
    let at = Moment {
        now_ms: way.now_ms,
        attempt: AttemptId::new("slow"),
    };
    let effects = way.ladder.apply(&mut way.backlog, LadderInput::News, &at);
    assert!(is_pushed(&effects));
    way.hear(LadderInput::TurnBegan);
    way.backlog.sent(&id(), way.now_ms);
    way.push_is_over();
    way.hear(LadderInput::TurnStops);
    way.hear(worked());
    assert_eq!(way.backlog.rung_of(&id()), Some(Rung::Channel));
    assert!(!way.ladder.is_deaf());
}

#[test]
fn nothing_overtakes_what_was_pushed_a_moment_ago() {
    let mut way = Way::by_channel();
    way.send();
    let (_, effects) = way.send_next("m2", 2);
    assert!(is_pushed(&effects));
    way.hear(LadderInput::TurnBegan);
    way.hear(worked());
    assert!(way.ladder.is_deaf());
    let (third, effects) = way.send_next("m3", 3);
    assert!(!is_pushed(&effects));
    assert_eq!(way.carried(HookPoint::Prompt), 0);
    // Nor when their bridge goes meanwhile.
    way.hear(LadderInput::Left { bridge: 1 });
    assert_eq!(way.carried(HookPoint::Prompt), 0);
    way.push_is_over();
    let carried = way.ladder.carries(&way.backlog, HookPoint::Prompt);
    assert_eq!(carried, [id(), EntryId::new("m2"), third]);
}

#[test]
fn a_channel_whose_first_acknowledgement_comes_behind_its_turn_is_not_given_up() {
    let mut way = Way::by_channel();
    way.send();
    way.hear(LadderInput::TurnBegan);
    way.hear(worked());
    assert!(way.ladder.is_deaf());
    way.push_is_over();
    assert_eq!(way.backlog.rung_of(&id()), Some(Rung::Hooks));
    way.hear(LadderInput::Acknowledged { ids: vec![id()] });
    assert_eq!(way.ladder.proven(), Some(Rung::Channel));
    assert!(!way.ladder.is_deaf());
    assert!(is_pushed(&way.send_next("m2", 2).1));
}

#[test]
fn a_turn_that_failed_or_was_stopped_shows_nothing_about_channels() {
    for end in [
        LadderInput::TurnEnded { limited: false },
        LadderInput::TurnStopped,
    ] {
        let mut way = Way::by_channel();
        way.send();
        way.hear(LadderInput::TurnBegan);
        way.push_is_over();
        way.hear(end);
        // A hook carries it, and the next one is pushed.
        assert_eq!(way.carried(HookPoint::Tool), 1);
        assert!(!way.ladder.is_deaf());
        assert!(is_pushed(&way.send_next("m2", 2).1));
    }
}

#[test]
fn a_claude_that_compacts_is_not_given_up_as_idle_and_is_rung_for_once() {
    for is_new in [true, false] {
        let mut way = Way::new(DeliveryMode::Auto, true);
        let rings = |effects: Vec<DeliveryEffect>| {
            let rung = |effect: &&DeliveryEffect| matches!(effect, DeliveryEffect::Ring { .. });
            effects.iter().filter(rung).count()
        };
        if !is_new {
            assert_eq!(rings(way.send()), 1);
        }
        let idle = LadderTimeouts::default().idle_ms;
        way.hear(LadderInput::Compacts);
        if is_new {
            assert_eq!(rings(way.send()), 1);
        }
        assert_eq!(rings(way.wait(3 * idle)), 0);
        assert_eq!(way.carried(HookPoint::Tool), 0, "the doorbell is its way");
        // What rang before was in the context that is gone.
        assert_eq!(
            rings(way.hear(LadderInput::Compacted)),
            usize::from(!is_new)
        );
        // From here on an idle Claude has not heard it.
        assert_eq!(rings(way.wait(idle / 2 - 100)), 0);
        assert_eq!(rings(way.wait(200)), 1);
    }
}

#[test]
fn a_compaction_of_which_no_end_comes_holds_up_no_message_for_ever() {
    let mut way = Way::new(DeliveryMode::Auto, true);
    let idle = LadderTimeouts::default().idle_ms;
    way.hear(LadderInput::Compacts);
    way.send();
    way.wait(10 * idle);
    assert_eq!(way.carried(HookPoint::Tool), 0, "it hears nothing");
    way.hear(LadderInput::CompactionOver);
    way.wait(idle / 2);
    way.wait(idle);
    assert_eq!(way.carried(HookPoint::Tool), 1);
}

/// Whether a message is to end as taken back.
fn is_cancelled(effects: &[DeliveryEffect]) -> bool {
    effects.iter().any(|effect| {
        let result = DeliveryResult::Cancelled;
        matches!(effect, DeliveryEffect::Append { result: it, .. } if *it == result)
    })
}

#[test]
fn an_end_that_the_record_refuses_is_not_asked_for_again_before_it_takes_something() {
    let mut way = Way::new(DeliveryMode::Pull, false);
    way.send();
    way.backlog.set_unwanted(id(), true);
    assert!(is_cancelled(&way.hear(LadderInput::News)));
    let result = DeliveryResult::Cancelled;
    for input in [
        LadderInput::NotDurable { id: id(), result },
        LadderInput::News,
        LadderInput::BellHung { bell: 2 },
    ] {
        // It is given to nobody meanwhile.
        assert_eq!(way.hear(input), []);
    }
    way.backlog.set_unwanted(id(), true);
    assert!(is_cancelled(&way.hear(LadderInput::News)));
}

#[test]
fn what_is_proven_to_have_arrived_is_not_taken_back_where_the_record_refuses_the_proof() {
    let mut way = Way::new(DeliveryMode::Auto, true);
    way.send();
    let ids = vec![id()];
    let rung = DeliveryWay::Pull;
    way.hear(LadderInput::Proven { ids, rung });
    way.backlog.set_unwanted(id(), true);
    let result = DeliveryResult::Confirmed;
    let effects = way.hear(LadderInput::NotDurable { id: id(), result });
    assert!(!is_cancelled(&effects), "{effects:?}");
    assert!(!is_cancelled(&way.hear(LadderInput::News)));
}

#[test]
fn what_a_turn_had_is_read_once_the_words_of_all_turns_that_ended_were() {
    let (mut way, mut ended) = (Way::in_a_turn_with_it(), EndedTurns::default());
    let (pair, other) = (RuntimeSession::default(), RuntimeSession::new("other"));
    ended.reads_end(&pair);
    ended.reads_end(&pair);
    let told = LadderInput::TurnWorked {
        rests: false,
        is_read: !ended.is_reading_end(&pair),
    };
    ended.keep_unread(&pair, &told, &way.backlog);
    way.hear(told);
    assert!(!way.backlog.is_recording(&id()), "its words come first");
    assert_eq!(ended.end_was_read(&other), []);
    assert_eq!(ended.end_was_read(&pair), [], "the other turn's come");
    assert_eq!(ended.end_was_read(&pair), [id()]);
    assert!(!ended.is_reading_end(&pair));
}

#[test]
fn the_next_process_does_not_ring_again_for_what_was_rung_for_and_rings_for_another_claude() {
    let attached = |process| LadderInput::Attached {
        bridge: 3,
        process: Some(process),
        mode: DeliveryMode::Auto,
    };
    let bell_first = |process| [LadderInput::BellHung { bell: 4 }, attached(process)];
    let bridge_first = |process| [attached(process), LadderInput::BellHung { bell: 4 }];
    for (comes, rings) in [
        (bell_first(7), 0),
        (bridge_first(7), 0),
        (bridge_first(8), 1),
    ] {
        let mut way = Way::new(DeliveryMode::Auto, true);
        way.send();
        let rung = way.ladder.rung_for(&way.backlog, 0);
        assert_eq!(rung.len(), 1);
        way.ladder = Ladder::new(RuntimeSession::default(), LadderTimeouts::default(), false);
        way.backlog = Backlog::default();
        way.insert(id(), 1, OnBusy::Queue);
        let process = Some(7);
        way.hear(LadderInput::Recalled { process });
        way.hear(LadderInput::WasRung { rung });
        let is_ring = |effect: &DeliveryEffect| matches!(effect, DeliveryEffect::Ring { .. });
        let effects = comes.into_iter().flat_map(|input| way.hear(input));
        let rung = effects.filter(is_ring).count();
        assert_eq!(rung, rings);
        // An idle Claude that did not hear it is rung for the second time.
        way.now_ms += LadderTimeouts::default().idle_ms / 2;
        let again = way.hear(LadderInput::Tick);
        assert!(again.iter().any(is_ring), "{again:?}");
    }
}
