use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use serde_json::json;
use tokio::sync::Notify;

use super::*;
use crate::client::fake_daemon::{Answering, DEADLINE, FakeDaemon, Place, hello, serve_operator};
use crate::client::{Dormancy, operator_dial};
use crate::core::agent::{Agent, Party};
use crate::core::alarm;
use crate::core::entry::{Entry, ErrorCode};
use crate::core::fold::fold;
use crate::core::id::{EntryId, Seq};
use crate::core::snapshot::Snapshot;
use crate::store::dirs::{ProjectDirs, UserDirs};
use crate::wire::control::{Recorded, RefusalCode, Reply, Role, WaitMessagesParams};

async fn within<T>(work: impl Future<Output = T>) -> T {
    timeout(DEADLINE, work).await.unwrap()
}

fn done(_: &Command) -> Answering {
    Answering::Reply(Reply::Done)
}

#[tokio::test]
async fn a_call_waits_for_a_daemon_that_starts_later() {
    let place = Place::default();
    let client = place.client(Role::Cli);
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.call(Command::ReadStatus).await }
    });
    let mut connection = client.connection();
    within(connection.changed()).await.unwrap();
    assert_eq!(
        *connection.borrow(),
        Connection::Connecting {
            why: "nobody is there".to_owned(),
            refusal: None,
            is_raw: false,
        }
    );
    let _daemon = FakeDaemon::start(&place, done).await;
    assert_eq!(within(call).await.unwrap(), Ok(Reply::Done));
}

#[tokio::test]
async fn news_of_a_daemon_is_a_look_at_once() {
    let (looked, mut looks) = mpsc::unbounded_channel();
    let news = Arc::<Notify>::default();
    let look = move || {
        let _ = looked.send(());
        Err(DialError::NotYet("nobody is there".to_owned()))
    };
    let _client = connect(WebsocketOptions {
        dial: Dial::with_news(look, Arc::clone(&news)),
        hello: hello(Role::Cli),
        on_connect: Vec::new(),
    });
    within(looks.recv()).await.unwrap();
    // The pauses alone would take longer than anybody waits here.
    within(async {
        for _ in 0..40 {
            news.notify_one();
            looks.recv().await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn a_refusal_keeps_its_code_and_hint() {
    let place = Place::default();
    let refusal = Refusal::new(RefusalCode::TooLarge, "too much", "write less");
    let refused = refusal.clone();
    let _daemon = FakeDaemon::start(&place, move |_| Answering::Refuse(refused.clone())).await;
    let answer = within(place.client(Role::Cli).call(Command::QueueList)).await;
    assert_eq!(answer, Err(ClientError::Refused(refusal)));
}

#[tokio::test]
async fn an_alarm_that_only_the_daemon_knows_keeps_nobody_from_reading_its_world() {
    let mut world = Snapshot::default();
    let mut entry = Entry {
        seq: Seq(1),
        ..Entry::new(Party::System, ErrorCode::from("of_the_future").into())
    };
    let alarm = json!({"kind": "of_the_future", "seq": 4});
    entry.meta.insert(alarm::META.to_owned(), alarm);
    fold(&mut world, &entry);
    let world = Arc::new(world);
    let place = Place::default();
    let answer = Reply::Snapshot(Arc::clone(&world));
    let _daemon = FakeDaemon::start(&place, move |_| Answering::Reply(answer.clone())).await;
    let client = place.client(Role::Deck);
    let read: Arc<Snapshot> = within(client.ask_for(Command::ReadSnapshot)).await.unwrap();
    assert_eq!((read.open_alarms().count(), &read), (1, &world));
    // Of what is not understood nobody knows which side is the older one.
    let other: Result<Recorded, _> = within(client.ask_for(Command::ReadSnapshot)).await;
    let hint = other.unwrap_err().to_refusal().hint;
    assert!(
        hint.contains("the agent") && hint.contains("the daemon"),
        "{hint}"
    );
}

#[tokio::test]
async fn a_daemon_of_another_protocol_is_told_of_in_its_own_words_with_its_next_step() {
    let place = Place::default();
    let other = FakeDaemon::start_of_another_protocol(&place).await;
    let options = WebsocketOptions {
        dial: place.dial(),
        hello: hello(Role::Cli),
        on_connect: Vec::new(),
    };
    // Longer than anybody waits here: a refusal that is known is no reason to.
    let client = connect_within(options, DEADLINE * 2);
    let refusal = Refusal::protocol_version(PROTOCOL, PROTOCOL + 1);
    assert!(refusal.hint.contains("of one version"));
    let mut connection = client.connection();
    within(connection.changed()).await.unwrap();
    let Connection::Connecting {
        why, refusal: told, ..
    } = connection.borrow().clone()
    else {
        panic!("{:?}", connection.borrow());
    };
    assert!(why.contains("control protocol"), "{why}");
    assert_eq!(told, Some(refusal.clone()));
    // It does not answer a call either, and who calls reads the same, each time.
    for _ in 0..3 {
        let call = within(client.call(Command::QueueList)).await;
        assert_eq!(call, Err(ClientError::NotAdmitted(refusal.clone())));
    }
    // One that comes in its place is used; refusals may be on their way until then.
    drop(other);
    let daemon = FakeDaemon::start(&place, done).await;
    within(async {
        while let Err(error) = client.call(Command::QueueList).await {
            assert_eq!(error, ClientError::NotAdmitted(refusal.clone()));
        }
    })
    .await;
    assert_eq!(daemon.so_far(), [Command::QueueList]);
}

#[tokio::test]
async fn a_call_that_was_refused_for_the_protocol_is_not_sent_later() {
    let place = Place::default();
    let other = FakeDaemon::start_of_another_protocol(&place).await;
    let client = place.client(Role::Cli);
    let calls = (0..5).map(|_| client.call(Command::QueueList));
    for answer in within(futures::future::join_all(calls)).await {
        assert!(
            matches!(answer, Err(ClientError::NotAdmitted(_))),
            "{answer:?}"
        );
    }
    drop(other);
    let daemon = FakeDaemon::start(&place, done).await;
    let mut connection = client.connection();
    within(connection.wait_for(|state| matches!(state, Connection::Connected(_))))
        .await
        .unwrap();
    let read = within(client.call(Command::ReadStatus)).await;
    assert_eq!(read, Ok(Reply::Done));
    assert_eq!(daemon.so_far(), [Command::ReadStatus]);
}

#[tokio::test]
async fn a_call_in_flight_when_the_connection_breaks_is_unanswered_and_not_sent_again() {
    let place = Place::default();
    let recorded = Reply::Recorded(Recorded {
        entry_id: EntryId::new("e1"),
        seq: Seq(1),
    });
    let answer = recorded.clone();
    let daemon = FakeDaemon::start(&place, move |command| match command {
        Command::QueueList => Answering::HangUp,
        _ => Answering::Reply(answer.clone()),
    })
    .await;
    let client = place.client(Role::Cli);
    let broken = within(client.call(Command::QueueList)).await;
    assert_eq!(broken, Err(ClientError::Unanswered));
    // The same client, over a new connection.
    assert_eq!(within(client.call(Command::ReadStatus)).await, Ok(recorded));
    assert_eq!(
        daemon.so_far(),
        vec![Command::QueueList, Command::ReadStatus]
    );
}

#[tokio::test]
async fn a_call_that_the_daemon_says_it_has_not_read_is_sent_to_the_next_one() {
    let place = Place::default();
    let asked = AtomicU32::new(0);
    let daemon = FakeDaemon::start(&place, move |_| {
        match asked.fetch_add(1, Ordering::Relaxed) {
            0 => Answering::EndUnread,
            _ => Answering::Reply(Reply::Done),
        }
    })
    .await;
    let client = place.client(Role::Cli);
    assert_eq!(
        within(client.call(Command::QueueList)).await,
        Ok(Reply::Done)
    );
    assert_eq!(
        daemon.so_far(),
        vec![Command::QueueList, Command::QueueList]
    );
}

#[tokio::test]
async fn a_wait_that_goes_on_at_the_next_daemon_has_what_is_left_of_its_time() {
    let place = Place::default();
    let asked = AtomicU32::new(0);
    let daemon = FakeDaemon::start(&place, move |_| {
        match asked.fetch_add(1, Ordering::Relaxed) {
            0 | 1 => Answering::EndUnread,
            _ => Answering::Reply(Reply::Done),
        }
    })
    .await;
    let wait = Command::WaitMessages(WaitMessagesParams {
        agent: Agent::Claude,
        after: None,
        reply_to: None,
        timeout_ms: 10_000,
        runtime_session_id: None,
    });
    assert_eq!(
        within(place.client(Role::Claude).call(wait)).await,
        Ok(Reply::Done)
    );
    let times: Vec<u64> = daemon.so_far().iter().map(timeout_ms).collect();
    // Between two connections is a pause.
    assert!(times.is_sorted_by(|one, next| one > next), "{times:?}");
    assert_eq!(times.len(), 3);
}

fn timeout_ms(command: &Command) -> u64 {
    match command {
        Command::WaitMessages(params) => params.timeout_ms,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_new_daemon_on_another_port_is_found_and_gets_the_subscriptions_again() {
    let place = Place::default();
    let first = FakeDaemon::start(&place, done).await;
    let client = connect(WebsocketOptions {
        dial: place.dial(),
        hello: hello(Role::Deck),
        on_connect: vec![Command::Subscribe],
    });
    first.seen(|seen| seen == &[Command::Subscribe]).await;
    drop(first);
    let mut connection = client.connection();
    within(connection.wait_for(|state| matches!(state, Connection::Connecting { .. })))
        .await
        .unwrap();

    let second = FakeDaemon::start(&place, done).await;
    second.seen(|seen| seen == &[Command::Subscribe]).await;
    let mut notifications = client.notifications();
    second.notify(Notification::StatusChanged {});
    assert_eq!(
        within(notifications.recv()).await.unwrap(),
        Notification::StatusChanged {}
    );
}

#[tokio::test]
async fn a_killed_project_is_dormant_and_says_so_at_once() {
    let killed = Arc::new(AtomicBool::new(true));
    let place = Place::default();
    let _daemon = FakeDaemon::start(&place, done).await;
    let dial = {
        let (killed, inner) = (killed.clone(), place.dial());
        Dial::new(move || {
            if killed.load(Ordering::SeqCst) {
                Err(DialError::Dormant(Dormancy::Killed))
            } else {
                inner.look()
            }
        })
    };
    let client = connect(WebsocketOptions {
        dial,
        hello: hello(Role::Claude),
        on_connect: Vec::new(),
    });
    let answer = within(client.call(Command::ReadStatus)).await;
    assert_eq!(answer, Err(ClientError::Killed));
    let hint = ClientError::Killed.to_refusal().hint;
    assert!(!hint.contains('`'), "it names a command: {hint}");

    killed.store(false, Ordering::SeqCst);
    let mut connection = client.connection();
    within(connection.wait_for(|state| matches!(state, Connection::Connected(_))))
        .await
        .unwrap();
    assert_eq!(
        within(client.call(Command::ReadStatus)).await,
        Ok(Reply::Done)
    );
}

#[tokio::test]
async fn without_a_daemon_a_call_gives_up_after_its_wait_and_is_never_sent() {
    let place = Place::default();
    let options = WebsocketOptions {
        dial: place.dial(),
        hello: hello(Role::Cli),
        on_connect: Vec::new(),
    };
    let client = connect_within(options, Duration::from_millis(100));
    let answer = within(client.call(Command::QueueList)).await;
    assert_eq!(
        answer,
        Err(ClientError::Unreachable("nobody is there".to_owned()))
    );
    let daemon = FakeDaemon::start(&place, done).await;
    let mut connection = client.connection();
    within(connection.wait_for(|state| matches!(state, Connection::Connected(_))))
        .await
        .unwrap();
    assert_eq!(
        within(client.call(Command::ReadStatus)).await,
        Ok(Reply::Done)
    );
    assert_eq!(daemon.so_far(), vec![Command::ReadStatus]);
}

#[tokio::test]
async fn more_calls_than_the_queue_holds_are_refused_and_not_kept() {
    let place = Place::default();
    let _daemon = FakeDaemon::start(&place, |_| Answering::Never).await;
    let client = place.client(Role::Cli);
    let mut connection = client.connection();
    within(connection.wait_for(|state| matches!(state, Connection::Connected(_))))
        .await
        .unwrap();
    // On this one thread the link cannot run between two of these.
    let mut calls: Vec<_> = (0..=CALLS_MAX)
        .map(|_| Box::pin(tokio::task::unconstrained(client.call(Command::QueueList))))
        .collect();
    let refused = calls
        .iter_mut()
        .filter_map(|call| futures::FutureExt::now_or_never(call.as_mut()))
        .count();
    assert_eq!(refused, 1);
}

#[tokio::test]
async fn the_wrong_token_is_told_apart() {
    let place = Place::default();
    let _daemon = FakeDaemon::start(&place, done).await;
    let inner = place.dial();
    let attempts = Arc::new(AtomicU32::new(0));
    let counted = attempts.clone();
    let dial = Dial::new(move || {
        counted.fetch_add(1, Ordering::SeqCst);
        match inner.look() {
            Ok(super::super::Endpoint::Control { port, .. }) => {
                Ok(super::super::Endpoint::Control {
                    port,
                    token: "ff".to_owned(),
                })
            }
            other => other,
        }
    });
    let client = connect(WebsocketOptions {
        dial,
        hello: hello(Role::Cli),
        on_connect: Vec::new(),
    });
    let mut connection = client.connection();
    within(connection.changed()).await.unwrap();
    assert_eq!(
        *connection.borrow(),
        Connection::Connecting {
            why: "the daemon refused the token".to_owned(),
            refusal: None,
            is_raw: true,
        }
    );
    assert_eq!(attempts.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn the_client_ends_with_its_last_clone() {
    let place = Place::default();
    let _daemon = FakeDaemon::start(&place, done).await;
    let client = place.client(Role::Cli);
    let mut connection = client.connection();
    within(connection.wait_for(|state| matches!(state, Connection::Connected(_))))
        .await
        .unwrap();
    drop(client);
    // The sender is the task's own.
    within(async { while connection.changed().await.is_ok() {} }).await;
}

#[test]
fn a_command_without_arguments_has_no_params() {
    let frame = request_frame(&Command::ReadSnapshot).unwrap();
    assert_eq!(frame.method.as_deref(), Some("snapshot/read"));
    assert_eq!(frame.params, None);
    let wait = Command::WaitMessages(WaitMessagesParams {
        agent: Agent::Claude,
        after: None,
        reply_to: None,
        timeout_ms: 1,
        runtime_session_id: None,
    });
    let frame = request_frame(&wait).unwrap();
    assert_eq!(frame.params.unwrap()["timeoutMs"], 1);
}

#[tokio::test]
async fn an_operator_connects_over_the_socket_without_a_token() {
    let dir = tempfile::tempdir().unwrap();
    let dirs = ProjectDirs::new(dir.path().to_path_buf(), None);
    let user = UserDirs {
        registry: dir.path().join("registry"),
        data: dir.path().join("data"),
        runtime: None,
    };
    let client = connect(WebsocketOptions {
        dial: operator_dial(&user, &dirs),
        hello: hello(Role::Cli),
        on_connect: Vec::new(),
    });
    let mut connection = client.connection();
    within(connection.changed()).await.unwrap();
    assert!(matches!(
        *connection.borrow(),
        Connection::Connecting { .. }
    ));

    let path = crate::store::operator_socket::place(&user, &dirs.instance_id());
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        serve_operator(stream, done).await;
    });
    assert_eq!(
        within(client.call(Command::QueueList)).await,
        Ok(Reply::Done)
    );
}
