//! A packet whose app-server dies between the compaction and the thread: the next app-server gets
//! it once, or it is reported as not given.

use std::path::Path;

use pretty_assertions::assert_eq;
use serde_json::json;

use super::app_server::{Ask, Script, thread};
use super::hooked;
use crate::adapters::codex::fact::CodexFact;
use crate::adapters::codex::thread_state::ThreadState;
use crate::core::delivery::OnBusy;

/// A session that puts the packet `p` into the thread after a compaction, cut off before the
/// app-server answers.
async fn cut_with_a_packet() -> ThreadState {
    let mut script = Script::idle().await;
    script.ask(Ask::Inject("p", "go on")).await;
    let put_in = script.expect("thread/inject_items").await;
    assert_eq!(put_in["params"]["threadId"], "T");
    let (thread_state, told) = script.cut().await;
    assert_eq!(told, []);
    thread_state
}

/// A new app-server, with the thread in this file.
async fn again_from(thread_state: ThreadState, rollout: &Path) -> Script {
    let mut script = Script::connect(thread_state, true).await;
    let resume = script.expect("thread/resume").await;
    let mut resumed = thread("T", "idle");
    resumed["path"] = json!(rollout);
    script.answer(&resume, json!({"thread": resumed})).await;
    next_fact!(script, ThreadAdopted);
    next_fact!(script, ThreadStatus);
    script
}

/// The app-server has written the packet down.
fn write_packet(rollout: &Path) {
    let content = json!([{"type": "input_text", "text": "go on"}]);
    let payload = json!({"type": "message", "role": "developer", "content": content});
    let line = json!({"type": "response_item", "payload": payload});
    std::fs::write(rollout, format!("{line}\n")).unwrap();
}

/// The model has answered behind it.
fn write_answer(rollout: &Path) {
    let mut text = std::fs::read_to_string(rollout).unwrap();
    let said = json!({"type": "message", "role": "assistant", "content": []});
    let tokens = json!({"type": "token_count", "info": {}});
    for line in [
        json!({"type": "response_item", "payload": said}),
        json!({"type": "event_msg", "payload": tokens}),
    ] {
        text.push_str(&format!("{line}\n"));
    }
    std::fs::write(rollout, text).unwrap();
}

/// Nothing is asked of the app-server before this message.
async fn asks_nothing_more(mut script: Script) {
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    script.expect("thread/queue/add").await;
}

#[tokio::test]
async fn a_packet_that_died_with_the_app_server_is_put_into_the_thread_of_the_next_one_once() {
    let rollout = tempfile::NamedTempFile::new().unwrap();
    let mut script = again_from(cut_with_a_packet().await, rollout.path()).await;
    let put_in = script.expect("thread/inject_items").await;
    assert_eq!(put_in["params"]["threadId"], "T");
    assert_eq!(put_in.to_string().matches("go on").count(), 1, "{put_in}");
    write_packet(rollout.path());
    script.answer(&put_in, json!({})).await;
    hooked::answered(&mut script).await;
    assert_eq!(hooked::given(&mut script).await, hooked::of(true));
    asks_nothing_more(script).await;
}

#[tokio::test]
async fn a_packet_that_the_app_server_wrote_down_before_it_died_is_not_put_in_again() {
    let rollout = tempfile::NamedTempFile::new().unwrap();
    let thread_state = cut_with_a_packet().await;
    write_packet(rollout.path());
    let mut script = again_from(thread_state, rollout.path()).await;
    // The next frame is not a second one of it.
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    script.serve("thread/queue/add", json!({})).await;
    next_fact!(script, Queued);
    hooked::answered(&mut script).await;
    assert_eq!(hooked::given(&mut script).await, hooked::of(true));
}

#[tokio::test]
async fn a_packet_that_the_next_app_server_refuses_was_not_given_and_that_is_told() {
    let rollout = tempfile::NamedTempFile::new().unwrap();
    let mut script = again_from(cut_with_a_packet().await, rollout.path()).await;
    let put_in = script.expect("thread/inject_items").await;
    script.refuse(&put_in, "thread not found: T").await;
    assert_eq!(
        script.fact().await,
        CodexFact::PacketNotGiven {
            packet_id: "p".into(),
            why: "thread not found: T".to_owned(),
        }
    );
    asks_nothing_more(script).await;
}

#[tokio::test]
async fn a_packet_for_a_thread_that_is_gone_with_its_app_server_was_not_given() {
    let mut script = Script::connect(cut_with_a_packet().await, true).await;
    let resume = script.expect("thread/resume").await;
    script
        .refuse(&resume, "no rollout found for thread id T")
        .await;
    script
        .serve("thread/start", json!({"thread": thread("N", "idle")}))
        .await;
    script.serve("thread/name/set", json!({})).await;
    next_fact!(script, ThreadAdopted);
    next_fact!(script, ThreadStatus);
    next_fact!(script, PacketNotGiven);
    asks_nothing_more(script).await;
}

#[tokio::test]
async fn a_packet_that_an_earlier_daemon_put_in_is_given_at_once_where_a_turn_had_it() {
    for is_answered in [true, false] {
        let rollout = tempfile::NamedTempFile::new().unwrap();
        write_packet(rollout.path());
        if is_answered {
            write_answer(rollout.path());
        }
        let thread_state = ThreadState::new(Some("T".into()));
        let mut script = again_from(thread_state, rollout.path()).await;
        script.ask(Ask::Find("p", "go on")).await;
        if !is_answered {
            hooked::answered(&mut script).await;
        }
        assert_eq!(
            hooked::given(&mut script).await,
            CodexFact::PacketGiven {
                packet_id: "p".into(),
                is_put_in: false,
                is_earlier: is_answered,
            }
        );
        asks_nothing_more(script).await;
    }
}
