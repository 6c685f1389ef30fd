//! What was to be sent again once a usage limit is over, and is not after all: Claude hears of it once.

use super::commands::change_queue;
use super::limits::mode;
use super::nothing_came::{begun, handoff, question, told};
use super::rig::{Guest, Rig};
use super::silence::{agent_action, ended};
use super::unwritten::recover;
use crate::adapters::codex::fact::CodexFact;
use crate::core::agent::Agent;
use crate::core::entry::TurnStatus;
use crate::core::id::{EntryId, ThreadId, TurnId};
use crate::store::testing::Place;
use crate::wire::control::{AgentActionKind, QueueChange, Role};

/// A question of Claude's that died of a limit and is to be sent again, and the disk refuses that.
async fn unwritten(place: &Place) -> (Rig, Guest, EntryId) {
    let mut rig = Rig::with_codex(place).await;
    mode(&mut rig, "resume");
    let claude = rig.connect(Role::Claude, None, false);
    let asked = begun(&mut rig, &claude, question(), "turn-1").await;
    rig.delivered();
    rig.fact(CodexFact::TurnCompleted {
        thread_id: ThreadId::new("thread-1"),
        turn_id: TurnId::new("turn-1"),
        status: TurnStatus::Failed,
        final_answer: None,
        client_ids: vec![asked.to_string()],
        error: None,
        usage_limited: true,
        died: false,
    });
    rig.fail_writes().await;
    assert!(rig.daemon.base.recorder.has_unwritten());
    (rig, claude, asked)
}

/// A question and a handoff of Claude's that died of a limit, and are to be sent again.
async fn promised(place: &Place) -> (Rig, Guest, [EntryId; 2]) {
    let mut rig = Rig::with_codex(place).await;
    mode(&mut rig, "resume");
    let claude = rig.connect(Role::Claude, None, false);
    let asked = begun(&mut rig, &claude, question(), "turn-1").await;
    let handed = rig.newest(&claude, handoff()).await;
    ended(&mut rig, "turn-1", TurnStatus::Failed, &[&asked], true).await;
    rig.user_message("turn-2", Some(&handed));
    rig.settle().await;
    ended(&mut rig, "turn-2", TurnStatus::Failed, &[&handed], true).await;
    assert_eq!(told(&rig), []);
    let codex = rig.daemon.status().agents.codex;
    assert_eq!((codex.cut_off, codex.limit.unwrap().again), (2, 2));
    (rig, claude, [asked, handed])
}

#[track_caller]
fn are_told(rig: &Rig, ids: &[EntryId; 2]) {
    let told = told(rig);
    let about: Vec<_> = told.iter().map(|(id, _)| id.clone()).collect();
    assert_eq!(about, ids, "{told:?}");
    for ((_, text), what) in told.iter().zip(["question", "handoff"]) {
        assert!(text.contains(&format!("your {what}")), "{text}");
        assert!(text.contains("ended at its usage limit"), "{text}");
        assert!(text.contains("not sent again by itself"), "{text}");
    }
    // They wait for the person, and Claude gets the word.
    assert_eq!(rig.daemon.status().agents.codex.cut_off, 2);
    let backlog = rig.daemon.deliveries.outbox.backlog();
    assert_eq!(backlog.count(Agent::Claude), 2);
}

#[tokio::test]
async fn once_the_operator_wants_no_more_tries() {
    let place = Place::new();
    let (mut rig, _claude, ids) = promised(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    for _ in 0..2 {
        let cancel = agent_action(Agent::Codex, AgentActionKind::CancelRetries);
        rig.call(&operator, cancel).await.unwrap();
        rig.settle().await;
        are_told(&rig, &ids);
    }
    drop(rig);
    are_told(&Rig::start(&place).await, &ids);
}

#[tokio::test]
async fn once_the_configuration_says_otherwise() {
    for other in ["notify", "off"] {
        let place = Place::new();
        let (mut rig, _claude, ids) = promised(&place).await;
        for mode_now in [other, "resume", other] {
            mode(&mut rig, mode_now);
            rig.settle().await;
            are_told(&rig, &ids);
        }
    }
}

#[tokio::test]
async fn once_the_daemon_starts_again_or_goes_on_in_another_process() {
    let place = Place::new();
    let (rig, _claude, ids) = promised(&place).await;
    drop(rig);
    for _ in 0..2 {
        are_told(&Rig::with_codex(&place).await, &ids);
    }

    let place = Place::new();
    let (rig, _claude, ids) = promised(&place).await;
    let left = rig.leave().await;
    let rig = Rig::start_after(&place, Some(left)).await;
    are_told(&rig, &ids);
    let left = rig.leave().await;
    are_told(&Rig::start_after(&place, Some(left)).await, &ids);
}

#[tokio::test]
async fn once_the_operator_gives_one_up() {
    let place = Place::new();
    let (mut rig, _claude, [asked, handed]) = promised(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    for id in [&asked, &handed] {
        let remove = change_queue(id.clone(), QueueChange::Remove);
        rig.call(&operator, remove).await.unwrap();
        rig.settle().await;
    }
    let given_up = |rig: &Rig| {
        let told = told(rig);
        let about: Vec<_> = told.iter().map(|(id, _)| id.clone()).collect();
        assert_eq!(about, [asked.clone(), handed.clone()], "{told:?}");
        for (_, text) in told {
            assert!(text.contains("your operator gave it up"), "{text}");
            assert!(!text.contains("stays open"), "{text}");
        }
    };
    given_up(&rig);
    let backlog = rig.daemon.deliveries.outbox.backlog();
    assert_eq!(backlog.count(Agent::Claude), 2);
    assert_eq!(rig.daemon.status().agents.codex.cut_off, 0);
    drop(rig);
    given_up(&Rig::start(&place).await);
}

#[tokio::test]
async fn also_after_a_compaction() {
    let place = Place::new();
    let (mut rig, _claude, ids) = promised(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    rig.compact(&operator).await;
    let cancel = agent_action(Agent::Codex, AgentActionKind::CancelRetries);
    rig.call(&operator, cancel).await.unwrap();
    rig.settle().await;
    are_told(&rig, &ids);
}

#[tokio::test]
async fn once_the_limit_lasted_so_long_that_the_work_has_gone_on() {
    let place = Place::new();
    let (mut rig, _claude, ids) = promised(&place).await;
    rig.delivered();
    rig.daemon.base.clock.pass(49 * 60 * 60_000);
    rig.user_message("turn-3", None);
    ended(&mut rig, "turn-3", TurnStatus::Completed, &[], false).await;
    assert_eq!(rig.delivered_ids(), []);
    are_told(&rig, &ids);
}

#[tokio::test]
async fn and_not_where_it_is_sent_again() {
    let place = Place::new();
    let (mut rig, _claude, ids) = promised(&place).await;
    rig.delivered();
    rig.user_message("turn-3", None);
    ended(&mut rig, "turn-3", TurnStatus::Completed, &[], false).await;
    assert_eq!(rig.delivered_ids(), [ids[0].clone()]);
    mode(&mut rig, "notify");
    rig.settle().await;
    assert_eq!(told(&rig), []);
    // Its answer comes.
    rig.user_message("turn-4", Some(&ids[0]));
    rig.settle().await;
    rig.completed("turn-4", &ids[..1], "no");
    rig.settle().await;
    drop(rig);
    assert_eq!(told(&Rig::start(&place).await), []);
}

#[tokio::test]
async fn it_is_sent_again_though_the_record_had_its_turns_end_only_after_the_limit() {
    let place = Place::new();
    let (mut rig, _claude, asked) = unwritten(&place).await;
    // The human goes on, and it works.
    rig.user_message("turn-2", None);
    rig.completed("turn-2", &[], "done");
    rig.settle().await;
    assert_eq!(rig.delivered_ids(), []);
    recover(&mut rig).await;
    assert_eq!(rig.delivered_ids(), [asked]);
    assert_eq!(told(&rig), []);
}

#[tokio::test]
async fn claude_hears_of_it_though_the_record_had_its_turns_end_only_after_the_operators_word() {
    let place = Place::new();
    let (mut rig, _claude, asked) = unwritten(&place).await;
    let operator = rig.connect(Role::Deck, None, true);
    let cancel = agent_action(Agent::Codex, AgentActionKind::CancelRetries);
    drop(rig.ask(&operator, cancel));
    rig.settle().await;
    assert_eq!(told(&rig), []);
    recover(&mut rig).await;
    let about: Vec<_> = told(&rig).into_iter().map(|(id, _)| id).collect();
    assert_eq!(about, [asked]);
}
