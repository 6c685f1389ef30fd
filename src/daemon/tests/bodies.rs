//! Messages that the disk has to be asked for: the loop goes on meanwhile, and nothing overtakes
//! them.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::{Duration, timeout};

use super::rig::Rig;
use super::tamper::{configured, write_config};
use crate::adapters::codex::fact::ReportedStatus;
use crate::adapters::codex::request::CodexRequest;
use crate::core::agent::Agent;
use crate::core::entry::ErrorCode;
use crate::core::policy::{Coordinator, PolicyChange};
use crate::core::whole::LINE_UNITS_MAX;
use crate::daemon::base::under_way::ordered::order_panic;
use crate::daemon::base::under_way::{UnderWay, WorkBeside};
use crate::daemon::deliveries::bodies::{BodiesRead, ReadBodies};
use crate::daemon::event::Event;
use crate::store::testing::Place;
use crate::wire::control::{
    Command, CompactParams, GetMessagesParams, HookParams, Notification, Refusal, RefusalCode,
    Reply, Role, SendParams, WaitMessagesParams,
};

type Answer = oneshot::Receiver<Result<Reply, Refusal>>;

fn long() -> String {
    format!("{}the very end", "word ".repeat(LINE_UNITS_MAX / 4))
}

fn send(to: Agent, text: String) -> Command {
    Command::Send(SendParams {
        from: Some(to.peer()),
        to: Some(to),
        text,
        ..SendParams::default()
    })
}

fn get(agent: Agent) -> Command {
    Command::GetMessages(GetMessagesParams::of(agent))
}

fn texts(answer: Result<Reply, Refusal>) -> Vec<String> {
    match answer {
        Ok(Reply::Messages(page)) => {
            let messages = page.messages.into_iter();
            messages.map(|message| message.text).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn is_open(answer: &mut Answer) -> bool {
    answer.try_recv() == Err(oneshot::error::TryRecvError::Empty)
}

#[tokio::test]
async fn a_message_to_codex_is_read_beside_the_loop_and_the_next_one_waits_for_it() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    drop(rig.ask(&claude, send(Agent::Codex, long())));
    rig.record().await;
    rig.store();
    // Its row is on the disk, and the loop has not read its text.
    assert_eq!(rig.delivered(), []);
    assert!(!rig.daemon.deliveries.is_settled(&rig.daemon.base));
    drop(rig.ask(&claude, send(Agent::Codex, "second".to_owned())));
    rig.settle().await;
    let (id, text) = rig.delivered().remove(0);
    assert!(text.contains("the very end"));
    rig.user_message("turn-1", Some(&id));
    rig.completed("turn-1", &[id], "done");
    rig.status(ReportedStatus::Idle);
    rig.settle().await;
    assert!(rig.delivered()[0].1.contains("second"));
}

#[tokio::test]
async fn a_daemon_that_leaves_while_a_text_is_read_hands_it_to_the_adapter_first() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    drop(rig.ask(&claude, send(Agent::Codex, long())));
    rig.record().await;
    rig.store();
    assert_eq!(rig.delivered(), []);
    rig.begin_takeover().await.unwrap();
    rig.settle().await;
    let mut asked = Vec::new();
    while let Ok(request) = rig.requests.try_recv() {
        match request {
            CodexRequest::Deliver { text, .. } => asked.push(text.contains("the very end")),
            CodexRequest::Release { .. } => asked.push(false),
            _ => {}
        }
    }
    assert_eq!(asked, [true, false]);
}

#[tokio::test]
async fn nothing_overtakes_a_message_to_claude_that_is_read_beside_the_loop() {
    let mut rig = Rig::fresh().await;
    let mut claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let codex = rig.connect(Role::Codex, None, false);
    // No doorbell is hung any more, so that all is pushed.
    rig.later(60_000).await;
    for text in [long(), "second".to_owned(), long(), "fourth".to_owned()] {
        drop(rig.ask(&codex, send(Agent::Claude, text)));
    }
    rig.settle().await;
    let mut pushed = Vec::new();
    while let Ok(notification) = claude.notifications.try_recv() {
        if let Notification::Push(message) = notification {
            pushed.push(message.text);
        }
    }
    assert_eq!(pushed.len(), 4);
    for (pushed, end) in pushed
        .iter()
        .zip(["the very end", "second", "the very end", "fourth"])
    {
        assert!(pushed.contains(end), "{end}");
    }
}

#[tokio::test]
async fn who_asks_for_a_long_text_gets_it_and_the_loop_answers_others_meanwhile() {
    let mut rig = Rig::fresh().await;
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let codex = rig.connect(Role::Codex, None, false);
    let hook = rig.connect(Role::Hook, Some(7_000_000), false);
    drop(rig.ask(&codex, send(Agent::Claude, long())));
    rig.settle().await;
    let mut asked = rig.ask(&claude, get(Agent::Claude));
    let mut waits = rig.ask(
        &claude,
        Command::WaitMessages(WaitMessagesParams {
            agent: Agent::Claude,
            timeout_ms: 1_000,
            after: None,
            reply_to: None,
            runtime_session_id: None,
        }),
    );
    let mut hooked = rig.ask(
        &hook,
        Command::Hook(HookParams {
            event: "UserPromptSubmit".into(),
            claude_pid: Some(7_000_000),
            ..HookParams::default()
        }),
    );
    for answer in [&mut asked, &mut waits, &mut hooked] {
        assert!(is_open(answer), "it is read beside the loop");
    }
    // Nobody waits for that.
    let mut status = rig.ask(&codex, Command::ReadStatus);
    assert!(matches!(status.try_recv(), Ok(Ok(Reply::Status(_)))));
    rig.settle().await;
    // The part that fits into a page.
    assert!(texts(asked.await.unwrap())[0].contains("word word"));
    drop(waits);
    assert!(matches!(hooked.await.unwrap(), Ok(Reply::Hook(_))));
}

#[tokio::test]
async fn after_a_read_that_panicked_nobody_waits_and_the_message_is_given_by_the_next_one() {
    let mut rig = Rig::fresh().await;
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let codex = rig.connect(Role::Codex, None, false);
    drop(rig.ask(&codex, send(Agent::Claude, long())));
    rig.settle().await;
    let told = |rig: &Rig| {
        let mut notices = rig.daemon.status().notices.into_iter();
        notices.any(|it| it.contains("reading messages to be given failed"))
    };
    order_panic(WorkBeside::Bodies);
    let page = rig.call(&claude, get(Agent::Claude)).await;
    assert_eq!(texts(page), [""; 0]);
    assert!(told(&rig));
    let errors = &rig.daemon.base.recorder.world().errors;
    let codes: Vec<_> = errors.iter().map(|error| &error.code).collect();
    assert_eq!(codes, [&ErrorCode::WorkFailed]);
    assert_eq!(texts(rig.call(&claude, get(Agent::Claude)).await).len(), 1);
    assert!(!told(&rig), "it is over");
}

#[tokio::test]
async fn with_too_much_being_read_a_page_is_refused_and_what_is_at_hand_is_given() {
    let mut rig = Rig::fresh().await;
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let codex = rig.connect(Role::Codex, None, false);
    drop(rig.ask(&codex, send(Agent::Claude, long())));
    rig.settle().await;
    while rig.daemon.deliveries.bodies.has_room() {
        rig.daemon.deliveries.bodies.begin(Box::new(|_, _| {}));
    }
    let refused = rig.call(&claude, get(Agent::Claude)).await.unwrap_err();
    assert_eq!(refused.code, RefusalCode::Overloaded);
    rig.daemon.deliveries.bodies = Default::default();
    assert_eq!(texts(rig.call(&claude, get(Agent::Claude)).await).len(), 1);
}

#[tokio::test]
async fn a_client_that_goes_while_its_page_is_read_takes_nothing_with_it() {
    let mut rig = Rig::fresh_with_codex().await;
    rig.status(ReportedStatus::Active { waiting: false });
    rig.user_message("turn-0", None);
    rig.settle().await;
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let codex = rig.connect(Role::Codex, None, false);
    // One is on its way already, so that the other one waits.
    drop(rig.ask(&claude, send(Agent::Codex, "first".to_owned())));
    rig.settle().await;
    drop(rig.ask(&claude, send(Agent::Codex, long())));
    rig.settle().await;
    drop(rig.ask(&codex, get(Agent::Codex)));
    rig.daemon.disconnect(codex.conn);
    rig.settle().await;
    let again = rig.connect(Role::Codex, None, false);
    let given = texts(rig.call(&again, get(Agent::Codex)).await);
    assert_eq!(given.len(), 1, "nobody has it");
}

#[tokio::test]
async fn two_changes_of_the_rules_end_as_the_record_says_and_none_holds_up_the_loop() {
    let place = Place::new();
    write_config(&place, json!({}));
    let (mut rig, operator) = configured(&place).await;
    let name = |to| Command::SetPolicy(PolicyChange::Coordinator { to: Some(to) });
    let mut first = rig.ask(&operator, name(Coordinator::Claude));
    let mut second = rig.ask(&operator, name(Coordinator::Codex));
    assert!(is_open(&mut first) && is_open(&mut second));
    assert_eq!(rig.daemon.base.configuration.policy().coordinator, None);
    rig.settle().await;
    assert!(matches!(first.await.unwrap(), Ok(Reply::PolicySet(_))));
    assert!(matches!(second.await.unwrap(), Ok(Reply::PolicySet(_))));
    let rules = rig.daemon.base.configuration.policy();
    assert_eq!(rules.coordinator, Some(Coordinator::Codex));
}

#[tokio::test]
async fn a_daemon_that_stops_while_settings_are_read_records_no_change_of_them() {
    let place = Place::new();
    write_config(&place, json!({}));
    let (mut rig, operator) = configured(&place).await;
    let to = Some(Coordinator::Codex);
    let mut set = rig.ask(
        &operator,
        Command::SetPolicy(PolicyChange::Coordinator { to }),
    );
    assert!(is_open(&mut set));
    rig.daemon.on_event(Event::Shutdown { kill: false });
    rig.settle().await;
    let refused = set.await.unwrap().unwrap_err();
    assert_eq!(refused.code, RefusalCode::DaemonStopping);
}

#[tokio::test]
async fn a_record_is_read_for_a_compaction_beside_the_loop() {
    let mut rig = Rig::fresh().await;
    let codex = rig.connect(Role::Codex, None, false);
    let operator = rig.connect(Role::Deck, None, true);
    drop(rig.ask(&codex, send(Agent::Claude, "before".to_owned())));
    rig.settle().await;
    let mut compact = rig.ask(&operator, Command::Compact(CompactParams::default()));
    assert!(is_open(&mut compact));
    let mut status = rig.ask(&codex, Command::ReadStatus);
    assert!(matches!(status.try_recv(), Ok(Ok(Reply::Status(_)))));
    rig.settle().await;
    let Ok(Reply::Compacted(compacted)) = compact.await.unwrap() else {
        panic!("not compacted");
    };
    assert_eq!(compacted.carried, 1);
    assert_eq!(rig.daemon.base.recorder.world().unsettled.len(), 1);
    let errors = &rig.daemon.base.recorder.world().errors;
    assert!(errors.iter().all(|it| it.code != ErrorCode::NotSealed));
}

#[tokio::test]
async fn whoever_waits_gets_what_there_was_no_room_to_read_once_there_is() {
    let mut rig = Rig::fresh().await;
    let claude = rig.connect(Role::Claude, Some(7_000_000), false);
    let codex = rig.connect(Role::Codex, None, false);
    let mut waits = rig.ask(
        &claude,
        Command::WaitMessages(WaitMessagesParams {
            agent: Agent::Claude,
            after: None,
            timeout_ms: 50_000,
            reply_to: None,
            runtime_session_id: None,
        }),
    );
    let mut reads = Vec::new();
    while rig.daemon.deliveries.bodies.has_room() {
        reads.push(rig.daemon.deliveries.bodies.begin(Box::new(|_, _| {})));
    }
    drop(rig.ask(&codex, send(Agent::Claude, long())));
    rig.record().await;
    rig.store();
    assert!(is_open(&mut waits));
    rig.daemon.on_event(Event::BodiesRead(Box::new(BodiesRead {
        number: reads[0],
        bodies: ReadBodies::default(),
        altered: Vec::new(),
        lost: Vec::new(),
        under_way: UnderWay::of(&Arc::default()),
    })));
    let given = async {
        while is_open(&mut waits) {
            rig.next_is_tree().await;
            rig.store();
        }
    };
    // Long before it is up, and nothing else is recorded meanwhile.
    timeout(Duration::from_secs(20), given).await.unwrap();
}
