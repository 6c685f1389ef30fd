use tokio::io::{AsyncBufReadExt as _, BufReader, duplex};
use tokio::time::timeout;

use super::*;
use crate::client::fake_daemon::{Answering, DEADLINE, FakeDaemon, Place, hello};
use crate::client::{WebsocketOptions, connect};
use crate::core::id::EntryId;
use crate::wire::control::{Command, Reply, Role};

fn doorbell(place: &Place) -> Client {
    connect(WebsocketOptions {
        dial: place.dial(),
        hello: hello(Role::Hook),
        on_connect: vec![Command::DoorbellAttach],
    })
}

fn done(_: &Command) -> Answering {
    Answering::Reply(Reply::Done)
}

fn ring_with(line: &str) -> Notification {
    Notification::Ring {
        line: line.to_owned(),
        ids: vec![EntryId::new("m1")],
    }
}

#[test]
fn a_ring_of_a_daemon_that_names_no_messages_is_heard() {
    let params = serde_json::json!({"line": "1 message"});
    let ring = Notification::Ring {
        line: "1 message".to_owned(),
        ids: Vec::new(),
    };
    let told = Notification::read("doorbell/ring", Some(params)).unwrap();
    assert_eq!(told, ring);
}

#[test]
fn a_ring_is_one_short_clean_line() {
    assert_eq!(one_line("a\r\nb\u{1b}[2Jc\td\n"), "a  b[2Jc d");
    assert_eq!(one_line(&"ü".repeat(900)).chars().count(), 500);
    assert_eq!(one_line("\u{2028}x"), "x");
}

#[tokio::test]
async fn rings_are_printed_also_after_the_daemon_was_restarted() {
    let place = Place::default();
    let first = FakeDaemon::start(&place, done).await;
    let client = doorbell(&place);
    let (output, printed) = duplex(1024);
    let ringing = tokio::spawn(async move { ring(&client, output).await });
    let mut printed = BufReader::new(printed);

    first.seen(|seen| seen.len() == 1).await;
    first.notify(ring_with("1 message\nfrom codex"));
    let mut line = String::new();
    timeout(DEADLINE, printed.read_line(&mut line))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(line, "1 message from codex\n");

    drop(first);
    let second = FakeDaemon::start(&place, done).await;
    second.seen(|seen| seen.len() == 1).await;
    second.notify(ring_with("again"));
    line.clear();
    timeout(DEADLINE, printed.read_line(&mut line))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(line, "again\n");

    // Nobody reads any more: no end, no panic.
    drop(printed);
    second.notify(ring_with("unheard"));
    second.notify(ring_with("unheard"));
    assert!(timeout(Duration::from_millis(100), ringing).await.is_err());
}

#[tokio::test]
async fn it_ends_when_claude_is_gone_and_not_before() {
    let place = Place::default();
    let _daemon = FakeDaemon::start(&place, done).await;
    let mut claude = tokio::process::Command::new("cat")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let running = tokio::spawn(run(doorbell(&place), claude.id().unwrap()));
    tokio::time::sleep(LIFE_POLL + Duration::from_millis(200)).await;
    assert!(!running.is_finished());
    drop(claude.stdin.take());
    timeout(DEADLINE, running).await.unwrap().unwrap();
    claude.wait().await.unwrap();
}
