//! Delivering messages, and the races in it.

use std::fs::{self, File};
use std::sync::Arc;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::app_server::{Ask, Script, message};
use crate::adapters::codex::fact::CodexFact;
use crate::adapters::test_log::TestLog;
use crate::core::delivery::OnBusy;
use crate::wire::codex::call::INPUT_CHARS_MAX;

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
    next_fact!(script, TurnStarted);
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
    next_fact!(script, TurnStarted);
    assert_eq!(script.fact().await, message("U", "m1", false));
    script.quiet().await;
}

#[tokio::test]
async fn a_refusal_is_certain() {
    let mut script = Script::idle().await;
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    let add = script.expect("thread/queue/add").await;
    script.refuse(&add, "the queue is full").await;
    let fact = script.fact().await;
    assert!(
        matches!(&fact, CodexFact::NotTaken { why, .. } if why.contains("the queue is full")),
        "{fact:?}"
    );
}

#[tokio::test]
async fn a_message_goes_into_the_conversation_that_it_is_meant_for_and_no_other() {
    let mut script = Script::idle().await;
    script.ask(Ask::DeliverInto("m1", "N")).await;
    next_fact!(script, NotTaken);
    script.ask(Ask::DeliverInto("m1", "T")).await;
    script.serve("thread/queue/add", json!({})).await;
    assert_eq!(script.fact().await, queued("m1"));
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
    next_fact!(script, NotTaken);
}

#[tokio::test]
async fn a_steer_that_its_turn_never_read_is_not_taken() {
    let mut script = Script::busy().await;
    script.ask(Ask::Deliver("m1", OnBusy::Steer)).await;
    script.serve("turn/steer", json!({"turnId": "U"})).await;
    assert_eq!(script.fact().await, queued("m1"));
    script.turn_ends("interrupted").await;
    let history = json!([{"id": "U", "status": "interrupted", "items": []}]);
    script.look(json!([]), history.clone()).await;
    script.look(json!([]), history).await;
    next_fact!(script, NotTaken);
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
    script.status(json!({"type": "idle"})).await;
    next_fact!(script, ThreadStatus);
    script
        .notify(
            "turn/completed",
            json!({"threadId": "T", "turn": {"id": "U", "status": "completed"}}),
        )
        .await;
    next_fact!(script, TurnCompleted);
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
    script
        .serve(
            "thread/resume",
            json!({"thread": super::app_server::thread("T", "idle")}),
        )
        .await;
    next_fact!(script, ThreadAdopted);
    script.serve("thread/queue/add", json!({})).await;
    assert_eq!(script.fact().await, queued("m1"));
}

fn row(id: &str, client: &str) -> Value {
    json!({"id": id, "clientUserMessageId": client, "input": []})
}

/// A thread whose turn `U` was stopped while `m1` waited in the queue behind it.
async fn stopped_with_a_message() -> Script {
    let mut script = Script::busy().await;
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    script.serve("thread/queue/add", json!({})).await;
    assert_eq!(script.fact().await, queued("m1"));
    script.turn_ends("interrupted").await;
    script
}

#[tokio::test]
async fn a_held_queue_goes_on_with_the_first_message_of_ours() {
    let mut script = stopped_with_a_message().await;
    script.ask(Ask::Release).await;
    let list = script.expect("thread/queue/list").await;
    let rows = json!([row("Q0", "human"), row("Q1", "m1")]);
    script.answer(&list, json!({"data": rows})).await;
    let start = script.expect("thread/queue/start").await;
    assert_eq!(
        start["params"],
        json!({"threadId": "T", "queuedSubmissionId": "Q1"})
    );
    script.answer(&start, json!({"turn": {}})).await;
    script.user_message("V", "m1").await;
    next_fact!(script, TurnStarted);
    assert_eq!(script.fact().await, message("V", "m1", false));
    script.quiet().await;
}

#[tokio::test]
async fn a_held_queue_that_will_not_go_on_and_one_with_nothing_of_ours_are_left_alone() {
    let mut script = stopped_with_a_message().await;
    script.ask(Ask::Release).await;
    let list = script.expect("thread/queue/list").await;
    let rows = json!([row("Q0", "human")]);
    script.answer(&list, json!({"data": rows})).await;
    script.ask(Ask::Release).await;
    let list = script.expect("thread/queue/list").await;
    let rows = json!([row("Q1", "m1")]);
    script.answer(&list, json!({"data": rows})).await;
    let start = script.expect("thread/queue/start").await;
    script
        .refuse(&start, "thread already has an active or pending turn")
        .await;
    script.quiet().await;
}

#[tokio::test]
async fn a_message_that_left_the_queue_for_a_turn_that_ended_without_it_is_not_taken() {
    let mut script = stopped_with_a_message().await;
    for (method, status) in [
        ("turn/started", "inProgress"),
        ("turn/completed", "interrupted"),
    ] {
        let turn = json!({"id": "V", "status": status});
        let params = json!({"threadId": "T", "turn": turn});
        script.notify(method, params).await;
    }
    next_fact!(script, TurnStarted);
    next_fact!(script, TurnCompleted);
    let history = json!([{"id": "V", "status": "interrupted", "items": []}]);
    script.look(json!([]), history.clone()).await;
    script.look(json!([]), history).await;
    next_fact!(script, NotTaken);
}

#[tokio::test]
async fn a_message_that_is_added_to_a_released_queue_goes_on_too() {
    let mut script = Script::idle().await;
    script.ask(Ask::Release).await;
    for (id, is_first) in [("m1", true), ("m2", false), ("m3", false)] {
        script.ask(Ask::Deliver(id, OnBusy::Queue)).await;
        let add = script.expect("thread/queue/add").await;
        assert_eq!(add["params"]["clientUserMessageId"], id);
        script.answer(&add, json!({})).await;
        assert_eq!(script.fact().await, queued(id));
        // Once it goes on, it goes on.
        if is_first {
            script
                .serve("thread/queue/list", json!({"data": [row("Q1", "m1")]}))
                .await;
            script
                .serve("thread/queue/start", json!({"turn": {}}))
                .await;
        }
        script.user_message("U", id).await;
        if is_first {
            next_fact!(script, TurnStarted);
        }
        assert_eq!(script.fact().await, message("U", id, !is_first));
    }
}

#[tokio::test]
async fn a_queue_behind_a_turn_that_runs_needs_no_release() {
    let mut script = Script::busy().await;
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    script.serve("thread/queue/add", json!({})).await;
    assert_eq!(script.fact().await, queued("m1"));
    script.ask(Ask::Release).await;
    script.ask(Ask::Deliver("m2", OnBusy::Steer)).await;
    script.expect("turn/steer").await;
}

#[tokio::test]
async fn a_message_that_is_sent_again_while_it_is_held_is_looked_for_first() {
    let mut script = stopped_with_a_message().await;
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    script.look(json!([row("Q1", "m1")]), json!([])).await;
    assert_eq!(
        script.fact().await,
        CodexFact::StillQueued {
            message_id: "m1".into()
        }
    );
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    // Somebody took it out of the queue.
    script.look(json!([]), json!([])).await;
    script.look(json!([]), json!([])).await;
    next_fact!(script, NotTaken);
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    script.expect("thread/queue/add").await;
}

#[tokio::test]
async fn what_is_looked_for_is_followed_by_its_id_and_its_attempt() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let _logged = TestLog::to(Arc::new(File::create(&path).unwrap()));
    let mut script = stopped_with_a_message().await;
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    script.look(json!([row("Q1", "m1")]), json!([])).await;
    next_fact!(script, StillQueued);
    let log = fs::read_to_string(&path).unwrap();
    let mut looked = log
        .lines()
        .filter(|line| line.contains("looked for at codex"))
        .peekable();
    assert!(looked.peek().is_some(), "{log}");
    let span = "message{id=m1 attempt=attempt-at-m1}";
    assert!(looked.all(|line| line.contains(span)), "{log}");
}

#[tokio::test]
async fn a_message_for_a_thread_that_is_gone_for_good_was_not_taken() {
    let mut script = Script::idle().await;
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    let add = script.expect("thread/queue/add").await;
    script.refuse(&add, "thread not found: T").await;
    let resume = script.expect("thread/resume").await;
    script
        .refuse(&resume, "no rollout found for thread id T")
        .await;
    script
        .serve(
            "thread/start",
            json!({"thread": super::app_server::thread("N", "idle")}),
        )
        .await;
    script.serve("thread/name/set", json!({})).await;
    assert_eq!(
        script.fact().await,
        CodexFact::ThreadAdopted {
            thread_id: "N".into()
        }
    );
    next_fact!(script, NotTaken);
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    let add = script.expect("thread/queue/add").await;
    assert_eq!(add["params"]["threadId"], "N");
    script.answer(&add, json!({})).await;
    assert_eq!(script.fact().await, queued("m1"));
}

#[tokio::test]
async fn a_message_whose_thread_was_unloaded_was_not_taken_when_the_connection_ends_then() {
    let mut script = Script::idle().await;
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    let add = script.expect("thread/queue/add").await;
    script.refuse(&add, "thread not found: T").await;
    script.expect("thread/resume").await;
    let (_, told) = script.cut().await;
    assert!(
        matches!(&told[..], [CodexFact::NotTaken { .. }]),
        "{told:?}"
    );
}

#[tokio::test]
async fn a_message_that_codex_refuses_for_its_size_is_told_as_too_large() {
    let mut script = Script::idle().await;
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    let add = script.expect("thread/queue/add").await;
    let why = "Input exceeds the maximum length of 1048576 characters.";
    let data = json!({"input_error_code": "input_too_large", "max_chars": 1_048_576});
    let error = json!({"code": -32602, "message": why, "data": data});
    script.send(json!({"id": add["id"], "error": error})).await;
    assert_eq!(
        script.fact().await,
        CodexFact::TooLarge {
            message_id: "m1".into(),
            why: why.to_owned(),
        }
    );
    script.ask(Ask::Deliver("m2", OnBusy::Queue)).await;
    script.serve("thread/queue/add", json!({})).await;
    assert_eq!(script.fact().await, queued("m2"));
}

#[tokio::test]
async fn the_longest_input_is_sent_however_it_is_escaped_and_a_longer_one_is_not() {
    let mut script = Script::idle().await;
    let longer = "x".repeat(INPUT_CHARS_MAX + 1);
    script.ask(Ask::DeliverText("m1", longer)).await;
    let fact = script.fact().await;
    assert!(
        matches!(&fact, CodexFact::TooLarge { message_id, .. } if message_id.as_str() == "m1"),
        "{fact:?}"
    );
    // Six bytes for each.
    let longest = "\u{1}".repeat(INPUT_CHARS_MAX);
    script.ask(Ask::DeliverText("m2", longest.clone())).await;
    let add = script.expect("thread/queue/add").await;
    assert_eq!(add["params"]["clientUserMessageId"], "m2");
    assert!(add["params"]["input"][0]["text"] == longest.as_str());
    script.answer(&add, json!({})).await;
    assert_eq!(script.fact().await, queued("m2"));
}
