//! An unconfirmed message in a conversation in which much has been said since.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::app_server::{Ask, Script, handed_over, message, user};
use crate::core::entry::TurnStatus;

/// Written at 1,795,300,000 s.
const ID: &str = "01a20038-0100-7000-8000-000000000001";
const WRITTEN_S: i64 = 1_795_300_000;

/// A page of turns that began then, the last but this one of `items`.
fn page(number: usize, began_s: Option<i64>, items: &[Value]) -> Value {
    let turns: Vec<Value> = (0..5)
        .map(|at| {
            json!({"id": format!("U{number}-{at}"), "status": "completed", "startedAt": began_s,
                   "items": if at == 4 { items } else { &[] }})
        })
        .collect();
    json!({"data": turns, "nextCursor": format!("page-{number}")})
}

/// The queue is empty, and these pages follow.
async fn look(script: &mut Script, pages: impl Iterator<Item = Value>) {
    let nothing = json!({"data": [], "nextCursor": null});
    script.serve("thread/queue/list", nothing).await;
    for page in pages {
        script.serve("thread/turns/list", page).await;
    }
}

async fn unconfirmed() -> Script {
    let mut script = Script::idle().await;
    script.ask(Ask::Recover(vec![handed_over(ID, &[])])).await;
    // What it notes before it looks.
    let nothing = json!({"data": [], "nextCursor": null});
    script.serve("thread/queue/list", nothing).await;
    script
}

#[tokio::test]
async fn it_is_found_however_much_was_said_since() {
    let mut script = unconfirmed().await;
    let since = (0..40).map(|number| page(number, Some(WRITTEN_S + 50), &[]));
    let its = page(40, Some(WRITTEN_S + 5), &[user(ID)]);
    look(&mut script, since.chain([its])).await;
    next_fact!(script, TurnStarted);
    assert_eq!(script.fact().await, message("U40-4", ID, false));
    assert!(matches!(
        script.fact().await,
        crate::adapters::codex::fact::CodexFact::TurnCompleted {
            status: TurnStatus::Completed,
            ..
        }
    ));
}

#[tokio::test]
async fn what_is_older_than_the_message_is_not_read() {
    let mut script = unconfirmed().await;
    for _ in 0..2 {
        let pages = [
            page(0, Some(WRITTEN_S + 50), &[]),
            page(1, Some(WRITTEN_S - 3_601), &[]),
        ];
        look(&mut script, pages.into_iter()).await;
    }
    next_fact!(script, NotTaken);
}

#[tokio::test]
async fn where_the_history_is_not_read_to_the_message_nobody_knows() {
    // Nor where Codex does not say when a turn began.
    for began_s in [Some(WRITTEN_S + 50), None] {
        let mut script = unconfirmed().await;
        for _ in 0..3 {
            let pages = (0..100).map(|number| page(number, began_s, &[]));
            look(&mut script, pages).await;
        }
        script.quiet().await;
    }
}
