//! Which thread is followed, what is reported of it, and what is never answered.

use pretty_assertions::assert_eq;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::app_server::{Ask, Script, message, thread};
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::core::delivery::OnBusy;
use crate::core::entry::TurnStatus;

#[tokio::test]
async fn helper_threads_are_ignored() {
    let mut script = Script::idle().await;
    let helpers = [
        json!({"id": "H1", "ephemeral": true, "threadSource": "thread_title", "path": null}),
        json!({"id": "H2", "ephemeral": false, "threadSource": "thread_title", "path": "/x"}),
        json!({"id": "H3", "ephemeral": false, "threadSource": "user", "parentThreadId": "T"}),
        json!({"id": "H4", "threadSource": null, "path": null}),
        json!({"threadSource": "user", "path": "/x"}),
    ];
    for helper in helpers {
        let id = helper["id"].clone();
        script
            .notify("thread/started", json!({"thread": helper}))
            .await;
        let turn = json!({"threadId": id, "turnId": "HU", "item": super::app_server::user("m9")});
        script.notify("item/completed", turn).await;
    }
    script.quiet().await;
}

#[tokio::test]
async fn the_terminal_is_followed_to_its_new_thread() {
    let mut script = Script::idle().await;
    script
        .notify("thread/started", json!({"thread": thread("N", "idle")}))
        .await;
    let name = script.expect("thread/name/set").await;
    assert_eq!(name["params"]["threadId"], "N");
    script.answer(&name, json!({})).await;
    let resume = script.expect("thread/resume").await;
    assert_eq!(
        resume["params"],
        json!({"threadId": "N", "excludeTurns": true})
    );
    script
        .answer(&resume, json!({"thread": thread("N", "idle")}))
        .await;
    let leave = script.expect("thread/unsubscribe").await;
    assert_eq!(leave["params"]["threadId"], "T");
    script.answer(&leave, json!({})).await;
    assert_eq!(
        script.fact().await,
        CodexFact::ThreadAdopted {
            thread_id: "N".into()
        }
    );
    assert_eq!(
        script.fact().await,
        CodexFact::ThreadStatus {
            status: ReportedStatus::Idle
        }
    );
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    assert_eq!(
        script.expect("thread/queue/add").await["params"]["threadId"],
        "N"
    );
}

#[tokio::test]
async fn a_new_thread_that_cannot_be_resumed_yet_is_followed_at_its_first_turn() {
    let mut script = Script::idle().await;
    script
        .notify("thread/started", json!({"thread": thread("N", "idle")}))
        .await;
    let name = script.expect("thread/name/set").await;
    script.refuse(&name, "thread not loaded").await;
    let resume = script.expect("thread/resume").await;
    script
        .refuse(&resume, "no rollout found for thread id N")
        .await;
    script.quiet().await;
    let active = json!({"type": "active", "activeFlags": []});
    script
        .notify(
            "thread/status/changed",
            json!({"threadId": "N", "status": active}),
        )
        .await;
    script.serve("thread/name/set", json!({})).await;
    script
        .serve("thread/resume", json!({"thread": thread("N", "active")}))
        .await;
    script.serve("thread/unsubscribe", json!({})).await;
    // What began before we were subscribed is read from the history.
    let list = script.expect("thread/turns/list").await;
    let turn =
        json!({"id": "U", "status": "inProgress", "items": [super::app_server::user("human")]});
    script.answer(&list, json!({"data": [turn]})).await;
    assert_eq!(
        script.fact().await,
        CodexFact::ThreadAdopted {
            thread_id: "N".into()
        }
    );
    next_fact!(script, ThreadStatus);
    next_fact!(script, TurnStarted);
    assert_eq!(script.fact().await, message("U", "human", false));
}

/// The terminal begins a new conversation, `N`, and is followed there.
pub(super) async fn begins_n(script: &mut Script) {
    script
        .notify("thread/started", json!({"thread": thread("N", "idle")}))
        .await;
    script.serve("thread/name/set", json!({})).await;
    script
        .serve("thread/resume", json!({"thread": thread("N", "idle")}))
        .await;
}

/// The human moves on while `m1` waits in the old thread, which has or has not begun with it.
pub(super) async fn moved_on(is_deleted: bool) -> Script {
    let mut script = leaves_with_m1_queued().await;
    let delete = script.expect("thread/queue/delete").await;
    assert_eq!(
        delete["params"],
        json!({"threadId": "T", "queuedSubmissionId": "Q1"})
    );
    let deleted = json!({"deleted": is_deleted});
    script.answer(&delete, deleted).await;
    script
}

/// The same, until Codex is asked to take it out of its queue.
async fn leaves_with_m1_queued() -> Script {
    let mut script = Script::busy().await;
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    script.serve("thread/queue/add", json!({})).await;
    next_fact!(script, Queued);
    begins_n(&mut script).await;
    let list = script.expect("thread/queue/list").await;
    assert_eq!(list["params"]["threadId"], "T");
    let row =
        |id: &str, client: &str| json!({"id": id, "clientUserMessageId": client, "input": []});
    script
        .answer(
            &list,
            json!({"data": [row("Q0", "human"), row("Q1", "m1")]}),
        )
        .await;
    script
}

#[tokio::test]
async fn what_has_just_begun_in_the_old_thread_is_not_sent_into_the_new_one_as_well() {
    let mut script = moved_on(false).await;
    let thread_id = "N".into();
    assert_eq!(
        script.fact().await,
        CodexFact::ThreadAdopted { thread_id },
        "and not that it was not taken"
    );
}

#[tokio::test]
async fn what_ends_and_begins_in_the_old_thread_while_it_is_left_is_told() {
    let mut script = leaves_with_m1_queued().await;
    let delete = script.expect("thread/queue/delete").await;
    script
        .notify(
            "turn/completed",
            json!({"threadId": "T", "turn": {"id": "U", "status": "completed"}}),
        )
        .await;
    script
        .notify(
            "turn/started",
            json!({"threadId": "T", "turn": {"id": "U2", "status": "inProgress"}}),
        )
        .await;
    script.user_message("U2", "m1").await;
    script.answer(&delete, json!({"deleted": false})).await;
    let fact = script.fact().await;
    assert!(
        matches!(&fact, CodexFact::TurnCompleted { turn_id, status: TurnStatus::Completed, .. } if turn_id.as_str() == "U"),
        "{fact:?}"
    );
    let fact = script.fact().await;
    assert!(
        matches!(&fact, CodexFact::UserMessage { client_id: Some(id), .. } if id == "m1"),
        "{fact:?}"
    );
    let thread_id = "N".into();
    assert_eq!(script.fact().await, CodexFact::ThreadAdopted { thread_id });
}

#[tokio::test]
async fn what_waits_in_the_old_thread_is_taken_back_when_the_human_moves_on() {
    let mut script = moved_on(true).await;
    let fact = script.fact().await;
    assert!(
        matches!(&fact, CodexFact::NotTaken { message_id, .. } if message_id.as_str() == "m1"),
        "{fact:?}"
    );
    assert_eq!(
        script.fact().await,
        CodexFact::ThreadAdopted {
            thread_id: "N".into()
        }
    );
    // The turn in the old thread is still seen to its end.
    next_fact!(script, ThreadStatus);
    script
        .notify(
            "turn/completed",
            json!({"threadId": "T", "turn": {"id": "U", "status": "completed"}}),
        )
        .await;
    let fact = script.fact().await;
    assert!(
        matches!(&fact, CodexFact::TurnCompleted { thread_id, status: TurnStatus::Completed, .. } if thread_id.as_str() == "T"),
        "{fact:?}"
    );
    assert_eq!(
        script.expect("thread/unsubscribe").await["params"]["threadId"],
        "T"
    );
}

fn asked(fact: &CodexFact) -> &str {
    match fact {
        CodexFact::ApprovalAsked { request_id, .. } => request_id,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn questions_are_told_and_counted_and_never_answered_by_ourselves() {
    let mut script = Script::idle().await;
    let ask = |id: u64, method: &str, thread: &str| json!({"id": id, "method": method, "params": {"threadId": thread}});
    script
        .send(ask(0, "item/commandExecution/requestApproval", "T"))
        .await;
    assert_eq!(asked(&script.fact().await), "0");
    assert_eq!(
        script.fact().await,
        CodexFact::ApprovalsPending {
            count: 1,
            helpers: 0
        }
    );
    // Replayed, of a helper, and not for a human.
    script
        .send(ask(0, "item/commandExecution/requestApproval", "T"))
        .await;
    assert_eq!(asked(&script.fact().await), "0");
    script
        .send(ask(1, "item/commandExecution/requestApproval", "H"))
        .await;
    assert_eq!(
        script.fact().await,
        CodexFact::ApprovalsPending {
            count: 1,
            helpers: 1
        }
    );
    script.send(ask(2, "currentTime/read", "T")).await;
    script
        .send(ask(3, "mcpServer/elicitation/request", "T"))
        .await;
    assert_eq!(asked(&script.fact().await), "3");
    assert_eq!(
        script.fact().await,
        CodexFact::ApprovalsPending {
            count: 2,
            helpers: 1
        }
    );
    for id in [0, 3] {
        script
            .notify(
                "serverRequest/resolved",
                json!({"threadId": "T", "requestId": id}),
            )
            .await;
    }
    for (id, count) in [(0, 1), (3, 0)] {
        let request_id = format!("{id}");
        let resolved = CodexFact::ApprovalResolved { request_id };
        assert_eq!(script.fact().await, resolved);
        let helpers = 1;
        assert_eq!(
            script.fact().await,
            CodexFact::ApprovalsPending { count, helpers }
        );
    }
    let started = json!({"id": "H2", "threadSource": "user", "parentThreadId": "T"});
    script
        .notify("thread/started", json!({"thread": started}))
        .await;
    // Another helper says by its status alone that it waits, and then that it does not.
    for (flags, helpers) in [(json!(["waitingOnApproval"]), 2), (json!([]), 1)] {
        let status = json!({"type": "active", "activeFlags": flags});
        let changed = json!({"threadId": "H2", "status": status});
        script.notify("thread/status/changed", changed).await;
        let count = 0;
        assert_eq!(
            script.fact().await,
            CodexFact::ApprovalsPending { count, helpers }
        );
    }
    // The next frame from us is the one that we ask for: none of the questions was answered.
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    script.expect("thread/queue/add").await;
}

#[tokio::test]
async fn garbage_does_no_harm() {
    let mut script = Script::idle().await;
    for text in [
        "not json",
        "[]",
        "{}",
        r#"{"id":999,"result":{}}"#,
        r#"{"id":"text","result":{}}"#,
        r#"{"method":"turn/started"}"#,
        r#"{"method":"turn/started","params":{"threadId":5}}"#,
        r#"{"method":"item/completed","params":{"threadId":"T","turnId":"U","item":null}}"#,
        r#"{"method":"thread/status/changed","params":{"threadId":"T","status":{"type":"dreaming"}}}"#,
        r#"{"method":"brand/new","params":{}}"#,
    ] {
        script.send_text(text.to_owned()).await;
    }
    script.send_text("[".repeat(200_000)).await;
    script
        .send_message(Message::binary(vec![0, 159, 146, 150]))
        .await;
    script.send_message(Message::Ping(vec![1].into())).await;
    script.quiet().await;
}

#[tokio::test]
async fn what_is_tried_again_is_told_with_its_reason_and_is_no_sign_of_the_turn() {
    let mut script = Script::busy().await;
    let delta = json!({"threadId": "T", "turnId": "U", "itemId": "i", "delta": "a"});
    script
        .notify("item/agentMessage/delta", delta.clone())
        .await;
    assert_eq!(script.fact().await, CodexFact::Heartbeat);
    for thread in ["H", "T", "T"] {
        let error = json!({"threadId": thread, "turnId": "U", "willRetry": true,
            "error": {"message": "stream disconnected", "codexErrorInfo": null}});
        script.notify("error", error).await;
    }
    let why = "stream disconnected".to_owned();
    for _ in 0..2 {
        let why = why.clone();
        assert_eq!(script.fact().await, CodexFact::Retrying { why });
    }
    // Told at once, though another one was told just now.
    script.notify("item/agentMessage/delta", delta).await;
    assert_eq!(script.fact().await, CodexFact::Heartbeat);
    script.quiet().await;
}

#[tokio::test]
async fn a_thread_that_was_unloaded_is_taken_up_again() {
    let mut script = Script::idle().await;
    script
        .notify("thread/closed", json!({"threadId": "T"}))
        .await;
    script
        .serve("thread/resume", json!({"thread": thread("T", "idle")}))
        .await;
    assert_eq!(
        script.fact().await,
        CodexFact::ThreadAdopted {
            thread_id: "T".into()
        }
    );
}
