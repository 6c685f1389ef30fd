//! What the deck keeps of a task that it hands off.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::client::Connection;
use crate::client::fake_daemon::{Answering, FakeDaemon, Place};
use crate::core::delivery::Outcome;
use crate::core::id::{EntryId, Seq};
use crate::wire::control::{Reply, Role};

/// Each time that a task is made into a handoff it is another one.
fn access(made: Arc<AtomicUsize>) -> CapsuleAccess {
    fn unasked<T>(_: &str) -> Result<T, String> {
        Err("not asked for".to_owned())
    }
    CapsuleAccess {
        runtime_session: RuntimeSession::default(),
        list: Arc::new(|| unasked("")),
        read: Arc::new(unasked),
        export: Arc::new(|id, _, _, _| unasked(id)),
        alike: Arc::new(unasked),
        before: Arc::new(unasked),
        handoff: Arc::new(move |_, to, _| {
            let number = made.fetch_add(1, Ordering::SeqCst);
            let params = serde_json::json!({
                "from": null, "to": to, "ask": format!("task {number}"), "reason": "",
            });
            Ok(HandedTask {
                params: serde_json::from_value(params).unwrap(),
                remarks: Vec::new(),
                keep: Box::new(move || Ok(Some(format!("digest {number}")))),
            })
        }),
        tell: Arc::new(|id, _| unasked(id)),
        keep: Arc::new(unasked),
    }
}

#[tokio::test]
async fn what_is_kept_of_a_task_that_is_handed_over_is_what_the_agent_got() {
    let made = Arc::new(AtomicUsize::new(0));
    let place = Place::default();
    let later = Arc::clone(&made);
    let daemon = FakeDaemon::start(&place, move |command| {
        Answering::Reply(match command {
            Command::Handoff(_) => {
                // Meanwhile the task goes on.
                later.fetch_add(1, Ordering::SeqCst);
                Reply::Sent(Sent {
                    message_id: EntryId::new("e7"),
                    delivery_attempt_id: None,
                    outcome: Outcome::JoinedActiveWork,
                    seq: Seq(7),
                    duplicate: false,
                    receiver_missing: false,
                    waits_for_human: None,
                    unanswered: Vec::new(),
                })
            }
            _ => Reply::Task(TaskChanged {
                id: CapsuleId::new("cap_0123456789ab"),
                seq: Seq(8),
            }),
        })
    })
    .await;
    let operator = place.client(Role::Deck);
    let mut connection = operator.connection();
    let is_there = |state: &Connection| matches!(state, Connection::Connected(_));
    connection.wait_for(is_there).await.unwrap();
    let id = "cap_0123456789ab".to_owned();
    let access = access(made);
    let said = access.hand(id, Agent::Codex, Vec::new(), &operator);
    assert_eq!(said.await.unwrap(), "handed to Codex as entry 7");
    let asked = daemon.so_far();
    let told = asked.iter().map(|command| match command {
        Command::Handoff(params) => params.ask.clone(),
        Command::ChangeTask(TaskParams {
            change: TaskChange::Keep { digest, .. },
            ..
        }) => digest.clone(),
        other => panic!("{other:?}"),
    });
    assert_eq!(told.collect::<Vec<_>>(), ["task 0", "digest 0"]);
}

#[tokio::test]
async fn what_was_written_of_a_task_comes_back_where_it_is_not_recorded() {
    let place = Place::default();
    let _daemon = FakeDaemon::start(&place, |_| Answering::HangUp).await;
    let operator = place.client(Role::Deck);
    let mut connection = operator.connection();
    let is_there = |state: &Connection| matches!(state, Connection::Connected(_));
    connection.wait_for(is_there).await.unwrap();
    let id = "cap_0123456789ab".to_owned();
    let written = [
        Effect::CloseCapsule {
            id: id.clone(),
            outcome: Some("it is rotated".to_owned()),
        },
        Effect::EditCapsule {
            id: id.clone(),
            before: "title: one\n".to_owned(),
            after: "title: two\n".to_owned(),
        },
        // Below a heading that there is not.
        Effect::EditCapsule {
            id,
            before: "title: one\n".to_owned(),
            after: "title: one\n\n# Constraint\n- no new table\n".to_owned(),
        },
        Effect::BeginTask {
            title: "one".to_owned(),
            found: Vec::new(),
        },
    ];
    for asked in written {
        let access = access(Arc::default());
        let told = access.answer(asked.clone(), &operator).await;
        let is_back = |msg: &Msg| match msg {
            Msg::Refused { effect, .. } => **effect == asked,
            _ => false,
        };
        assert!(told.iter().any(is_back), "{told:?}");
    }
}
