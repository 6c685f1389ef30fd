//! Codex refuses to show its queue or its history: a message that was not seen may still be there.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::app_server::{Ask, Script, handed_over, message, thread, user};
use super::recovering::{again, cut_with_a_message, row};
use crate::adapters::codex::fact::CodexFact;
use crate::adapters::codex::thread_state::ThreadState;
use crate::core::agent::{Agent, Party};
use crate::core::delivery::OnBusy;
use crate::core::delivery::recovery::{LOOKS_BLIND, LOOKS_MIN_QUEUED};
use crate::core::envelope::{Envelope, MessageKind, SentWhen, wrap};

const REFUSED: &str = "thread/turns/list is not supported for this thread";

async fn refuse(script: &mut Script, method: &str, why: &str) {
    let request = script.expect(method).await;
    script.refuse(&request, why).await;
}

async fn unanswered(script: &mut Script) {
    assert_eq!(
        script.fact().await,
        CodexFact::Unanswered {
            message_id: "m1".into()
        }
    );
}

async fn was_not_taken(script: &mut Script) {
    let fact = script.fact().await;
    assert!(
        matches!(&fact, CodexFact::NotTaken { message_id, .. } if message_id.as_str() == "m1"),
        "{fact:?}"
    );
}

fn turn_with(id: &str) -> Value {
    json!({"id": "U", "status": "completed", "items": [user(id)]})
}

#[tokio::test]
async fn a_refused_history_is_no_sign_that_a_message_was_not_taken() {
    let mut script = again(cut_with_a_message().await, json!([]), "idle").await;
    for _ in 0..LOOKS_BLIND {
        script.serve("thread/queue/list", json!({"data": []})).await;
        refuse(&mut script, "thread/turns/list", REFUSED).await;
    }
    unanswered(&mut script).await;
    // The end of the next turn brings it up again, and now it is shown.
    script
        .status(json!({"type": "active", "activeFlags": []}))
        .await;
    next_fact!(script, ThreadStatus);
    script.status(json!({"type": "idle"})).await;
    next_fact!(script, ThreadStatus);
    script.look(json!([]), json!([turn_with("m1")])).await;
    next_fact!(script, TurnStarted);
    assert_eq!(script.fact().await, message("U", "m1", false));
    next_fact!(script, TurnCompleted);
    script.quiet().await;
}

#[tokio::test]
async fn a_message_that_nobody_could_find_is_sent_when_it_is_asked_for_again() {
    let mut script = again(cut_with_a_message().await, json!([]), "idle").await;
    for _ in 0..LOOKS_BLIND {
        script.serve("thread/queue/list", json!({"data": []})).await;
        refuse(&mut script, "thread/turns/list", REFUSED).await;
    }
    unanswered(&mut script).await;
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    let add = script.expect("thread/queue/add").await;
    assert_eq!(add["params"]["clientUserMessageId"], "m1");
    script.answer(&add, json!({})).await;
    next_fact!(script, Queued);
}

/// As Codex shows a user message: what was sent, in its envelope, and no id beside it.
fn without_id(id: &str) -> Value {
    let envelope = Envelope {
        id: &id.into(),
        from: &Party::Agent(Agent::Claude),
        kind: &MessageKind::Handoff,
        sent: SentWhen::Ago {
            seconds: 0,
            head_moved: false,
        },
        repeat: false,
        require_reply: false,
        reason: None,
        context_refs: &[],
    };
    let text = wrap(&envelope, "look at it");
    json!({"type": "userMessage", "id": "item", "content": [{"type": "text", "text": text}]})
}

#[tokio::test]
async fn a_message_that_codex_shows_without_its_id_is_known_by_its_envelope() {
    let mut script = again(cut_with_a_message().await, json!([]), "idle").await;
    let turn = json!({"id": "U", "status": "completed", "items": [without_id("m1")]});
    script.look(json!([]), json!([turn])).await;
    next_fact!(script, TurnStarted);
    let fact = script.fact().await;
    assert!(
        matches!(&fact, CodexFact::UserMessage { client_id: Some(id), preview, .. }
            if id == "m1" && preview == "look at it"),
        "{fact:?}"
    );
    next_fact!(script, TurnCompleted);
    script.quiet().await;
}

#[tokio::test]
async fn what_codex_shows_in_a_shape_that_we_do_not_know_may_be_the_message() {
    let with = |item: Value| json!({"id": "U", "status": "completed", "items": [item]});
    let none = || json!({"data": []});
    let mut renamed = without_id("m1");
    renamed["type"] = json!("personMessage");
    for (queue, turns) in [
        (none(), json!({"data": [with(renamed)]})),
        (
            none(),
            json!({"data": [with(json!({"type": "userMessage", "clientId": {"id": "m1"}}))]}),
        ),
        (
            none(),
            json!({"data": [with(json!({"type": "userMessage", "content": {"text": "hi"}}))]}),
        ),
        (none(), json!({"data": ["U"]})),
        (none(), json!({"turns": [turn_with("m1")]})),
        (json!({"data": [{"id": "Q", "clientId": "m1"}]}), none()),
    ] {
        let mut script = again(cut_with_a_message().await, json!([]), "idle").await;
        for _ in 0..LOOKS_BLIND {
            script.serve("thread/queue/list", queue.clone()).await;
            script.serve("thread/turns/list", turns.clone()).await;
        }
        unanswered(&mut script).await;
    }
}

#[tokio::test]
async fn what_is_certainly_not_the_message_leaves_it_certain_that_it_was_not_taken() {
    let mut script = again(cut_with_a_message().await, json!([]), "idle").await;
    let items = [
        without_id("m2"),
        json!({"type": "userMessage", "content": [{"type": "text", "text": "is m1 there?"}]}),
        json!({"type": "enteredReviewMode", "id": "i", "review": "current changes"}),
        json!({"type": "agentMessage", "text": "m1 waits"}),
    ];
    let turns = json!([{"id": "U", "status": "completed", "items": items}]);
    script.look(json!([]), turns.clone()).await;
    script.look(json!([]), turns).await;
    was_not_taken(&mut script).await;
}

#[tokio::test]
async fn a_later_page_that_is_refused_leaves_it_open() {
    let mut script = again(cut_with_a_message().await, json!([]), "idle").await;
    for _ in 0..3 {
        script.serve("thread/queue/list", json!({"data": []})).await;
        let page = json!({"data": [turn_with("human")], "nextCursor": "p2"});
        script.serve("thread/turns/list", page).await;
        refuse(&mut script, "thread/turns/list", REFUSED).await;
    }
    // Twice seen whole, it is certain.
    script.look(json!([]), json!([turn_with("human")])).await;
    script.look(json!([]), json!([turn_with("human")])).await;
    was_not_taken(&mut script).await;
    script.quiet().await;
}

#[tokio::test]
async fn a_refused_queue_leaves_it_open_and_may_have_held_it() {
    let mut script = Script::connect(cut_with_a_message().await, true).await;
    refuse(&mut script, "thread/queue/list", "the state is locked").await;
    script
        .serve("thread/resume", json!({"thread": thread("T", "idle")}))
        .await;
    next_fact!(script, ThreadAdopted);
    next_fact!(script, ThreadStatus);
    for _ in 0..2 {
        refuse(&mut script, "thread/queue/list", "the state is locked").await;
        script.serve("thread/turns/list", json!({"data": []})).await;
    }
    // As one that was seen in the queue: its delivery may have begun.
    for _ in 0..LOOKS_MIN_QUEUED {
        script.look(json!([]), json!([])).await;
    }
    was_not_taken(&mut script).await;
    script.quiet().await;
}

#[tokio::test]
async fn a_conversation_without_a_message_yet_has_none_of_ours() {
    let mut script = again(cut_with_a_message().await, json!([]), "idle").await;
    for _ in 0..2 {
        script.serve("thread/queue/list", json!({"data": []})).await;
        let why = "thread T is not materialized yet; thread/turns/list is unavailable before first \
                   user message";
        refuse(&mut script, "thread/turns/list", why).await;
    }
    was_not_taken(&mut script).await;
}

/// A new app-server, whose visible thread is another one than that of the message.
async fn on_another_thread() -> Script {
    let mut script = Script::connect(cut_with_a_message().await, true).await;
    script.serve("thread/queue/list", json!({"data": []})).await;
    let gone = "no rollout found for thread id T";
    refuse(&mut script, "thread/resume", gone).await;
    script
        .serve("thread/start", json!({"thread": thread("N", "idle")}))
        .await;
    script.serve("thread/name/set", json!({})).await;
    script
}

async fn adopted(script: &mut Script) {
    next_fact!(script, ThreadAdopted);
    next_fact!(script, ThreadStatus);
}

#[tokio::test]
async fn a_refused_history_of_a_thread_that_was_left_leaves_it_open() {
    let mut script = on_another_thread().await;
    script.serve("thread/queue/list", json!({"data": []})).await;
    refuse(&mut script, "thread/turns/list", "thread not loaded: T").await;
    adopted(&mut script).await;
    unanswered(&mut script).await;
    script.quiet_on("N").await;
}

#[tokio::test]
async fn a_message_that_cannot_be_taken_out_of_the_queue_of_a_thread_that_was_left_may_come() {
    let mut script = on_another_thread().await;
    script
        .serve("thread/queue/list", json!({"data": [row("m1")]}))
        .await;
    refuse(&mut script, "thread/queue/delete", "the state is locked").await;
    script.serve("thread/turns/list", json!({"data": []})).await;
    adopted(&mut script).await;
    unanswered(&mut script).await;
    script.quiet_on("N").await;
}

#[tokio::test]
async fn an_earlier_daemons_message_is_looked_for_where_it_went_when_another_thread_is_visible() {
    let mut script = Script::connect(ThreadState::new(Some("T".into())), true).await;
    let gone = "no rollout found for thread id T";
    refuse(&mut script, "thread/resume", gone).await;
    script
        .serve("thread/start", json!({"thread": thread("N", "idle")}))
        .await;
    script.serve("thread/name/set", json!({})).await;
    adopted(&mut script).await;
    let messages = ["m1", "m2"].map(|id| handed_over(id, &[])).to_vec();
    script.ask(Ask::Recover(messages)).await;
    let list = script.expect("thread/queue/list").await;
    assert_eq!(list["params"]["threadId"], "T");
    script.answer(&list, json!({"data": [row("m2")]})).await;
    script
        .serve("thread/queue/delete", json!({"deleted": true}))
        .await;
    let list = script.expect("thread/turns/list").await;
    assert_eq!(list["params"]["threadId"], "T");
    script.refuse(&list, "thread not loaded: T").await;
    // That one was taken out.
    let fact = script.fact().await;
    assert!(
        matches!(&fact, CodexFact::NotTaken { message_id, .. } if message_id.as_str() == "m2"),
        "{fact:?}"
    );
    unanswered(&mut script).await;
    script.quiet_on("N").await;
}
