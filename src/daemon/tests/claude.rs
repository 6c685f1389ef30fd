//! Claude's side: who receives, and what is known of it.

use std::process::{Child, Stdio};

use super::commands::{change_queue, handed};
use super::rig::{Guest, Rig};
use crate::core::agent::{Agent, AgentState};
use crate::core::delivery::OnBusy;
use crate::core::entry::ErrorCode;
use crate::core::id::{EntryId, RuntimeSession};
use crate::daemon::base::under_way::WorkBeside;
use crate::daemon::base::under_way::ordered::order_panic;
use crate::store::testing::Place;
use crate::wire::control::{
    Command, GetMessagesParams, HookParams, HookReply, IdsParams, Notification, QueueChange,
    RefusalCode, Reply, Role, SendParams, WaitMessagesParams,
};

fn prompt(claude_pid: u32) -> Command {
    Command::Hook(HookParams {
        event: "UserPromptSubmit".into(),
        claude_pid: Some(claude_pid),
        claude_session_id: None,
        ..HookParams::default()
    })
}

#[tokio::test]
async fn a_helper_that_asks_is_told_of_until_it_goes_on() {
    let mut rig = Rig::fresh().await;
    let _bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let hook = rig.connect(Role::Hook, None, false);
    let of = |event: &str, helper: Option<&str>| {
        Command::Hook(HookParams {
            event: event.into(),
            claude_pid: Some(7_000_000),
            helper: helper.map(str::to_owned),
            tool_use: helper.map(|_| "make".to_owned()),
            ..HookParams::default()
        })
    };
    for (event, helper, state, asking) in [
        ("UserPromptSubmit", None, AgentState::Busy, 0),
        ("HelperAsks", Some("a97"), AgentState::Waiting, 1),
        ("Stop", None, AgentState::Idle, 1),
        ("HelperToolUse", Some("a98"), AgentState::Idle, 1),
        ("HelperToolUse", Some("a97"), AgentState::Idle, 0),
        ("HelperAsks", Some("a97"), AgentState::Idle, 1),
        ("SessionStart", None, AgentState::Idle, 0),
    ] {
        rig.call(&hook, of(event, helper)).await.unwrap();
        let status = rig.daemon.status().agents.claude;
        assert_eq!(
            (status.state, status.asking_helpers),
            (state, asking),
            "{event}"
        );
    }
}

#[tokio::test]
async fn a_helpers_hook_that_asks_behind_the_end_of_what_it_asks_about_is_not_heard() {
    let mut rig = Rig::fresh().await;
    let _bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let hook = rig.connect(Role::Hook, None, false);
    let of = |event: &str, tool_use: &str, asked_ago_ms: Option<u64>| {
        Command::Hook(HookParams {
            event: event.into(),
            claude_pid: Some(7_000_000),
            helper: Some("a97".to_owned()),
            tool_use: (!tool_use.is_empty()).then(|| tool_use.to_owned()),
            asked_ago_ms,
            ..HookParams::default()
        })
    };
    for (event, tool_use, ago_ms, asking) in [
        ("HelperToolUse", "make", None, 0),
        // The person was faster.
        ("HelperAsks", "make", Some(3_000), 0),
        ("HelperAsks", "ls", Some(3_000), 1),
        ("HelperToolUse", "ls", None, 0),
        ("HelperAsks", "ls", Some(500), 1),
        // The end of Claude's own turn is not its end.
        ("SubagentStop", "", None, 0),
        ("Stop", "", None, 0),
        ("HelperAsks", "rm", Some(5_000), 1),
    ] {
        rig.daemon.base.clock.pass(1_000);
        rig.call(&hook, of(event, tool_use, ago_ms)).await.unwrap();
        let asks = rig.daemon.status().agents.claude.asking_helpers;
        assert_eq!(asks, asking, "{event} {tool_use}");
    }
}

/// A hook of Claude's; what it tells is the kind of a notification, or else the use of a tool.
fn told_hook(event: &str, told: &str, asked_ago_ms: Option<u64>) -> Command {
    let is_notification = event == "Notification";
    let told = (!told.is_empty()).then(|| told.to_owned());
    Command::Hook(HookParams {
        event: event.into(),
        claude_pid: Some(7_000_000),
        detail: told.clone().filter(|_| is_notification),
        tool_use: told.filter(|_| !is_notification),
        asked_ago_ms,
        ..HookParams::default()
    })
}

/// Claude's hooks, one each second: what they tell, for how long they run, and what Claude is then.
async fn hears_each_second(hooks: &[(&str, &str, Option<u64>, AgentState)]) {
    let mut rig = Rig::fresh().await;
    let _bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let hook = rig.connect(Role::Hook, None, false);
    for &(event, told, ago_ms, state) in hooks {
        rig.daemon.base.clock.pass(1_000);
        let told_now = told_hook(event, told, ago_ms);
        rig.call(&hook, told_now).await.unwrap();
        let now = rig.daemon.status().agents.claude.state;
        assert_eq!(now, state, "{event} {told} {ago_ms:?}");
    }
}

#[tokio::test]
async fn a_notification_that_is_heard_behind_what_answers_it_is_none() {
    hears_each_second(&[
        ("UserPromptSubmit", "", None, AgentState::Busy),
        ("Notification", "idle_prompt", Some(3_000), AgentState::Busy),
        (
            "Notification",
            "permission_prompt",
            Some(3_000),
            AgentState::Busy,
        ),
        ("PermissionRequest", "make", None, AgentState::Waiting),
        // It ends beside the dialog.
        ("PostToolUse", "ls", None, AgentState::Busy),
        (
            "Notification",
            "permission_prompt",
            Some(1_500),
            AgentState::Waiting,
        ),
        ("PostToolUse", "make", None, AgentState::Busy),
        (
            "Notification",
            "permission_prompt",
            Some(1_500),
            AgentState::Busy,
        ),
        (
            "Notification",
            "permission_prompt",
            Some(500),
            AgentState::Waiting,
        ),
        ("PostToolUse", "make", None, AgentState::Busy),
        // Hooks of an older version do not say since when.
        ("Notification", "idle_prompt", None, AgentState::Idle),
    ])
    .await;
}

#[tokio::test]
async fn a_failure_that_is_heard_behind_the_next_prompt_does_not_end_its_turn() {
    hears_each_second(&[
        ("UserPromptSubmit", "", None, AgentState::Busy),
        ("UserPromptSubmit", "", None, AgentState::Busy),
        ("StopFailure", "", Some(1_500), AgentState::Busy),
        ("StopFailure", "", Some(500), AgentState::Idle),
        ("UserPromptSubmit", "", None, AgentState::Busy),
        // Hooks of an older version do not say since when.
        ("StopFailure", "", None, AgentState::Idle),
    ])
    .await;
}

#[tokio::test]
async fn the_end_of_a_tool_is_no_answer_to_another_ones_dialog_where_no_beginning_was_heard() {
    hears_each_second(&[
        ("PermissionRequest", "make", None, AgentState::Waiting),
        ("PostToolUse", "ls", None, AgentState::Busy),
        (
            "Notification",
            "permission_prompt",
            Some(1_500),
            AgentState::Waiting,
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_bridge_that_comes_back_at_once_is_not_called_offline() {
    let mut rig = Rig::fresh().await;
    let bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    rig.settle().await;
    // Both before the record of the first is durable.
    rig.daemon.disconnect(bridge.conn);
    let _bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    rig.settle().await;
    assert_eq!(
        rig.daemon.base.recorder.world().agent(Agent::Claude).state,
        AgentState::Idle
    );
}

#[tokio::test]
async fn a_bridge_that_leaves_at_once_is_not_called_attached() {
    let mut rig = Rig::fresh().await;
    let bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    rig.daemon.disconnect(bridge.conn);
    rig.settle().await;
    assert_eq!(
        rig.daemon.base.recorder.world().agent(Agent::Claude).state,
        AgentState::Offline
    );
}

#[tokio::test]
async fn the_hook_of_a_second_claude_gets_no_bodies_of_the_first_one() {
    let mut rig = Rig::fresh().await;
    let _bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let codex = rig.connect(Role::Codex, None, false);
    let hook = rig.connect(Role::Hook, None, false);
    let id = rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    let reply = rig.call(&hook, prompt(7_000_001)).await;
    let Ok(Reply::Hook(HookReply { ids, .. })) = reply else {
        panic!("{reply:?}");
    };
    assert_eq!(ids, []);
    assert_eq!(
        rig.daemon.base.recorder.world().agent(Agent::Claude).state,
        AgentState::Idle
    );
    let reply = rig.call(&hook, prompt(7_000_000)).await;
    let Ok(Reply::Hook(HookReply { ids, .. })) = reply else {
        panic!("{reply:?}");
    };
    assert_eq!(ids, [id]);
}

#[tokio::test]
async fn a_claude_that_a_program_asks_gets_nothing_that_waits_for_the_persons_one() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let codex = rig.connect(Role::Codex, None, false);
    let id = rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    let bridge = rig.connect_in_print_mode(Role::Claude, 7_000_001);
    let hook = rig.connect_in_print_mode(Role::Hook, 7_000_001);
    let claude = |rig: &Rig| rig.daemon.base.recorder.world().agent(Agent::Claude).state;
    for event in ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"] {
        let event = Command::Hook(HookParams {
            event: event.into(),
            claude_pid: Some(7_000_001),
            ..HookParams::default()
        });
        let reply = rig.call(&hook, event).await;
        assert_eq!(reply, Ok(Reply::Hook(HookReply::default())));
        assert_eq!(claude(&rig), AgentState::Offline);
    }
    // It holds no place that the other one would have to wait for.
    let _bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let hook = rig.connect(Role::Hook, None, false);
    let reply = rig.call(&hook, prompt(7_000_000)).await;
    let Ok(Reply::Hook(HookReply { ids, .. })) = reply else {
        panic!("{reply:?}");
    };
    assert_eq!(ids, [id]);
    rig.daemon.disconnect(bridge.conn);
    rig.settle().await;
    assert_eq!(claude(&rig), AgentState::Busy);
}

fn ids(ids: &[&EntryId]) -> IdsParams {
    IdsParams {
        agent: Agent::Claude,
        ids: ids.iter().map(|id| (*id).clone()).collect(),
        rung: None,
    }
}

fn wait(reply_to: Option<&EntryId>) -> Command {
    Command::WaitMessages(WaitMessagesParams {
        agent: Agent::Claude,
        after: None,
        reply_to: reply_to.cloned(),
        timeout_ms: 10_000,
        runtime_session_id: None,
    })
}

#[tokio::test]
async fn a_claude_that_a_program_asks_takes_nothing_from_the_persons_one() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let _bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let codex = rig.connect(Role::Codex, None, false);
    let asked = rig.connect_in_print_mode(Role::Claude, 7_000_001);
    let id = rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    let get = GetMessagesParams::of(Agent::Claude);
    let get_and_ack = GetMessagesParams {
        ack: vec![id.clone()],
        ..get.clone()
    };
    for command in [
        Command::GetMessages(get),
        Command::GetMessages(get_and_ack),
        wait(None),
    ] {
        let refused = rig.call(&asked, command).await.unwrap_err();
        assert_eq!(refused.code, RefusalCode::NotFromHere);
    }
    let none = Ok(Reply::Acked(Vec::new()));
    assert_eq!(rig.call(&asked, Command::Ack(ids(&[&id]))).await, none);
    let hook = rig.connect(Role::Hook, None, false);
    let reply = rig.call(&hook, prompt(7_000_000)).await;
    let Ok(Reply::Hook(HookReply { ids, .. })) = reply else {
        panic!("{reply:?}");
    };
    assert_eq!(ids, [id]);
}

#[tokio::test]
async fn a_claude_that_a_program_asks_gets_the_answer_to_its_own_question() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let codex = rig.connect(Role::Codex, None, false);
    let asked = rig.connect_in_print_mode(Role::Claude, 7_000_001);
    let other = rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    let question = rig.send(&asked, Agent::Claude, OnBusy::Queue).await;
    let answer = Command::Send(SendParams {
        from: Some(Agent::Codex),
        text: "the fair one".to_owned(),
        in_reply_to: Some(question.clone()),
        ..SendParams::default()
    });
    rig.call(&codex, answer).await.unwrap();
    let Ok(Reply::Messages(page)) = rig.call(&asked, wait(Some(&question))).await else {
        panic!("no page");
    };
    let [answer] = page.messages.as_slice() else {
        panic!("{page:?}");
    };
    let answer = &answer.message_id;
    rig.call(&asked, Command::Fetched(ids(&[answer])))
        .await
        .unwrap();
    let ack = Command::Ack(ids(&[&other, answer]));
    let acked = Reply::Acked(vec![answer.clone()]);
    assert_eq!(rig.call(&asked, ack).await, Ok(acked));
    let unsettled = &rig.daemon.base.recorder.world().unsettled;
    assert!(unsettled.contains_key(&other) && !unsettled.contains_key(answer));
}

#[tokio::test]
async fn what_a_hook_took_and_never_handed_over_comes_again_and_says_so() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let _bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let bell = rig.connect(Role::Hook, Some(7_000_000), false);
    rig.call(&bell, Command::DoorbellAttach).await.unwrap();
    let codex = rig.connect(Role::Codex, None, false);
    let hook = rig.connect(Role::Hook, None, false);
    rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    for repeats in [false, true] {
        // Longer than a hook may take to say that it handed them over.
        rig.later(6_000).await;
        let reply = rig.call(&hook, prompt(7_000_000)).await;
        let Ok(Reply::Hook(HookReply {
            additional_context: Some(text),
            ..
        })) = reply
        else {
            panic!("{reply:?}");
        };
        assert_eq!(text.contains("shown before"), repeats);
    }
    drop(rig);
    let mut rig = Rig::start(&place).await;
    let hook = rig.connect(Role::Hook, None, false);
    let reply = rig.call(&hook, prompt(7_000_000)).await;
    let Ok(Reply::Hook(HookReply { ids, .. })) = reply else {
        panic!("{reply:?}");
    };
    assert_eq!(ids.len(), 1);
}

#[tokio::test]
async fn what_was_just_fetched_is_not_announced_as_well() {
    let mut rig = Rig::fresh().await;
    let codex = rig.connect(Role::Codex, None, false);
    rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    let elsewhere = rig.connect_to("other", Role::Claude, Some(7_000_001));
    let get = Command::GetMessages(GetMessagesParams {
        runtime_session_id: Some(RuntimeSession::default()),
        ..GetMessagesParams::of(Agent::Claude)
    });
    rig.call(&elsewhere, get).await.unwrap();
    let mut bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    rig.settle().await;
    let mut pushed = 0;
    while let Ok(notification) = bridge.notifications.try_recv() {
        pushed += usize::from(matches!(notification, Notification::Push(_)));
    }
    assert_eq!(pushed, 0);
}

#[tokio::test]
async fn an_agent_cannot_lock_the_operator_out_by_naming_another_process() {
    let mut rig = Rig::fresh().await;
    let mut child = std::process::Command::new("cat")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    for role in [Role::Claude, Role::Hook, Role::Codex] {
        rig.connect(role, Some(std::process::id()), false);
    }
    assert_eq!(
        rig.daemon.agents.agent_processes.living(),
        Vec::<u32>::new()
    );
    // The kernel's word counts: the parent of a bridge, and whoever registers itself.
    let bridge = rig.connect_by_kernel(Role::Claude, child.id());
    assert_eq!(
        rig.daemon.agents.agent_processes.living(),
        [std::process::id()]
    );
    rig.call(&bridge, Command::RegisterAgent).await.unwrap();
    let mut known = rig.daemon.agents.agent_processes.living();
    known.sort_unstable();
    let mut both = [child.id(), std::process::id()];
    both.sort_unstable();
    assert_eq!(known, both);
    // Of a reader nobody becomes an agent, and one that the kernel does not know cannot register.
    let reader = rig.connect(Role::Cli, Some(7), false);
    assert!(rig.call(&reader, Command::RegisterAgent).await.is_err());
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(
        rig.daemon.agents.agent_processes.living(),
        [std::process::id()]
    );
}

#[tokio::test]
async fn the_conversation_of_claudes_last_prompt_is_recorded_once() {
    let mut rig = Rig::fresh().await;
    let _bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let hook = rig.connect(Role::Hook, None, false);
    let told = |event: &str, claude_pid: u32, session: &str| {
        Command::Hook(HookParams {
            event: event.into(),
            claude_pid: Some(claude_pid),
            claude_session_id: Some(session.to_owned()),
            ..HookParams::default()
        })
    };
    let hears = [
        // Nothing was said in it yet.
        ("SessionStart", 7_000_000, "empty", None),
        ("UserPromptSubmit", 7_000_000, "first; id", None),
        ("UserPromptSubmit", 7_000_000, "first", Some("first")),
        ("Stop", 7_000_000, "first", Some("first")),
        ("UserPromptSubmit", 7_000_000, "first", Some("first")),
        // A second Claude of the pair is not the one that is taken up.
        ("UserPromptSubmit", 7_000_001, "other", Some("first")),
        // After `/clear`.
        ("UserPromptSubmit", 7_000_000, "second", Some("second")),
    ];
    for (event, process, session, known) in hears {
        rig.call(&hook, told(event, process, session))
            .await
            .unwrap();
        rig.settle().await;
        let claude = rig.daemon.base.recorder.world().agent(Agent::Claude);
        let thread = claude.conversation(&RuntimeSession::default());
        let thread = thread.map(|id| id.as_str());
        assert_eq!(thread, known, "{event} of {session}");
        assert!(claude.state.is_attached() && claude.pid == Some(7_000_000));
    }
    let recorded = rig.daemon.base.recorder.recent().iter();
    let named = recorded.filter(|stored| stored.entry.content.starts_with("Claude converses"));
    assert_eq!(named.count(), 2);
}

/// A process that stands for a Claude.
fn living() -> Child {
    let mut cat = std::process::Command::new("cat");
    cat.stdin(Stdio::piped()).spawn().unwrap()
}

fn end(mut claude: Child) {
    drop(claude.stdin.take());
    claude.wait().unwrap();
}

/// What a prompt of this Claude is handed.
async fn prompted(rig: &mut Rig, hook: &Guest, claude: u32) -> Vec<EntryId> {
    match rig.call(hook, prompt(claude)).await {
        Ok(Reply::Hook(reply)) => reply.ids,
        other => panic!("{other:?}"),
    }
}

/// A message that a hook handed into the turn of this Claude, and its bridge.
async fn handed_to(rig: &mut Rig, claude: u32) -> (EntryId, Guest) {
    let bridge = rig.connect_below(claude);
    let (hook, codex) = (Role::Hook, Role::Codex);
    let [hook, codex] = [hook, codex].map(|role| rig.connect(role, None, false));
    let id = rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    let ids = prompted(rig, &hook, claude).await;
    assert_eq!(ids, std::slice::from_ref(&id));
    let done = rig.call(&hook, handed(ids)).await;
    assert_eq!(done, Ok(Reply::Done));
    (id, bridge)
}

fn cut_off(rig: &Rig) -> Vec<EntryId> {
    rig.daemon.status().agents.claude.cut_off_ids
}

#[tokio::test]
async fn what_a_claude_had_is_yours_to_send_again_once_it_has_ended_and_not_with_its_bridge() {
    const LOOKED: &str = "claude_looked_at";
    let claude = living();
    let mut rig = Rig::fresh().await;
    let (id, bridge) = handed_to(&mut rig, claude.id()).await;
    rig.daemon.disconnect(bridge.conn);
    // More than once: it may end later.
    for _ in 0..2 {
        rig.until(LOOKED).await;
        assert_eq!(cut_off(&rig), []);
    }
    // Its bridge is back, and its turn goes on.
    let bridge = rig.connect_below(claude.id());
    rig.settle().await;
    rig.daemon.disconnect(bridge.conn);
    end(claude);
    while cut_off(&rig).is_empty() {
        rig.until(LOOKED).await;
    }
    assert_eq!(cut_off(&rig), std::slice::from_ref(&id));
    let operator = rig.connect(Role::Deck, None, true);
    let Ok(Reply::Queue(rows)) = rig.call(&operator, Command::QueueList).await else {
        panic!("no rows");
    };
    let rows: Vec<_> = rows.iter().map(|row| (&row.id, row.is_cut_off())).collect();
    assert_eq!(rows, [(&id, true)]);
    // Another one is given it when the operator says so.
    let _bridge = rig.connect(Role::Claude, Some(7_000_001), false);
    let hook = rig.connect(Role::Hook, None, false);
    assert_eq!(prompted(&mut rig, &hook, 7_000_001).await, []);
    assert_eq!(cut_off(&rig), std::slice::from_ref(&id));
    let again = change_queue(id.clone(), QueueChange::Retry);
    rig.call(&operator, again).await.unwrap();
    assert_eq!(cut_off(&rig), []);
    assert_eq!(prompted(&mut rig, &hook, 7_000_001).await, [id]);
}

#[tokio::test]
async fn after_a_look_at_a_claude_that_panicked_it_is_looked_again() {
    const LOOKED: &str = "claude_looked_at";
    let claude = living();
    let mut rig = Rig::fresh().await;
    let (id, bridge) = handed_to(&mut rig, claude.id()).await;
    let told = |rig: &Rig| {
        let mut notices = rig.daemon.status().notices.into_iter();
        notices.any(|it| it.contains("looking whether Claude has ended failed"))
    };
    end(claude);
    order_panic(WorkBeside::ClaudeLook);
    rig.daemon.disconnect(bridge.conn);
    rig.until(LOOKED).await;
    assert_eq!(cut_off(&rig), [], "nobody knows");
    assert!(told(&rig));
    let errors = rig.daemon.base.recorder.world().errors.iter();
    let codes: Vec<_> = errors.map(|error| error.code.clone()).collect();
    assert_eq!(codes, [ErrorCode::WorkFailed]);
    rig.until(LOOKED).await;
    assert_eq!(cut_off(&rig), [id]);
    assert!(!told(&rig), "it is over");
}

#[tokio::test]
async fn what_a_claude_had_that_ended_with_the_daemon_or_before_it_came_back_is_so_too() {
    for ends_with_daemon in [true, false] {
        let claude = living();
        let place = Place::new();
        let mut rig = Rig::start(&place).await;
        let (id, _bridge) = handed_to(&mut rig, claude.id()).await;
        drop(rig);
        let mut rig = if ends_with_daemon {
            end(claude);
            Rig::start(&place).await
        } else {
            let rig = Rig::start(&place).await;
            assert_eq!(cut_off(&rig), []);
            end(claude);
            rig
        };
        while cut_off(&rig).is_empty() {
            rig.until("claude_looked_at").await;
        }
        assert_eq!(cut_off(&rig), [id], "{ends_with_daemon}");
    }
}
