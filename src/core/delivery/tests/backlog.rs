//! What the backlog keeps so that nobody walks it is what a walk would find.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use crate::agent::{Agent, Party};
use crate::delivery::backlog::{codex_page_afresh, page_afresh};
use crate::delivery::{
    Backlog, CodexFlow, CodexInput, CodexTimeouts, CutMessage, Delivery, DeliveryFact,
    DeliveryMode, DeliveryState, Ladder, LadderInput, LadderTimeouts, MessageCursor, Moment, Shown,
};
use crate::entry::{DeliveryResult, DeliveryWay, OnBusy};
use crate::id::{AttemptId, EntryId, RuntimeSession, Seq};
use crate::more_cases::more_cases;
use crate::snapshot::MessageSnapshot;

/// What can happen to one message, besides what its machine is told.
#[derive(Debug, Clone)]
enum Step {
    Recorded(Agent, OnBusy),
    Fact(DeliveryFact),
    Claimed(Shown),
    Sent,
    Left,
    TakenBack,
    Recording(DeliveryResult),
    NotRecorded(DeliveryResult),
    Settled,
    Told(LadderInput),
    Codex(CodexInput),
    ClaimsExpire,
    KeptBack,
    LetGo,
    Moved,
    TimePasses(i64),
}

fn result() -> impl Strategy<Value = DeliveryResult> {
    prop::sample::select(vec![
        DeliveryResult::Confirmed,
        DeliveryResult::Acknowledged,
        DeliveryResult::Expired,
        DeliveryResult::Ambiguous,
        DeliveryResult::Requeued,
        DeliveryResult::Cancelled,
    ])
}

fn fact() -> impl Strategy<Value = DeliveryFact> {
    prop_oneof![
        Just(DeliveryFact::AttemptBegan(AttemptId::new("a"))),
        Just(DeliveryFact::HandedOut(AttemptId::new("h"), Shown::Head)),
        Just(DeliveryFact::Offered),
        Just(DeliveryFact::NotTaken),
        Just(DeliveryFact::Confirmed),
        Just(DeliveryFact::Unknowable),
        Just(DeliveryFact::Requeued),
        Just(DeliveryFact::CutOff),
    ]
}

/// What the ladder is told of this message, or of Claude.
fn told(id: EntryId) -> impl Strategy<Value = LadderInput> {
    let (head, ids) = (id.clone(), vec![id.clone()]);
    let (whole, acked, full, unstored) = (ids.clone(), ids.clone(), id.clone(), id.clone());
    let (durable, not_durable) = (id.clone(), id);
    let modes = [DeliveryMode::Auto, DeliveryMode::Push, DeliveryMode::Pull];
    let attached = (0..2_u64, 0..2_u32, prop::sample::select(modes.to_vec()));
    prop_oneof![
        3 => Just(LadderInput::News),
        3 => Just(LadderInput::Tick),
        2 => attached.prop_map(|(bridge, process, mode)| LadderInput::Attached {
            bridge,
            process: Some(process),
            mode
        }),
        1 => (0..2_u64).prop_map(|bridge| LadderInput::Left { bridge }),
        2 => (0..2_u64).prop_map(|bell| LadderInput::BellHung { bell }),
        1 => (0..2_u64).prop_map(|bell| LadderInput::BellGone { bell }),
        1 => Just(LadderInput::NewContext),
        1 => Just(LadderInput::Compacts),
        1 => Just(LadderInput::CompactionOver),
        1 => Just(LadderInput::Compacted),
        1 => Just(LadderInput::TurnBegan),
        1 => Just(LadderInput::TurnRuns),
        1 => (0..2_u32).prop_map(|process| LadderInput::Ended { process }),
        1 => Just(LadderInput::TurnLost),
        1 => Just(LadderInput::TurnWorked { rests: false, is_read: true }),
        1 => any::<bool>().prop_map(|limited| LadderInput::TurnEnded { limited }),
        1 => Just(LadderInput::LimitHolds),
        1 => Just(LadderInput::LimitOver),
        1 => Just(LadderInput::HandedOut { whole, head: None }),
        1 => Just(LadderInput::HandedOut { whole: Vec::new(), head: Some(head) }),
        1 => Just(LadderInput::LeftOver { upto: Seq(4), to_fetch: None }),
        1 => Just(LadderInput::Proven { ids, rung: DeliveryWay::Hook }),
        1 => Just(LadderInput::Acknowledged { ids: acked }),
        1 => Just(LadderInput::OutletFull { id: full }),
        1 => Just(LadderInput::NotStored { id: unstored }),
        2 => result().prop_map(move |result| LadderInput::Durable {
            id: durable.clone(),
            result
        }),
        1 => result().prop_map(move |result| LadderInput::NotDurable {
            id: not_durable.clone(),
            result
        }),
    ]
}

fn step(id: EntryId) -> impl Strategy<Value = Step> {
    let steers = prop::sample::select(vec![OnBusy::Queue, OnBusy::Steer]);
    let agents = prop::sample::select(Agent::ALL.to_vec());
    let shown = prop::sample::select(vec![Shown::Head, Shown::Whole]);
    let durable = id.clone();
    prop_oneof![
        6 => (agents, steers).prop_map(|(to, on_busy)| Step::Recorded(to, on_busy)),
        3 => fact().prop_map(Step::Fact),
        1 => shown.prop_map(Step::Claimed),
        1 => Just(Step::Sent),
        1 => Just(Step::Left),
        1 => Just(Step::TakenBack),
        1 => result().prop_map(Step::Recording),
        1 => result().prop_map(Step::NotRecorded),
        1 => Just(Step::Settled),
        12 => told(id).prop_map(Step::Told),
        2 => Just(Step::Codex(CodexInput::News)),
        1 => Just(Step::Codex(CodexInput::Tick)),
        1 => result().prop_map(move |result| Step::Codex(CodexInput::Durable {
            id: durable.clone(),
            result
        })),
        2 => Just(Step::ClaimsExpire),
        2 => Just(Step::KeptBack),
        1 => Just(Step::LetGo),
        1 => Just(Step::Moved),
        4 => (1..30_000_i64).prop_map(Step::TimePasses),
    ]
}

/// Steps about one of a few messages each.
fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let one = (1..7_u64).prop_flat_map(|number| (Just(number), step(id(number))));
    prop::collection::vec(one, 0..80)
}

fn id(number: u64) -> EntryId {
    EntryId::new(format!("m{number}"))
}

/// The messages of even numbers are of another pair.
fn pair_of(number: u64) -> RuntimeSession {
    match number % 2 {
        0 => RuntimeSession::new("other"),
        _ => RuntimeSession::default(),
    }
}

struct Lanes {
    backlog: Backlog,
    ladders: BTreeMap<RuntimeSession, Ladder>,
    flow: CodexFlow,
    now_ms: i64,
    /// Each recording takes another place.
    next: u64,
}

impl Lanes {
    fn new(expiry_ms: Option<i64>) -> Self {
        let timeouts = LadderTimeouts {
            expiry_ms,
            ..LadderTimeouts::default()
        };
        let ladder = |number| {
            let pair = pair_of(number);
            (pair.clone(), Ladder::new(pair, timeouts, false))
        };
        Self {
            backlog: Backlog::default(),
            ladders: [ladder(0), ladder(1)].into(),
            flow: CodexFlow::new(CodexTimeouts {
                expiry_ms,
                ..CodexTimeouts::default()
            }),
            now_ms: 1_000,
            next: 1,
        }
    }

    fn take(&mut self, number: u64, step: Step) {
        let (id, mut effects, now_ms) = (id(number), Vec::new(), self.now_ms);
        let at = Moment {
            now_ms,
            attempt: AttemptId::new(format!("attempt-{}", self.next)),
        };
        let backlog = &mut self.backlog;
        match step {
            Step::Recorded(to, on_busy) => {
                let seq = Seq(self.next);
                let pair = pair_of(number);
                backlog.insert(Delivery::recorded(id, seq, to, pair, on_busy, now_ms));
            }
            Step::Fact(fact) => drop(backlog.apply(&id, fact, now_ms)),
            Step::Claimed(shown) => {
                backlog.claim(&id, shown, &at.attempt, 5_000, now_ms, &mut effects);
            }
            Step::Sent => backlog.sent(&id, now_ms),
            Step::Left => backlog.left(&id, now_ms),
            Step::TakenBack => backlog.take_back(&id, now_ms, &mut effects),
            Step::Recording(result) => {
                backlog.mark_recording(&id, result, None, None, &mut effects)
            }
            Step::NotRecorded(result) => backlog.not_recorded(&id, result),
            Step::Settled => drop(backlog.settle(&id)),
            Step::Told(input) => {
                let ladder = self.ladders.get_mut(&pair_of(number)).unwrap();
                ladder.apply(backlog, input, &at);
            }
            Step::Codex(input) => drop(self.flow.apply(backlog, input, &at)),
            Step::ClaimsExpire => drop(backlog.expire_claims(now_ms)),
            Step::KeptBack => backlog.keep_back(&id),
            Step::LetGo => drop(backlog.let_go(now_ms, |kept| *kept != id)),
            Step::Moved => {
                let rows = backlog.rows().filter(|row| row.id != id);
                let places = rows.map(|row| {
                    let message = MessageSnapshot {
                        seq: Seq(row.seq.0 + 100),
                        from: Party::Human,
                        to: row.to,
                        at_ms: 0,
                        sent_ms: None,
                        runtime_session: Some(row.runtime_session.clone()),
                        on_busy: row.on_busy,
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
                    (row.id.clone(), Arc::new(message))
                });
                let places = places.collect();
                backlog.move_to(&places);
                self.next += 100;
            }
            Step::TimePasses(ms) => self.now_ms += ms,
        }
        self.next += 1;
    }
}

proptest! {
    #![proptest_config(more_cases(1))]

    #[test]
    fn what_is_kept_of_the_lanes_is_what_a_walk_over_them_finds(
        steps in steps(),
        expiry_ms in prop::option::of(Just(60_000_i64)),
        (after, until, cut) in (0..60_u64, prop::option::of(0..60_u64), prop::option::of(1..7_u64))
    ) {
        let mut lanes = Lanes::new(expiry_ms);
        for (number, step) in steps {
            lanes.take(number, step);
            let backlog = &lanes.backlog;
            prop_assert!(backlog.is_index_right());
            for ladder in lanes.ladders.values() {
                prop_assert_eq!(ladder.next_ms(backlog), ladder.next_ms_afresh(backlog));
            }
            let cursor = MessageCursor {
                after: Seq(after),
                until: until.map(Seq),
                cut: cut.map(|number| CutMessage { id: id(number), rest: 1 }),
            };
            for pair in [pair_of(0), pair_of(1)] {
                let (order, last, unread) = page_afresh(backlog, &pair, &cursor);
                let (kept, kept_last) = backlog.page_of_pair(&pair, &cursor);
                prop_assert_eq!(order, kept.map(|row| row.id.clone()).collect::<Vec<_>>());
                prop_assert!(kept_last >= last);
                prop_assert_eq!(unread, backlog.unread_of_pair(&pair));
            }
            let (order, last, unread) = codex_page_afresh(backlog, &cursor);
            let (kept, kept_last) = backlog.page_of_codex(&cursor);
            prop_assert_eq!(order, kept.map(|row| row.id.clone()).collect::<Vec<_>>());
            prop_assert_eq!(last, kept_last);
            prop_assert_eq!(unread, backlog.unread_of_codex(&cursor));
            let queued = backlog.lane(Agent::Codex).filter(|row| {
                row.state == DeliveryState::Queued && backlog.may_be_offered(row)
            });
            let next = queued.min_by_key(|row| (row.on_busy != OnBusy::Steer, row.seq));
            let kept = backlog.index_of_codex().and_then(|index| index.next_queued());
            prop_assert_eq!(next.map(|row| row.seq), kept.map(|(seq, _)| seq));
            for agent in Agent::ALL {
                let counts = backlog.counts(agent);
                let of = |state| backlog.lane(agent).filter(|row| row.state == state).count();
                prop_assert_eq!(counts.queued, of(DeliveryState::Queued));
                let on_their_way = of(DeliveryState::Attempted) + of(DeliveryState::Offered);
                prop_assert_eq!(counts.on_their_way, on_their_way);
                prop_assert_eq!(counts.ambiguous, of(DeliveryState::Ambiguous));
            }
        }
    }
}

#[test]
fn what_was_kept_back_expires_as_long_after_it_was_let_go_as_what_came_then() {
    let mut backlog = Backlog::default();
    let pair = RuntimeSession::default();
    let row = Delivery::recorded(id(1), Seq(1), Agent::Codex, pair, OnBusy::Queue, 1_000);
    backlog.insert(row);
    let expired_of = |backlog: &mut Backlog, older_than_ms| {
        let mut effects = Vec::new();
        backlog.expire(Agent::Codex, older_than_ms, &mut effects);
        effects.len()
    };
    backlog.keep_back(&id(1));
    assert_eq!(expired_of(&mut backlog, 50_000), 0);
    let gone = backlog.let_go(50_000, |_| false);
    assert_eq!(gone, [id(1)].into());
    assert_eq!(expired_of(&mut backlog, 49_999), 0);
    assert_eq!(expired_of(&mut backlog, 50_000), 1);
}

/// Handed to Claude by a hook.
fn by_hook() -> MessageSnapshot {
    MessageSnapshot {
        seq: Seq(1),
        from: Party::Human,
        to: Agent::Claude,
        at_ms: 0,
        sent_ms: None,
        runtime_session: None,
        on_busy: OnBusy::Queue,
        result: Some(DeliveryResult::Confirmed),
        rung: Some(DeliveryWay::Hook),
        hash: None,
        cut_off_in: Vec::new(),
        answers: 0,
        closed: false,
        closed_by_sender: false,
        closed_by_operator: false,
        answered_in_turn: false,
        will_be_sent_again: false,
    }
}

/// The same, in a record whose queue is lost or is there.
fn handed_by_hook(lost: bool) -> Backlog {
    let unsettled = BTreeMap::from([(EntryId::new("a"), Arc::new(by_hook()))]);
    Backlog::restore(Vec::new(), &unsettled, lost).backlog
}

#[test]
fn behind_a_lost_queue_nobody_knows_whether_claude_read_what_a_hook_gave_it() {
    for lost in [false, true] {
        let backlog = handed_by_hook(lost);
        assert_eq!(backlog.lost_turns().count(), usize::from(lost));
        let in_turn = backlog.rows().filter(|row| row.in_turn).count();
        assert_eq!(in_turn, usize::from(!lost));
    }
}

#[test]
fn what_nobody_is_to_get_stays_so_in_a_session_that_does_not_say_who_closed_it() {
    let id = EntryId::new("a");
    let waits = MessageSnapshot {
        result: None,
        rung: None,
        ..by_hook()
    };
    let unsettled = BTreeMap::from([(id.clone(), Arc::new(waits))]);
    let mut backlog = Backlog::restore(Vec::new(), &unsettled, false).backlog;
    backlog.set_unwanted(id.clone(), true);
    // The disk took no end of it.
    backlog.refuse_end(&id, DeliveryResult::Cancelled);
    backlog.move_to(&unsettled);
    let rows = backlog.rows().cloned().collect();
    let backlog = Backlog::restore(rows, &unsettled, false).backlog;
    assert!(backlog.is_unwanted(&id));
}
