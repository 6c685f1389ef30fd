//! Lost connections, and what becomes of the messages sent earlier.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::app_server::{Ask, Script, handed_over, message, thread, user};
use super::conversation::begins_n;
use crate::adapters::codex::attempted_message::AttemptedMessage;
use crate::adapters::codex::fact::CodexFact;
use crate::adapters::codex::thread_state::ThreadState;
use crate::core::delivery::OnBusy;
use crate::core::entry::TurnStatus;

pub(super) fn row(client: &str) -> Value {
    json!({"id": "Q", "clientUserMessageId": client, "input": []})
}

/// A session that handed over `m1` and has its answer, cut off then.
pub(super) async fn cut_with_a_message() -> ThreadState {
    let mut script = Script::idle().await;
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    script.serve("thread/queue/add", json!({})).await;
    next_fact!(script, Queued);
    script.cut().await.0
}

/// A new app-server: the queue is read before the thread is resumed.
pub(super) async fn again(thread_state: ThreadState, queue: Value, status: &str) -> Script {
    let mut script = Script::connect(thread_state, true).await;
    script
        .serve("thread/queue/list", json!({"data": queue}))
        .await;
    script
        .serve("thread/resume", json!({"thread": thread("T", status)}))
        .await;
    assert_eq!(
        script.fact().await,
        CodexFact::ThreadAdopted {
            thread_id: "T".into()
        }
    );
    next_fact!(script, ThreadStatus);
    script
}

#[tokio::test]
async fn a_message_in_the_history_was_delivered_though_its_turn_was_cut_off() {
    let mut script = again(cut_with_a_message().await, json!([]), "idle").await;
    let turn = json!({"id": "U", "status": "interrupted", "items": [user("m1")]});
    script.look(json!([]), json!([turn])).await;
    next_fact!(script, TurnStarted);
    assert_eq!(script.fact().await, message("U", "m1", false));
    let fact = script.fact().await;
    assert!(
        matches!(
            fact,
            CodexFact::TurnCompleted {
                status: TurnStatus::Interrupted,
                ..
            }
        ),
        "{fact:?}"
    );
    script.quiet().await;
}

#[tokio::test]
async fn a_message_in_the_queue_is_left_to_be_delivered() {
    let mut script = again(cut_with_a_message().await, json!([row("m1")]), "idle").await;
    script.look(json!([row("m1")]), json!([])).await;
    assert_eq!(
        script.fact().await,
        CodexFact::StillQueued {
            message_id: "m1".into()
        }
    );
    script.user_message("U", "m1").await;
    next_fact!(script, TurnStarted);
    assert_eq!(script.fact().await, message("U", "m1", false));
}

/// Takes `m1` out of the queue of `T` before that thread goes on, and tells of it.
pub(super) async fn taken_out_first(script: &mut Script) {
    let queue = json!([row("m1")]);
    script
        .serve("thread/queue/list", json!({"data": queue}))
        .await;
    let delete = script.expect("thread/queue/delete").await;
    assert_eq!(
        delete["params"],
        json!({"threadId": "T", "queuedSubmissionId": "Q"})
    );
    script.answer(&delete, json!({"deleted": true})).await;
    let message_id = "m1".into();
    assert_eq!(script.fact().await, CodexFact::TakenBack { message_id });
    let resumed = json!({"thread": thread("T", "idle")});
    script.serve("thread/resume", resumed).await;
}

#[tokio::test]
async fn what_nobody_is_to_get_any_more_is_out_of_the_queue_before_the_thread_goes_on() {
    let mut thread_state = ThreadState::new(Some("T".into()));
    let is_unwanted = true;
    thread_state.add_unconfirmed(vec![AttemptedMessage {
        is_unwanted,
        ..handed_over("m1", &[])
    }]);
    let mut script = Script::connect(thread_state, true).await;
    taken_out_first(&mut script).await;
}

#[tokio::test]
async fn a_message_that_is_nowhere_was_not_taken() {
    let mut script = again(cut_with_a_message().await, json!([]), "idle").await;
    script.look(json!([]), json!([])).await;
    script.look(json!([]), json!([])).await;
    let fact = script.fact().await;
    assert!(
        matches!(&fact, CodexFact::NotTaken { message_id, .. } if message_id.as_str() == "m1"),
        "{fact:?}"
    );
    script.quiet().await;
}

#[tokio::test]
async fn nothing_is_decided_while_a_turn_runs() {
    let mut script = again(cut_with_a_message().await, json!([]), "active").await;
    let running = json!([{"id": "V", "status": "inProgress", "items": []}]);
    script
        .serve("thread/turns/list", json!({"data": running}))
        .await;
    next_fact!(script, TurnStarted);
    script.look(json!([]), running).await;
    script.quiet().await;
    // It shows up at the end of the turn.
    script.user_message("V", "m1").await;
    assert_eq!(script.fact().await, message("V", "m1", false));
}

#[tokio::test]
async fn an_answer_that_never_came_is_told_and_then_found_out() {
    let mut script = Script::idle().await;
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    script.expect("thread/queue/add").await;
    let (thread_state, told) = script.cut().await;
    assert_eq!(
        told,
        [CodexFact::Unanswered {
            message_id: "m1".into()
        }]
    );
    let mut script = again(thread_state, json!([row("m1")]), "idle").await;
    script.look(json!([row("m1")]), json!([])).await;
    assert_eq!(
        script.fact().await,
        CodexFact::StillQueued {
            message_id: "m1".into()
        }
    );
}

#[tokio::test]
async fn a_turn_that_died_with_the_app_server_is_closed() {
    let mut script = Script::busy().await;
    script.user_message("U", "human").await;
    assert_eq!(script.fact().await, message("U", "human", false));
    let (thread_state, _) = script.cut().await;
    let mut script = Script::connect(thread_state, true).await;
    script
        .serve("thread/resume", json!({"thread": thread("T", "active")}))
        .await;
    // What was queued behind it runs already, and the history calls both running.
    let list = script.expect("thread/turns/list").await;
    let turns = json!([
        {"id": "V", "status": "inProgress", "items": []},
        {"id": "U", "status": "inProgress", "items": [user("human")]},
    ]);
    script.answer(&list, json!({"data": turns})).await;
    next_fact!(script, ThreadAdopted);
    next_fact!(script, ThreadStatus);
    assert_eq!(
        script.fact().await,
        CodexFact::TurnCompleted {
            thread_id: "T".into(),
            turn_id: "U".into(),
            status: TurnStatus::Interrupted,
            final_answer: None,
            client_ids: vec!["human".to_owned()],
            error: None,
            usage_limited: false,
            died: true,
        }
    );
    assert_eq!(
        script.fact().await,
        CodexFact::TurnStarted {
            thread_id: "T".into(),
            turn_id: "V".into()
        }
    );
}

#[tokio::test]
async fn a_turn_that_ended_while_we_were_away_has_its_answer() {
    let (thread_state, _) = Script::busy().await.cut().await;
    let mut script = Script::connect(thread_state, false).await;
    script
        .serve("thread/resume", json!({"thread": thread("T", "idle")}))
        .await;
    let list = script.expect("thread/turns/list").await;
    let answer =
        json!({"type": "agentMessage", "id": "a", "text": "done", "phase": "final_answer"});
    let turn = json!({"id": "U", "status": "completed", "items": [user("human"), answer]});
    script.answer(&list, json!({"data": [turn]})).await;
    next_fact!(script, ThreadAdopted);
    next_fact!(script, ThreadStatus);
    assert_eq!(script.fact().await, message("U", "human", false));
    next_fact!(script, TurnTraced);
    let fact = script.fact().await;
    assert!(
        matches!(&fact, CodexFact::TurnCompleted { status: TurnStatus::Completed, final_answer: Some(text), .. } if text == "done"),
        "{fact:?}"
    );
}

#[tokio::test]
async fn the_messages_of_an_earlier_daemon_are_answered_one_by_one() {
    let mut script = Script::idle().await;
    let messages = ["m1", "m2", "m3"].map(|id| handed_over(id, &[])).to_vec();
    script.ask(Ask::Recover(messages)).await;
    script
        .serve("thread/queue/list", json!({"data": [row("m2")]}))
        .await;
    let turn = json!({"id": "U", "status": "completed", "items": [user("m1")]});
    script.look(json!([row("m2")]), json!([turn.clone()])).await;
    next_fact!(script, TurnStarted);
    assert_eq!(script.fact().await, message("U", "m1", false));
    next_fact!(script, TurnCompleted);
    assert_eq!(
        script.fact().await,
        CodexFact::StillQueued {
            message_id: "m2".into()
        }
    );
    script.look(json!([row("m2")]), json!([turn])).await;
    let fact = script.fact().await;
    assert!(
        matches!(&fact, CodexFact::NotTaken { message_id, .. } if message_id.as_str() == "m3"),
        "{fact:?}"
    );
}

#[tokio::test]
async fn a_message_of_an_earlier_daemon_is_looked_for_in_the_thread_that_it_went_to() {
    let mut script = Script::idle().await;
    let elsewhere = AttemptedMessage {
        thread: Some("E".into()),
        ..handed_over("m1", &[])
    };
    script.ask(Ask::Recover(vec![elsewhere])).await;
    let list = script.expect("thread/queue/list").await;
    assert_eq!(list["params"]["threadId"], "E");
    script.answer(&list, json!({"data": []})).await;
    let turns = script.expect("thread/turns/list").await;
    assert_eq!(turns["params"]["threadId"], "E");
    let turn = json!({"id": "U", "status": "completed", "items": [user("m1")]});
    script
        .answer(&turns, json!({"data": [turn], "nextCursor": null}))
        .await;
    next_fact!(script, TurnStarted);
    let fact = script.fact().await;
    assert!(
        matches!(&fact, CodexFact::UserMessage { client_id: Some(id), .. } if id == "m1"),
        "{fact:?}"
    );
}

#[tokio::test]
async fn a_thread_that_is_gone_is_replaced_and_its_messages_were_not_taken() {
    let thread_state = cut_with_a_message().await;
    let mut script = Script::connect(thread_state, true).await;
    let list = script.expect("thread/queue/list").await;
    script
        .refuse(
            &list,
            "failed to read thread: no rollout found for thread id T",
        )
        .await;
    let resume = script.expect("thread/resume").await;
    script
        .refuse(&resume, "no rollout found for thread id T")
        .await;
    script
        .serve("thread/start", json!({"thread": thread("N", "idle")}))
        .await;
    script.serve("thread/name/set", json!({})).await;
    let list = script.expect("thread/queue/list").await;
    script.refuse(&list, "no rollout found").await;
    let list = script.expect("thread/turns/list").await;
    script.refuse(&list, "thread not loaded: T").await;
    assert_eq!(
        script.fact().await,
        CodexFact::ThreadAdopted {
            thread_id: "N".into()
        }
    );
    next_fact!(script, ThreadStatus);
    next_fact!(script, NotTaken);
}

#[tokio::test]
async fn a_message_that_only_the_rollout_holds_is_not_sent_again() {
    let rollout = tempfile::NamedTempFile::new().unwrap();
    let line = json!({"type": "response_item", "payload": {
        "type": "message", "role": "user", "content": [{"type": "input_text", "text": "text of m1"}],
        "internal_chat_message_metadata_passthrough": {"turn_id": "U", "content_item_kinds": ["user.text"]},
    }});
    std::fs::write(rollout.path(), format!("{line}\n")).unwrap();
    let mut script = Script::connect(cut_with_a_message().await, true).await;
    script.serve("thread/queue/list", json!({"data": []})).await;
    let resume = script.expect("thread/resume").await;
    let mut resumed = thread("T", "idle");
    resumed["path"] = json!(rollout.path());
    script.answer(&resume, json!({"thread": resumed})).await;
    next_fact!(script, ThreadAdopted);
    next_fact!(script, ThreadStatus);
    let empty = json!([{"id": "U", "status": "interrupted", "items": []}]);
    script.look(json!([]), empty.clone()).await;
    script.look(json!([]), empty).await;
    next_fact!(script, TurnStarted);
    let fact = script.fact().await;
    assert!(
        matches!(&fact, CodexFact::UserMessage { client_id: Some(id), .. } if id == "m1"),
        "{fact:?}"
    );
    let fact = script.fact().await;
    assert!(
        matches!(
            fact,
            CodexFact::TurnCompleted {
                status: TurnStatus::Interrupted,
                ..
            }
        ),
        "{fact:?}"
    );
    script.quiet().await;
}

#[tokio::test]
async fn what_only_the_rollout_holds_proves_an_earlier_daemons_message_by_its_id() {
    for (text, is_proven) in [
        (
            "[ctxrelay message m1 from peer Claude]\nmind the lock\n[end of m1]",
            true,
        ),
        (
            "[ctxrelay message m12 from peer Claude]\nm1\n[end of m12]",
            false,
        ),
        ("a prompt of the person's about m1", false),
    ] {
        let rollout = tempfile::NamedTempFile::new().unwrap();
        let line = json!({"type": "response_item", "payload": {
            "type": "message", "role": "user", "content": [{"type": "input_text", "text": text}],
            "internal_chat_message_metadata_passthrough": {"turn_id": "U", "content_item_kinds": ["user.text"]},
        }});
        std::fs::write(rollout.path(), format!("{line}\n")).unwrap();
        let mut state = ThreadState::new(Some("T".into()));
        state.add_unconfirmed(vec![handed_over("m1", &[])]);
        let mut script = Script::connect(state, true).await;
        script.serve("thread/queue/list", json!({"data": []})).await;
        let resume = script.expect("thread/resume").await;
        let mut resumed = thread("T", "idle");
        resumed["path"] = json!(rollout.path());
        script.answer(&resume, json!({"thread": resumed})).await;
        next_fact!(script, ThreadAdopted);
        next_fact!(script, ThreadStatus);
        let empty = json!([{"id": "U", "status": "interrupted", "items": []}]);
        script.look(json!([]), empty.clone()).await;
        script.look(json!([]), empty).await;
        if is_proven {
            next_fact!(script, TurnStarted);
            next_fact!(script, UserMessage);
        } else {
            next_fact!(script, NotTaken);
        }
    }
}

/// Cut off while `U`, with `m1` in it, runs in the thread `T`, which the human left for `N`.
async fn cut_with_a_turn_left_behind() -> ThreadState {
    let mut script = Script::busy().await;
    script.user_message("U", "m1").await;
    assert_eq!(script.fact().await, message("U", "m1", false));
    begins_n(&mut script).await;
    adopted_n(&mut script).await;
    let (thread_state, told) = script.cut().await;
    assert_eq!(told, []);
    thread_state
}

async fn adopted_n(script: &mut Script) {
    assert_eq!(
        script.fact().await,
        CodexFact::ThreadAdopted {
            thread_id: "N".into()
        }
    );
    next_fact!(script, ThreadStatus);
}

/// Connected again; the visible thread does nothing.
async fn again_on_n(thread_state: ThreadState, fresh: bool) -> Script {
    let mut script = Script::connect(thread_state, fresh).await;
    let resume = script.expect("thread/resume").await;
    assert_eq!(resume["params"]["threadId"], "N");
    script
        .answer(&resume, json!({"thread": thread("N", "idle")}))
        .await;
    adopted_n(&mut script).await;
    script
}

fn ended_left_behind(status: TurnStatus, answer: Option<&str>) -> CodexFact {
    CodexFact::TurnCompleted {
        thread_id: "T".into(),
        turn_id: "U".into(),
        status,
        final_answer: answer.map(str::to_owned),
        client_ids: vec!["m1".to_owned()],
        error: None,
        usage_limited: false,
        died: status == TurnStatus::Interrupted,
    }
}

#[tokio::test]
async fn a_turn_left_behind_is_seen_to_its_end_over_a_lost_connection() {
    let mut script = again_on_n(cut_with_a_turn_left_behind().await, false).await;
    let resume = script.expect("thread/resume").await;
    assert_eq!(resume["params"]["threadId"], "T");
    script
        .answer(&resume, json!({"thread": thread("T", "active")}))
        .await;
    let list = script.expect("thread/turns/list").await;
    assert_eq!(list["params"]["threadId"], "T");
    let running = json!([{"id": "U", "status": "inProgress", "items": [user("m1")]}]);
    script.answer(&list, json!({"data": running})).await;
    let answer =
        json!({"type": "agentMessage", "id": "a", "text": "done", "phase": "final_answer"});
    let item = json!({"threadId": "T", "turnId": "U", "item": answer});
    script.notify("item/completed", item).await;
    script
        .notify(
            "turn/completed",
            json!({"threadId": "T", "turn": {"id": "U", "status": "completed"}}),
        )
        .await;
    next_fact!(script, TurnTraced);
    assert_eq!(
        script.fact().await,
        ended_left_behind(TurnStatus::Completed, Some("done"))
    );
    let leave = script.expect("thread/unsubscribe").await;
    assert_eq!(leave["params"]["threadId"], "T");
}

#[tokio::test]
async fn a_turn_left_behind_that_ended_while_we_were_away_has_its_answer() {
    let mut script = again_on_n(cut_with_a_turn_left_behind().await, false).await;
    script
        .serve("thread/resume", json!({"thread": thread("T", "idle")}))
        .await;
    let list = script.expect("thread/turns/list").await;
    let answer =
        json!({"type": "agentMessage", "id": "a", "text": "done", "phase": "final_answer"});
    let turn = json!({"id": "U", "status": "completed", "items": [user("m1"), answer]});
    script.answer(&list, json!({"data": [turn]})).await;
    next_fact!(script, TurnTraced);
    assert_eq!(
        script.fact().await,
        ended_left_behind(TurnStatus::Completed, Some("done"))
    );
    script.serve("thread/unsubscribe", json!({})).await;
    // Who begins the next turn there is followed.
    let active = json!({"type": "active", "activeFlags": []});
    script.status_of("T", active).await;
    script.expect("thread/read").await;
}

#[tokio::test]
async fn a_turn_left_behind_that_died_with_the_app_server_is_closed() {
    let mut script = again_on_n(cut_with_a_turn_left_behind().await, true).await;
    let list = script.expect("thread/turns/list").await;
    assert_eq!(list["params"]["threadId"], "T");
    let turn = json!({"id": "U", "status": "interrupted", "items": [user("m1")]});
    script.answer(&list, json!({"data": [turn]})).await;
    assert_eq!(
        script.fact().await,
        ended_left_behind(TurnStatus::Interrupted, None)
    );
    script.ask(Ask::Deliver("m2", OnBusy::Queue)).await;
    script.expect("thread/queue/add").await;
}
