//! A message that is sent again keeps its id, and the history contains both attempts.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::app_server::{Ask, Script, handed_over, message, thread, user};
use super::recovering::again;
use crate::adapters::codex::fact::CodexFact;
use crate::adapters::codex::thread_state::ThreadState;

fn interrupted(turn: &str, ids: &[&str]) -> Value {
    let items: Vec<Value> = ids.iter().map(|id| user(id)).collect();
    json!({"id": turn, "status": "interrupted", "items": items})
}

/// A session that sent `m1` again, which the turn `T1` had before, cut off then. Another process
/// goes on with it.
async fn cut_with_m1_sent_again() -> ThreadState {
    let mut script = Script::idle().await;
    script.ask(Ask::DeliverAgain("m1", &["T1"])).await;
    script.serve("thread/queue/add", json!({})).await;
    next_fact!(script, Queued);
    let (thread_state, _) = script.cut().await;
    let carried = serde_json::to_string(&thread_state).unwrap();
    serde_json::from_str(&carried).unwrap()
}

async fn was_not_taken(script: &mut Script, id: &str) {
    let fact = script.fact().await;
    assert!(
        matches!(&fact, CodexFact::NotTaken { message_id, .. } if message_id.as_str() == id),
        "{fact:?}"
    );
}

#[tokio::test]
async fn the_turn_that_had_it_before_is_no_proof_of_it() {
    let mut script = again(cut_with_m1_sent_again().await, json!([]), "idle").await;
    let history = json!([interrupted("T1", &["m1"])]);
    script.look(json!([]), history.clone()).await;
    script.look(json!([]), history).await;
    was_not_taken(&mut script, "m1").await;
    script.quiet().await;
}

#[tokio::test]
async fn a_later_turn_that_has_it_is() {
    let mut script = again(cut_with_m1_sent_again().await, json!([]), "idle").await;
    let history = json!([interrupted("T2", &["m1"]), interrupted("T1", &["m1"])]);
    script.look(json!([]), history).await;
    next_fact!(script, TurnStarted);
    assert_eq!(script.fact().await, message("T2", "m1", false));
    next_fact!(script, TurnCompleted);
    script.quiet().await;
}

#[tokio::test]
async fn one_of_an_earlier_daemon_is_looked_for_behind_the_turns_that_had_it() {
    let mut script = Script::idle().await;
    let messages = vec![handed_over("m1", &["T1"]), handed_over("m2", &[])];
    script.ask(Ask::Recover(messages)).await;
    script.serve("thread/queue/list", json!({"data": []})).await;
    // The turn is told whole, for the other one that is in it.
    let history = json!([interrupted("T1", &["m1", "m2"])]);
    script.look(json!([]), history.clone()).await;
    next_fact!(script, TurnStarted);
    assert_eq!(script.fact().await, message("T1", "m1", false));
    assert_eq!(script.fact().await, message("T1", "m2", true));
    next_fact!(script, TurnCompleted);
    script.look(json!([]), history).await;
    was_not_taken(&mut script, "m1").await;
    script.quiet().await;
}

#[tokio::test]
async fn what_only_the_rollout_shows_of_that_turn_is_no_proof_either() {
    let rollout = tempfile::NamedTempFile::new().unwrap();
    let line = json!({"type": "response_item", "payload": {
        "type": "message", "role": "user", "content": [{"type": "input_text", "text": "text of m1"}],
        "internal_chat_message_metadata_passthrough": {"turn_id": "T1", "content_item_kinds": ["user.text"]},
    }});
    std::fs::write(rollout.path(), format!("{line}\n")).unwrap();
    let mut script = Script::connect(cut_with_m1_sent_again().await, true).await;
    script.serve("thread/queue/list", json!({"data": []})).await;
    let resume = script.expect("thread/resume").await;
    let mut resumed = thread("T", "idle");
    resumed["path"] = json!(rollout.path());
    script.answer(&resume, json!({"thread": resumed})).await;
    next_fact!(script, ThreadAdopted);
    next_fact!(script, ThreadStatus);
    let empty = json!([interrupted("T1", &[])]);
    script.look(json!([]), empty.clone()).await;
    script.look(json!([]), empty).await;
    was_not_taken(&mut script, "m1").await;
    script.quiet().await;
}
