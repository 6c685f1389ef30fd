//! Leaving everything to another process: nobody is told something untrue, nothing goes out behind
//! the adapter's back, and the next one knows what this one knew.

use super::commands::{fetched, wait_messages};
use super::rig::{Guest, Rig};
use super::unwritten::recover;
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::adapters::codex::request::CodexRequest;
use crate::core::agent::{Agent, AgentState, Party};
use crate::core::delivery::{DeliveryState, OnBusy, Outcome};
use crate::core::entry::{EntryKind, TurnStatus};
use crate::core::id::{ThreadId, TurnId};
use crate::daemon::takeover::Takeover;
use crate::store::queue::Queue;
use crate::store::testing::Place;
use crate::wire::control::{
    ClearParams, Command, CompactParams, GetMessagesParams, HandoffParams, HookParams,
    Notification, RefusalCode, Reply, Role, SendParams, ToolBeginsParams,
};

fn wait(agent: Agent) -> Command {
    wait_messages(agent, None, 10_000)
}

fn message() -> Command {
    Command::Send(SendParams {
        from: Some(Agent::Claude),
        text: "please look".to_owned(),
        ..SendParams::default()
    })
}

fn turn_ended(rig: &mut Rig, turn: &str, status: TurnStatus, ids: &[String]) {
    rig.fact(CodexFact::TurnCompleted {
        thread_id: ThreadId::new("thread-1"),
        turn_id: TurnId::new(turn),
        status,
        final_answer: Some("the answer".to_owned()),
        client_ids: ids.to_vec(),
        error: None,
        usage_limited: false,
        died: false,
    });
}

#[tokio::test]
async fn whoever_sent_is_not_told_that_nothing_was_sent() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    // One waits for what becomes of its message, the other one's is being written.
    let waiting = rig.ask(&claude, message());
    rig.settle().await;
    let writing = rig.ask(&claude, message());
    let known = rig.leave().await;
    for answer in [waiting, writing] {
        let Ok(Reply::Sent(sent)) = answer.await.unwrap() else {
            panic!("whoever hears of a refusal sends it again");
        };
        assert_eq!(sent.outcome, Outcome::QueuedForNextTurn);
    }
    let rig = Rig::start_after(&place, Some(known)).await;
    assert_eq!(rig.daemon.base.recorder.world().unsettled.len(), 2);
}

#[tokio::test]
async fn whoever_waits_asks_the_next_one_and_codex_hears_that_its_wait_was_cut() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    let claude_waits = rig.ask(&claude, wait(Agent::Claude));
    let codex_waits = rig.ask(&codex, wait(Agent::Codex));
    rig.begin_takeover().await.unwrap();
    let late = rig.ask(&claude, message());
    rig.let_go().await;
    for moved in [claude_waits, late] {
        assert_eq!(
            moved.await.unwrap().unwrap_err().code,
            RefusalCode::DaemonMoving
        );
    }
    let Ok(Reply::Messages(page)) = codex_waits.await.unwrap() else {
        panic!("no page");
    };
    assert!(page.cut && !page.timed_out && page.messages.is_empty());
}

#[tokio::test]
async fn nothing_goes_out_once_the_adapter_was_asked_to_let_go() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let first = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let second = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&first));
    rig.begin_takeover().await.unwrap();
    // The adapter had not begun with it.
    let why = "another process goes on".to_owned();
    let message_id = first.clone();
    rig.fact(CodexFact::NotTaken { message_id, why });
    rig.status(ReportedStatus::Idle);
    let known = rig.let_go().await;
    let rows = Queue::open(&place.dirs).unwrap().load().unwrap();
    assert!(rows.iter().all(|row| row.state == DeliveryState::Queued));
    // The next one begins anew, in the old order, and asks about nothing.
    let mut rig = Rig::start_after(&place, Some(known)).await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&first));
    rig.user_message("turn-1", Some(&first));
    rig.settle().await;
    assert_eq!(rig.delivered_ids(), [second]);
}

#[tokio::test]
async fn a_turn_that_goes_on_is_answered_and_recorded_once() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    rig.fact(CodexFact::TurnStarted {
        thread_id: ThreadId::new("thread-1"),
        turn_id: TurnId::new("turn-1"),
    });
    rig.user_message("turn-1", Some(&id));
    rig.settle().await;
    let known = rig.leave().await;
    let mut rig = Rig::start_after(&place, Some(known)).await;
    // The adapter of the next process finds the same app-server, and the turn in its history.
    rig.codex_runs().await;
    rig.user_message("turn-1", Some(&id));
    for _ in 0..2 {
        let ids = [id.to_string()];
        turn_ended(&mut rig, "turn-1", TurnStatus::Interrupted, &ids);
        rig.settle().await;
    }
    let began = rig.daemon.base.recorder.recent().iter().filter(|stored| {
        matches!(&stored.entry.kind, EntryKind::Turn(turn)
            if turn.status == TurnStatus::InProgress)
    });
    assert_eq!(began.count(), 1);
    // The human stopped it: the lane is held, as in the process before.
    let claude = rig.connect(Role::Claude, None, false);
    let next = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    assert_eq!(rig.delivered_ids(), []);
    let known = rig.leave().await;
    let mut rig = Rig::start_after(&place, Some(known)).await;
    rig.codex_runs().await;
    assert_eq!(rig.delivered_ids(), [], "held, over the next change too");
    rig.user_message("turn-2", None);
    assert_eq!(rig.delivered_ids(), [next]);
}

/// A hook of the Claude that is this process.
fn hook(event: &str) -> Command {
    Command::Hook(HookParams {
        event: event.into(),
        claude_pid: Some(std::process::id()),
        ..HookParams::default()
    })
}

/// The bridge and the doorbell of that Claude.
async fn claude_comes(rig: &mut Rig) -> [Guest; 2] {
    let claude = Some(std::process::id());
    let bridge = rig.connect(Role::Claude, claude, false);
    let bell = rig.connect(Role::Hook, claude, false);
    rig.call(&bell, Command::DoorbellAttach).await.unwrap();
    [bridge, bell]
}

fn rings(bell: &mut Guest) -> usize {
    let told = std::iter::from_fn(|| bell.notifications.try_recv().ok());
    told.filter(|it| matches!(it, Notification::Ring { .. }))
        .count()
}

/// A Claude that shows a dialog in its turn, and was rung for. What it leaves.
async fn claude_waits(place: &Place) -> Takeover {
    let mut rig = Rig::with_codex(place).await;
    let [_bridge, mut bell] = claude_comes(&mut rig).await;
    let codex = rig.connect(Role::Codex, None, false);
    let hooks = rig.connect(Role::Hook, None, false);
    for event in ["UserPromptSubmit", "PermissionRequest"] {
        rig.call(&hooks, hook(event)).await.unwrap();
    }
    rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    assert_eq!(rings(&mut bell), 1);
    rig.leave().await
}

#[tokio::test]
async fn what_claude_does_goes_on_at_the_next_process_and_its_doorbell_does_not_ring_again() {
    let place = Place::new();
    let known = claude_waits(&place).await;
    let mut rig = Rig::start_after(&place, Some(known)).await;
    let shown = |rig: &Rig| rig.daemon.status().agents.claude.state;
    assert_eq!(shown(&rig), AgentState::Waiting);
    let recorded = |rig: &Rig| rig.world().agent(Agent::Claude).state;
    assert_eq!(recorded(&rig), AgentState::Offline);
    let [_bridge, mut bell] = claude_comes(&mut rig).await;
    assert_eq!(recorded(&rig), AgentState::Waiting);
    assert_eq!(rings(&mut bell), 0);
    let hooks = rig.connect(Role::Hook, None, false);
    rig.call(&hooks, hook("PostToolUse")).await.unwrap();
    assert_eq!(recorded(&rig), AgentState::Busy);
}

#[tokio::test]
async fn a_claude_that_does_not_come_to_the_next_process_is_away_there_too() {
    let place = Place::new();
    let known = claude_waits(&place).await;
    let mut rig = Rig::start_after(&place, Some(known)).await;
    rig.later(3_100).await;
    assert_eq!(rig.daemon.status().agents.claude.state, AgentState::Offline);
}

#[tokio::test]
async fn an_answer_goes_back_to_whoever_asked_the_process_before() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    rig.user_message("turn-1", Some(&id));
    rig.settle().await;
    let known = rig.leave().await;
    let mut rig = Rig::start_after(&place, Some(known)).await;
    rig.codex_runs().await;
    let ids = [id.to_string()];
    turn_ended(&mut rig, "turn-1", TurnStatus::Completed, &ids);
    rig.settle().await;
    let answers: Vec<_> = rig
        .daemon
        .base
        .recorder
        .recent()
        .iter()
        .filter_map(|stored| match &stored.entry.kind {
            EntryKind::Message(message) if stored.entry.source == Party::Agent(Agent::Codex) => {
                message.in_reply_to.clone()
            }
            _ => None,
        })
        .collect();
    assert_eq!(answers, [id]);
}

#[tokio::test]
async fn a_handoff_that_is_repeated_at_the_next_process_is_the_first_one() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let handoff = || {
        Command::Handoff(HandoffParams {
            from: Some(Agent::Claude),
            ask: "take over the tests".to_owned(),
            ..HandoffParams::default()
        })
    };
    let claude = rig.connect(Role::Claude, None, false);
    let first = rig.ask(&claude, handoff());
    let known = rig.leave().await;
    let Ok(Reply::Sent(first)) = first.await.unwrap() else {
        panic!("not sent");
    };
    let mut rig = Rig::start_after(&place, Some(known)).await;
    let claude = rig.connect(Role::Claude, None, false);
    let Ok(Reply::Sent(second)) = rig.call(&claude, handoff()).await else {
        panic!("not sent");
    };
    assert!(second.duplicate);
    assert_eq!(second.message_id, first.message_id);
}

#[tokio::test]
async fn what_was_given_when_another_process_is_to_go_on_is_proven_before_and_not_given_again() {
    let mut rig = Rig::fresh_with_codex().await;
    let bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let codex = rig.connect(Role::Codex, None, false);
    let id = rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    let get = || Command::GetMessages(GetMessagesParams::of(Agent::Claude));
    let Ok(Reply::Messages(page)) = rig.call(&bridge, get()).await else {
        panic!("no page");
    };
    assert_eq!(page.messages[0].message_id, id);
    rig.begin_takeover().await.unwrap();
    rig.settle().await;
    assert!(
        !rig.daemon.deliveries.may_stop(&rig.daemon.base),
        "its proof is to come"
    );
    let refused = rig.call(&bridge, get()).await.unwrap_err();
    assert_eq!(refused.code, RefusalCode::DaemonMoving);
    let fetched = fetched(Agent::Claude, vec![id.clone()]);
    assert_eq!(rig.call(&bridge, fetched).await, Ok(Reply::Done));
    rig.daemon.base.operations.takeover_mut().adapter_left(None);
    assert!(rig.daemon.deliveries.may_stop(&rig.daemon.base));
    let unsettled = &rig.daemon.base.recorder.world().unsettled;
    assert!(unsettled[&id].is_proven());
}

#[tokio::test]
async fn who_may_not_leave_is_told_the_way_out_that_there_is() {
    let mut rig = Rig::fresh_with_codex().await;
    rig.fact(CodexFact::ThreadAdopted {
        thread_id: ThreadId::new("thread-2"),
    });
    // The file was taken away: room would not help.
    rig.fail_writes().await;
    let refusal = rig.begin_takeover().await.unwrap_err();
    assert_eq!(refusal.code, RefusalCode::LedgerUnwritable);
    assert!(refusal.hint.contains("ctxrelay kill"), "{refusal:?}");
}

#[tokio::test]
async fn on_a_disk_that_refuses_nothing_is_stopped_and_codex_is_not_let_go() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let hooks = rig.connect(Role::Hook, None, false);
    let hook = HookParams {
        event: "PostToolUse".into(),
        tool: Some("Edit".to_owned()),
        path: Some("src/login.rs".to_owned()),
        ..HookParams::default()
    };
    rig.call(&hooks, Command::Hook(hook)).await.unwrap();
    rig.settle().await;
    // Nobody has been refused anything yet.
    let ledger = rig.daemon.base.recorder.ledger().path().to_owned();
    let away = ledger.with_extension("away");
    std::fs::rename(&ledger, &away).unwrap();
    let refusal = rig.begin_takeover().await.unwrap_err();
    assert_eq!(refusal.code, RefusalCode::LedgerUnwritable);
    let refusal = rig.begin_takeover().await.unwrap_err();
    assert_eq!(refusal.code, RefusalCode::LedgerUnwritable);
    assert!(!rig.daemon.base.operations.is_stopping());
    std::iter::from_fn(|| rig.requests.try_recv().ok()).for_each(|request| {
        assert!(!matches!(request, CodexRequest::Release { .. }));
    });

    std::fs::rename(&away, &ledger).unwrap();
    recover(&mut rig).await;
    drop(rig.leave().await);
    let record = std::fs::read_to_string(&ledger).unwrap();
    for once in ["src/login.rs", "hands over to another process"] {
        assert_eq!(record.matches(once).count(), 1, "{once}: {record}");
    }
}

#[tokio::test]
async fn it_is_not_left_while_a_session_is_being_ended_or_deleted() {
    let discard = Command::Clear(ClearParams {
        discard: true,
        ..ClearParams::default()
    });
    let compact = Command::Compact(CompactParams::default());
    for ends in [discard, compact] {
        let place = Place::new();
        let mut rig = Rig::with_codex(&place).await;
        let operator = rig.connect(Role::Deck, None, true);
        let ended = rig.ask(&operator, ends);
        let refusal = rig.begin_takeover().await.unwrap_err();
        assert_eq!(refusal.code, RefusalCode::InFlight);
        rig.settle().await;
        ended.await.unwrap().unwrap();
        drop(rig.leave().await);
    }
}

#[tokio::test]
async fn the_times_of_claude_go_by_the_clock_of_the_next_process_over_a_sleep() {
    const NIGHT_MS: i64 = 8 * 60 * 60_000;
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let [_bridge, mut bell] = claude_comes(&mut rig).await;
    let hooks = rig.connect(Role::Hook, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    for event in ["UserPromptSubmit", "PreCompact"] {
        rig.call(&hooks, hook(event)).await.unwrap();
    }
    rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    assert_eq!(rings(&mut bell), 1);
    rig.daemon.base.clock.sleep(NIGHT_MS);
    let known = rig.leave().await;
    let left = serde_json::to_value(&known.loop_state.known.claudes.pairs).unwrap();
    let rung_ms = left[0]["rung"][0]["atMs"].as_i64().unwrap();
    let mut rig = Rig::start_after(&place, Some(known)).await;
    // It starts with the wall.
    rig.daemon.base.clock.pass(NIGHT_MS);
    let now_ms = rig.daemon.base.clock.now_ms();
    assert!((0..60_000).contains(&(now_ms - rung_ms)), "{rung_ms}");
    assert!(rig.daemon.agents.claude.is_compacting(now_ms));
    let [_bridge, mut bell] = claude_comes(&mut rig).await;
    assert_eq!(rings(&mut bell), 0);
}

#[tokio::test]
async fn a_turn_that_fails_at_the_next_process_is_heard_of_though_the_clock_was_set_back() {
    const HOUR_MS: i64 = 60 * 60_000;
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let _claude = claude_comes(&mut rig).await;
    let hooks = rig.connect(Role::Hook, None, false);
    rig.call(&hooks, hook("UserPromptSubmit")).await.unwrap();
    rig.daemon.base.clock.set_wall(-HOUR_MS);
    let known = rig.leave().await;
    let mut rig = Rig::start_after(&place, Some(known)).await;
    rig.daemon.base.clock.pass(-HOUR_MS);
    let _claude = claude_comes(&mut rig).await;
    assert_eq!(rig.daemon.status().agents.claude.state, AgentState::Busy);
    let hooks = rig.connect(Role::Hook, None, false);
    let failed = HookParams {
        event: "StopFailure".into(),
        claude_pid: Some(std::process::id()),
        asked_ago_ms: Some(0),
        ..HookParams::default()
    };
    rig.call(&hooks, Command::Hook(failed)).await.unwrap();
    assert_eq!(rig.daemon.status().agents.claude.state, AgentState::Idle);
}

#[tokio::test]
async fn another_client_that_leaves_takes_nothing_of_a_claude_that_is_waited_for() {
    let place = Place::new();
    let known = claude_waits(&place).await;
    let mut rig = Rig::start_after(&place, Some(known)).await;
    let another = rig.connect(Role::Claude, Some(7_000_000), false);
    rig.daemon.disconnect(another.conn);
    rig.settle().await;
    let shown = |rig: &Rig| rig.daemon.status().agents.claude.state;
    assert_eq!(shown(&rig), AgentState::Waiting);
    let processes = &rig.daemon.agents.claude_processes;
    assert!(processes.runs_hooks(std::process::id()));
    // One that does not come is away.
    rig.later(3_100).await;
    assert_eq!(shown(&rig), AgentState::Offline);
}

#[tokio::test]
async fn a_tool_that_runs_makes_a_turn_silent_for_longer_at_the_next_process_too() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let _claude = claude_comes(&mut rig).await;
    let hooks = rig.connect(Role::Hook, None, false);
    rig.call(&hooks, hook("UserPromptSubmit")).await.unwrap();
    let begins = Command::ToolBegins(ToolBeginsParams {
        claude_pid: Some(std::process::id()),
        tool_use_id: "toolu_1".to_owned(),
        tool: "Agent".to_owned(),
        ..ToolBeginsParams::default()
    });
    rig.call(&hooks, begins).await.unwrap();
    let known = rig.leave().await;
    let mut rig = Rig::start_after(&place, Some(known)).await;
    let _claude = claude_comes(&mut rig).await;
    let shown = |rig: &Rig| rig.daemon.status().agents.claude;
    assert_eq!(shown(&rig).silence.unwrap().suspect_after_seconds, 1_800);
    rig.later(1_250_000).await;
    assert_eq!(shown(&rig).state, AgentState::Busy);
    let hooks = rig.connect(Role::Hook, None, false);
    let ended = HookParams {
        event: "PostToolUse".into(),
        claude_pid: Some(std::process::id()),
        tool_use_id: Some("toolu_1".to_owned()),
        ..HookParams::default()
    };
    rig.call(&hooks, Command::Hook(ended)).await.unwrap();
    rig.later(1_250_000).await;
    assert_eq!(shown(&rig).state, AgentState::Stale);
}
