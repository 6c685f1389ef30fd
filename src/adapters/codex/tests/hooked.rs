//! A packet that our hook gives: proven by the hook's output, and injected if the hook printed
//! nothing.

use serde_json::{Value, json};

use super::app_server::{Ask, Script};
use crate::adapters::codex::fact::CodexFact;
use crate::core::id::EntryId;

fn ran(source: &str, text: Option<&str>) -> Value {
    let entries: Vec<_> = text
        .iter()
        .map(|text| json!({"kind": "context", "text": text}))
        .collect();
    let run = json!({"eventName": "sessionStart", "source": source, "entries": entries});
    json!({"threadId": "T", "turnId": "U", "run": run})
}

/// The model answers, and what it took is told.
pub(super) async fn answered(script: &mut Script) {
    let item = json!({"type": "agentMessage", "id": "a", "text": "on", "phase": "final_answer"});
    let completed = json!({"threadId": "T", "turnId": "U", "item": item});
    script.notify("item/completed", completed).await;
    let usage = json!({"last": {"totalTokens": 10}, "modelContextWindow": 100});
    let used = json!({"threadId": "T", "turnId": "U", "tokenUsage": usage});
    script.notify("thread/tokenUsage/updated", used).await;
}

pub(super) async fn given(script: &mut Script) -> CodexFact {
    loop {
        let fact = script.fact().await;
        if matches!(fact, CodexFact::PacketGiven { .. }) {
            return fact;
        }
    }
}

/// The packet `p` was given.
pub(super) fn of(is_put_in: bool) -> CodexFact {
    CodexFact::PacketGiven {
        packet_id: EntryId::new("p"),
        is_put_in,
        is_earlier: false,
    }
}

#[tokio::test]
async fn what_the_hook_printed_and_the_model_answered_is_given() {
    let mut script = Script::idle().await;
    script.ask(Ask::HookGives("p", "go on")).await;
    script.notify("hook/completed", ran("user", None)).await;
    let ours = ran("sessionFlags", Some("go on"));
    script.notify("hook/completed", ours).await;
    answered(&mut script).await;
    assert_eq!(given(&mut script).await, of(false));
}

#[tokio::test]
async fn what_the_hook_did_not_print_is_put_in() {
    let mut script = Script::idle().await;
    script.ask(Ask::HookGives("p", "go on")).await;
    let item = json!({"type": "contextCompaction", "id": "c"});
    let completed = json!({"threadId": "T", "turnId": "U", "item": item});
    script.notify("item/completed", completed).await;
    script
        .notify("hook/completed", ran("sessionFlags", None))
        .await;
    let put_in = script.expect("thread/inject_items").await;
    assert!(put_in.to_string().contains("go on"), "{put_in}");
}
