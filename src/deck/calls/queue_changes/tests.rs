use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::client::Connection;
use crate::client::fake_daemon::{Answering, DEADLINE, FakeDaemon, Place};
use crate::core::id::Seq;
use crate::wire::control::{Recorded, Refusal, RefusalCode, Role};

/// What is said of so many messages, of which the daemon answers those that are not `refused` with the
/// entries from 1 210 on.
async fn told(count: usize, refused: usize, says_where: bool) -> (usize, String) {
    let place = Place::default();
    let seen = AtomicU64::new(0);
    let daemon = FakeDaemon::start(&place, move |command| {
        let Command::QueueChange(params) = command else {
            return Answering::Never;
        };
        let n = seen.fetch_add(1, Ordering::Relaxed);
        if (n as usize) < refused {
            let code = RefusalCode::WrongState;
            return Answering::Refuse(Refusal::new(code, "it is settled", "look again"));
        }
        let recorded = Recorded {
            entry_id: params.id.clone(),
            seq: Seq(1_210 + n),
        };
        Answering::Reply(match says_where {
            true => Reply::Recorded(recorded),
            false => Reply::Done,
        })
    })
    .await;
    let operator = place.client(Role::Deck);
    let mut connection = operator.connection();
    let is_there = |state: &Connection| matches!(state, Connection::Connected(_));
    connection.wait_for(is_there).await.unwrap();
    let ids = (0..count).map(|n| format!("e{n}")).collect();
    let changes = QueueChanges::of(&Effect::GiveUp { ids }).unwrap();
    let (answers, mut answered) = mpsc::channel(1);
    // It needs nothing of the loop that began it.
    tokio::spawn(change_queue(operator, changes, answers));
    let answer = tokio::time::timeout(DEADLINE, answered.recv()).await;
    let Msg::Notice(_, text) = answer.unwrap().unwrap() else {
        panic!("something else is told");
    };
    (daemon.so_far().len(), text)
}

#[tokio::test]
async fn the_entries_that_say_so_are_named() {
    let said = [
        told(1, 0, true).await.1,
        told(2, 0, true).await.1,
        told(500, 0, true).await.1,
        told(3, 1, true).await.1,
        told(2, 0, false).await.1,
    ];
    insta::assert_snapshot!(said.join("\n"), @"
    given up: entry 1 210
    2 given up: entries 1 210 to 1 211
    500 given up: entries 1 210 to 1 709
    2 given up: entries 1 211 to 1 212; 1 not given up: it is settled
    2 given up
    ");
}

#[tokio::test]
async fn one_of_which_nobody_knows_is_not_counted_as_left() {
    let place = Place::default();
    let daemon = FakeDaemon::start(&place, |command| match command {
        Command::QueueChange(params) if params.id.as_str() == "e0" => Answering::Reply(Reply::Done),
        // It was asked for, and the daemon goes away over it.
        _ => Answering::HangUp,
    })
    .await;
    let operator = place.client(Role::Deck);
    let mut connection = operator.connection();
    let is_there = |state: &Connection| matches!(state, Connection::Connected(_));
    connection.wait_for(is_there).await.unwrap();
    let ids = (0..4).map(|n| format!("e{n}")).collect();
    let changes = QueueChanges::of(&Effect::Retry { ids }).unwrap();
    let (answers, mut answered) = mpsc::channel(1);
    tokio::spawn(change_queue(operator, changes, answers));
    let answer = tokio::time::timeout(DEADLINE, answered.recv()).await;
    let Msg::Notice(_, text) = answer.unwrap().unwrap() else {
        panic!("something else is told");
    };
    assert!(
        text.starts_with("1 queued again; unanswered: 1; 2 not queued: "),
        "{text}"
    );
    assert_eq!(daemon.so_far().len(), 2);
}

#[tokio::test]
async fn all_of_many_are_changed() {
    assert_eq!(told(500, 0, true).await.0, 500);
}
