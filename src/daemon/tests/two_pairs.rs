//! Two Claudes in one project, each of a pair of its own: what one does changes nothing of the other.

use super::approvals::request;
use super::rig::{Guest, Rig};
use super::silence::attend;
use crate::core::agent::{Agent, AgentState};
use crate::core::delivery::{OnBusy, Outcome, Watched};
use crate::core::id::{EntryId, RuntimeSession};
use crate::store::testing::Place;
use crate::wire::config::read;
use crate::wire::control::{
    AskApprovalParams, Attendance, Command, HookParams, HookReply, IdsParams, Notification, Reply,
    Role, SendParams,
};
use crate::wire::status::ClaudeStatus;

/// One Claude: bridge, doorbell and hooks.
struct Claude {
    pid: u32,
    bridge: Guest,
    bell: Guest,
    hooks: Guest,
}

/// Two of them, and a Codex that sends.
struct Two {
    rig: Rig,
    first: Claude,
    second: Claude,
    codex: Guest,
}

async fn claude(rig: &mut Rig, pair: &str, pid: u32) -> Claude {
    let bridge = rig.connect_to(pair, Role::Claude, Some(pid));
    let bell = rig.connect_to(pair, Role::Hook, Some(pid));
    rig.call(&bell, Command::DoorbellAttach).await.unwrap();
    let hooks = rig.connect_to(pair, Role::Hook, None);
    rig.settle().await;
    Claude {
        pid,
        bridge,
        bell,
        hooks,
    }
}

impl Two {
    async fn new(place: &Place) -> Self {
        let mut rig = Rig::start(place).await;
        let first = claude(&mut rig, "default", 7_000_000).await;
        let second = claude(&mut rig, "second", 7_000_001).await;
        let codex = rig.connect(Role::Codex, None, false);
        Self {
            rig,
            first,
            second,
            codex,
        }
    }

    async fn hook(&mut self, of_first: bool, event: &str, detail: Option<&str>) -> HookReply {
        let claude = if of_first { &self.first } else { &self.second };
        let params = HookParams {
            event: event.into(),
            claude_pid: Some(claude.pid),
            detail: detail.map(str::to_owned),
            ..HookParams::default()
        };
        let reply = self.rig.call(&claude.hooks, Command::Hook(params)).await;
        let Ok(Reply::Hook(reply)) = reply else {
            panic!("{reply:?}");
        };
        if !reply.ids.is_empty() {
            let handed = IdsParams {
                agent: Agent::Claude,
                ids: reply.ids.clone(),
                rung: None,
            };
            let handed = Command::HookHanded(handed);
            self.rig.call(&claude.hooks, handed).await.unwrap();
        }
        reply
    }

    async fn send(&mut self, pair: &str, on_busy: OnBusy) -> (EntryId, Outcome) {
        let send = SendParams {
            from: Some(Agent::Codex),
            text: "please look".to_owned(),
            on_busy,
            runtime_session_id: Some(RuntimeSession::new(pair)),
            ..SendParams::default()
        };
        match self.rig.call(&self.codex, Command::Send(send)).await {
            Ok(Reply::Sent(sent)) => (sent.message_id, sent.outcome),
            other => panic!("{other:?}"),
        }
    }

    fn status(&self) -> ClaudeStatus {
        self.rig.daemon.status().agents.claude
    }

    fn recorded(&self, pair: &str) -> AgentState {
        let claude = self.rig.daemon.recorder.world().agent(Agent::Claude);
        claude.standing(&RuntimeSession::new(pair)).state
    }

    fn is_rung(&mut self, of_first: bool) -> bool {
        let claude = if of_first {
            &mut self.first
        } else {
            &mut self.second
        };
        std::iter::from_fn(|| claude.bell.notifications.try_recv().ok())
            .any(|told| matches!(told, Notification::Ring { .. }))
    }
}

#[tokio::test]
async fn what_a_turn_has_stays_known_while_another_pairs_claude_comes_and_works() {
    let place = Place::new();
    let mut two = Two::new(&place).await;
    two.hook(true, "UserPromptSubmit", None).await;
    let (lost, _) = two.send("default", OnBusy::Steer).await;
    assert_eq!(
        two.hook(true, "PostToolUse", None).await.ids,
        std::slice::from_ref(&lost)
    );
    // The other one begins, has a message too, and works through it.
    let (done, _) = two.send("second", OnBusy::Queue).await;
    assert_eq!(two.hook(false, "UserPromptSubmit", None).await.ids, [done]);
    two.hook(false, "Stop", None).await;
    let third = claude(&mut two.rig, "third", 7_000_002).await;
    two.rig.daemon.disconnect(third.bridge.conn);
    two.rig.settle().await;

    two.hook(true, "StopFailure", Some("rate_limit")).await;
    assert_eq!(two.status().cut_off, 1);
    assert_eq!(two.status().state, AgentState::Limited);
    two.hook(true, "UserPromptSubmit", None).await;
    two.hook(true, "Stop", None).await;
    let operator = two.rig.connect(Role::Deck, None, true);
    let again = attend(Agent::Claude, Attendance::Requeue);
    two.rig.call(&operator, again).await.unwrap();
    assert_eq!(two.hook(true, "UserPromptSubmit", None).await.ids, [lost]);
}

#[tokio::test]
async fn what_another_pairs_claude_works_on_is_not_sent_again() {
    let place = Place::new();
    let mut two = Two::new(&place).await;
    let file = serde_json::json!({"rateLimitResume": {"mode": "resume"}});
    let (config, _) = read(file.as_object().unwrap());
    two.rig.daemon.set_limit_mode(&config);
    let (first, _) = two.send("default", OnBusy::Queue).await;
    assert_eq!(
        two.hook(true, "UserPromptSubmit", None).await.ids,
        std::slice::from_ref(&first)
    );
    let (second, _) = two.send("second", OnBusy::Queue).await;
    assert_eq!(
        two.hook(false, "UserPromptSubmit", None).await.ids,
        std::slice::from_ref(&second)
    );
    two.hook(false, "StopFailure", Some("rate_limit")).await;
    // The limit is the account's, and the turn that works shows that it is over.
    two.hook(true, "Stop", None).await;
    assert_eq!(two.status().limit, None);
    assert_eq!(two.hook(true, "UserPromptSubmit", None).await.ids, []);
    assert_eq!(
        two.hook(false, "UserPromptSubmit", None).await.ids,
        [second]
    );
}

#[tokio::test]
async fn a_limit_holds_the_other_pairs_too_and_those_that_come_later() {
    let place = Place::new();
    let mut two = Two::new(&place).await;
    two.hook(true, "UserPromptSubmit", None).await;
    two.hook(true, "StopFailure", Some("rate_limit")).await;
    two.send("second", OnBusy::Queue).await;
    assert!(!two.is_rung(false));
    let mut third = claude(&mut two.rig, "third", 7_000_002).await;
    two.send("third", OnBusy::Queue).await;
    assert!(third.bell.notifications.try_recv().is_err());
    // A prompt that is stopped with Esc shows nothing.
    two.hook(false, "UserPromptSubmit", None).await;
    two.hook(false, "Notification", Some("idle_prompt")).await;
    assert!(!two.is_rung(false));
    two.hook(false, "UserPromptSubmit", None).await;
    two.hook(false, "Stop", None).await;
    assert!(two.is_rung(false));
    assert!(third.bell.notifications.try_recv().is_ok());
}

#[tokio::test]
async fn a_message_that_must_not_wait_is_refused_by_the_pair_that_works_alone() {
    let place = Place::new();
    let mut two = Two::new(&place).await;
    two.hook(true, "UserPromptSubmit", None).await;
    let (_, idle) = two.send("second", OnBusy::Reject).await;
    let (_, busy) = two.send("default", OnBusy::Reject).await;
    assert_eq!(
        (idle, busy),
        (Outcome::QueuedForNextTurn, Outcome::Rejected)
    );
}

#[tokio::test]
async fn the_one_that_says_most_is_shown_and_the_record_has_both() {
    let place = Place::new();
    let mut two = Two::new(&place).await;
    two.hook(false, "UserPromptSubmit", None).await;
    assert_eq!(two.status().state, AgentState::Busy);
    assert_eq!(two.recorded("default"), AgentState::Idle);
    assert_eq!(two.recorded("second"), AgentState::Busy);
    two.hook(true, "UserPromptSubmit", None).await;
    two.hook(true, "PermissionRequest", None).await;
    assert_eq!(two.status().state, AgentState::Waiting);
    assert_eq!(two.status().pid, Some(7_000_000));
    two.hook(true, "Stop", None).await;
    assert_eq!(two.status().state, AgentState::Busy);
    assert_eq!(two.status().pid, Some(7_000_001));
    for conn in [
        two.second.bridge.conn,
        two.second.bell.conn,
        two.second.hooks.conn,
    ] {
        two.rig.daemon.disconnect(conn);
    }
    two.rig.settle().await;
    assert_eq!(two.status().state, AgentState::Idle);
    assert_eq!(two.status().pid, Some(7_000_000));
    let (world, _) = Rig::replayed(&place);
    let claude = world.agent(Agent::Claude);
    assert_eq!(
        (claude.state, claude.pid),
        (AgentState::Idle, Some(7_000_000))
    );
    assert_eq!(claude.standings, [].into());
}

#[tokio::test]
async fn what_one_claude_asks_stays_open_while_another_pairs_goes_on_or_leaves() {
    let place = Place::new();
    let mut two = Two::new(&place).await;
    let _operator = two.rig.connect(Role::Deck, None, true);
    let ask = Command::AskApproval(AskApprovalParams {
        request: request("k1"),
        details: String::new(),
        claude_pid: Some(two.first.pid),
        tool_use: Some("touch".to_owned()),
    });
    let mut waiting = two.rig.ask(&two.first.hooks, ask);
    two.rig.settle().await;
    two.hook(false, "UserPromptSubmit", None).await;
    two.hook(false, "Stop", None).await;
    for conn in [two.second.bridge.conn, two.second.bell.conn] {
        two.rig.daemon.disconnect(conn);
    }
    two.rig.settle().await;
    assert_eq!(two.rig.daemon.recorder.world().open_approvals.len(), 1);
    assert!(waiting.try_recv().is_err());
    for conn in [two.first.bridge.conn, two.first.bell.conn] {
        two.rig.daemon.disconnect(conn);
    }
    two.rig.settle().await;
    assert_eq!(two.rig.daemon.recorder.world().open_approvals.len(), 0);
}

#[tokio::test]
async fn a_silent_turn_is_told_while_another_pairs_claude_works() {
    let place = Place::new();
    let mut two = Two::new(&place).await;
    two.hook(true, "UserPromptSubmit", None).await;
    for _ in 0..50 {
        two.hook(false, "UserPromptSubmit", None).await;
        two.rig.later(30_000).await;
        two.hook(false, "PostToolUse", None).await;
        two.hook(false, "Stop", None).await;
    }
    let silence = two.status().silence.unwrap();
    assert_eq!(silence.level, Watched::Stuck);
    assert_eq!(two.recorded("default"), AgentState::Stale);
    assert_eq!(two.recorded("second"), AgentState::Idle);
    two.hook(true, "Stop", None).await;
    assert_eq!(two.status().silence, None);
}
