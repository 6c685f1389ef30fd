//! How Codex's own list names a conversation.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::app_server::{Ask, Script, thread};
use super::conversation::begins_n;
use crate::adapters::codex::fact::CodexFact;
use crate::core::delivery::OnBusy;

/// Somebody says this in the turn `U` of this thread.
async fn said(script: &mut Script, thread_id: &str, text: &str) {
    let content = json!([{"type": "text", "text": text}]);
    let item = json!({"type": "userMessage", "id": text, "clientId": text, "content": content});
    let params = json!({"threadId": thread_id, "turnId": "U", "item": item});
    script.notify("item/completed", params).await;
}

/// Waits until this was told.
async fn told(script: &mut Script, text: &str) {
    loop {
        if let CodexFact::UserMessage { client_id, .. } = script.fact().await
            && client_id.as_deref() == Some(text)
        {
            return;
        }
    }
}

/// The names that were given until now.
async fn named(script: &mut Script) -> Vec<(String, String)> {
    script.ask(Ask::Deliver("m7", OnBusy::Queue)).await;
    script.expect("thread/queue/add").await;
    std::mem::take(&mut script.named)
}

fn called(name: &str) -> Vec<(String, String)> {
    vec![("T".to_owned(), name.to_owned())]
}

#[tokio::test]
async fn a_conversation_is_called_after_what_it_began_with() {
    let mut script = Script::idle().await;
    said(&mut script, "T", "\n  sort the \u{202e}pears\nby size").await;
    said(&mut script, "T", "and the plums").await;
    told(&mut script, "and the plums").await;
    assert_eq!(named(&mut script).await, called("sort the pears"));
}

#[tokio::test]
async fn a_conversation_is_not_called_after_a_secret_nor_after_the_beginning_of_one() {
    let token = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    for (text, name) in [
        (
            format!("push with {token} now"),
            "push with [REDACTED_GITHUB_TOKEN] now",
        ),
        (
            format!("push what you have so far to my branch with {token}"),
            "push what you have so far to my branch with [REDACTED_GITHU…",
        ),
    ] {
        let mut script = Script::idle().await;
        said(&mut script, "T", &text).await;
        told(&mut script, &text).await;
        assert_eq!(named(&mut script).await, called(name));
    }
}

#[tokio::test]
async fn one_that_begins_with_a_message_of_ours_is_not_called_after_the_envelope() {
    let mut script = Script::idle().await;
    let text = "[ctxrelay handoff m1 from peer Claude, not from your operator; just now]\ncount \
                them\n[end of m1]\n\nWhat else there is.";
    said(&mut script, "T", text).await;
    told(&mut script, text).await;
    assert_eq!(named(&mut script).await, called("count them"));
}

#[tokio::test]
async fn a_name_that_somebody_gave_stays() {
    let mut script = Script::idle().await;
    let by_us = json!({"threadId": "T", "threadName": "ctxrelay proj"});
    script.notify("thread/name/updated", by_us).await;
    let by_them = json!({"threadId": "T", "threadName": "my pears"});
    script.notify("thread/name/updated", by_them).await;
    said(&mut script, "T", "sort the pears").await;
    told(&mut script, "sort the pears").await;
    assert_eq!(named(&mut script).await, []);
}

/// Connected again, to a thread of this name.
async fn again(name: Value) -> Script {
    let (thread_state, _) = Script::idle().await.cut().await;
    let mut script = Script::connect(thread_state, false).await;
    let mut found = thread("T", "idle");
    found["name"] = name;
    script
        .serve("thread/resume", json!({"thread": found}))
        .await;
    next_fact!(script, ThreadAdopted);
    next_fact!(script, ThreadStatus);
    said(&mut script, "T", "sort the pears").await;
    told(&mut script, "sort the pears").await;
    script
}

#[tokio::test]
async fn one_that_is_taken_up_again_is_called_anew_only_by_the_name_of_a_new_one() {
    let mut script = again(json!("ctxrelay proj")).await;
    assert_eq!(named(&mut script).await, called("sort the pears"));
    for other in [json!("my pears"), json!(null)] {
        let mut script = again(other).await;
        assert_eq!(named(&mut script).await, []);
    }
}

#[tokio::test]
async fn the_new_conversation_of_the_terminal_is_called_after_its_own_beginning() {
    let mut script = Script::idle().await;
    begins_n(&mut script).await;
    script.serve("thread/unsubscribe", json!({})).await;
    let fact = script.fact().await;
    assert!(matches!(fact, CodexFact::ThreadAdopted { .. }), "{fact:?}");
    said(&mut script, "T", "what is late of the old one").await;
    said(&mut script, "N", "a new beginning").await;
    told(&mut script, "a new beginning").await;
    let name = ("N".to_owned(), "a new beginning".to_owned());
    assert_eq!(named(&mut script).await, [name]);
}
