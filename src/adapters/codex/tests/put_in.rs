//! A packet that the app-server refuses, or whose thread is gone: reported, with the reason.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::app_server::{Ask, Script, thread};
use crate::adapters::codex::fact::CodexFact;
use crate::core::id::EntryId;

fn not_given(why: &str) -> CodexFact {
    CodexFact::PacketNotGiven {
        packet_id: EntryId::new("p"),
        why: why.to_owned(),
    }
}

/// What is told of the packet, after whatever is told of the thread.
async fn of_packet(script: &mut Script) -> CodexFact {
    loop {
        let fact = script.fact().await;
        match fact {
            CodexFact::ThreadAdopted { .. } | CodexFact::ThreadStatus { .. } => {}
            fact => return fact,
        }
    }
}

/// The thread of before is closed, and cannot be taken up again: `N` is made.
async fn replaced(script: &mut Script) {
    let resume = script.expect("thread/resume").await;
    assert_eq!(resume["params"]["threadId"], "T");
    script
        .refuse(&resume, "no rollout found for thread id T")
        .await;
    let made = json!({"thread": thread("N", "idle")});
    script.serve("thread/start", made).await;
    script.serve("thread/name/set", json!({})).await;
}

async fn closed(script: &mut Script) {
    let closed = json!({"threadId": "T"});
    script.notify("thread/closed", closed).await;
}

/// The next frame puts this text into a thread: into which one.
async fn put_in(script: &mut Script, text: &str) -> (Value, String) {
    let frame = script.expect("thread/inject_items").await;
    assert!(frame.to_string().contains(text), "{frame}");
    let thread = frame["params"]["threadId"].as_str().unwrap().to_owned();
    (frame, thread)
}

#[tokio::test]
async fn what_the_app_server_refuses_is_not_given() {
    let mut script = Script::idle().await;
    script.ask(Ask::Inject("p", "go on")).await;
    let (frame, _) = put_in(&mut script, "go on").await;
    script.refuse(&frame, "thread not found: T").await;
    assert_eq!(script.fact().await, not_given("thread not found: T"));
    // It is not tried again by itself, also not when the thread is taken up again.
    closed(&mut script).await;
    let again = json!({"thread": thread("T", "idle")});
    script.serve("thread/resume", again).await;
    next_fact!(script, ThreadAdopted);
    script.ask(Ask::Inject("q", "another")).await;
    put_in(&mut script, "another").await;
}

#[tokio::test]
async fn a_packet_whose_thread_was_closed_before_it_was_seen_there_is_not_given() {
    let mut script = Script::idle().await;
    script.ask(Ask::Inject("p", "go on")).await;
    let (frame, _) = put_in(&mut script, "go on").await;
    closed(&mut script).await;
    script.answer(&frame, json!({})).await;
    replaced(&mut script).await;
    let why = "Codex left its thread before the packet was seen to be there";
    assert_eq!(of_packet(&mut script).await, not_given(why));
    // Nothing of it goes into a thread that it was not made for.
    script.ask(Ask::Inject("q", "another")).await;
    let (_, thread) = put_in(&mut script, "another").await;
    assert_eq!(thread, "N");
}

#[tokio::test]
async fn a_packet_that_is_asked_for_behind_a_closed_thread_goes_into_the_next_one() {
    let mut script = Script::idle().await;
    closed(&mut script).await;
    replaced(&mut script).await;
    script.ask(Ask::Inject("p", "go on")).await;
    let (frame, thread) = put_in(&mut script, "go on").await;
    assert_eq!(thread, "N");
    script.refuse(&frame, "thread not loaded").await;
    assert_eq!(of_packet(&mut script).await, not_given("thread not loaded"));
}
