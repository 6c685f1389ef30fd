//! What the operator does with the whole queue, and the handoff that is asked for twice.

use super::commands::change_queue;
use super::rig::{Guest, Rig};
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::core::agent::Agent;
use crate::core::delivery::{DeliveryState, OnBusy, Outcome};
use crate::core::entry::{DeliveryResult, EntryKind, TurnStatus};
use crate::core::id::{EntryId, RuntimeSession, ThreadId, TurnId};
use crate::daemon::base::clients::Wants;
use crate::store::queue::Queue;
use crate::store::testing::Place;
use crate::wire::control::{
    Command, HandoffParams, QueueChange, QueueDrainParams, ReadContextParams, RefusalCode, Reply,
    Role, SendParams, Sent,
};

fn ids(reply: Reply) -> Vec<EntryId> {
    match reply {
        Reply::QueueChanged(ids) => ids,
        other => panic!("{other:?}"),
    }
}

fn sent(reply: Result<Reply, crate::wire::control::Refusal>) -> Sent {
    match reply {
        Ok(Reply::Sent(sent)) => sent,
        other => panic!("{other:?}"),
    }
}

fn handoff(ask: &str, on_busy: OnBusy) -> Command {
    Command::Handoff(HandoffParams {
        from: Some(Agent::Claude),
        ask: ask.to_owned(),
        reason: "because".to_owned(),
        on_busy,
        ..HandoffParams::default()
    })
}

fn state(rig: &Rig, id: &EntryId) -> Option<DeliveryState> {
    rig.daemon.deliveries.outbox.get(id).map(|row| row.state)
}

async fn three_for_codex(rig: &mut Rig, claude: &Guest) -> [EntryId; 3] {
    let mut sent = Vec::new();
    for _ in 0..3 {
        sent.push(rig.send(claude, Agent::Claude, OnBusy::Queue).await);
    }
    sent.try_into().unwrap()
}

#[tokio::test]
async fn a_drained_queue_sends_nothing_and_says_what_it_could_not_call_back() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    let operator = rig.connect(Role::Deck, None, true);
    let [first, second, third] = three_for_codex(&mut rig, &claude).await;
    let other = rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&first));

    // What was not shown waits on.
    let unseen = Command::QueueDrain(QueueDrainParams {
        to: Some(Agent::Codex),
        ids: Some(vec![first.clone(), other.clone()]),
    });
    let taken = rig.call(&operator, unseen).await.unwrap();
    assert_eq!(ids(taken), []);
    let drain = Command::QueueDrain(QueueDrainParams {
        to: Some(Agent::Codex),
        ids: Some(vec![first.clone(), second.clone(), third.clone()]),
    });
    let refused = rig.call(&claude, drain.clone()).await.unwrap_err();
    assert_eq!(refused.code, RefusalCode::OperatorOnly);
    let mut taken = ids(rig.call(&operator, drain).await.unwrap());
    taken.sort();
    let mut wanted = vec![second.clone(), third];
    wanted.sort();
    assert_eq!(taken, wanted);
    // The first is on its way, and what is for Claude was not meant.
    assert_eq!(state(&rig, &second), None);
    assert!(state(&rig, &first).is_some() && state(&rig, &other).is_some());

    rig.user_message("turn-1", Some(&first));
    rig.status(ReportedStatus::Idle);
    rig.settle().await;
    assert_eq!(rig.delivered_ids(), []);
    drop(rig);
    let rig = Rig::with_codex(&place).await;
    assert_eq!(rig.daemon.deliveries.outbox.lane(Agent::Codex).count(), 0);
}

#[tokio::test]
async fn a_handoff_that_is_taken_back_before_it_is_sent_is_work_of_nobodys() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let operator = rig.connect(Role::Deck, None, true);
    // One is on its way, so that the next waits.
    let first = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let id = rig
        .newest(&claude, handoff("run the tests", OnBusy::Queue))
        .await;
    let pair = RuntimeSession::default();
    let kept = |rig: &Rig| rig.daemon.base.ids_to_keep(&pair);
    assert!(kept(&rig).is_some_and(|ids| ids.contains(id.as_str())));
    let remove = change_queue(id.clone(), QueueChange::Remove);
    rig.call(&operator, remove).await.unwrap();

    assert!(
        rig.daemon
            .base
            .recorder
            .world()
            .open_handoffs
            .contains_key(&id)
    );
    assert!(kept(&rig).is_none_or(|ids| !ids.contains(id.as_str())));
    let read = Command::ReadContext(ReadContextParams::default());
    let Ok(Reply::Context(page)) = rig.call(&claude, read).await else {
        panic!("no context");
    };
    assert_eq!(page.open_handoffs, [] as [serde_json::Value; 0]);
    // The operator's count is the agents'.
    let status = rig.daemon.status();
    assert_eq!((status.handoffs.open, status.tasks.open), (0, 0));
    rig.user_message("turn-1", Some(&first));
    rig.completed("turn-1", std::slice::from_ref(&first), "done");
    rig.status(ReportedStatus::Idle);
    rig.settle().await;
    rig.compact(&operator).await;
    assert!(rig.daemon.base.recorder.world().open_handoffs.is_empty());
}

#[tokio::test]
async fn a_rebuilt_queue_sends_nothing_by_itself_and_outlives_a_restart() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let operator = rig.connect(Role::Deck, None, true);
    let [first, second, third] = three_for_codex(&mut rig, &claude).await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&first));

    let changed = ids(rig.call(&operator, Command::QueueRebuild).await.unwrap());
    assert_eq!(changed.len(), 3);
    // In Codex's own queue it would begin a turn after all.
    assert_eq!(rig.taken_back(), std::slice::from_ref(&first));
    rig.status(ReportedStatus::Idle);
    rig.settle().await;
    assert_eq!(rig.delivered_ids(), []);
    for id in [&first, &second, &third] {
        assert_eq!(state(&rig, id), Some(DeliveryState::Ambiguous));
    }
    // What comes after is not held up by what nobody knows of.
    let fourth = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&fourth));
    // Proof counts even now.
    rig.user_message("turn-1", Some(&first));
    rig.user_message("turn-2", Some(&fourth));
    rig.status(ReportedStatus::Idle);
    rig.settle().await;
    assert_eq!(state(&rig, &first), None);

    drop(rig);
    let mut rig = Rig::with_codex(&place).await;
    assert_eq!(state(&rig, &first), None);
    assert_eq!(state(&rig, &second), Some(DeliveryState::Ambiguous));
    assert_eq!(rig.delivered_ids(), []);
    let operator = rig.connect(Role::Deck, None, true);
    let retry = change_queue(second.clone(), QueueChange::Retry);
    rig.call(&operator, retry).await.unwrap();
    let delivered = rig.delivered();
    assert_eq!(delivered.len(), 1);
    assert_eq!(delivered[0].0, second);
    assert!(
        delivered[0].1.contains("shown before"),
        "{}",
        delivered[0].1
    );
}

#[tokio::test]
async fn a_queue_that_was_set_aside_without_a_daemon_is_ambiguous_at_the_next_start() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    drop(rig);
    Queue::set_aside(&place.dirs).unwrap();
    // Nothing to move is fine.
    Queue::set_aside(&place.dirs).unwrap();
    let mut rig = Rig::with_codex(&place).await;
    assert_eq!(state(&rig, &id), Some(DeliveryState::Ambiguous));
    assert_eq!(rig.delivered_ids(), []);
}

#[tokio::test]
async fn two_equal_handoffs_at_once_are_one() {
    let mut rig = Rig::fresh().await;
    let claude = rig.connect(Role::Claude, None, false);
    // What becomes of it at Codex is waited for longer than this test lasts.
    drop(rig.ask(&claude, handoff("Review  the parser", OnBusy::Queue)));
    // Before the first is on disk.
    let second = rig.ask(&claude, handoff("review the PARSER", OnBusy::Queue));
    drop(rig.ask(&claude, handoff("review the lexer", OnBusy::Queue)));
    rig.settle().await;
    let second = sent(second.await.unwrap());
    assert!(second.duplicate);
    let open = &rig.daemon.base.recorder.world().open_handoffs;
    assert_eq!(&*open[&second.message_id].ask, "Review  the parser");
    assert_eq!(open.len(), 2);
}

#[tokio::test]
async fn a_handoff_that_was_not_recorded_is_no_first_one() {
    let mut rig = Rig::fresh().await;
    let claude = rig.connect(Role::Claude, None, false);
    let first = rig.ask(&claude, handoff("review the parser", OnBusy::Queue));
    let second = rig.ask(&claude, handoff("review the parser", OnBusy::Queue));
    rig.fail_writes().await;
    assert_eq!(
        first.await.unwrap().unwrap_err().code,
        RefusalCode::LedgerUnwritable
    );
    assert_eq!(
        second.await.unwrap().unwrap_err().code,
        RefusalCode::LedgerUnwritable
    );
    let third = rig.ask(&claude, handoff("review the parser", OnBusy::Queue));
    rig.fail_writes().await;
    assert_eq!(
        third.await.unwrap().unwrap_err().code,
        RefusalCode::LedgerUnwritable
    );
}

#[tokio::test]
async fn a_handoff_repeated_after_a_restart_is_the_first_one() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let ask = handoff("review the parser", OnBusy::Queue);
    drop(rig.ask(&claude, ask.clone()));
    rig.settle().await;
    let first: Vec<EntryId> = rig
        .daemon
        .base
        .recorder
        .world()
        .open_handoffs
        .keys()
        .cloned()
        .collect();
    drop(rig);
    let mut rig = Rig::start(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let again = sent(rig.call(&claude, ask).await);
    assert_eq!([again.message_id], *first);
    assert!(again.duplicate);
}

#[tokio::test]
async fn a_handoff_that_is_closed_is_handed_over_again_in_the_same_words() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    let ask = handoff("run the tests", OnBusy::Queue);
    drop(rig.ask(&claude, ask.clone()));
    rig.settle().await;
    let [first] = &rig.delivered_ids()[..] else {
        panic!("it is handed over");
    };
    let first = first.clone();
    rig.user_message("turn-1", Some(&first));
    rig.settle().await;
    let done = Command::Send(SendParams {
        from: Some(Agent::Codex),
        text: "two fail".to_owned(),
        handles: vec![first.clone()],
        ..SendParams::default()
    });
    rig.call(&codex, done).await.unwrap();
    rig.completed("turn-1", std::slice::from_ref(&first), "done");
    rig.status(ReportedStatus::Idle);
    rig.settle().await;
    assert!(rig.daemon.base.recorder.world().open_handoffs.is_empty());
    drop(rig.ask(&claude, ask));
    rig.settle().await;
    let again = rig.delivered_ids();
    assert_eq!(again.len(), 1);
    assert_ne!(again[0], first);
}

/// What Codex is given of a handoff of Claude's, and of the same one behind the turn that this `ends`.
async fn handed_over_again(ends: impl FnOnce(&mut Rig, &EntryId)) -> (Vec<EntryId>, Sent) {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let ask = handoff("review my changes", OnBusy::Queue);
    let first = rig.newest(&claude, ask.clone()).await;
    let mut given = rig.delivered_ids();
    rig.user_message("turn-1", Some(&first));
    rig.status(ReportedStatus::Active { waiting: false });
    rig.settle().await;
    let meanwhile = sent(rig.call(&claude, ask.clone()).await);
    assert!(meanwhile.duplicate && meanwhile.message_id == first);
    ends(&mut rig, &first);
    rig.status(ReportedStatus::Idle);
    rig.settle().await;
    assert!(rig.world().open_handoffs.contains_key(&first));
    let again = rig.ask(&claude, ask);
    rig.settle().await;
    given.extend(rig.delivered_ids());
    let clients = &mut rig.daemon.base.clients;
    clients.make_due(|wants| matches!(wants, Wants::Receipt(_)));
    rig.daemon.deliveries.expire_waiters(&mut rig.daemon.base);
    (given, sent(again.await.unwrap()))
}

#[tokio::test]
async fn a_handoff_whose_turn_is_over_is_handed_over_again_in_the_same_words() {
    for status in [
        TurnStatus::Completed,
        TurnStatus::Failed,
        TurnStatus::Interrupted,
    ] {
        let ends = |rig: &mut Rig, id: &EntryId| {
            rig.fact(CodexFact::TurnCompleted {
                thread_id: ThreadId::new("thread-1"),
                turn_id: TurnId::new("turn-1"),
                status,
                final_answer: (status == TurnStatus::Completed).then(|| "two flaws".to_owned()),
                client_ids: vec![id.to_string()],
                error: None,
                usage_limited: false,
                died: status == TurnStatus::Interrupted,
            });
        };
        let (given, again) = handed_over_again(ends).await;
        assert_eq!(given.len(), 2, "{status:?}");
        assert!(
            !again.duplicate && given[1] == again.message_id,
            "{status:?}"
        );
    }
}

#[tokio::test]
async fn a_handoff_that_claude_answered_is_handed_over_to_it_again() {
    let mut rig = Rig::fresh().await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    let ask = Command::Handoff(HandoffParams {
        from: Some(Agent::Codex),
        ask: "review my changes".to_owned(),
        reason: "because".to_owned(),
        ..HandoffParams::default()
    });
    let first = sent(rig.call(&codex, ask.clone()).await);
    let meanwhile = sent(rig.call(&codex, ask.clone()).await);
    assert!(meanwhile.duplicate && meanwhile.message_id == first.message_id);
    let answer = Command::Send(SendParams {
        from: Some(Agent::Claude),
        text: "two flaws".to_owned(),
        in_reply_to: Some(first.message_id.clone()),
        ..SendParams::default()
    });
    drop(rig.ask(&claude, answer));
    rig.settle().await;
    let again = sent(rig.call(&codex, ask).await);
    assert!(!again.duplicate && again.message_id != first.message_id);
}

#[tokio::test]
async fn what_is_asked_for_again_is_not_in_doubt_after_a_restart() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let codex = rig.connect(Role::Codex, None, false);
    let operator = rig.connect(Role::Deck, None, true);
    // No Claude is here that could get it.
    let id = rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    rig.call(&operator, Command::QueueRebuild).await.unwrap();
    assert_eq!(state(&rig, &id), Some(DeliveryState::Ambiguous));
    let retry = change_queue(id.clone(), QueueChange::Retry);
    rig.call(&operator, retry).await.unwrap();
    rig.settle().await;
    assert_eq!(state(&rig, &id), Some(DeliveryState::Queued));
    drop(rig);
    let rig = Rig::start(&place).await;
    assert_eq!(state(&rig, &id), Some(DeliveryState::Queued));
}

#[tokio::test]
async fn a_rejected_handoff_and_its_twin_leave_the_way_free() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    rig.status(ReportedStatus::Active { waiting: false });
    let ask = handoff("review the parser", OnBusy::Reject);
    let first = rig.ask(&claude, ask.clone());
    let twin = rig.ask(&claude, ask.clone());
    rig.settle().await;
    let (first, twin) = (sent(first.await.unwrap()), sent(twin.await.unwrap()));
    assert_eq!(first.outcome, Outcome::Rejected);
    assert_eq!(
        (twin.outcome, &twin.message_id),
        (Outcome::Rejected, &first.message_id)
    );
    let again = sent(rig.call(&claude, ask).await);
    assert_ne!(again.message_id, first.message_id);
}

#[tokio::test]
async fn what_waits_for_too_long_expires_where_everybody_sees_it() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    // What is on its way never expires.
    let first = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    rig.daemon.agents.codex.set_expiry(Some(60_000));
    let waits_ms = rig.daemon.deliveries.outbox.get(&id).unwrap().changed_ms;
    rig.tick_codex(waits_ms + 59_999);
    rig.settle().await;
    assert_eq!(state(&rig, &id), Some(DeliveryState::Queued));
    rig.tick_codex(waits_ms + 60_000);
    rig.settle().await;
    assert_eq!(state(&rig, &id), None);
    let last = &rig.daemon.base.recorder.recent().back().unwrap().entry;
    let EntryKind::Delivery(record) = &last.kind else {
        panic!("{last:?}");
    };
    assert_eq!(
        (&record.message_id, record.result),
        (&id, DeliveryResult::Expired)
    );
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&first));
    assert_eq!(state(&rig, &first), Some(DeliveryState::Attempted));
}

#[tokio::test]
async fn a_wall_clock_that_was_set_back_lets_nothing_expire_before_its_time() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    // The wall, and with it the record, is an hour behind the clock of the machines of delivery.
    rig.daemon.base.clock.pass(3_600_000);
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    rig.daemon.agents.codex.set_expiry(Some(60_000));
    let now_ms = rig.daemon.base.clock.now_ms();
    let recorded_ms = rig.daemon.base.recorder.world().unsettled[&id].at_ms;
    assert!(recorded_ms + 60_000 < now_ms);
    rig.tick_codex(now_ms);
    rig.settle().await;
    assert_eq!(state(&rig, &id), Some(DeliveryState::Queued));
    rig.tick_codex(now_ms + 60_000);
    rig.settle().await;
    assert_eq!(state(&rig, &id), None);
}

#[tokio::test]
async fn the_sender_of_what_the_operator_takes_back_in_that_second_is_not_told_that_it_waits() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let operator = rig.connect(Role::Deck, None, true);
    // On its way, so that the next one waits behind it.
    rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let send = Command::Send(SendParams {
        from: Some(Agent::Claude),
        text: "and then this".to_owned(),
        ..SendParams::default()
    });
    let asked = rig.ask(&claude, send);
    rig.settle().await;
    let lane = rig.daemon.deliveries.outbox.lane(Agent::Codex);
    let id = lane.last().unwrap().id.clone();
    let remove = change_queue(id.clone(), QueueChange::Remove);
    assert_eq!(rig.call(&operator, remove).await, Ok(Reply::Done));
    rig.settle().await;
    let sent = sent(asked.await.unwrap());
    assert_eq!((sent.message_id, sent.outcome), (id, Outcome::Rejected));
}
