//! Handing messages over, and the races of it.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::app_server::{Ask, Script, message};
use crate::adapters::codex::fact::CodexFact;
use crate::core::delivery::OnBusy;

fn queued(id: &str) -> CodexFact {
    CodexFact::Queued {
        message_id: id.into(),
    }
}

#[tokio::test]
async fn an_answer_is_no_proof_and_the_message_in_the_thread_is() {
    let mut script = Script::idle().await;
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    let add = script.expect("thread/queue/add").await;
    assert_eq!(
        add["params"],
        json!({"threadId": "T", "clientUserMessageId": "m1",
               "input": [{"type": "text", "text": "text of m1"}]})
    );
    script.answer(&add, json!({"queuedSubmission": {}})).await;
    assert_eq!(script.fact().await, queued("m1"));
    script.user_message("U", "m1").await;
    assert!(matches!(script.fact().await, CodexFact::TurnStarted { .. }));
    assert_eq!(script.fact().await, message("U", "m1", false));
    script.quiet().await;
}

#[tokio::test]
async fn proof_that_comes_before_the_answer_is_the_last_word() {
    let mut script = Script::idle().await;
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    let add = script.expect("thread/queue/add").await;
    script.user_message("U", "m1").await;
    script.answer(&add, json!({})).await;
    assert!(matches!(script.fact().await, CodexFact::TurnStarted { .. }));
    assert_eq!(script.fact().await, message("U", "m1", false));
    script.quiet().await;
}

#[tokio::test]
async fn a_refusal_is_certain() {
    let mut script = Script::idle().await;
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    let add = script.expect("thread/queue/add").await;
    script.refuse(&add, "input_too_large").await;
    let fact = script.fact().await;
    assert!(
        matches!(&fact, CodexFact::NotTaken { why, .. } if why.contains("input_too_large")),
        "{fact:?}"
    );
}

#[tokio::test]
async fn a_steer_names_the_turn_and_the_message() {
    let mut script = Script::busy().await;
    script.ask(Ask::Deliver("m1", OnBusy::Steer)).await;
    let steer = script.expect("turn/steer").await;
    assert_eq!(steer["params"]["expectedTurnId"], "U");
    assert_eq!(steer["params"]["clientUserMessageId"], "m1");
    script.answer(&steer, json!({"turnId": "U"})).await;
    assert_eq!(script.fact().await, queued("m1"));
    script.user_message("U", "m0").await;
    script.user_message("U", "m1").await;
    assert_eq!(script.fact().await, message("U", "m0", false));
    assert_eq!(script.fact().await, message("U", "m1", true));
}

#[tokio::test]
async fn a_steer_that_comes_too_late_is_queued() {
    for refusal in [
        "no active turn to steer",
        "expected active turn id `U` but found `V`",
    ] {
        let mut script = Script::busy().await;
        script.ask(Ask::Deliver("m1", OnBusy::Steer)).await;
        let steer = script.expect("turn/steer").await;
        script.refuse(&steer, refusal).await;
        let add = script.expect("thread/queue/add").await;
        assert_eq!(add["params"]["clientUserMessageId"], "m1");
        script.answer(&add, json!({})).await;
        assert_eq!(script.fact().await, queued("m1"));
    }
}

#[tokio::test]
async fn a_steer_at_an_idle_thread_is_queued_at_once() {
    let mut script = Script::idle().await;
    script.ask(Ask::Deliver("m1", OnBusy::Steer)).await;
    script.expect("thread/queue/add").await;
}

#[tokio::test]
async fn a_busy_thread_takes_no_message_that_must_not_wait() {
    let mut script = Script::busy().await;
    script.ask(Ask::Deliver("m1", OnBusy::Reject)).await;
    assert!(matches!(script.fact().await, CodexFact::NotTaken { .. }));
}

#[tokio::test]
async fn a_steer_that_its_turn_never_read_is_not_taken() {
    let mut script = Script::busy().await;
    script.ask(Ask::Deliver("m1", OnBusy::Steer)).await;
    let steer = script.expect("turn/steer").await;
    script.answer(&steer, json!({"turnId": "U"})).await;
    assert_eq!(script.fact().await, queued("m1"));
    script
        .notify(
            "thread/status/changed",
            json!({"threadId": "T", "status": {"type": "idle"}}),
        )
        .await;
    script
        .notify(
            "turn/completed",
            json!({"threadId": "T", "turn": {"id": "U", "status": "interrupted"}}),
        )
        .await;
    assert!(matches!(
        script.fact().await,
        CodexFact::ThreadStatus { .. }
    ));
    assert!(matches!(
        script.fact().await,
        CodexFact::TurnCompleted { .. }
    ));
    let history = json!([{"id": "U", "status": "interrupted", "items": []}]);
    script.look(json!([]), history.clone()).await;
    script.look(json!([]), history).await;
    assert!(matches!(script.fact().await, CodexFact::NotTaken { .. }));
}

#[tokio::test]
async fn without_a_queue_a_turn_is_started_once_the_thread_is_idle() {
    let mut script = Script::busy().await;
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    let add = script.expect("thread/queue/add").await;
    script
        .refuse(&add, "thread/queue/add requires experimentalApi capability")
        .await;
    script.quiet().await;
    script
        .notify(
            "thread/status/changed",
            json!({"threadId": "T", "status": {"type": "idle"}}),
        )
        .await;
    assert!(matches!(
        script.fact().await,
        CodexFact::ThreadStatus { .. }
    ));
    script
        .notify(
            "turn/completed",
            json!({"threadId": "T", "turn": {"id": "U", "status": "completed"}}),
        )
        .await;
    assert!(matches!(
        script.fact().await,
        CodexFact::TurnCompleted { .. }
    ));
    let start = script.expect("turn/start").await;
    assert_eq!(start["params"]["clientUserMessageId"], "m1");
    script.answer(&start, json!({"turn": {}})).await;
    assert_eq!(script.fact().await, queued("m1"));
}

#[tokio::test]
async fn an_unloaded_thread_is_loaded_and_the_message_sent_then() {
    let mut script = Script::idle().await;
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    let add = script.expect("thread/queue/add").await;
    script.refuse(&add, "thread not found: T").await;
    let resume = script.expect("thread/resume").await;
    script
        .answer(
            &resume,
            json!({"thread": super::app_server::thread("T", "idle")}),
        )
        .await;
    assert!(matches!(
        script.fact().await,
        CodexFact::ThreadAdopted { .. }
    ));
    let add = script.expect("thread/queue/add").await;
    script.answer(&add, json!({})).await;
    assert_eq!(script.fact().await, queued("m1"));
}
