//! What a turn of Codex's settled before it ended early: it is neither sent again nor told as lost.

use super::limits::mode;
use super::nothing_came::{begun, dies, handoff, question, told};
use super::rig::{Guest, Rig};
use super::silence::ended;
use crate::core::agent::Agent;
use crate::core::delivery::OnBusy;
use crate::core::entry::TurnStatus;
use crate::core::id::EntryId;
use crate::store::testing::Place;
use crate::wire::control::{Command, HandoffParams, Reply, Role, SendParams};

/// What Codex says to Claude by its tool in a turn.
fn says(turn: &str, in_reply_to: Option<&EntryId>, handles: &[&EntryId]) -> Command {
    Command::Send(SendParams {
        from: Some(Agent::Codex),
        text: "it is done".to_owned(),
        in_reply_to: in_reply_to.cloned(),
        handles: handles.iter().map(|id| (*id).clone()).collect(),
        turn_id: Some(turn.to_owned()),
        ..SendParams::default()
    })
}

fn word() -> Command {
    Command::Send(SendParams {
        from: Some(Agent::Claude),
        text: "the tests are green".to_owned(),
        ..SendParams::default()
    })
}

async fn said(rig: &mut Rig, codex: &Guest, command: Command) {
    drop(rig.ask(codex, command));
    rig.settle().await;
}

#[tokio::test]
async fn what_codex_closed_before_the_limit_is_not_sent_again_once_that_is_over() {
    for closes_question in [false, true] {
        let mut rig = Rig::fresh_with_codex().await;
        mode(&mut rig, "resume");
        let claude = rig.connect(Role::Claude, None, false);
        let codex = rig.connect(Role::Codex, None, false);
        let asked = match closes_question {
            true => question(),
            false => handoff(),
        };
        let asked = begun(&mut rig, &claude, asked, "turn-1").await;
        let closes = match closes_question {
            true => says("turn-1", Some(&asked), &[]),
            false => says("turn-1", None, &[&asked]),
        };
        said(&mut rig, &codex, closes).await;
        // Its last words hit the limit.
        ended(&mut rig, "turn-1", TurnStatus::Failed, &[&asked], true).await;
        let status = rig.daemon.status().agents.codex;
        assert_eq!((status.cut_off, status.limit.unwrap().again), (0, 0));
        rig.delivered();
        // The person goes on, and it works.
        rig.user_message("turn-2", None);
        ended(&mut rig, "turn-2", TurnStatus::Completed, &[], false).await;
        assert_eq!(rig.delivered_ids(), []);
        assert_eq!(told(&rig), []);
    }
}

#[tokio::test]
async fn what_is_closed_after_its_turn_was_stopped_is_not_offered_again() {
    let mut rig = Rig::fresh_with_codex().await;
    let claude = rig.connect(Role::Claude, None, false);
    let codex = rig.connect(Role::Codex, None, false);
    let asked = begun(&mut rig, &claude, question(), "turn-1").await;
    dies(&mut rig, "turn-1", &asked, None, false).await;
    let handed = begun(&mut rig, &claude, handoff(), "turn-2").await;
    dies(&mut rig, "turn-2", &handed, None, false).await;
    assert_eq!(rig.daemon.status().agents.codex.cut_off, 2);
    // The person types "go on".
    rig.user_message("turn-3", None);
    said(&mut rig, &codex, says("turn-3", Some(&asked), &[])).await;
    assert_eq!(rig.daemon.status().agents.codex.cut_off, 1);
    said(&mut rig, &codex, says("turn-3", None, &[&handed])).await;
    assert_eq!(rig.daemon.status().agents.codex.cut_off, 0);
    let operator = rig.connect(Role::Deck, None, true);
    let Ok(Reply::Queue(rows)) = rig.call(&operator, Command::QueueList).await else {
        panic!("no rows");
    };
    assert!(rows.iter().all(|row| row.to == Agent::Claude), "{rows:?}");
}

#[tokio::test]
async fn of_what_codex_answered_before_the_daemon_died_claude_is_not_told_that_no_answer_comes() {
    // A mere message, one to which it says more than once, and a handoff that stays open.
    for (asked, names_it) in [(word(), false), (handoff(), true)] {
        let place = Place::new();
        let mut rig = Rig::with_codex(&place).await;
        let claude = rig.connect(Role::Claude, None, false);
        let codex = rig.connect(Role::Codex, None, false);
        let asked = begun(&mut rig, &claude, asked, "turn-1").await;
        let named = names_it.then_some(&asked);
        said(&mut rig, &codex, says("turn-1", named, &[])).await;
        drop(rig);
        for _ in 0..2 {
            let mut rig = Rig::with_codex(&place).await;
            dies(&mut rig, "turn-1", &asked, None, true).await;
            assert_eq!(told(&rig), []);
            // It can still be had again.
            assert_eq!(rig.daemon.status().agents.codex.cut_off, 1);
        }
    }
}

#[tokio::test]
async fn a_word_on_the_way_through_a_handoff_or_one_that_was_refused_is_no_answer_after_a_start() {
    let refused = Command::Handoff(HandoffParams {
        from: Some(Agent::Codex),
        ask: "look at it".to_owned(),
        on_busy: OnBusy::Reject,
        turn_id: Some("turn-1".to_owned()),
        ..HandoffParams::default()
    });
    for (asked, says) in [(handoff(), says("turn-1", None, &[])), (word(), refused)] {
        let place = Place::new();
        let mut rig = Rig::with_codex(&place).await;
        let claude = rig.connect(Role::Claude, Some(7_000_000), false);
        let hooks = rig.connect(Role::Hook, None, false);
        let codex = rig.connect(Role::Codex, None, false);
        let asked = begun(&mut rig, &claude, asked, "turn-1").await;
        rig.call(&hooks, super::silence::hook("UserPromptSubmit", None))
            .await
            .unwrap();
        said(&mut rig, &codex, says).await;
        drop(rig);
        let mut rig = Rig::with_codex(&place).await;
        dies(&mut rig, "turn-1", &asked, None, true).await;
        let told = told(&rig);
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].0, asked);
    }
}

#[tokio::test]
async fn a_compaction_in_a_turn_changes_nothing_of_what_the_next_daemon_tells() {
    for (is_answered, count) in [(false, 1), (true, 0)] {
        let place = Place::new();
        let mut rig = Rig::with_codex(&place).await;
        let operator = rig.connect(Role::Deck, None, true);
        let claude = rig.connect(Role::Claude, None, false);
        let codex = rig.connect(Role::Codex, None, false);
        let handed = begun(&mut rig, &claude, handoff(), "turn-1").await;
        let steered = rig.send(&claude, Agent::Claude, OnBusy::Steer).await;
        rig.steered("turn-1", &steered);
        if is_answered {
            said(&mut rig, &codex, says("turn-1", Some(&handed), &[])).await;
        }
        for _ in 0..2 {
            rig.compact(&operator).await;
        }
        drop(rig);
        let mut rig = Rig::with_codex(&place).await;
        dies(&mut rig, "turn-1", &handed, None, true).await;
        let told = told(&rig);
        let about: Vec<_> = told.iter().map(|(id, _)| id).collect();
        assert_eq!(about, vec![&handed; count]);
    }
}
