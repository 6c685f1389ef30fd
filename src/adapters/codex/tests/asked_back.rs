//! Takes a message out of the queue for the turn that waits for it.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::app_server::{Ask, Script, message};
use super::recovering::taken_out_first;
use crate::adapters::codex::fact::CodexFact;
use crate::core::delivery::OnBusy;

fn queue(rows: &[(&str, &str)]) -> Value {
    let rows: Vec<Value> = rows
        .iter()
        .map(|(id, client)| json!({"id": id, "clientUserMessageId": client, "input": []}))
        .collect();
    json!({"data": rows, "nextCursor": null})
}

fn taken_back() -> CodexFact {
    CodexFact::TakenBack {
        message_id: "m1".into(),
    }
}

/// `m1` lies behind the turn `U`.
async fn behind_a_turn() -> Script {
    let mut script = Script::busy().await;
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    script.serve("thread/queue/add", json!({})).await;
    next_fact!(script, Queued);
    script
}

#[tokio::test]
async fn what_is_asked_back_is_taken_out_of_the_queue_and_forgotten() {
    let mut script = behind_a_turn().await;
    script.ask(Ask::TakeBack("m1")).await;
    let rows = queue(&[("Q0", "human"), ("Q1", "m1")]);
    script.serve("thread/queue/list", rows).await;
    let delete = script.expect("thread/queue/delete").await;
    assert_eq!(
        delete["params"],
        json!({"threadId": "T", "queuedSubmissionId": "Q1"})
    );
    script.answer(&delete, json!({"deleted": true})).await;
    assert_eq!(script.fact().await, taken_back());
    // It is not looked for any more, and can be handed over anew.
    script.ask(Ask::TakeBack("m1")).await;
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    script.serve("thread/queue/add", json!({})).await;
    next_fact!(script, Queued);
    script.quiet().await;
}

#[tokio::test]
async fn what_has_begun_as_a_turn_stays_there() {
    let mut script = behind_a_turn().await;
    script.ask(Ask::TakeBack("m1")).await;
    script.serve("thread/queue/list", queue(&[])).await;
    script.ask(Ask::TakeBack("m1")).await;
    script
        .serve("thread/queue/list", queue(&[("Q1", "m1")]))
        .await;
    let left = json!({"deleted": false});
    script.serve("thread/queue/delete", left).await;
    script.ask(Ask::TakeBack("m1")).await;
    script
        .serve("thread/queue/list", queue(&[("Q1", "m1")]))
        .await;
    let delete = script.expect("thread/queue/delete").await;
    script.refuse(&delete, "the state is locked").await;
    script.quiet().await;
    script.turn_ends("completed").await;
    script.user_message("V", "m1").await;
    next_fact!(script, TurnStarted);
    assert_eq!(script.fact().await, message("V", "m1", false));
}

#[tokio::test]
async fn where_nobody_said_that_it_was_taken_out_it_is_before_the_thread_goes_on() {
    let mut script = behind_a_turn().await;
    script.ask(Ask::TakeBack("m1")).await;
    script
        .serve("thread/queue/list", queue(&[("Q1", "m1")]))
        .await;
    script.expect("thread/queue/delete").await;
    let (thread_state, told) = script.cut().await;
    assert!(!told.contains(&taken_back()), "{told:?}");
    assert!(thread_state.inflight.contains("m1"));
    let mut script = Script::connect(thread_state, true).await;
    taken_out_first(&mut script).await;
}
