//! Two Claudes in one project, each of a pair of its own: what one does changes nothing of the other.

use std::collections::BTreeSet;

use tokio::sync::oneshot;

use super::approvals::request;
use super::rig::{Guest, Rig};
use super::silence::{agent_action, turn_started};
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::core::agent::{Agent, AgentState};
use crate::core::continuity::ContinuityState;
use crate::core::delivery::{DeliveryWay, OnBusy, Outcome, Watched};
use crate::core::entry::{NoteKind, TurnFiles};
use crate::core::id::{EntryId, RuntimeSession};
use crate::daemon::attach::ConnId;
use crate::daemon::stop::Stop;
use crate::store::testing::Place;
use crate::wire::config::read;
use crate::wire::control::{
    AgentActionKind, AskApprovalParams, Command, ForgetWorkParams, GetMessagesParams,
    HandoffParams, HookParams, HookReply, IdsParams, NoteParams, Notification, ReadContextParams,
    Refusal, Reply, Role, SendParams, StateWorkParams, StatedValue, TaskChange, TaskParams,
};
use crate::wire::status::{ClaudeStatus, NoticeKey};

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

/// What Codex says to a Claude, without naming one.
fn said(text: &str) -> SendParams {
    SendParams {
        from: Some(Agent::Codex),
        text: text.to_owned(),
        ..SendParams::default()
    }
}

async fn call(rig: &mut Rig, conn: ConnId, command: Command) -> Result<Reply, Refusal> {
    let (reply, answer) = oneshot::channel();
    rig.daemon.command(conn, command, reply);
    rig.daemon.settle();
    rig.settle().await;
    answer.await.unwrap()
}

/// Sends, and does not wait for what becomes of it.
async fn sent_by(rig: &mut Rig, conn: ConnId, command: Command) -> EntryId {
    let (reply, _) = oneshot::channel();
    rig.daemon.command(conn, command, reply);
    rig.daemon.settle();
    rig.settle().await;
    let unsettled = rig.daemon.base.recorder.world().unsettled.iter();
    let newest = unsettled.max_by_key(|(_, message)| message.seq);
    newest.unwrap().0.clone()
}

impl Two {
    async fn new(mut rig: Rig) -> Self {
        let first = claude(&mut rig, "default", 7_000_000).await;
        let second = claude(&mut rig, "second", std::process::id()).await;
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
                rung: Some(DeliveryWay::Hook),
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

    async fn call(&mut self, conn: ConnId, command: Command) -> Result<Reply, Refusal> {
        call(&mut self.rig, conn, command).await
    }

    async fn sent_by(&mut self, conn: ConnId, params: SendParams) -> EntryId {
        sent_by(&mut self.rig, conn, Command::Send(params)).await
    }

    async fn handed_over(&mut self, conn: ConnId) -> EntryId {
        let handoff = HandoffParams {
            from: Some(Agent::Claude),
            ask: "please look".to_owned(),
            reason: "you know it".to_owned(),
            ..HandoffParams::default()
        };
        sent_by(&mut self.rig, conn, Command::Handoff(handoff)).await
    }

    fn pair_of(&self, id: &EntryId) -> String {
        self.rig
            .daemon
            .deliveries
            .outbox
            .pair_of(id)
            .unwrap()
            .to_string()
    }

    fn unsettled(&self) -> BTreeSet<EntryId> {
        let world = self.rig.daemon.base.recorder.world();
        world.unsettled.keys().cloned().collect()
    }

    fn is_unsettled(&self, id: &EntryId) -> bool {
        self.unsettled().contains(id)
    }

    fn status(&self) -> ClaudeStatus {
        self.rig.daemon.status().agents.claude
    }

    fn recorded(&self, pair: &str) -> AgentState {
        let claude = self.rig.daemon.base.recorder.world().agent(Agent::Claude);
        claude.status(&RuntimeSession::new(pair)).state
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
    let mut two = Two::new(Rig::fresh().await).await;
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
    let again = agent_action(Agent::Claude, AgentActionKind::Requeue);
    two.rig.call(&operator, again).await.unwrap();
    assert_eq!(two.hook(true, "UserPromptSubmit", None).await.ids, [lost]);
}

#[tokio::test]
async fn what_another_pairs_claude_works_on_is_not_sent_again() {
    let mut two = Two::new(Rig::fresh().await).await;
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
    let mut two = Two::new(Rig::fresh().await).await;
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
async fn a_limit_that_is_recalled_holds_whoever_comes() {
    let place = Place::new();
    let mut two = Two::new(Rig::start(&place).await).await;
    two.hook(true, "UserPromptSubmit", None).await;
    two.hook(true, "StopFailure", Some("rate_limit")).await;
    drop(two);
    // Whoever comes does not end it for the daemon after this one either.
    drop(Two::new(Rig::start(&place).await).await);
    let mut two = Two::new(Rig::start(&place).await).await;
    assert!(two.status().limit.is_some());
    assert_eq!(two.recorded("second"), AgentState::Limited);
    for (of_first, pair) in [(true, "default"), (false, "second")] {
        two.send(pair, OnBusy::Queue).await;
        assert!(!two.is_rung(of_first), "{pair}");
    }
    two.hook(true, "UserPromptSubmit", None).await;
    two.hook(true, "Stop", None).await;
    assert!(two.is_rung(true) && two.is_rung(false));
}

#[tokio::test]
async fn what_a_turn_left_unread_is_yours_to_send_again_after_a_restart_too() {
    let place = Place::new();
    let mut two = Two::new(Rig::start(&place).await).await;
    let (id, _) = two.send("second", OnBusy::Queue).await;
    assert_eq!(
        two.hook(false, "UserPromptSubmit", None).await.ids,
        std::slice::from_ref(&id)
    );
    two.hook(false, "StopFailure", Some("rate_limit")).await;
    drop(two);
    let mut two = Two::new(Rig::start(&place).await).await;
    assert_eq!(two.status().cut_off, 1);
    // The turn of another message shows nothing about it.
    two.hook(false, "UserPromptSubmit", None).await;
    two.hook(false, "Stop", None).await;
    assert!(two.is_unsettled(&id));
    assert_eq!(two.status().cut_off, 1);
}

#[tokio::test]
async fn the_queue_names_the_pair_whose_claude_gets_a_message() {
    let mut two = Two::new(Rig::fresh().await).await;
    let (first, _) = two.send("default", OnBusy::Queue).await;
    let (second, _) = two.send("second", OnBusy::Queue).await;
    let codex = two.codex.conn;
    let Ok(Reply::Queue(rows)) = two.call(codex, Command::QueueList).await else {
        panic!("no rows");
    };
    let of = |id: &EntryId| {
        let row = rows.iter().find(|row| row.id == *id).unwrap();
        row.pair.as_ref().map(ToString::to_string)
    };
    assert_eq!((of(&first), of(&second)), (None, Some("second".to_owned())));
}

#[tokio::test]
async fn another_claude_has_not_read_what_the_one_before_the_restart_was_given() {
    for is_same in [true, false] {
        let place = Place::new();
        let mut two = Two::new(Rig::start(&place).await).await;
        let (id, _) = two.send("second", OnBusy::Queue).await;
        two.hook(false, "UserPromptSubmit", None).await;
        // Sent away by a daemon that stops, it has not left.
        two.rig.daemon.stop(Stop::now(false));
        for conn in [two.second.bridge.conn, two.second.bell.conn] {
            two.rig.daemon.disconnect(conn);
        }
        two.rig.settle().await;
        drop(two);
        let mut rig = Rig::start(&place).await;
        let pid = if is_same {
            std::process::id()
        } else {
            7_000_009
        };
        let second = claude(&mut rig, "second", pid).await;
        let worked = HookParams {
            event: "Stop".into(),
            claude_pid: Some(pid),
            ..HookParams::default()
        };
        rig.call(&second.hooks, Command::Hook(worked))
            .await
            .unwrap();
        rig.settle().await;
        let unsettled = &rig.daemon.base.recorder.world().unsettled;
        assert_eq!(unsettled.contains_key(&id), !is_same, "{is_same}");
    }
}

#[tokio::test]
async fn what_codex_told_one_claude_does_not_answer_the_other() {
    let mut two = Two::new(Rig::fresh().await).await;
    two.rig.codex_runs().await;
    let asks = |text: &str| SendParams {
        from: Some(Agent::Claude),
        text: text.to_owned(),
        ..SendParams::default()
    };
    let of_second = two
        .sent_by(two.second.bridge.conn, asks("which lock"))
        .await;
    two.rig.user_message("turn-1", Some(&of_second));
    two.rig.settle().await;
    let to_first = SendParams {
        runtime_session_id: Some(RuntimeSession::default()),
        turn_id: Some("turn-1".to_owned()),
        ..said("the build is yours")
    };
    two.sent_by(two.codex.conn, to_first).await;
    let before = two.unsettled();
    two.rig
        .completed("turn-1", std::slice::from_ref(&of_second), "the fair one");
    two.rig.settle().await;
    let relayed: Vec<_> = two.unsettled().difference(&before).cloned().collect();
    assert_eq!(relayed.len(), 1);
    assert_eq!(two.pair_of(&relayed[0]), "second");
}

#[tokio::test]
async fn a_turn_of_one_pairs_claude_is_no_turn_of_the_others() {
    let mut two = Two::new(Rig::fresh().await).await;
    let turns = |two: &Two, pair: &str| {
        let states = &two.rig.daemon.base.recorder.world().continuity;
        let state = states[&Agent::Claude].get(&RuntimeSession::new(pair));
        state.map_or(0, |state| state.turns)
    };
    two.hook(false, "UserPromptSubmit", None).await;
    two.hook(false, "Stop", None).await;
    two.rig.settle().await;
    let before = turns(&two, "second");
    assert_ne!(before, 0);
    two.hook(true, "UserPromptSubmit", None).await;
    two.hook(true, "Stop", None).await;
    two.rig.settle().await;
    assert_eq!(turns(&two, "default"), 1);
    assert_eq!(turns(&two, "second"), before);
}

#[tokio::test]
async fn a_message_that_must_not_wait_is_refused_by_the_pair_that_works_alone() {
    let mut two = Two::new(Rig::fresh().await).await;
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
    let mut two = Two::new(Rig::start(&place).await).await;
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
    assert_eq!(two.status().pid, Some(std::process::id()));
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
    assert_eq!(claude.statuses, [].into());
}

#[tokio::test]
async fn what_one_claude_asks_stays_open_while_another_pairs_goes_on_or_leaves() {
    let mut two = Two::new(Rig::fresh().await).await;
    let _operator = two.rig.connect(Role::Deck, None, true);
    let ask = Command::AskApproval(AskApprovalParams {
        request: request("k1"),
        details: String::new(),
        claude_pid: Some(two.first.pid),
        tool_use: Some("touch".to_owned()),
        asked_ago_ms: None,
    });
    let mut waiting = two.rig.ask(&two.first.hooks, ask);
    two.rig.settle().await;
    let open = &two.rig.daemon.base.recorder.world().open_approvals;
    let of = open.values().next().unwrap().runtime_session.clone();
    assert_eq!(of, Some(RuntimeSession::default()), "it says whose it is");
    two.hook(false, "UserPromptSubmit", None).await;
    two.hook(false, "Stop", None).await;
    for conn in [two.second.bridge.conn, two.second.bell.conn] {
        two.rig.daemon.disconnect(conn);
    }
    two.rig.settle().await;
    assert_eq!(two.rig.daemon.base.recorder.world().open_approvals.len(), 1);
    assert!(waiting.try_recv().is_err());
    for conn in [two.first.bridge.conn, two.first.bell.conn] {
        two.rig.daemon.disconnect(conn);
    }
    two.rig.settle().await;
    assert_eq!(two.rig.daemon.base.recorder.world().open_approvals.len(), 0);
}

#[tokio::test]
async fn a_silent_turn_is_told_while_another_pairs_claude_works() {
    let mut two = Two::new(Rig::fresh().await).await;
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

#[tokio::test]
async fn what_codex_says_goes_to_the_claude_that_it_answers_or_whose_message_it_works_on() {
    let mut two = Two::new(Rig::fresh().await).await;
    two.rig.codex_runs().await;
    let ask = |require_reply| SendParams {
        from: Some(Agent::Claude),
        text: "which lock".to_owned(),
        require_reply,
        ..SendParams::default()
    };
    let second = two.second.bridge.conn;
    let question = two.sent_by(second, ask(true)).await;
    let answered = SendParams {
        in_reply_to: Some(question.clone()),
        ..said("the fair one")
    };
    let answer = two.sent_by(two.codex.conn, answered).await;
    assert_eq!(two.pair_of(&answer), "second");
    assert!(
        two.rig
            .daemon
            .base
            .recorder
            .world()
            .open_questions
            .is_empty()
    );
    // It names what it closes, or says something in the turn that a message began.
    let handoff = two.handed_over(second).await;
    let closes = SendParams {
        handles: vec![handoff],
        ..said("done")
    };
    let closed = two.sent_by(two.codex.conn, closes).await;
    assert_eq!(two.pair_of(&closed), "second");
    assert!(
        two.rig
            .daemon
            .base
            .recorder
            .world()
            .open_handoffs
            .is_empty()
    );
    let began = two.sent_by(second, ask(false)).await;
    turn_started(&mut two.rig);
    two.rig.user_message("turn-1", Some(&began));
    two.rig.settle().await;
    let on_the_way = two.sent_by(two.codex.conn, said("I look")).await;
    assert_eq!(two.pair_of(&on_the_way), "second");
    two.rig.completed("turn-1", &[began], "It is fair.");
    two.rig.settle().await;
    let of_nobody = two.sent_by(two.codex.conn, said("by the way")).await;
    assert_eq!(two.pair_of(&of_nobody), "default");
}

#[tokio::test]
async fn a_claude_that_is_alone_gets_what_names_no_pair() {
    let mut rig = Rig::fresh().await;
    let second = claude(&mut rig, "second", 7_000_001).await;
    let codex = rig.connect(Role::Codex, None, false);
    let operator = rig.connect(Role::Deck, None, true);
    let to_claude = SendParams {
        from: None,
        to: Some(Agent::Claude),
        ..said("look at this")
    };
    for (conn, params) in [(codex.conn, said("hello")), (operator.conn, to_claude)] {
        let sent = sent_by(&mut rig, conn, Command::Send(params)).await;
        assert_eq!(
            rig.daemon
                .deliveries
                .outbox
                .pair_of(&sent)
                .unwrap()
                .as_str(),
            "second"
        );
    }
    // What the operator began says nothing of a Claude.
    rig.codex_runs().await;
    let to_codex = SendParams {
        from: None,
        to: Some(Agent::Codex),
        ..said("look at that")
    };
    let began = sent_by(&mut rig, operator.conn, Command::Send(to_codex)).await;
    turn_started(&mut rig);
    rig.user_message("turn-1", Some(&began));
    rig.settle().await;
    let told = sent_by(&mut rig, codex.conn, Command::Send(said("I looked"))).await;
    assert_eq!(
        rig.daemon
            .deliveries
            .outbox
            .pair_of(&told)
            .unwrap()
            .as_str(),
        "second"
    );
    rig.completed("turn-1", &[began], "Done.");
    rig.settle().await;
    // It may come back.
    for conn in [second.bridge.conn, second.bell.conn] {
        rig.daemon.disconnect(conn);
    }
    let again = Command::Send(said("hello again"));
    let sent = sent_by(&mut rig, codex.conn, again).await;
    assert_eq!(
        rig.daemon
            .deliveries
            .outbox
            .pair_of(&sent)
            .unwrap()
            .as_str(),
        "default"
    );
}

#[tokio::test]
async fn a_claude_reads_the_record_of_its_own_pair_and_codex_that_of_all() {
    let mut two = Two::new(Rig::fresh().await).await;
    two.send("default", OnBusy::Queue).await;
    two.handed_over(two.second.bridge.conn).await;
    for (conn, all_pairs, entries, handoffs) in [
        (two.first.bridge.conn, false, 1, 0),
        (two.first.bridge.conn, true, 2, 1),
        (two.second.bridge.conn, false, 1, 1),
        (two.codex.conn, false, 2, 1),
    ] {
        let read = Command::ReadContext(ReadContextParams {
            all_pairs,
            ..ReadContextParams::default()
        });
        let Ok(Reply::Context(page)) = two.call(conn, read).await else {
            panic!("no page");
        };
        let told = page
            .entries
            .iter()
            .filter(|entry| entry["text"] == "please look");
        assert_eq!(
            (told.count(), page.open_handoffs.len()),
            (entries, handoffs)
        );
    }
}

#[tokio::test]
async fn what_codex_changed_since_is_told_to_the_claude_of_every_pair() {
    let place = Place::new();
    let mut two = Two::new(Rig::start(&place).await).await;
    two.rig.codex_runs().await;
    two.hook(false, "UserPromptSubmit", None).await;
    let wrote = HookParams {
        event: "PostToolUse".into(),
        claude_pid: Some(two.second.pid),
        tool: Some("Write".to_owned()),
        path: Some(place.dirs.root.join("a.rs").display().to_string()),
        ..HookParams::default()
    };
    let wrote = Command::Hook(wrote);
    two.rig.call(&two.second.hooks, wrote).await.unwrap();
    two.hook(false, "Stop", None).await;
    two.rig.settle().await;
    two.rig.fact(CodexFact::TurnTraced {
        files: TurnFiles {
            written: vec!["a.rs".to_owned()],
            ..TurnFiles::default()
        },
        said: Vec::new(),
        is_over: true,
    });
    two.rig.settle().await;
    let begun = two.hook(false, "SessionStart", Some("compact")).await;
    let packet = begun.additional_context.unwrap();
    let says = "- a.rs (Codex changed it since: read it again)";
    assert!(packet.contains(says), "{packet}");
    assert!(packet.contains("Codex changed: a.rs"), "{packet}");
}

#[tokio::test]
async fn what_the_operator_says_in_a_pair_reaches_codex_where_its_work_stands() {
    let mut two = Two::new(Rig::fresh().await).await;
    let operator = two.rig.connect(Role::Deck, None, true);
    let said = |text: &str, agent| {
        Command::StateWork(StateWorkParams {
            agent,
            values: vec![StatedValue {
                kind: NoteKind::Goal,
                text: text.to_owned(),
            }],
            pinned: false,
            runtime_session_id: Some(RuntimeSession::new("second")),
        })
    };
    let goals = |two: &Two| {
        let world = two.rig.daemon.base.recorder.world();
        let of = |agent, pair: &str| {
            let state = world.state_of(agent, &RuntimeSession::new(pair));
            let goal = state.and_then(|state| state.objective.as_ref());
            goal.map_or_else(String::new, |goal| goal.text.clone())
        };
        [
            of(Agent::Claude, "default"),
            of(Agent::Codex, "default"),
            of(Agent::Claude, "second"),
            of(Agent::Codex, "second"),
        ]
    };
    two.rig
        .call(&operator, said("Sort the plums", None))
        .await
        .unwrap();
    let both = ["", "Sort the plums", "Sort the plums", ""];
    assert_eq!(goals(&two), both);
    two.rig
        .call(&operator, said("Sort the pears", Some(Agent::Codex)))
        .await
        .unwrap();
    assert_eq!(goals(&two), ["", "Sort the pears", "Sort the plums", ""]);
    let forget = Command::ForgetWork(ForgetWorkParams {
        what: String::new(),
        all: true,
        agent: Some(Agent::Codex),
        runtime_session_id: Some(RuntimeSession::new("second")),
    });
    two.rig.call(&operator, forget).await.unwrap();
    assert_eq!(goals(&two), ["", "", "Sort the plums", ""]);
    // A Codex that comes with a bridge of its own has what it says there.
    let beside = two.rig.connect_to("second", Role::Codex, None);
    let note = Command::AppendNote(NoteParams::new(
        Agent::Codex,
        NoteKind::Goal,
        "Sort the figs",
    ));
    two.rig.call(&beside, note).await.unwrap();
    two.rig
        .call(&operator, said("Sort the nuts", None))
        .await
        .unwrap();
    assert_eq!(goals(&two), ["", "", "Sort the nuts", "Sort the nuts"]);
}

#[tokio::test]
async fn a_note_and_a_goal_of_the_operators_reach_codex_from_every_pair_as_one_entry() {
    let mut two = Two::new(Rig::fresh().await).await;
    let operator = two.rig.connect(Role::Deck, None, true);
    let pair = Some(RuntimeSession::new("second"));
    let note = Command::AppendNote(NoteParams {
        runtime_session_id: pair.clone(),
        ..NoteParams::new(None, NoteKind::Decision, "Sort by weight")
    });
    two.rig.call(&operator, note).await.unwrap();
    let task = Command::ChangeTask(TaskParams {
        change: TaskChange::Open {
            title: "Plums".to_owned(),
            goal: Some("Sort the plums".to_owned()),
            handoff: None,
        },
        runtime_session_id: pair,
    });
    two.rig.call(&operator, task).await.unwrap();
    let world = two.rig.daemon.base.recorder.world();
    assert_eq!(world.notes.len(), 2);
    for (agent, pair, knows) in [
        (Agent::Claude, "default", false),
        (Agent::Codex, "default", true),
        (Agent::Claude, "second", true),
        (Agent::Codex, "second", false),
    ] {
        let state = world.state_of(agent, &RuntimeSession::new(pair));
        let said = state.into_iter().flat_map(ContinuityState::stated);
        let said: Vec<&str> = said.map(|said| said.text.as_str()).collect();
        let both = ["Sort the plums", "Sort by weight"];
        assert_eq!(said, both[..if knows { 2 } else { 0 }], "{agent} {pair}");
    }
}

#[tokio::test]
async fn that_a_second_claude_of_a_pair_gets_nothing_is_said_while_it_is_here() {
    let mut two = Two::new(Rig::fresh().await).await;
    let is_said = |two: &Two| {
        let keys = two.rig.daemon.status().notice_keys;
        keys.contains(&NoticeKey::SecondClaude)
    };
    assert!(!is_said(&two), "each has a pair of its own");
    let third = claude(&mut two.rig, "second", 7_000_002).await;
    assert!(is_said(&two));
    two.rig.daemon.disconnect(third.bridge.conn);
    assert!(!is_said(&two));
}

#[tokio::test]
async fn codex_fetches_what_any_claude_has_for_it() {
    let mut two = Two::new(Rig::fresh().await).await;
    let asked = SendParams {
        from: Some(Agent::Claude),
        ..said("which lock")
    };
    let second = two.second.bridge.conn;
    two.rig.codex_runs().await;
    two.rig.status(ReportedStatus::Active { waiting: false });
    two.rig.user_message("turn-0", None);
    two.rig.settle().await;
    // One is on its way already, so that the other one waits.
    two.sent_by(second, asked.clone()).await;
    let id = two.sent_by(second, asked).await;
    let get = Command::GetMessages(GetMessagesParams::of(Agent::Codex));
    let Ok(Reply::Messages(page)) = two.call(two.codex.conn, get).await else {
        panic!("no page");
    };
    let ids: Vec<_> = page.messages.iter().map(|it| &it.message_id).collect();
    assert_eq!(ids, [&id]);
}

#[tokio::test]
async fn a_claude_reads_the_handoff_that_it_names_whosever_it_is() {
    let mut two = Two::new(Rig::fresh().await).await;
    let id = two.handed_over(two.second.bridge.conn).await;
    let read = Command::ReadContext(ReadContextParams {
        handoff_id: Some(id.clone()),
        ..ReadContextParams::default()
    });
    let Ok(Reply::Context(page)) = two.call(two.first.bridge.conn, read).await else {
        panic!("no page");
    };
    let ids: Vec<_> = page.entries.iter().map(|entry| &entry["id"]).collect();
    assert_eq!(ids, [id.as_str()]);
    assert_eq!(page.open_handoffs.len(), 1, "it is open");
    assert_eq!(page.open_handoffs[0]["id"], id.as_str());
}

#[tokio::test]
async fn a_sender_hears_of_the_dead_bridge_of_the_claude_to_which_it_sends_alone() {
    let mut two = Two::new(Rig::fresh().await).await;
    two.rig.daemon.disconnect(two.second.bridge.conn);
    two.rig.settle().await;
    for (pair, is_dead) in [("default", false), ("second", true)] {
        let send = SendParams {
            runtime_session_id: Some(RuntimeSession::new(pair)),
            ..said("hello")
        };
        let sent = two.call(two.codex.conn, Command::Send(send)).await;
        let Ok(Reply::Sent(sent)) = sent else {
            panic!("{sent:?}");
        };
        assert_eq!(sent.waits_for_human.is_some(), is_dead, "{pair}");
    }
}

#[tokio::test]
async fn a_claude_settles_nothing_that_waits_for_another_pairs() {
    let mut two = Two::new(Rig::fresh().await).await;
    let (id, _) = two.send("default", OnBusy::Queue).await;
    let ids = IdsParams {
        agent: Agent::Claude,
        ids: vec![id.clone()],
        rung: None,
    };
    let (own, other) = (two.first.bridge.conn, two.second.bridge.conn);
    let fetched = Command::Fetched(ids.clone());
    two.call(other, fetched).await.unwrap();
    let ack = Command::Ack(ids);
    assert_eq!(
        two.call(other, ack.clone()).await,
        Ok(Reply::Acked(Vec::new()))
    );
    let get = Command::GetMessages(GetMessagesParams {
        ack: vec![id.clone()],
        ..GetMessagesParams::of(Agent::Claude)
    });
    let Ok(Reply::Messages(page)) = two.call(other, get).await else {
        panic!("no page");
    };
    assert_eq!(page.acked, []);
    assert_eq!(
        two.hook(true, "UserPromptSubmit", None).await.ids,
        std::slice::from_ref(&id)
    );
    assert!(two.is_unsettled(&id));
    let acked = Reply::Acked(vec![id.clone()]);
    assert_eq!(two.call(own, ack).await, Ok(acked));
    assert!(!two.is_unsettled(&id));
}

#[tokio::test]
async fn a_note_of_who_neither_sent_nor_got_a_handoff_is_refused_unless_it_says_what_blocks_it() {
    let mut two = Two::new(Rig::fresh().await).await;
    let operator = two.rig.connect(Role::Deck, None, true);
    let order = |from, to, pair| {
        Command::Handoff(HandoffParams {
            from,
            to: Some(to),
            ask: "please look".to_owned(),
            reason: "you know it".to_owned(),
            runtime_session_id: Some(RuntimeSession::new(pair)),
            ..HandoffParams::default()
        })
    };
    let names = |agent, kind, id: &EntryId| {
        Command::AppendNote(NoteParams {
            handles: vec![id.clone()],
            ..NoteParams::new(agent, kind, "it was done already")
        })
    };
    let (first, second) = (two.first.bridge.conn, two.second.bridge.conn);
    let (codex, deck) = (two.codex.conn, operator.conn);
    let of_codex = order(Some(Agent::Codex), Agent::Claude, "second");
    let by_codex = sent_by(&mut two.rig, codex, of_codex).await;
    let by_operator = order(None, Agent::Codex, "default");
    let by_operator = sent_by(&mut two.rig, deck, by_operator).await;
    let (claude, done) = (Some(Agent::Claude), NoteKind::Done);
    for (by, id) in [(first, &by_codex), (second, &by_operator)] {
        let refused = two.call(by, names(claude, done, id)).await.unwrap_err();
        assert!(refused.message.contains(id.as_str()), "{refused:?}");
        let blocks = names(claude, NoteKind::Blocker, id);
        two.call(by, blocks).await.unwrap();
        assert!(two.rig.world().open_handoffs.contains_key(id));
    }
    for (by, agent, id) in [
        (second, claude, &by_codex),
        (codex, Some(Agent::Codex), &by_operator),
    ] {
        two.call(by, names(agent, done, id)).await.unwrap();
        assert!(!two.rig.world().open_handoffs.contains_key(id));
    }
}
