//! A Codex in which nobody is signed in.

use std::time::Duration;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::app_server::{Ask, Script};
use crate::adapters::codex::fact::CodexFact;
use crate::core::delivery::OnBusy;

fn account(account: Value) -> Value {
    json!({"account": account, "requiresOpenaiAuth": true})
}

#[tokio::test]
async fn it_is_handed_nothing_and_asked_again_until_somebody_has_signed_in() {
    let mut script = Script::idle().await;
    script.notify("account/updated", json!({})).await;
    let read = script.expect("account/read").await;
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    script.answer(&read, account(Value::Null)).await;
    let needed = true;
    assert_eq!(script.fact().await, CodexFact::SignIn { needed });
    next_fact!(script, NotTaken);
    // Nobody tells of a `codex login` in another terminal.
    for (who, needed) in [(Value::Null, true), (json!({"type": "apiKey"}), false)] {
        script.serve("account/read", account(who)).await;
        assert_eq!(script.fact().await, CodexFact::SignIn { needed });
    }
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    script.serve("thread/queue/add", json!({})).await;
    next_fact!(script, Queued);
    script.quiet().await;
}

#[tokio::test]
async fn a_turn_that_works_shows_that_nobody_has_to_sign_in() {
    // It does not ask again before the turn has ended, however slow that is.
    let mut script = Script::idle_asking(Duration::from_secs(600)).await;
    script.notify("account/updated", json!({})).await;
    script.serve("account/read", account(Value::Null)).await;
    let needed = true;
    assert_eq!(script.fact().await, CodexFact::SignIn { needed });
    script.user_message("U", "human").await;
    next_fact!(script, TurnStarted);
    next_fact!(script, UserMessage);
    let turn = json!({"id": "U", "status": "completed", "items": []});
    let completed = json!({"threadId": "T", "turn": turn});
    script.notify("turn/completed", completed).await;
    let needed = false;
    assert_eq!(script.fact().await, CodexFact::SignIn { needed });
    next_fact!(script, TurnCompleted);
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    script.expect("thread/queue/add").await;
}

#[tokio::test]
async fn a_provider_of_its_own_needs_no_account() {
    let mut script = Script::idle().await;
    script.notify("account/updated", json!({})).await;
    let none = json!({"account": null, "requiresOpenaiAuth": false});
    script.serve("account/read", none).await;
    let needed = false;
    assert_eq!(script.fact().await, CodexFact::SignIn { needed });
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    script.expect("thread/queue/add").await;
}

#[tokio::test]
async fn a_refusal_to_say_is_no_sign_that_somebody_has_signed_in() {
    let mut script = Script::idle().await;
    script.notify("account/updated", json!({})).await;
    script.serve("account/read", account(Value::Null)).await;
    let needed = true;
    assert_eq!(script.fact().await, CodexFact::SignIn { needed });
    let read = script.expect("account/read").await;
    // Before it is time to ask once more.
    script.ask(Ask::Deliver("m1", OnBusy::Queue)).await;
    let why = "Server is draining; retry after reconnecting";
    script.refuse(&read, why).await;
    assert_eq!(script.fact().await, CodexFact::SignIn { needed });
    next_fact!(script, NotTaken);
}
