//! A message that was steered into a turn which ended without it, in a thread that was left behind.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::app_server::{Ask, Script};
use super::conversation::begins_n;
use crate::adapters::codex::fact::CodexFact;
use crate::core::delivery::OnBusy;

/// `m1` was steered into the turn `U`.
async fn steered() -> Script {
    let mut script = Script::busy().await;
    script.ask(Ask::Deliver("m1", OnBusy::Steer)).await;
    script.serve("turn/steer", json!({"turnId": "U"})).await;
    next_fact!(script, Queued);
    script
}

/// The human goes on in `N`, and nothing of ours waits in the old thread's queue.
async fn left(script: &mut Script) {
    begins_n(script).await;
    script.serve("thread/queue/list", json!({"data": []})).await;
}

async fn adopted(script: &mut Script) {
    let thread_id = "N".into();
    assert_eq!(script.fact().await, CodexFact::ThreadAdopted { thread_id });
    next_fact!(script, ThreadStatus);
}

/// Nobody looks for it there again: it is told that nobody knows, and not that it was not taken.
async fn is_given_up(script: &mut Script) {
    let history = json!([{"id": "U", "status": "interrupted", "items": []}]);
    script.look(json!([]), history).await;
    let leave = script.expect("thread/unsubscribe").await;
    assert_eq!(leave["params"]["threadId"], "T");
    script.answer(&leave, json!({})).await;
    let message_id = "m1".into();
    assert_eq!(script.fact().await, CodexFact::Unanswered { message_id });
}

#[tokio::test]
async fn one_that_its_turn_never_read_is_answered_for_at_the_end_of_that() {
    let mut script = steered().await;
    left(&mut script).await;
    adopted(&mut script).await;
    let idle = json!({"type": "idle"});
    script.status(idle).await;
    let turn = json!({"id": "U", "status": "interrupted"});
    script
        .notify("turn/completed", json!({"threadId": "T", "turn": turn}))
        .await;
    next_fact!(script, TurnCompleted);
    is_given_up(&mut script).await;
}

#[tokio::test]
async fn one_that_was_looked_for_when_the_human_went_on_is_answered_for_at_once() {
    let mut script = steered().await;
    script.turn_ends("interrupted").await;
    let history = json!([{"id": "U", "status": "interrupted", "items": []}]);
    script.look(json!([]), history).await;
    left(&mut script).await;
    is_given_up(&mut script).await;
    adopted(&mut script).await;
}
