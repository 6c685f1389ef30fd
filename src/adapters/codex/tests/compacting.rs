//! A compaction that the operator requests: only where it interrupts nothing.

use pretty_assertions::assert_eq;
use serde_json::json;
use tokio::sync::oneshot;

use super::app_server::{Ask, Script};
use crate::adapters::codex::fact::CodexFact;
use crate::core::delivery::OnBusy;

async fn compact(script: &mut Script) -> oneshot::Receiver<Result<(), String>> {
    let (reply, begun) = oneshot::channel();
    script.ask(Ask::Compact(reply)).await;
    begun
}

#[tokio::test]
async fn an_idle_thread_is_compacted_and_its_beginning_is_told() {
    let mut script = Script::idle().await;
    let begun = compact(&mut script).await;
    let start = script.expect("thread/compact/start").await;
    assert_eq!(start["params"], json!({"threadId": "T"}));
    script.answer(&start, json!({})).await;
    assert_eq!(begun.await.unwrap(), Ok(()));
    for thread in ["H", "T"] {
        let item = json!({"type": "contextCompaction", "id": "c"});
        let started = json!({"threadId": thread, "turnId": "U", "item": item});
        script.notify("item/started", started).await;
    }
    assert_eq!(script.fact().await, CodexFact::Heartbeat);
    assert_eq!(script.fact().await, CodexFact::CompactionBegan);
    script.quiet().await;
}

#[tokio::test]
async fn nothing_that_runs_or_is_on_its_way_is_cut_off() {
    let mut script = Script::busy().await;
    let refused = compact(&mut script).await.await.unwrap().unwrap_err();
    assert!(refused.contains("a turn runs"), "{refused}");
    assert_eq!(script.fact().await, CodexFact::NotCompacted);
    script.quiet().await;

    let mut script = Script::idle().await;
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    script.serve("thread/queue/add", json!({})).await;
    next_fact!(script, Queued);
    let refused = compact(&mut script).await.await.unwrap().unwrap_err();
    assert!(refused.contains("on its way"), "{refused}");
    assert_eq!(script.fact().await, CodexFact::NotCompacted);
}

#[tokio::test]
async fn what_the_app_server_refuses_is_said() {
    let mut script = Script::idle().await;
    let begun = compact(&mut script).await;
    let start = script.expect("thread/compact/start").await;
    script.refuse(&start, "thread not found: T").await;
    let refused = begun.await.unwrap().unwrap_err();
    assert!(refused.contains("thread not found"), "{refused}");
    assert_eq!(script.fact().await, CodexFact::NotCompacted);
}
