//! Usage limits: what is for a limited agent waits, and goes on when the limit is really over.

use tokio::time::{Duration, Instant};

use super::commands::{acked, handed};
use super::nothing_came::told;
use super::rig::Rig;
use super::silence::{agent_action, ended, hook};
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::adapters::codex::request::CodexRequest;
use crate::core::agent::{Agent, AgentState};
use crate::core::delivery::{Checked, LimitInput, LimitMode, OnBusy};
use crate::core::entry::TurnStatus;
use crate::core::id::EntryId;
use crate::daemon::event::Event;
use crate::store::ledger::LedgerError;
use crate::store::testing::Place;
use crate::wire::config::read;
use crate::wire::control::{
    AgentActionKind, Command, HookReply, Notification, RefusalCode, Reply, Role, SendParams,
};

const MINUTE: i64 = 60;

pub(super) fn mode(rig: &mut Rig, mode: &str) {
    let file = serde_json::json!({"rateLimitResume": {"mode": mode}});
    let (config, problems) = read(file.as_object().unwrap());
    assert_eq!(problems, []);
    rig.daemon.set_limit_mode(&config);
}

async fn pass(rig: &mut Rig, seconds: i64) {
    rig.daemon.base.clock.pass(seconds * 1_000);
    rig.daemon.on_deadline();
    rig.pump().await;
}

fn now_ms(rig: &Rig) -> i64 {
    rig.daemon.base.clock.now_ms()
}

/// A message that Codex has in a turn which ends at the limit, in ten minutes.
async fn hit(rig: &mut Rig, turn: &str, id: &EntryId) {
    rig.user_message(turn, Some(id));
    rig.settle().await;
    rig.status(ReportedStatus::SystemError);
    ended(rig, turn, TurnStatus::Failed, &[id], true).await;
}

/// Answers what the adapter was asked, and hands in what comes of it.
async fn answer(rig: &mut Rig, checked: Checked) {
    let Ok(CodexRequest::AskLimit { reply }) = rig.requests.try_recv() else {
        panic!("the limit was not asked for");
    };
    reply.send(checked).unwrap();
    tokio::task::yield_now().await;
    rig.pump().await;
}

#[tokio::test]
async fn messages_for_a_limited_codex_wait_until_its_vendor_says_so() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let first = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&first));
    let ends = now_ms(&rig) + 600_000;
    rig.fact(CodexFact::LimitEnds { at_ms: ends });
    hit(&mut rig, "turn-1", &first).await;
    let second = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;

    let status = rig.daemon.status();
    assert_eq!(status.agents.codex.state, AgentState::Limited);
    let limit = status.agents.codex.limit.unwrap();
    assert_eq!(limit.mode, LimitMode::Notify);
    assert_eq!(limit.resets_at, Some(ends));
    assert_eq!(limit.next_try, Some(ends + 2_000));
    assert_eq!((limit.tries, limit.again), (0, 0));
    assert_eq!(status.queue.codex.pending, 1);
    assert_eq!(rig.delivered_ids(), []);

    pass(&mut rig, 10 * MINUTE + 3).await;
    let until_ms = Some(now_ms(&rig) + 60_000);
    answer(&mut rig, Checked::Holds { until_ms }).await;
    assert_eq!(rig.delivered_ids(), []);
    pass(&mut rig, MINUTE + 3).await;
    answer(&mut rig, Checked::Over).await;
    assert_eq!(rig.delivered_ids(), [second]);
    assert_eq!(rig.daemon.status().agents.codex.limit, None);
    assert_eq!(
        rig.daemon.base.recorder.world().agent(Agent::Codex).state,
        AgentState::Idle
    );
}

#[tokio::test]
async fn without_anybody_to_ask_one_message_is_the_test() {
    let mut rig = Rig::fresh_with_codex().await;
    let operator = rig.connect(Role::Deck, None, true);
    let claude = rig.connect(Role::Claude, None, false);
    let mut ids = vec![rig.send(&claude, Agent::Claude, OnBusy::Queue).await];
    let ends = now_ms(&rig) + 600_000;
    rig.fact(CodexFact::LimitEnds { at_ms: ends });
    assert_eq!(rig.delivered_ids(), [ids[0].clone()]);
    hit(&mut rig, "turn-1", &ids[0]).await;
    for _ in 0..2 {
        ids.push(rig.send(&claude, Agent::Claude, OnBusy::Queue).await);
    }
    pass(&mut rig, 10 * MINUTE + 3).await;
    answer(&mut rig, Checked::Unknown).await;
    assert_eq!(rig.delivered_ids(), [ids[1].clone()]);
    rig.status(ReportedStatus::Active { waiting: false });
    hit(&mut rig, "turn-2", &ids[1]).await;
    // It holds, and nobody knows for how long: nothing else is lost to it.
    pass(&mut rig, 24 * 60 * MINUTE).await;
    assert_eq!(rig.delivered_ids(), []);
    let limit = rig.daemon.status().agents.codex.limit.unwrap();
    assert_eq!((limit.tries, limit.next_try), (1, None));

    let now = agent_action(Agent::Codex, AgentActionKind::TryNow);
    rig.call(&operator, now.clone()).await.unwrap();
    assert_eq!(rig.delivered_ids(), [ids[2].clone()]);
    let again = rig.call(&operator, now).await.unwrap_err();
    assert_eq!(again.code, RefusalCode::NotLimited);
}

#[tokio::test]
async fn a_turn_of_the_human_that_works_ends_the_limit() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let first = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    hit(&mut rig, "turn-1", &first).await;
    let second = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&first));
    rig.user_message("turn-2", None);
    ended(&mut rig, "turn-2", TurnStatus::Completed, &[], false).await;
    assert_eq!(rig.delivered_ids(), [second]);
    assert_eq!(rig.daemon.status().agents.codex.limit, None);
}

#[tokio::test]
async fn resume_sends_what_died_again_once_and_never_the_operators_words() {
    let mut rig = Rig::fresh_with_codex().await;
    mode(&mut rig, "resume");
    let operator = rig.connect(Role::Deck, None, true);
    let claude = rig.connect(Role::Claude, None, false);
    let first = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&first));
    hit(&mut rig, "turn-1", &first).await;
    assert_eq!(rig.daemon.status().agents.codex.limit.unwrap().again, 1);
    // No time was named: tried after a minute, then ever more rarely.
    pass(&mut rig, MINUTE).await;
    answer(&mut rig, Checked::Unknown).await;
    let delivered = rig.delivered();
    assert_eq!(delivered.len(), 1);
    assert_eq!(delivered[0].0, first);
    assert!(delivered[0].1.contains("shown before"));
    hit(&mut rig, "turn-2", &first).await;

    let send = SendParams {
        to: Some(Agent::Codex),
        text: "please hurry".to_owned(),
        ..SendParams::default()
    };
    rig.ask(&operator, Command::Send(send));
    rig.settle().await;
    let limit = rig.daemon.status().agents.codex.limit.unwrap();
    assert_eq!((limit.tries, limit.again), (1, 0), "once is enough");
    pass(&mut rig, 2 * MINUTE).await;
    answer(&mut rig, Checked::Unknown).await;
    let typed = rig.delivered_ids();
    assert_eq!(typed.len(), 1);
    assert_ne!(typed[0], first);
    hit(&mut rig, "turn-3", &typed[0]).await;
    assert_eq!(rig.daemon.status().agents.codex.limit.unwrap().again, 0);
    ended(&mut rig, "turn-4", TurnStatus::Completed, &[], false).await;
    assert_eq!(rig.delivered_ids(), []);
    // The operator can have both again.
    assert_eq!(rig.daemon.status().agents.codex.cut_off, 2);
}

#[tokio::test]
async fn a_detached_daemon_stays_for_what_it_will_send_again_once_a_limit_is_over() {
    let mut rig = Rig::fresh_with_codex().await;
    mode(&mut rig, "resume");
    rig.daemon.base.identity.detach();
    let claude = rig.connect(Role::Claude, None, false);
    let first = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&first));
    hit(&mut rig, "turn-1", &first).await;
    rig.daemon.base.clients.forget_all();
    rig.daemon.watch_idleness();
    assert_eq!(rig.daemon.base.operations.idle_since(), None);
    rig.daemon.limit_input(Agent::Codex, LimitInput::Cancel);
    rig.settle().await;
    // It stays until Claude has heard that nothing comes of it, as for any message.
    rig.daemon.watch_idleness();
    assert_eq!(rig.daemon.base.operations.idle_since(), None);
    let claude = rig.connect(Role::Claude, None, false);
    let told = rig.daemon.base.recorder.world().unsettled.keys();
    let read = acked(Agent::Claude, told.cloned().collect());
    rig.call(&claude, read).await.unwrap();
    rig.daemon.base.clients.forget_all();
    rig.daemon.watch_idleness();
    assert!(rig.daemon.base.operations.idle_since().is_some());
}

#[tokio::test]
async fn a_cancelled_resume_leaves_the_tries_to_the_operator() {
    let mut rig = Rig::fresh_with_codex().await;
    mode(&mut rig, "resume");
    let operator = rig.connect(Role::Deck, None, true);
    let claude = rig.connect(Role::Claude, None, false);
    let first = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    hit(&mut rig, "turn-1", &first).await;
    assert_eq!(rig.delivered_ids(), [first]);
    let cancel = agent_action(Agent::Codex, AgentActionKind::CancelRetries);
    rig.call(&operator, cancel).await.unwrap();
    pass(&mut rig, 24 * 60 * MINUTE).await;
    assert!(rig.requests.try_recv().is_err());
    let limit = rig.daemon.status().agents.codex.limit.unwrap();
    assert!(limit.cancelled);
    assert_eq!((limit.again, limit.next_try), (0, None));
}

#[tokio::test]
async fn messages_for_a_limited_claude_wait_until_a_turn_of_it_works() {
    let mut rig = Rig::fresh().await;
    let mut bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let hooks = rig.connect(Role::Hook, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    rig.call(&hooks, hook("UserPromptSubmit", None))
        .await
        .unwrap();
    rig.call(&hooks, hook("StopFailure", Some("rate_limit")))
        .await
        .unwrap();
    let status = rig.daemon.status().agents.claude;
    assert_eq!(status.state, AgentState::Limited);
    assert_eq!(status.limit.unwrap().resets_at, None);
    rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    let pushed = |bridge: &mut super::rig::Guest| {
        let mut pushed = 0;
        while let Ok(notification) = bridge.notifications.try_recv() {
            pushed += usize::from(matches!(notification, Notification::Push(_)));
        }
        pushed
    };
    assert_eq!(pushed(&mut bridge), 0);
    // Nor does a turn of the human carry it, that may fail as well.
    let reply = rig.call(&hooks, hook("UserPromptSubmit", None)).await;
    let Ok(Reply::Hook(HookReply { ids, .. })) = reply else {
        panic!("{reply:?}");
    };
    assert_eq!(ids, []);
    assert_eq!(rig.daemon.status().queue.claude.pending, 1);
    rig.call(&hooks, hook("Stop", None)).await.unwrap();
    assert_eq!(rig.daemon.status().agents.claude.state, AgentState::Idle);
    assert_eq!(rig.daemon.status().agents.claude.limit, None);
    // Beyond the moment in which a doorbell may still come.
    pass(&mut rig, 3).await;
    assert_eq!(pushed(&mut bridge), 1);
}

#[tokio::test]
async fn what_a_limited_claude_was_given_comes_again_only_where_that_is_wanted() {
    for resume in [false, true] {
        let mut rig = Rig::fresh().await;
        if resume {
            mode(&mut rig, "resume");
        }
        let _bridge = rig.connect(Role::Claude, Some(7_000_000), false);
        let hooks = rig.connect(Role::Hook, None, false);
        let codex = rig.connect(Role::Codex, None, false);
        let operator = rig.connect(Role::Deck, None, true);
        let id = rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
        rig.call(&hooks, hook("UserPromptSubmit", None))
            .await
            .unwrap();
        let handed = handed(vec![id.clone()]);
        rig.call(&hooks, handed).await.unwrap();
        rig.call(&hooks, hook("StopFailure", Some("rate_limit")))
            .await
            .unwrap();
        assert_eq!(rig.daemon.status().agents.claude.cut_off, 1);
        pass(&mut rig, MINUTE).await;
        let limit = rig.daemon.status().agents.claude.limit;
        assert_eq!(limit.is_none(), resume);
        if !resume {
            let requeue = agent_action(Agent::Claude, AgentActionKind::Requeue);
            rig.call(&operator, requeue).await.unwrap();
            let now = agent_action(Agent::Claude, AgentActionKind::TryNow);
            rig.call(&operator, now).await.unwrap();
        }
        // What was just pushed is not carried by a hook as well.
        pass(&mut rig, 2).await;
        let reply = rig.call(&hooks, hook("UserPromptSubmit", None)).await;
        let Ok(Reply::Hook(HookReply {
            additional_context: Some(text),
            ids,
        })) = reply
        else {
            panic!("{reply:?}");
        };
        assert_eq!(ids, [id]);
        assert!(text.contains("shown before"));
        assert_eq!(rig.daemon.status().agents.claude.cut_off, 0);
    }
}

#[tokio::test]
async fn a_limit_outlives_the_daemon_until_its_time_has_come() {
    for (ends_in_s, holds) in [(600, true), (-1, false)] {
        let place = Place::new();
        let mut rig = Rig::with_codex(&place).await;
        let claude = rig.connect(Role::Claude, None, false);
        let first = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
        assert_eq!(rig.delivered_ids(), std::slice::from_ref(&first));
        let ends = now_ms(&rig) + ends_in_s * 1_000;
        rig.fact(CodexFact::LimitEnds { at_ms: ends });
        hit(&mut rig, "turn-1", &first).await;
        let second = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
        assert_eq!(rig.delivered_ids(), []);
        drop(rig);

        let mut rig = Rig::with_codex(&place).await;
        let codex = rig.daemon.status().agents.codex;
        if !holds {
            assert_eq!(codex.limit, None);
            assert_eq!(rig.delivered_ids(), [second]);
            continue;
        }
        assert_eq!(codex.state, AgentState::Limited);
        assert_eq!(codex.limit.unwrap().resets_at, Some(ends));
        assert_eq!(rig.delivered_ids(), []);
        pass(&mut rig, 10 * MINUTE + 3).await;
        answer(&mut rig, Checked::Over).await;
        assert_eq!(rig.delivered_ids(), [second]);
        // Nor does the one after that begin with it again.
        drop(rig);
        let rig = Rig::with_codex(&place).await;
        assert_eq!(rig.daemon.status().agents.codex.limit, None);
    }
}

#[tokio::test]
async fn a_limit_is_recorded_once_and_holds_since_it_was_hit_over_any_number_of_starts() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let id = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let at_ms = now_ms(&rig) + 600_000;
    rig.fact(CodexFact::LimitEnds { at_ms });
    hit(&mut rig, "turn-1", &id).await;
    let recorded = rig.daemon.base.recorder.world().agent(Agent::Codex).limit;
    let since = recorded.unwrap().since_ms;
    for _ in 0..3 {
        rig.fact(CodexFact::ServerLost {
            why: "it was stopped".to_owned(),
            gave_up: false,
        });
        rig.settle().await;
        drop(rig);
        rig = Rig::with_codex(&place).await;
        let codex = rig.daemon.status().agents.codex;
        assert_eq!(codex.state, AgentState::Limited);
        assert_eq!(codex.limit.unwrap().resets_at, Some(at_ms));
        assert_eq!(codex.since, Some(since));
    }
    let record = std::fs::read_to_string(rig.daemon.base.recorder.ledger().path()).unwrap();
    assert_eq!(record.matches("Codex is at its usage limit").count(), 1);
}

#[tokio::test]
async fn a_limit_goes_along_to_the_process_that_goes_on() {
    let place = Place::new();
    let mut rig = Rig::with_codex(&place).await;
    let claude = rig.connect(Role::Claude, None, false);
    let first = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let ends = now_ms(&rig) + 600_000;
    rig.fact(CodexFact::LimitEnds { at_ms: ends });
    hit(&mut rig, "turn-1", &first).await;
    let known = rig.leave().await;
    let mut rig = Rig::start_after(&place, Some(known)).await;
    let limit = rig.daemon.status().agents.codex.limit.unwrap();
    assert_eq!(limit.next_try, Some(ends + 2_000));
    rig.codex_runs().await;
    assert_eq!(
        rig.daemon.base.recorder.world().agent(Agent::Codex).state,
        AgentState::Limited
    );
}

#[tokio::test]
async fn a_limited_claude_is_left_alone_by_the_next_daemon_too() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let _bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let hooks = rig.connect(Role::Hook, None, false);
    rig.call(&hooks, hook("UserPromptSubmit", None))
        .await
        .unwrap();
    rig.call(&hooks, hook("StopFailure", Some("rate_limit")))
        .await
        .unwrap();
    drop(rig);
    let mut rig = Rig::start(&place).await;
    let _bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let (hooks, codex) = (
        rig.connect(Role::Hook, None, false),
        rig.connect(Role::Codex, None, false),
    );
    let id = rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    let asked = rig.call(&hooks, hook("UserPromptSubmit", None)).await;
    let Ok(Reply::Hook(HookReply { ids, .. })) = asked else {
        panic!("{asked:?}");
    };
    assert_eq!(ids, []);
    rig.call(&hooks, hook("Stop", None)).await.unwrap();
    let asked = rig.call(&hooks, hook("UserPromptSubmit", None)).await;
    let Ok(Reply::Hook(HookReply { ids, .. })) = asked else {
        panic!("{asked:?}");
    };
    assert_eq!(ids, [id]);
}

#[tokio::test]
async fn a_daemon_that_ends_in_a_turn_at_the_limit_leaves_the_limit_to_the_next() {
    let place = Place::new();
    let mut rig = Rig::start(&place).await;
    let _bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let hooks = rig.connect(Role::Hook, None, false);
    let prompt = hook("UserPromptSubmit", None);
    rig.call(&hooks, prompt.clone()).await.unwrap();
    let failure = hook("StopFailure", Some("rate_limit"));
    rig.call(&hooks, failure).await.unwrap();
    let limit_of = |rig: &Rig| rig.daemon.base.recorder.world().agent(Agent::Claude).limit;
    let since = limit_of(&rig);
    assert!(since.is_some());
    // The human tries it.
    rig.call(&hooks, prompt.clone()).await.unwrap();
    assert_eq!(limit_of(&rig), since);
    drop(rig);
    let mut rig = Rig::start(&place).await;
    let _bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let (hooks, codex) = (
        rig.connect(Role::Hook, None, false),
        rig.connect(Role::Codex, None, false),
    );
    rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    let asked = rig.call(&hooks, prompt).await;
    let Ok(Reply::Hook(HookReply { ids, .. })) = asked else {
        panic!("{asked:?}");
    };
    assert_eq!(ids, [], "that turn will most likely fail");
    let limit = rig.daemon.status().agents.claude.limit.unwrap();
    assert_eq!(Some(limit.since), since.map(|limit| limit.since_ms));
    rig.call(&hooks, hook("Stop", None)).await.unwrap();
    assert_eq!(limit_of(&rig), None);
}

#[tokio::test]
async fn what_died_with_claude_is_pushed_before_what_has_come_since() {
    let mut rig = Rig::fresh().await;
    mode(&mut rig, "resume");
    let mut bridge = rig.connect(Role::Claude, Some(7_000_000), false);
    let hooks = rig.connect(Role::Hook, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    let first = rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    let prompt = hook("UserPromptSubmit", None);
    rig.call(&hooks, prompt.clone()).await.unwrap();
    let handed = handed(vec![first.clone()]);
    rig.call(&hooks, handed).await.unwrap();
    let failure = hook("StopFailure", Some("rate_limit"));
    rig.call(&hooks, failure).await.unwrap();
    let second = rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
    while bridge.notifications.try_recv().is_ok() {}
    // The human goes on, and it works.
    rig.call(&hooks, prompt).await.unwrap();
    rig.call(&hooks, hook("Stop", None)).await.unwrap();
    pass(&mut rig, 3).await;
    let mut pushed = Vec::new();
    while let Ok(notification) = bridge.notifications.try_recv() {
        if let Notification::Push(push) = notification {
            pushed.push(push.message_id);
        }
    }
    assert_eq!(pushed, [first, second]);
}

#[tokio::test]
async fn what_died_of_a_limit_goes_before_what_has_come_since() {
    let mut rig = Rig::fresh_with_codex().await;
    mode(&mut rig, "resume");
    let claude = rig.connect(Role::Claude, None, false);
    let first = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&first));
    hit(&mut rig, "turn-1", &first).await;
    rig.status(ReportedStatus::Idle);
    let second = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    // The human goes on, and it works.
    rig.user_message("turn-2", None);
    ended(&mut rig, "turn-2", TurnStatus::Completed, &[], false).await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&first));
    rig.user_message("turn-3", Some(&first));
    rig.settle().await;
    ended(&mut rig, "turn-3", TurnStatus::Completed, &[&first], false).await;
    assert_eq!(rig.delivered_ids(), [second]);
}

#[tokio::test]
async fn what_died_of_a_limit_goes_first_whatever_happens_until_the_record_says_that_it_does() {
    let mut rig = Rig::fresh_with_codex().await;
    mode(&mut rig, "resume");
    let claude = rig.connect(Role::Claude, None, false);
    let first = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&first));
    hit(&mut rig, "turn-1", &first).await;
    rig.status(ReportedStatus::Idle);
    let second = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    // The human goes on, and two turns work before the record is written.
    for turn in ["turn-2", "turn-3"] {
        rig.completed(turn, &[], "done");
        rig.status(ReportedStatus::Idle);
    }
    assert_eq!(rig.delivered_ids(), []);
    rig.settle().await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&first));
    rig.user_message("turn-4", Some(&first));
    rig.settle().await;
    ended(&mut rig, "turn-4", TurnStatus::Completed, &[&first], false).await;
    assert_eq!(rig.delivered_ids(), [second]);
}

#[tokio::test]
async fn what_died_with_claude_goes_first_whatever_happens_until_the_record_says_that_it_does() {
    let failure = hook("StopFailure", Some("server_error"));
    let began = hook("SessionStart", Some("clear"));
    for meanwhile in [hook("Stop", None), failure, began] {
        let mut rig = Rig::fresh().await;
        mode(&mut rig, "resume");
        let mut bridge = rig.connect(Role::Claude, Some(7_000_000), false);
        let hooks = rig.connect(Role::Hook, None, false);
        let codex = rig.connect(Role::Codex, None, false);
        let first = rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
        let prompt = hook("UserPromptSubmit", None);
        rig.call(&hooks, prompt.clone()).await.unwrap();
        let handed = handed(vec![first.clone()]);
        rig.call(&hooks, handed).await.unwrap();
        let failure = hook("StopFailure", Some("rate_limit"));
        rig.call(&hooks, failure).await.unwrap();
        let second = rig.send(&codex, Agent::Codex, OnBusy::Queue).await;
        // Beyond the moment in which a doorbell may still come.
        pass(&mut rig, 3).await;
        while bridge.notifications.try_recv().is_ok() {}
        let operator = rig.connect(Role::Deck, None, true);
        let now = agent_action(Agent::Claude, AgentActionKind::TryNow);
        drop(rig.ask(&operator, now));
        drop(rig.ask(&hooks, meanwhile.clone()));
        rig.settle().await;
        pass(&mut rig, 3).await;
        let mut pushed = Vec::new();
        while let Ok(notification) = bridge.notifications.try_recv() {
            if let Notification::Push(push) = notification {
                pushed.push(push.message_id);
            }
        }
        assert_eq!(pushed, [first, second], "{meanwhile:?}");
    }
}

#[tokio::test]
async fn what_the_record_will_not_have_as_sent_again_holds_nothing_else_up() {
    let mut rig = Rig::fresh_with_codex().await;
    mode(&mut rig, "resume");
    let claude = rig.connect(Role::Claude, None, false);
    let first = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&first));
    hit(&mut rig, "turn-1", &first).await;
    rig.status(ReportedStatus::Idle);
    let second = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    pass(&mut rig, MINUTE).await;
    let Ok(CodexRequest::AskLimit { reply: _asked }) = rig.requests.try_recv() else {
        panic!("the limit was not asked for");
    };
    rig.daemon.on_event(Event::LimitChecked {
        agent: Agent::Codex,
        checked: Checked::Over,
    });
    rig.store();
    assert_eq!(rig.delivered_ids(), []);
    rig.refuse_writes_so_far(|_| LedgerError::Refused("too long".to_owned()))
        .await;
    rig.settle().await;
    assert_eq!(rig.delivered_ids(), [second]);
    // The operator can have it again, and Claude is told that nothing comes by itself.
    assert_eq!(rig.daemon.status().agents.codex.cut_off, 1);
    let told: Vec<_> = told(&rig).into_iter().map(|(id, _)| id).collect();
    assert_eq!(told, [first]);
}

#[tokio::test]
async fn a_limit_that_ended_while_the_machine_slept_is_over() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let first = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    assert_eq!(rig.delivered_ids(), std::slice::from_ref(&first));
    let ends = rig.daemon.base.clock.outside_ms() + 6 * 60 * 60_000;
    rig.fact(CodexFact::LimitEnds { at_ms: ends });
    hit(&mut rig, "turn-1", &first).await;
    let second = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;

    rig.daemon.base.clock.sleep(8 * 60 * 60_000);
    // Timers stood still: the loop looks by itself, soon, whatever it waits for.
    let wakes = rig.daemon.next_deadline();
    assert!(wakes <= Instant::now() + Duration::from_secs(60));
    rig.daemon.on_deadline();
    assert!(rig.daemon.base.clock.outside_ms() > ends);
    rig.pump().await;
    answer(&mut rig, Checked::Over).await;
    assert_eq!(rig.delivered_ids(), [second]);
    assert_eq!(rig.daemon.status().agents.codex.limit, None);
}

#[tokio::test]
async fn whatever_happens_first_after_the_machine_slept_finds_the_time_that_it_is() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let first = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    let ends = rig.daemon.base.clock.outside_ms() + 60 * 60_000;
    rig.fact(CodexFact::LimitEnds { at_ms: ends });
    hit(&mut rig, "turn-1", &first).await;
    rig.daemon.base.clock.sleep(2 * 60 * 60_000);
    rig.daemon
        .on_event(Event::PingAnswered { conn: claude.conn });
    assert!(rig.daemon.base.clock.outside_ms() > ends);
    assert!(rig.daemon.next_deadline() <= Instant::now());
}

#[tokio::test]
async fn a_limit_goes_by_the_wall_clock_that_is_set_forward_or_back() {
    const HOUR_MS: i64 = 60 * 60_000;
    let mut rig = Rig::fresh_with_codex().await;
    mode(&mut rig, "resume");
    let claude = rig.connect(Role::Claude, None, false);
    // It was wrong by three hours: what ends in an hour had passed by it.
    rig.daemon.base.clock.set_wall(3 * HOUR_MS);
    rig.daemon.on_deadline();
    let steady = now_ms(&rig);
    let ends = rig.daemon.base.clock.outside_ms() - 2 * HOUR_MS;
    rig.daemon.base.clock.set_wall(-3 * HOUR_MS);
    let first = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    rig.fact(CodexFact::LimitEnds { at_ms: ends });
    hit(&mut rig, "turn-1", &first).await;
    let limit = rig.daemon.status().agents.codex.limit.unwrap();
    assert_eq!(limit.resets_at, Some(ends));
    assert!(now_ms(&rig) >= steady);
    assert!(rig.daemon.next_deadline() > Instant::now());
    assert!(rig.requests.try_recv().is_ok(), "the message");
    assert!(rig.requests.try_recv().is_err());
    // A sleep that nothing measures.
    rig.daemon.base.clock.set_wall(2 * HOUR_MS);
    rig.daemon.on_deadline();
    rig.pump().await;
    answer(&mut rig, Checked::Over).await;
    assert_eq!(rig.daemon.status().agents.codex.limit, None);
}

#[tokio::test]
async fn a_try_is_not_put_off_by_a_clock_that_is_set_back() {
    const DAY_MS: i64 = 24 * 60 * 60_000;
    let mut rig = Rig::fresh_with_codex().await;
    mode(&mut rig, "resume");
    let claude = rig.connect(Role::Claude, None, false);
    let first = rig.send(&claude, Agent::Claude, OnBusy::Queue).await;
    hit(&mut rig, "turn-1", &first).await;
    rig.daemon.base.clock.set_wall(-DAY_MS);
    rig.daemon.on_deadline();
    let limit = rig.daemon.status().agents.codex.limit.unwrap();
    let wait_ms = limit.next_try.unwrap() - rig.daemon.base.clock.outside_ms();
    assert!(wait_ms <= MINUTE * 1_000, "{wait_ms}");
}
