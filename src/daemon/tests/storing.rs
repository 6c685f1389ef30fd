//! What leaves waits for its row, whatever happens meanwhile.

use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

use super::commands::change_queue;
use super::rig::{Guest, Rig};
use crate::adapters::codex::fact::CodexFact;
use crate::adapters::codex::request::CodexRequest;
use crate::core::agent::Agent;
use crate::core::delivery::{DeliveryState, OnBusy};
use crate::core::entry::TurnStatus;
use crate::core::id::{EntryId, ThreadId, TurnId};
use crate::daemon::event::Event;
use crate::daemon::fault::DaemonFault;
use crate::store::queue::{Queue, QueueEvent};
use crate::store::testing::Place;
use crate::wire::control::{
    ClearParams, Command, GetMessagesParams, HookParams, QueueChange, QueueDrainParams, Refusal,
    RefusalCode, Reply, Role, SendParams,
};

const CLAUDE: u32 = 7_000_000;

/// Sends, and has it recorded; what becomes of rows is not heard yet.
async fn send(rig: &mut Rig, guest: &Guest, from: Agent) -> EntryId {
    let send = SendParams {
        from: Some(from),
        text: "please look".to_owned(),
        on_busy: OnBusy::Queue,
        ..SendParams::default()
    };
    drop(rig.ask_only(guest, Command::Send(send)));
    rig.record().await;
    let newest = rig.daemon.base.recorder.world().unsettled.iter();
    let newest = newest.max_by_key(|(_, message)| message.seq);
    newest.unwrap().0.clone()
}

fn hook(event: &str) -> Command {
    Command::Hook(HookParams {
        event: event.into(),
        claude_pid: Some(CLAUDE),
        claude_session_id: None,
        ..HookParams::default()
    })
}

fn get(agent: Agent) -> Command {
    Command::GetMessages(GetMessagesParams::of(agent))
}

fn is_waiting<T>(answer: &mut oneshot::Receiver<T>) -> bool {
    matches!(answer.try_recv(), Err(TryRecvError::Empty))
}

fn row_on_disk(place: &Place, id: &EntryId) -> Option<DeliveryState> {
    let rows = Queue::open(&place.dirs).unwrap().load().unwrap();
    rows.into_iter()
        .find(|row| row.id == *id)
        .map(|row| row.state)
}

#[tokio::test]
async fn codex_gets_a_message_only_once_its_row_is_on_the_disk() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let id = send(&mut rig, &claude, Agent::Claude).await;
    assert!(rig.delivered_ids().is_empty());
    rig.store();
    assert_eq!(row_on_disk(&place, &id), Some(DeliveryState::Attempted));
    assert_eq!(rig.delivered_ids(), [id]);
}

#[tokio::test]
async fn a_crash_before_anybody_heard_of_the_row_has_sent_nothing() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let id = send(&mut rig, &claude, Agent::Claude).await;
    assert!(rig.delivered_ids().is_empty());
    drop(rig);
    // It may have left: the next one asks before it sends.
    let rig = Rig::start(&place).await;
    let row = rig.daemon.deliveries.outbox.get(&id).unwrap();
    assert_eq!(row.state, DeliveryState::Attempted);
}

#[tokio::test]
async fn a_page_and_a_hook_are_answered_once_their_rows_are_on_the_disk() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let bridge = rig.connect(Role::Claude, Some(CLAUDE), false);
    let bell = rig.connect(Role::Hook, Some(CLAUDE), false);
    rig.call(&bell, Command::DoorbellAttach).await.unwrap();
    let hooks = rig.connect(Role::Hook, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    rig.settle().await;
    let first = send(&mut rig, &codex, Agent::Codex).await;
    let mut handed = rig.ask_only(&hooks, hook("UserPromptSubmit"));
    assert!(is_waiting(&mut handed));
    rig.store();
    let Ok(Reply::Hook(reply)) = handed.try_recv().unwrap() else {
        panic!("no answer");
    };
    assert_eq!(reply.ids, std::slice::from_ref(&first));
    assert_eq!(row_on_disk(&place, &first), Some(DeliveryState::Attempted));
    let second = send(&mut rig, &codex, Agent::Codex).await;
    let mut page = rig.ask_only(&bridge, get(Agent::Claude));
    assert!(is_waiting(&mut page));
    rig.store();
    let Ok(Reply::Messages(page)) = page.try_recv().unwrap() else {
        panic!("no page");
    };
    let ids: Vec<_> = page.messages.into_iter().map(|it| it.message_id).collect();
    assert!(ids.contains(&second), "{ids:?}");
    assert_eq!(row_on_disk(&place, &second), Some(DeliveryState::Attempted));
}

#[tokio::test]
async fn behind_a_row_that_was_refused_nothing_leaves_and_it_goes_on_by_itself() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, Some(CLAUDE), false);
    let hooks = rig.connect(Role::Hook, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    rig.settle().await;
    let to_codex = send(&mut rig, &claude, Agent::Claude).await;
    let to_claude = send(&mut rig, &codex, Agent::Codex).await;
    let mut page = rig.ask_only(&claude, get(Agent::Claude));
    rig.fail_rows();
    let refused = page.try_recv().unwrap().unwrap_err();
    assert_eq!(refused.code, RefusalCode::QueueUnwritable);
    assert!(rig.delivered_ids().is_empty());
    assert_eq!(rig.daemon.base.notices.lines().len(), 1);
    // A turn that begins meanwhile goes on without it.
    let mut handed = rig.ask_only(&hooks, hook("UserPromptSubmit"));
    rig.fail_rows();
    let Ok(Reply::Hook(reply)) = handed.try_recv().unwrap() else {
        panic!("no answer");
    };
    assert_eq!((reply.additional_context, reply.ids), (None, vec![]));
    rig.later(20_000).await;
    assert_eq!(rig.delivered_ids(), [to_codex]);
    assert!(rig.daemon.base.notices.lines().is_empty());
    let Ok(Reply::Messages(page)) = rig.call(&claude, get(Agent::Claude)).await else {
        panic!("no page");
    };
    assert_eq!(page.messages[0].message_id, to_claude);
}

#[tokio::test]
async fn what_the_human_stopped_meanwhile_does_not_leave() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    rig.user_message("turn-1", None);
    let id = send(&mut rig, &claude, Agent::Claude).await;
    let stopped = CodexFact::TurnCompleted {
        thread_id: ThreadId::new("thread-1"),
        turn_id: TurnId::new("turn-1"),
        status: TurnStatus::Interrupted,
        final_answer: None,
        client_ids: Vec::new(),
        error: None,
        usage_limited: false,
        died: false,
    };
    rig.daemon.on_event(Event::Codex(stopped));
    rig.settle().await;
    assert!(rig.delivered_ids().is_empty());
    let row = rig.daemon.deliveries.outbox.get(&id).unwrap();
    assert_eq!(row.state, DeliveryState::Queued);
    assert_eq!(row_on_disk(&place, &id), Some(DeliveryState::Queued));
}

#[tokio::test]
async fn a_page_of_what_was_taken_back_meanwhile_is_not_handed_out() {
    let mut rig = Rig::fresh().await;
    let bridge = rig.connect(Role::Claude, Some(CLAUDE), false);
    let codex = rig.connect(Role::Codex, None, false);
    let operator = rig.connect(Role::Deck, None, true);
    rig.settle().await;
    let id = send(&mut rig, &codex, Agent::Codex).await;
    rig.store();
    let mut page = rig.ask_only(&bridge, get(Agent::Claude));
    let mut removed = take_back(&mut rig, &operator, &id);
    rig.record().await;
    assert_eq!(removed.try_recv().unwrap(), Ok(Reply::Done));
    rig.store();
    let refused = page.try_recv().unwrap().unwrap_err();
    assert_eq!(refused.code, RefusalCode::InFlight);
}

/// The operator takes a message back.
fn take_back(
    rig: &mut Rig,
    operator: &Guest,
    id: &EntryId,
) -> oneshot::Receiver<Result<Reply, Refusal>> {
    let remove = change_queue(id.clone(), QueueChange::Remove);
    rig.ask_only(operator, remove)
}

#[tokio::test]
async fn a_page_whose_row_is_there_before_the_record_says_taken_back_is_not_handed_out() {
    let mut rig = Rig::fresh().await;
    let bridge = rig.connect(Role::Claude, Some(CLAUDE), false);
    let codex = rig.connect(Role::Codex, None, false);
    let operator = rig.connect(Role::Deck, None, true);
    rig.settle().await;
    let id = send(&mut rig, &codex, Agent::Codex).await;
    rig.store();
    let mut page = rig.ask_only(&bridge, get(Agent::Claude));
    let mut removed = take_back(&mut rig, &operator, &id);
    // Who asks from here on is given nothing of it.
    let mut next = rig.ask_only(&bridge, get(Agent::Claude));
    let Ok(Reply::Messages(empty)) = next.try_recv().unwrap() else {
        panic!("no page");
    };
    assert!(empty.messages.is_empty());
    rig.store();
    let refused = page.try_recv().unwrap().unwrap_err();
    assert_eq!(refused.code, RefusalCode::InFlight);
    rig.record().await;
    assert_eq!(removed.try_recv().unwrap(), Ok(Reply::Done));
}

#[tokio::test]
async fn what_has_just_been_given_is_not_taken_back_before_it_is_known_whether_it_arrived() {
    let mut rig = Rig::fresh().await;
    let hooks = rig.connect(Role::Hook, None, false);
    let _bridge = rig.connect(Role::Claude, Some(CLAUDE), false);
    let bell = rig.connect(Role::Hook, Some(CLAUDE), false);
    rig.call(&bell, Command::DoorbellAttach).await.unwrap();
    let codex = rig.connect(Role::Codex, None, false);
    let operator = rig.connect(Role::Deck, None, true);
    rig.settle().await;
    let id = send(&mut rig, &codex, Agent::Codex).await;
    rig.store();
    let mut handed = rig.ask_only(&hooks, hook("UserPromptSubmit"));
    rig.store();
    let Ok(Reply::Hook(reply)) = handed.try_recv().unwrap() else {
        panic!("no answer");
    };
    assert_eq!(reply.ids, std::slice::from_ref(&id));
    let refused = take_back(&mut rig, &operator, &id).await.unwrap();
    assert_eq!(refused.unwrap_err().code, RefusalCode::InFlight);
    let drain = Command::QueueDrain(QueueDrainParams::default());
    let drained = rig.call(&operator, drain).await;
    assert!(
        rig.daemon.deliveries.outbox.get(&id).is_some(),
        "{drained:?}"
    );
    // Nobody says that it arrived.
    rig.later(6_000).await;
    let removed = take_back(&mut rig, &operator, &id);
    rig.settle().await;
    assert_eq!(removed.await.unwrap(), Ok(Reply::Done));
}

#[tokio::test]
async fn who_leaves_hands_over_first_what_its_rows_say() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let id = send(&mut rig, &claude, Agent::Claude).await;
    rig.begin_takeover().await.unwrap();
    // The adapter is not asked to let go before it has the message.
    assert!(rig.requests.try_recv().is_err());
    rig.store();
    let mut asked = Vec::new();
    while let Ok(request) = rig.requests.try_recv() {
        asked.push(request);
    }
    assert!(
        matches!(
            &asked[..],
            [CodexRequest::Deliver { message_id, .. }, CodexRequest::Release { .. }]
                if *message_id == id
        ),
        "{asked:?}"
    );
}

#[tokio::test]
async fn a_session_does_not_end_while_something_waits_for_its_row() {
    let mut rig = Rig::fresh().await;
    let codex = rig.connect(Role::Codex, None, false);
    let bridge = rig.connect(Role::Claude, Some(CLAUDE), false);
    let operator = rig.connect(Role::Deck, None, true);
    rig.settle().await;
    send(&mut rig, &codex, Agent::Codex).await;
    rig.store();
    let page = rig.ask_only(&bridge, get(Agent::Claude));
    let clear = Command::Clear(ClearParams {
        discard: false,
        ..ClearParams::default()
    });
    let refused = rig.ask_only(&operator, clear).try_recv().unwrap();
    assert_eq!(refused.unwrap_err().code, RefusalCode::InFlight);
    drop(page);
}

#[tokio::test]
async fn a_queue_without_a_writer_ends_the_daemon() {
    let mut rig = Rig::fresh().await;
    rig.daemon.on_event(Event::Queue(QueueEvent::Gone));
    assert_eq!(rig.daemon.base.operations.fault(), Some(DaemonFault::Queue));
}

/// A message that waits for a Claude without a doorbell; that Claude's hooks, its bridge, and Codex.
async fn waits_for_a_hook(place: &Place) -> (Rig, [Guest; 3], EntryId) {
    let mut rig = Rig::start(place).await;
    let hooks = rig.connect(Role::Hook, None, false);
    let bridge = rig.connect(Role::Claude, Some(CLAUDE), false);
    let codex = rig.connect(Role::Codex, None, false);
    rig.settle().await;
    let id = send(&mut rig, &codex, Agent::Codex).await;
    rig.store();
    (rig, [hooks, bridge, codex], id)
}

#[tokio::test]
async fn what_the_queue_could_not_write_was_not_attempted() {
    let place = Place::new();
    let (mut rig, [_hooks, bridge, _codex], id) = waits_for_a_hook(&place).await;
    let row = |rig: &Rig| rig.daemon.deliveries.outbox.get(&id).unwrap().clone();
    let before = row(&rig);
    for _ in 0..2 {
        let mut page = rig.ask_only(&bridge, get(Agent::Claude));
        rig.fail_rows();
        assert!(page.try_recv().unwrap().is_err());
        let after = row(&rig);
        let waits = (after.state, after.attempts);
        assert_eq!(waits, (before.state, before.attempts));
    }
    // On a disk that takes it again the row says so as well.
    let page = rig.ask_only(&bridge, get(Agent::Claude));
    drop(page);
    rig.store();
    rig.settle().await;
    assert_eq!(row(&rig).attempts, before.attempts);
    assert_eq!(row_on_disk(&place, &id), Some(before.state));
}

#[tokio::test]
async fn what_a_hook_was_too_late_to_take_comes_as_a_first_copy() {
    let place = Place::new();
    let (mut rig, [hooks, _bridge, _codex], id) = waits_for_a_hook(&place).await;
    drop(rig.ask_only(&hooks, hook("UserPromptSubmit")));
    rig.store();
    rig.settle().await;
    let Ok(Reply::Hook(reply)) = rig.call(&hooks, hook("UserPromptSubmit")).await else {
        panic!("no answer");
    };
    assert_eq!(reply.ids, [id]);
    let context = reply.additional_context.unwrap();
    assert!(!context.contains("shown before"), "{context}");
}

#[tokio::test]
async fn a_page_that_nobody_took_waits_for_codex_as_before() {
    let mut rig = Rig::fresh().await;
    let claude = rig.connect(Role::Claude, Some(CLAUDE), false);
    let codex = rig.connect(Role::Codex, None, false);
    rig.settle().await;
    // The first is on its way as a turn.
    send(&mut rig, &claude, Agent::Claude).await;
    let id = send(&mut rig, &claude, Agent::Claude).await;
    rig.store();
    drop(rig.ask_only(&codex, get(Agent::Codex)));
    rig.store();
    rig.settle().await;
    let Ok(Reply::Messages(page)) = rig.call(&codex, get(Agent::Codex)).await else {
        panic!("no page");
    };
    let mut messages = page.messages.iter();
    let again = messages.find(|it| it.message_id == id).unwrap();
    assert!(!again.repeat);
}

#[tokio::test]
async fn what_a_refused_page_held_is_not_stuck() {
    let mut rig = Rig::fresh().await;
    let claude = rig.connect(Role::Claude, Some(CLAUDE), false);
    let codex = rig.connect(Role::Codex, None, false);
    rig.settle().await;
    // The first is on its way as a turn.
    send(&mut rig, &claude, Agent::Claude).await;
    let id = send(&mut rig, &claude, Agent::Claude).await;
    rig.store();
    let mut page = rig.ask_only(&codex, get(Agent::Codex));
    rig.fail_rows();
    assert!(page.try_recv().unwrap().is_err());
    rig.settle().await;
    let Ok(Reply::Messages(page)) = rig.call(&codex, get(Agent::Codex)).await else {
        panic!("no page");
    };
    let ids: Vec<&EntryId> = page.messages.iter().map(|it| &it.message_id).collect();
    assert!(ids.contains(&&id), "{ids:?}");
}

#[tokio::test]
async fn a_disk_that_stands_still_makes_no_repeat_of_a_first_copy() {
    let place = Place::new();
    let (mut rig, [hooks, _bridge, _codex], id) = waits_for_a_hook(&place).await;
    // Longer than a hook waits, and than what it was given may take: it has left by then.
    drop(rig.ask_only(&hooks, hook("UserPromptSubmit")));
    rig.daemon.base.clock.pass(6_000);
    rig.daemon.on_deadline();
    let meanwhile = rig.ask_only(&hooks, hook("UserPromptSubmit"));
    rig.store();
    rig.settle().await;
    let behind = rig.call(&hooks, hook("UserPromptSubmit")).await;
    let given = [meanwhile.await.unwrap(), behind].map(|reply| match reply {
        Ok(Reply::Hook(reply)) => reply,
        other => panic!("no answer: {other:?}"),
    });
    let given = given.into_iter().find(|reply| reply.ids == [id.clone()]);
    let context = given.unwrap().additional_context.unwrap();
    assert!(!context.contains("shown before"), "{context}");
}

#[tokio::test]
async fn what_left_after_a_stall_of_the_disk_has_its_whole_time_to_arrive() {
    let mut rig = Rig::fresh().await;
    let hooks = rig.connect(Role::Hook, None, false);
    let _bridge = rig.connect(Role::Claude, Some(CLAUDE), false);
    let bell = rig.connect(Role::Hook, Some(CLAUDE), false);
    rig.call(&bell, Command::DoorbellAttach).await.unwrap();
    let codex = rig.connect(Role::Codex, None, false);
    rig.settle().await;
    let id = send(&mut rig, &codex, Agent::Codex).await;
    rig.store();
    let mut handed = rig.ask_only(&hooks, hook("UserPromptSubmit"));
    rig.daemon.base.clock.pass(6_000);
    rig.daemon.on_deadline();
    rig.store();
    let Ok(Reply::Hook(reply)) = handed.try_recv().unwrap() else {
        panic!("no answer");
    };
    assert_eq!(reply.ids, std::slice::from_ref(&id));
    let may_arrive = |rig: &Rig| rig.daemon.deliveries.outbox.backlog().has_left(&id);
    // The rig's clock runs on between its steps.
    rig.later(2_000).await;
    assert!(may_arrive(&rig));
    rig.later(4_000).await;
    assert!(!may_arrive(&rig));
}
