//! The terminal switches to a thread that already existed, with the notifications in the order that
//! was observed with Codex 0.169.0.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::app_server::{Ask, Script, message, thread, user};
use super::conversation::{begins_n, moved_on};
use crate::adapters::codex::fact::{CodexFact, ReportedStatus};
use crate::core::delivery::OnBusy;

fn idle() -> Value {
    json!({"type": "idle"})
}

fn active() -> Value {
    json!({"type": "active", "activeFlags": []})
}

/// It is asked what this thread is.
async fn asked_of(script: &mut Script, thread_id: &str) -> Value {
    let read = script.expect("thread/read").await;
    assert_eq!(read["params"], json!({"threadId": thread_id}));
    read
}

/// The session makes this thread the visible one, and does not name it.
async fn goes_to(script: &mut Script, thread_id: &str, status: &str) {
    let read = asked_of(script, thread_id).await;
    let found = json!({"thread": thread(thread_id, status)});
    script.answer(&read, found.clone()).await;
    let resume = script.expect("thread/resume").await;
    assert_eq!(resume["params"]["threadId"], thread_id);
    script.answer(&resume, found).await;
}

async fn adopted(script: &mut Script, thread_id: &str) {
    let thread_id = thread_id.into();
    assert_eq!(script.fact().await, CodexFact::ThreadAdopted { thread_id });
    next_fact!(script, ThreadStatus);
}

/// What is handed over now goes into this thread, and nothing was asked before.
async fn is_delivered_to(script: &mut Script, thread_id: &str) {
    script.ask(Ask::Deliver("m7", OnBusy::Queue)).await;
    let add = script.expect("thread/queue/add").await;
    assert_eq!(add["params"]["threadId"], thread_id);
}

/// The human has begun a new conversation, `N`, and `T` is at rest.
async fn in_a_new_one() -> Script {
    let mut script = Script::idle().await;
    begins_n(&mut script).await;
    script.serve("thread/unsubscribe", json!({})).await;
    adopted(&mut script, "N").await;
    script
}

#[tokio::test]
async fn the_terminal_is_followed_to_a_thread_that_it_loads() {
    let mut script = Script::idle().await;
    script.status_of("T2", idle()).await;
    script
        .notify("thread/goal/cleared", json!({"threadId": "T2"}))
        .await;
    goes_to(&mut script, "T2", "idle").await;
    let leave = script.expect("thread/unsubscribe").await;
    assert_eq!(leave["params"]["threadId"], "T");
    script.answer(&leave, json!({})).await;
    adopted(&mut script, "T2").await;
    is_delivered_to(&mut script, "T2").await;
}

#[tokio::test]
async fn the_terminal_is_followed_back_with_the_first_turn_of_a_thread_that_was_loaded_still() {
    let mut script = in_a_new_one().await;
    script.status_of("T", active()).await;
    goes_to(&mut script, "T", "active").await;
    script.serve("thread/unsubscribe", json!({})).await;
    let list = script.expect("thread/turns/list").await;
    assert_eq!(list["params"]["threadId"], "T");
    let turn = json!({"id": "V", "status": "inProgress", "items": [user("human")]});
    script.answer(&list, json!({"data": [turn]})).await;
    adopted(&mut script, "T").await;
    next_fact!(script, TurnStarted);
    assert_eq!(script.fact().await, message("V", "human", false));
    is_delivered_to(&mut script, "T").await;
}

#[tokio::test]
async fn a_turn_that_ends_while_the_terminal_is_followed_back_leaves_an_idle_thread() {
    let mut script = in_a_new_one().await;
    script.status_of("T", active()).await;
    goes_to(&mut script, "T", "active").await;
    let leave = script.expect("thread/unsubscribe").await;
    script.status_of("T", idle()).await;
    script.answer(&leave, json!({})).await;
    let list = script.expect("thread/turns/list").await;
    let turn = json!({"id": "V", "status": "completed", "items": [user("human")]});
    script.answer(&list, json!({"data": [turn]})).await;
    let thread_id = "T".into();
    let adopted = CodexFact::ThreadAdopted { thread_id };
    while script.fact().await != adopted {}
    let status = ReportedStatus::Idle;
    while script.fact().await != (CodexFact::ThreadStatus { status }) {}
    is_delivered_to(&mut script, "T").await;
}

#[tokio::test]
async fn a_thread_that_was_unloaded_meanwhile_is_followed_when_it_is_loaded_again() {
    let mut script = in_a_new_one().await;
    script.status_of("T", json!({"type": "notLoaded"})).await;
    script
        .notify("thread/closed", json!({"threadId": "T"}))
        .await;
    script.status_of("T", idle()).await;
    goes_to(&mut script, "T", "idle").await;
}

#[tokio::test]
async fn the_end_of_a_turn_in_the_thread_of_before_is_nobody_who_goes_back() {
    let mut script = Script::busy().await;
    begins_n(&mut script).await;
    adopted(&mut script, "N").await;
    // What it was told before it was left, and a question in its turn.
    let item = json!({"threadId": "T", "turnId": "U", "item": user("human")});
    script.notify("item/completed", item).await;
    let flags = json!(["waitingOnApproval"]);
    script
        .status_of("T", json!({"type": "active", "activeFlags": flags}))
        .await;
    script.status_of("T", active()).await;
    script.status_of("T", idle()).await;
    let turn = json!({"id": "U", "status": "completed"});
    script
        .notify("turn/completed", json!({"threadId": "T", "turn": turn}))
        .await;
    next_fact!(script, TurnCompleted);
    script.serve("thread/unsubscribe", json!({})).await;
    is_delivered_to(&mut script, "N").await;
}

/// `m1` has left the queue of `T`, which the human left for `N`; the turn before it has ended, and
/// another begins.
async fn with_a_turn_that_begins_behind() -> Script {
    let mut script = moved_on(false).await;
    adopted(&mut script, "N").await;
    script.status_of("T", idle()).await;
    let turn = json!({"id": "U", "status": "completed"});
    script
        .notify("turn/completed", json!({"threadId": "T", "turn": turn}))
        .await;
    next_fact!(script, TurnCompleted);
    script.status_of("T", active()).await;
    let turn = json!({"id": "V", "status": "inProgress"});
    script
        .notify("turn/started", json!({"threadId": "T", "turn": turn}))
        .await;
    script
}

#[tokio::test]
async fn a_turn_of_our_own_in_the_thread_of_before_is_nobody_who_goes_back() {
    let mut script = with_a_turn_that_begins_behind().await;
    script.user_message("V", "m1").await;
    assert_eq!(script.fact().await, message("V", "m1", false));
    // Nor is what somebody adds to that turn.
    script.user_message("V", "human").await;
    script.quiet_on("N").await;
    is_delivered_to(&mut script, "N").await;
}

#[tokio::test]
async fn a_turn_that_a_person_begins_there_leads_back_also_while_a_message_of_ours_is_awaited() {
    let mut script = with_a_turn_that_begins_behind().await;
    script.user_message("V", "human").await;
    goes_to(&mut script, "T", "active").await;
    script.serve("thread/unsubscribe", json!({})).await;
    let list = script.expect("thread/turns/list").await;
    let turn = json!({"id": "V", "status": "inProgress", "items": [user("human")]});
    script.answer(&list, json!({"data": [turn]})).await;
    adopted(&mut script, "T").await;
    next_fact!(script, TurnStarted);
    assert_eq!(script.fact().await, message("V", "human", false));
    // It is proven where it is seen, which is in the visible thread now.
    script.user_message("V", "m1").await;
    assert_eq!(script.fact().await, message("V", "m1", true));
}

#[tokio::test]
async fn of_two_terminals_the_one_that_was_written_in_last_is_followed() {
    let mut script = in_a_new_one().await;
    for (to, from) in [("T", "N"), ("N", "T"), ("T", "N")] {
        script.status_of(to, active()).await;
        goes_to(&mut script, to, "idle").await;
        let leave = script.expect("thread/unsubscribe").await;
        assert_eq!(leave["params"]["threadId"], from);
        script.answer(&leave, json!({})).await;
        adopted(&mut script, to).await;
    }
    // The end of a turn in the other one's is no word of anybody's.
    script.status_of("N", idle()).await;
    is_delivered_to(&mut script, "T").await;
}

#[tokio::test]
async fn helpers_and_what_works_in_another_folder_are_asked_of_once_and_not_followed() {
    let mut script = Script::idle().await;
    let helper = json!({"id": "H1", "ephemeral": true, "threadSource": "thread_title"});
    script
        .notify("thread/started", json!({"thread": helper}))
        .await;
    let mut of_another = thread("H4", "active");
    of_another["cwd"] = json!("/another");
    let unheard_of = [
        ("H2", json!({"id": "H2", "ephemeral": true, "path": null})),
        (
            "H3",
            json!({"id": "H3", "parentThreadId": "T", "threadSource": "user"}),
        ),
        ("H4", of_another),
        ("H5", json!({})),
    ];
    script.status_of("H1", active()).await;
    for (id, found) in unheard_of {
        script.status_of(id, active()).await;
        let read = asked_of(&mut script, id).await;
        script.answer(&read, json!({"thread": found})).await;
    }
    for id in ["H1", "H2", "H3", "H4", "H5"] {
        for status in [idle(), active(), idle()] {
            script.status_of(id, status).await;
        }
    }
    is_delivered_to(&mut script, "T").await;
}

#[tokio::test]
async fn a_thread_of_our_folder_is_followed_and_one_that_codex_does_not_show_is_not() {
    let mut script = Script::idle().await;
    script.status_of("X", idle()).await;
    let read = asked_of(&mut script, "X").await;
    script.refuse(&read, "thread not loaded: X").await;
    script.status_of("Y", idle()).await;
    let read = asked_of(&mut script, "Y").await;
    let mut found = thread("Y", "idle");
    found["cwd"] = json!("/proj");
    script.answer(&read, json!({"thread": found})).await;
    let resume = script.expect("thread/resume").await;
    script
        .refuse(&resume, "thread Y already has an active writer")
        .await;
    is_delivered_to(&mut script, "T").await;
}

#[tokio::test]
async fn what_is_loaded_is_known_over_a_lost_connection() {
    let (thread_state, _) = in_a_new_one().await.cut().await;
    let mut script = Script::connect(thread_state, false).await;
    let resume = script.expect("thread/resume").await;
    assert_eq!(resume["params"]["threadId"], "N");
    let found = json!({"thread": thread("N", "idle")});
    script.answer(&resume, found).await;
    adopted(&mut script, "N").await;
    script.status_of("T", idle()).await;
    script.quiet_on("N").await;
    script.status_of("T", active()).await;
    goes_to(&mut script, "T", "active").await;
}
