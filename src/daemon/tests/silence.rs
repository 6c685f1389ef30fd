//! Turns that fall silent: shown in steps, recorded once, ended by nobody but the operator.

use tokio::sync::oneshot;

use super::rig::{Guest, Rig};
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::adapters::codex::request::CodexRequest;
use crate::core::agent::{Agent, AgentState};
use crate::core::delivery::{OnBusy, Watched};
use crate::core::entry::{ErrorCode, TurnStatus};
use crate::core::id::{EntryId, ThreadId, TurnId};
use crate::store::testing::Place;
use crate::wire::config::{Config, read};
use crate::wire::control::{
    AgentActionKind, AgentActionParams, Command, HookParams, Refusal, RefusalCode, Reply, Role,
    ToolBeginsParams,
};

const BUSY: ReportedStatus = ReportedStatus::Active { waiting: false };
const ASKING: ReportedStatus = ReportedStatus::Active { waiting: true };

async fn pass(rig: &mut Rig, seconds: i64) {
    rig.daemon.base.clock.pass(seconds * 1_000);
    rig.daemon.on_deadline();
    rig.settle().await;
}

fn level(rig: &Rig, agent: Agent) -> Option<Watched> {
    let agents = rig.daemon.status().agents;
    let silence = match agent {
        Agent::Claude => agents.claude.silence,
        Agent::Codex => agents.codex.silence,
    };
    silence.map(|silence| silence.level)
}

fn told(rig: &Rig) -> usize {
    let errors = rig.daemon.base.recorder.world().errors.iter();
    errors
        .filter(|error| error.code == ErrorCode::TurnSilent)
        .count()
}

pub fn turn_started(rig: &mut Rig) {
    rig.fact(CodexFact::TurnStarted {
        thread_id: ThreadId::new("thread-1"),
        turn_id: TurnId::new("turn-1"),
    });
    rig.status(BUSY);
}

pub fn agent_action(agent: Agent, act: AgentActionKind) -> Command {
    Command::AgentAction(AgentActionParams {
        agent,
        act,
        turn_id: None,
        placed: false,
    })
}

pub fn hook(event: &str, detail: Option<&str>) -> Command {
    Command::Hook(HookParams {
        event: event.into(),
        claude_pid: Some(7_000_000),
        detail: detail.map(str::to_owned),
        ..HookParams::default()
    })
}

async fn claude(rig: &mut Rig) -> (Guest, Guest) {
    let bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let hooks = rig.connect(Role::Hook, None, false);
    rig.settle().await;
    (bridge, hooks)
}

#[tokio::test]
async fn a_silent_turn_is_shown_in_steps_and_recorded_once() {
    let mut rig = Rig::fresh_with_codex().await;
    assert_eq!(level(&rig, Agent::Codex), None);
    turn_started(&mut rig);
    assert_eq!(level(&rig, Agent::Codex), Some(Watched::Fine));
    // The loop wakes by itself when the next step is due.
    assert!(
        rig.daemon
            .agents
            .next_look_at_silence(&rig.daemon.base)
            .is_some()
    );
    for (seconds, watched) in [
        (60, Watched::Quiet),
        (240, Watched::Suspect),
        (300, Watched::Stuck),
        (600, Watched::Stuck),
    ] {
        pass(&mut rig, seconds).await;
        assert_eq!(level(&rig, Agent::Codex), Some(watched));
    }
    assert_eq!(told(&rig), 1);
    assert_eq!(rig.daemon.agents.codex.state(), AgentState::Busy);
    assert!(rig.requests.try_recv().is_err(), "nothing is stopped");

    rig.fact(CodexFact::Heartbeat);
    assert_eq!(level(&rig, Agent::Codex), Some(Watched::Fine));
    rig.status(ReportedStatus::Idle);
    assert_eq!(level(&rig, Agent::Codex), None);
    pass(&mut rig, 3_600).await;
    assert_eq!(told(&rig), 1);
    // A command that it left running ends.
    rig.fact(CodexFact::Heartbeat);
    pass(&mut rig, 3_600).await;
    assert_eq!((level(&rig, Agent::Codex), told(&rig)), (None, 1));
}

#[tokio::test]
async fn a_turn_that_tries_its_model_again_says_why_and_gives_no_sign() {
    let mut rig = Rig::fresh_with_codex().await;
    let retries = |rig: &mut Rig, why: &str| {
        let why = why.to_owned();
        rig.fact(CodexFact::Retrying { why });
    };
    let retrying = |rig: &Rig| rig.daemon.status().agents.codex.retrying;
    turn_started(&mut rig);
    retries(
        &mut rig,
        "stream disconnected\u{1b}[2J before completion\nmore",
    );
    let first = retrying(&rig).unwrap();
    assert_eq!(first.why, "stream disconnected [2J before completion");
    pass(&mut rig, 60).await;
    retries(&mut rig, "connection refused");
    let second = retrying(&rig).unwrap();
    assert_eq!(
        (second.since, second.why.as_str()),
        (first.since, "connection refused")
    );
    assert_eq!(level(&rig, Agent::Codex), Some(Watched::Quiet));
    rig.fact(CodexFact::Heartbeat);
    assert_eq!(retrying(&rig), None);
    retries(&mut rig, "connection refused");
    ended(&mut rig, "turn-1", TurnStatus::Failed, &[], false).await;
    assert_eq!(retrying(&rig), None);
}

#[tokio::test]
async fn a_turn_that_asks_the_human_is_not_silent_and_our_own_steer_is_no_sign() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    turn_started(&mut rig);
    rig.status(ASKING);
    pass(&mut rig, 7_200).await;
    assert_eq!(level(&rig, Agent::Codex), Some(Watched::Fine));
    rig.status(BUSY);
    pass(&mut rig, 290).await;
    let id = rig.send(&claude, Agent::Claude, OnBusy::Steer).await;
    rig.user_message("turn-1", Some(&id));
    rig.settle().await;
    pass(&mut rig, 10).await;
    assert_eq!(level(&rig, Agent::Codex), Some(Watched::Suspect));
}

#[tokio::test]
async fn an_old_turn_that_is_told_again_neither_begins_nor_ends_what_is_watched() {
    let mut rig = Rig::fresh_with_codex().await;
    let begins = |rig: &mut Rig, turn: &str| {
        rig.fact(CodexFact::TurnStarted {
            thread_id: ThreadId::new("thread-1"),
            turn_id: TurnId::new(turn),
        });
    };
    begins(&mut rig, "turn-1");
    assert_eq!(level(&rig, Agent::Codex), Some(Watched::Fine));
    ended(&mut rig, "turn-1", TurnStatus::Completed, &[], false).await;
    begins(&mut rig, "turn-1");
    assert_eq!(level(&rig, Agent::Codex), None);
    begins(&mut rig, "turn-2");
    rig.status(BUSY);
    pass(&mut rig, 300).await;
    rig.fact(completed("turn-1", TurnStatus::Completed, &[], false));
    assert_eq!(level(&rig, Agent::Codex), Some(Watched::Suspect));
}

#[tokio::test]
async fn another_silence_in_the_configuration_counts_at_once() {
    let mut rig = Rig::fresh_with_codex().await;
    turn_started(&mut rig);
    pass(&mut rig, 25).await;
    assert_eq!(level(&rig, Agent::Codex), Some(Watched::Fine));
    let file = serde_json::json!({"watchdog": {"codexSilenceSeconds": 10}});
    let (config, problems) = read(file.as_object().unwrap());
    assert_eq!(problems, []);
    assert_eq!(config.watchdog.claude_silence_seconds.get(), 600);
    rig.daemon
        .agents
        .set_silences(&mut rig.daemon.base, &config);
    assert_eq!(level(&rig, Agent::Codex), Some(Watched::Stuck));
    let silence = rig.daemon.status().agents.codex.silence.unwrap();
    assert_eq!(silence.suspect_after_seconds, 10);
    // The rig's clock runs on between its steps.
    assert!((25..60).contains(&silence.seconds), "{silence:?}");
    rig.daemon
        .agents
        .set_silences(&mut rig.daemon.base, &Config::default());
    assert_eq!(level(&rig, Agent::Codex), Some(Watched::Fine));
}

#[tokio::test]
async fn the_operator_lets_a_silent_turn_be_and_is_told_again() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let wait = agent_action(Agent::Codex, AgentActionKind::Snooze);
    let refused = rig.call(&operator, wait.clone()).await;
    assert_eq!(refused.unwrap_err().code, RefusalCode::NotSilent);
    turn_started(&mut rig);
    pass(&mut rig, 600).await;
    rig.call(&operator, wait).await.unwrap();
    assert_eq!(level(&rig, Agent::Codex), Some(Watched::Quiet));
    pass(&mut rig, 300).await;
    assert_eq!(level(&rig, Agent::Codex), Some(Watched::Stuck));
    assert_eq!(told(&rig), 2);
}

/// What an answer comes to for which the loop has more to do.
async fn answered(
    rig: &mut Rig,
    mut waiting: oneshot::Receiver<Result<Reply, Refusal>>,
) -> Result<Reply, Refusal> {
    loop {
        rig.pump().await;
        match waiting.try_recv() {
            Ok(answer) => return answer,
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test]
async fn only_the_operator_stops_a_turn_and_only_the_one_that_was_seen() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let agent = rig.connect(Role::Claude, None, false);
    turn_started(&mut rig);
    let stop = |turn: &str| {
        Command::AgentAction(AgentActionParams {
            agent: Agent::Codex,
            act: AgentActionKind::Interrupt,
            turn_id: Some(TurnId::new(turn)),
            placed: true,
        })
    };
    let code = |result: Result<Reply, Refusal>| result.unwrap_err().code;
    assert_eq!(
        code(rig.call(&agent, stop("turn-1")).await),
        RefusalCode::OperatorOnly
    );
    assert_eq!(
        code(rig.call(&operator, stop("turn-0")).await),
        RefusalCode::NoSuchTurn
    );
    assert!(rig.requests.try_recv().is_err());
    let entries = rig.daemon.status().ledger.entries;
    let refused = rig.ask(&operator, stop("turn-1"));
    let Ok(CodexRequest::Interrupt { reply, .. }) = rig.requests.try_recv() else {
        panic!("nothing was asked of the adapter");
    };
    reply.send(Err("no such turn".to_owned())).unwrap();
    let refused = answered(&mut rig, refused).await;
    assert_eq!(code(refused), RefusalCode::CodexRefused);
    let after = rig.daemon.status().ledger.entries;
    assert_eq!(after, entries, "nothing was stopped, and nothing says so");
    let stopped = rig.ask(&operator, stop("turn-1"));
    let Ok(CodexRequest::Interrupt { turn_id, reply }) = rig.requests.try_recv() else {
        panic!("nothing was asked of the adapter");
    };
    assert_eq!(turn_id, TurnId::new("turn-1"));
    reply.send(Ok(())).unwrap();
    let Ok(Reply::Recorded(recorded)) = answered(&mut rig, stopped).await else {
        panic!("no entry says so");
    };
    assert!(recorded.seq.0 > entries, "{recorded:?}");

    let claude = Command::AgentAction(AgentActionParams {
        agent: Agent::Claude,
        act: AgentActionKind::Interrupt,
        turn_id: None,
        placed: false,
    });
    assert_eq!(
        code(rig.call(&operator, claude).await),
        RefusalCode::NotFromHere
    );
}

#[tokio::test]
async fn what_a_stopped_turn_had_is_sent_again_when_the_operator_says_so() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    let claude = rig.connect(Role::Claude, None, false);
    let requeue = agent_action(Agent::Codex, AgentActionKind::Requeue);
    let nothing = rig.call(&operator, requeue.clone()).await;
    assert_eq!(nothing.unwrap_err().code, RefusalCode::NothingCutOff);

    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&id));
    rig.user_message("turn-1", Some(&id));
    rig.settle().await;
    ended(&mut rig, "turn-1", TurnStatus::Interrupted, &[&id], false).await;
    assert_eq!(rig.daemon.status().agents.codex.cut_off, 1);
    assert_eq!(rig.delivered_ids(), []);

    rig.call(&operator, requeue).await.unwrap();
    let delivered = rig.delivered();
    assert_eq!(delivered.len(), 1);
    assert_eq!(delivered[0].0, id);
    assert!(delivered[0].1.contains("shown before"));
    assert_eq!(rig.daemon.status().agents.codex.cut_off, 0);
    rig.user_message("turn-2", Some(&id));
    rig.settle().await;
    ended(&mut rig, "turn-2", TurnStatus::Completed, &[&id], false).await;
    assert_eq!(rig.daemon.status().agents.codex.cut_off, 0);
    assert!(!rig.daemon.base.recorder.world().unsettled.contains_key(&id));
    let (replayed, _) = Rig::replayed(&place);
    assert!(!replayed.unsettled.contains_key(&id) && replayed.cut_off.is_empty());
}

pub async fn ended(rig: &mut Rig, turn: &str, status: TurnStatus, ids: &[&EntryId], limited: bool) {
    rig.fact(completed(turn, status, ids, limited));
    rig.status(ReportedStatus::Idle);
    rig.settle().await;
}

fn completed(turn: &str, status: TurnStatus, ids: &[&EntryId], limited: bool) -> CodexFact {
    CodexFact::TurnCompleted {
        thread_id: ThreadId::new("thread-1"),
        turn_id: TurnId::new(turn),
        status,
        final_answer: None,
        client_ids: ids.iter().map(ToString::to_string).collect(),
        error: limited.then(|| "You've hit your usage limit.".to_owned()),
        usage_limited: limited,
        died: false,
    }
}

#[tokio::test]
async fn a_claude_that_was_stopped_with_esc_is_called_stale_and_not_busy_for_ever() {
    let mut rig = Rig::fresh().await;
    let (bridge, hooks) = claude(&mut rig).await;
    rig.call(&hooks, hook("UserPromptSubmit", None))
        .await
        .unwrap();
    // The rig's clock runs on between its steps.
    pass(&mut rig, 1_150).await;
    let state = |rig: &Rig| rig.daemon.status().agents.claude.state;
    assert_eq!(state(&rig), AgentState::Busy);
    assert_eq!(level(&rig, Agent::Claude), Some(Watched::Suspect));
    pass(&mut rig, 50).await;
    assert_eq!(state(&rig), AgentState::Stale);
    let why = rig.daemon.status().agents.claude.why.unwrap();
    assert!(why.contains("Esc"), "{why}");
    // It was only slow: a tool call is a sign.
    rig.call(&bridge, Command::ReadSnapshot).await.unwrap();
    assert_eq!(state(&rig), AgentState::Busy);
    rig.call(&hooks, hook("Stop", None)).await.unwrap();
    assert_eq!(state(&rig), AgentState::Idle);
    assert_eq!(level(&rig, Agent::Claude), None);
    pass(&mut rig, 9_000).await;
    assert_eq!(state(&rig), AgentState::Idle);
}

#[tokio::test]
async fn a_claude_that_asks_waits_for_the_human_and_goes_on() {
    let mut rig = Rig::fresh().await;
    let (bridge, hooks) = claude(&mut rig).await;
    let state = |rig: &Rig| rig.daemon.status().agents.claude.state;
    for (asks, detail) in [
        ("PermissionRequest", None),
        ("Notification", Some("agent_needs_input")),
    ] {
        rig.call(&hooks, hook("UserPromptSubmit", None))
            .await
            .unwrap();
        rig.call(&hooks, hook(asks, detail)).await.unwrap();
        assert_eq!(state(&rig), AgentState::Waiting);
        pass(&mut rig, 9_000).await;
        assert_eq!(level(&rig, Agent::Claude), Some(Watched::Fine));
        // A helper of it may call beside the dialog.
        rig.call(&bridge, Command::ReadSnapshot).await.unwrap();
        assert_eq!(state(&rig), AgentState::Waiting);
        rig.call(&hooks, hook("PostToolUse", None)).await.unwrap();
        assert_eq!(state(&rig), AgentState::Busy);
        rig.call(&hooks, hook("Notification", Some("idle_prompt")))
            .await
            .unwrap();
        assert_eq!(state(&rig), AgentState::Idle);
    }
}

#[tokio::test]
async fn a_claude_whose_tool_runs_is_called_stuck_later_and_a_helpers_work_is_a_sign_of_it() {
    let mut rig = Rig::fresh().await;
    let (_bridge, hooks) = claude(&mut rig).await;
    let state = |rig: &Rig| rig.daemon.status().agents.claude.state;
    let begins = Command::ToolBegins(ToolBeginsParams {
        claude_pid: Some(7_000_000),
        tool_use_id: "toolu_1".to_owned(),
        tool: "Agent".to_owned(),
        ..ToolBeginsParams::default()
    });
    let of = |event: &str, tool_use_id: Option<&str>| {
        Command::Hook(HookParams {
            event: event.into(),
            claude_pid: Some(7_000_000),
            helper: Some("a97".to_owned()),
            tool_use_id: tool_use_id.map(str::to_owned),
            ..HookParams::default()
        })
    };
    let helper_works = of("HelperToolUse", None);
    rig.call(&hooks, hook("UserPromptSubmit", None))
        .await
        .unwrap();
    rig.call(&hooks, begins).await.unwrap();
    pass(&mut rig, 1_250).await;
    assert_eq!(level(&rig, Agent::Claude), Some(Watched::Quiet));
    let silence = rig.daemon.status().agents.claude.silence.unwrap();
    assert_eq!(silence.suspect_after_seconds, 1_800);
    rig.call(&hooks, helper_works.clone()).await.unwrap();
    assert_eq!(level(&rig, Agent::Claude), Some(Watched::Fine));
    pass(&mut rig, 3_600).await;
    assert_eq!(state(&rig), AgentState::Stale);
    rig.call(&hooks, helper_works.clone()).await.unwrap();
    assert_eq!(state(&rig), AgentState::Busy);
    // Without a tool that runs, a helper works beside the turn and says nothing of it.
    rig.call(&hooks, of("PostToolUse", Some("toolu_1")))
        .await
        .unwrap();
    pass(&mut rig, 1_250).await;
    assert_eq!(state(&rig), AgentState::Stale);
    rig.call(&hooks, helper_works).await.unwrap();
    assert_eq!(state(&rig), AgentState::Stale);
}

#[tokio::test]
async fn a_silence_is_looked_at_though_something_else_woke_the_daemon_in_that_moment() {
    let mut rig = Rig::fresh_with_codex().await;
    let (config, _) = read(
        serde_json::json!({"watchdog": {"codexSilenceSeconds": 10}})
            .as_object()
            .unwrap(),
    );
    rig.daemon
        .agents
        .set_silences(&mut rig.daemon.base, &config);
    turn_started(&mut rig);
    rig.settle().await;
    // Later than every step, and nobody has looked.
    rig.daemon.base.clock.pass(21_000);
    assert!(
        rig.daemon
            .agents
            .next_look_at_silence(&rig.daemon.base)
            .is_some()
    );
    rig.daemon.on_deadline();
    rig.settle().await;
    assert_eq!(told(&rig), 1);
    assert!(
        rig.daemon
            .agents
            .next_look_at_silence(&rig.daemon.base)
            .is_none()
    );
}

#[tokio::test]
async fn a_turn_is_not_silent_for_the_time_that_the_machine_slept() {
    let mut rig = Rig::fresh_with_codex().await;
    turn_started(&mut rig);
    rig.settle().await;
    assert_eq!(level(&rig, Agent::Codex), Some(Watched::Fine));
    rig.daemon.base.clock.sleep(8 * 60 * 60_000);
    rig.daemon.on_deadline();
    rig.settle().await;
    assert_eq!(level(&rig, Agent::Codex), Some(Watched::Fine));
    assert_eq!(told(&rig), 0);
    // Awake it goes on to be watched.
    pass(&mut rig, 24 * 60 * 60).await;
    assert_eq!(level(&rig, Agent::Codex), Some(Watched::Stuck));
}
