//! A fault of our own, ordered at a line of the log: it is told, ends what it must and no more, and
//! what was acknowledged is there. Only in builds for development, which take such orders.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::child::Child;
use crate::support::hand_over::Tidy;
use crate::support::launch::Launch;
use crate::support::mcp::McpClient;
use crate::support::operator;
use crate::support::operator::Operator;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::wait::{timeout, wait_until};
use crate::support::ws::RpcSocket;

/// What the panics quote, as some of `std` do.
const QUOTED: &str = "a text that no log may have";

fn order(project: &Project) -> PathBuf {
    project.base().join("panic")
}

/// A command that panics on order.
pub fn orderly(project: &Project, args: &[&str]) -> Launch {
    project
        .ctxrelay(args.iter().copied())
        .env("CONTEXTRELAY_TEST_PANIC", order(project))
        .env("CONTEXTRELAY_LOG", "warn,ctxrelay=debug")
}

/// Has the next of these lines of the log be a panic.
pub fn order_panic(project: &Project, line: &str) {
    std::fs::write(order(project), line).unwrap();
}

fn was_ordered(project: &Project) {
    wait_until("the panic", timeout(), || {
        (!order(project).exists()).then_some(())
    });
}

fn log(project: &Project) -> String {
    std::fs::read_to_string(project.state().join("state/contextrelay.log")).unwrap()
}

fn come_in(project: &Project) -> RpcSocket {
    // One that was begun anew has its lock before it listens.
    let mut socket = wait_until("a daemon that listens", timeout(), || {
        project.control_of("codex").ok()
    });
    let hello = json!({"protocol": 1, "role": "codex", "pid": 4_000_000});
    socket.expect("hello", hello);
    // What it records of its start would carry out an order that is meant for what comes behind: a
    // line is in the file before the log says so.
    wait_until("its start in the record", timeout(), || {
        let started = project.ledger_naming("the daemon started");
        let world = socket.expect("snapshot/read", json!({}));
        let started = started.last()?["seq"].as_u64()?;
        (world["value"]["seq"].as_u64()? >= started).then_some(())
    });
    socket
}

fn note(socket: &mut RpcSocket, text: &str) -> Result<Value, crate::support::ws::RpcError> {
    socket.call("note/append", json!({"agent": "codex", "text": text}))
}

fn notes(project: &Project) -> Vec<String> {
    let ledger = project.ledger();
    let notes = ledger.iter().filter(|line| line["type"] == "note");
    notes
        .map(|line| line["content"].as_str().unwrap().to_owned())
        .collect()
}

/// The daemon ended by a fault, said so, and the next one says so as well.
fn expect_failed(project: &Project, daemon: Child, code: &str, place: &str) {
    let left = daemon.wait();
    assert_eq!(left.code(), 1, "{left:#?}");
    assert!(left.stderr.contains("fault of ctxrelay's own"), "{left:#?}");
    let log = log(project);
    assert!(log.contains(&format!("code=\"{code}\"")), "{log}");
    assert!(
        log.lines()
            .any(|line| line.contains("panicked at") && line.contains(place)),
        "{log}"
    );
    assert!(!log.contains(QUOTED), "{log}");
    project.run(["ledger", "verify"]).expect_success();

    let next = project.daemon();
    let status = project.run(["status", "--json"]).expect_success().json();
    assert!(
        status["notices"].to_string().contains("before this start"),
        "{status:#}"
    );
    // A daemon is ready before its first entries are on the disk.
    let told = wait_until("the entry of the fault", timeout(), || {
        let mut told = project.ledger();
        told.retain(|line| line["type"] == "error" && line["error"]["code"] == code);
        (!told.is_empty()).then_some(told)
    });
    assert_eq!(told.len(), 1, "{told:#?}");
    // It is the first start after it that tells.
    next.stop();
    let _last = project.daemon();
    let status = project.run(["status", "--json"]).expect_success().json();
    assert!(!status["notices"].to_string().contains("before this start"));
}

#[test]
fn a_panic_in_the_loop_ends_the_daemon_with_1_and_loses_nothing_that_was_acknowledged() {
    let project = Project::new();
    let mut daemon = Child::spawn(&orderly(&project, &["daemon"]));
    daemon.wait_for_line("its ready line", |line| Some(line.to_owned()));
    let mut socket = come_in(&project);
    note(&mut socket, "acknowledged").unwrap();
    order_panic(&project, "recorded");
    let send = json!({"from": "codex", "text": "recorded, and not acknowledged"});
    let refused = socket.call("message/send", send).unwrap_err();
    assert_eq!(refused.data["code"], "unanswered", "{refused:?}");
    socket.wait_closed();
    expect_failed(&project, daemon, "daemon_failed", "panic_on_order.rs");
    assert_eq!(notes(&project), ["acknowledged"]);
    let ledger = project.ledger();
    let messages = ledger.iter().filter(|line| line["type"] == "message");
    assert_eq!(messages.count(), 1);
}

#[test]
fn a_panic_in_the_writer_is_told_as_such_and_ends_the_daemon_with_1() {
    let project = Project::new();
    let mut daemon = Child::spawn(&orderly(&project, &["daemon"]));
    daemon.wait_for_line("its ready line", |line| Some(line.to_owned()));
    let mut socket = come_in(&project);
    note(&mut socket, "acknowledged").unwrap();
    order_panic(&project, "written");
    let refused = note(&mut socket, "written, and not acknowledged").unwrap_err();
    assert_eq!(refused.data["code"], "writer_gone", "{refused:?}");
    socket.wait_closed();
    expect_failed(&project, daemon, "writer_gone", "ledger-writer");
    assert_eq!(
        notes(&project),
        ["acknowledged", "written, and not acknowledged"]
    );
}

#[test]
fn a_panic_in_the_writer_of_the_queue_ends_the_daemon_with_1_and_nothing_has_left() {
    let project = Project::new();
    let mut daemon = Child::spawn(&orderly(&project, &["daemon"]));
    daemon.wait_for_line("its ready line", |line| Some(line.to_owned()));
    let mut claude = project.agent("claude");
    let mut socket = come_in(&project);
    socket.expect(
        "message/send",
        json!({"from": "codex", "text": "for claude"}),
    );
    order_panic(&project, "rows written");
    let refused = claude.call("messages/get", json!({"agent": "claude"}));
    assert_eq!(refused.unwrap_err().data["code"], "unanswered");
    expect_failed(&project, daemon, "queue_writer_gone", "panic_on_order.rs");
    let queue = project.run(["queue", "list", "--json"]).expect_success();
    assert!(queue.stdout.contains("queued"), "{queue:#?}");
}

#[test]
fn a_panic_in_the_codex_adapter_ends_the_daemon_with_1_and_the_message_waits() {
    let project = Project::new();
    let mut daemon = Child::spawn(&orderly(&project, &["daemon"]));
    daemon.wait_for_line("its ready line", |line| Some(line.to_owned()));
    order_panic(&project, "starting the app-server");
    let mut socket = project.agent("claude");
    let send = json!({"from": "claude", "text": "for codex"});
    // Answered, or cut off: it is recorded in both cases.
    let _ = socket.outcome("message/send", send);
    expect_failed(&project, daemon, "adapter_failed", "panic_on_order.rs");
    let queue = project.run(["queue", "list", "--json"]).expect_success();
    assert!(
        queue.stdout.contains("for codex") || queue.stdout.contains("queued"),
        "{queue:#?}"
    );
}

#[test]
fn a_panic_of_who_follows_the_codex_adapter_ends_the_daemon_with_1() {
    let project = Project::new();
    order_panic(&project, "following what Codex's adapter tells");
    let daemon = Child::spawn(&orderly(&project, &["daemon"]));
    expect_failed(&project, daemon, "adapter_failed", "panic_on_order.rs");
}

#[test]
fn a_daemon_whose_doors_or_watch_panicked_ends_with_1_and_is_not_left_deaf() {
    for line in [
        "a client of the control port comes",
        "a client of the operator's socket comes",
        "looking at the project's files",
    ] {
        let project = Project::new();
        let mut daemon = Child::spawn(&orderly(&project, &["daemon"]));
        daemon.wait_for_line("its ready line", |line| Some(line.to_owned()));
        let mut socket = come_in(&project);
        note(&mut socket, "acknowledged").unwrap();
        order_panic(&project, line);
        // Comes in by both doors, and touches what is watched.
        let _ = project.control_of("codex");
        let _ = UnixStream::connect(operator::socket(&project));
        std::fs::write(project.state().join("config.json"), "{}").unwrap();
        was_ordered(&project);
        expect_failed(&project, daemon, "service_failed", "panic_on_order.rs");
        assert!(notes(&project).contains(&"acknowledged".to_owned()));
    }
}

#[test]
fn a_panic_while_the_record_is_closed_ends_the_daemon_with_1_and_is_told() {
    let project = Project::new();
    let mut daemon = Child::spawn(&orderly(&project, &["daemon"]));
    daemon.wait_for_line("its ready line", |line| Some(line.to_owned()));
    let mut socket = come_in(&project);
    note(&mut socket, "acknowledged").unwrap();
    order_panic(&project, "closing the record and the queue");
    daemon.signal(Signal::TERM);
    expect_failed(&project, daemon, "service_failed", "panic_on_order.rs");
    assert_eq!(notes(&project), ["acknowledged"]);
}

fn notices(project: &Project) -> String {
    let status = project.run(["status", "--json"]).expect_success().json();
    assert_eq!(status["running"], true);
    status["notices"].to_string()
}

#[test]
fn work_beside_the_loop_that_panics_is_told_and_done_the_next_time() {
    let project = Project::new();
    let mut daemon = Child::spawn(&orderly(&project, &["daemon"]));
    daemon.wait_for_line("its ready line", |line| Some(line.to_owned()));
    let mut socket = come_in(&project);
    order_panic(
        &project,
        "beside the loop: making the files about the agents' work",
    );
    let goal = |text| json!({"agent": "codex", "kind": "goal", "text": text});
    socket.expect("note/append", goal("Sort the pears"));
    wait_until("the notice", timeout(), || {
        let told = "making the files about the agents' work failed by a fault";
        notices(&project).contains(told).then_some(())
    });
    let files = project.state().join("state/continuity/default/codex");
    assert!(!files.exists());
    socket.expect("note/append", goal("Sort the plums"));
    wait_until("the files", timeout(), || {
        let log = std::fs::read_to_string(files.join("TASKLOG.md")).ok()?;
        (log.contains("Sort the pears") && log.contains("Sort the plums")).then_some(())
    });
    let ledger = project.ledger();
    let told = ledger.iter().filter(|line| line["type"] == "error");
    let told: Vec<&Value> = told.map(|line| &line["error"]["code"]).collect();
    assert_eq!(told, ["work_failed"]);
    let log = log(&project);
    assert!(
        log.contains("panicked at") && !log.contains(QUOTED),
        "{log}"
    );
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.wait().code(), 0);
}

#[test]
fn who_asked_for_work_that_panics_hears_so_and_may_ask_again() {
    let project = Project::new();
    let mut daemon = Child::spawn(&orderly(&project, &["daemon"]));
    daemon.wait_for_line("its ready line", |line| Some(line.to_owned()));
    let mut operator = Operator::connect(&project);
    order_panic(&project, "beside the loop: reading or writing the settings");
    let auto = json!({"change": "signOff", "mode": "auto"});
    let refused = operator.call("policy/set", auto.clone()).unwrap_err();
    assert_eq!(refused.data["code"], "unanswered", "{refused:?}");
    assert!(
        refused.message.contains("the daemon goes on"),
        "{refused:?}"
    );
    wait_until("the notice", timeout(), || {
        let told = "writing the settings failed by a fault";
        notices(&project).contains(told).then_some(())
    });
    operator.call("policy/set", auto).unwrap();
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.wait().code(), 0);
}

/// Waits until the daemon says so.
fn claude_is(project: &Project, state: &str) {
    wait_until(&format!("claude is {state}"), timeout(), || {
        let status = project.run(["status", "--json"]).json();
        (status["agents"]["claude"]["state"] == state).then_some(())
    });
}

#[test]
fn a_panic_in_a_connection_ends_that_connection_and_no_other() {
    let project = Project::new();
    let mut daemon = Child::spawn(&orderly(&project, &["daemon"]));
    daemon.wait_for_line("its ready line", |line| Some(line.to_owned()));
    let mut other = come_in(&project);
    note(&mut other, "before").unwrap();
    let mut socket = project.control_of("claude").unwrap();
    let hello = json!({"protocol": 1, "role": "claude", "pid": 4_000_001});
    socket.expect("hello", hello);
    claude_is(&project, "idle");
    order_panic(&project, "asked");
    socket.begin("note/append", json!({"agent": "claude", "text": "never"}));
    socket.wait_closed();
    note(&mut other, "after").unwrap();
    assert_eq!(notes(&project), ["before", "after"]);
    let log = wait_until("the fault in the log", timeout(), || {
        let log = log(&project);
        log.contains("a connection ended by a fault of ours")
            .then_some(log)
    });
    assert!(!log.contains(QUOTED), "{log}");
    // Nobody is left behind who would count as being here.
    claude_is(&project, "offline");
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.wait().code(), 0);
}

#[test]
fn a_panic_of_the_search_index_costs_neither_the_daemon_nor_a_hit() {
    let project = Project::new();
    let mut daemon = Child::spawn(&orderly(&project, &["daemon"]));
    daemon.wait_for_line("its ready line", |line| Some(line.to_owned()));
    let mut socket = come_in(&project);
    order_panic(&project, "indexed");
    note(&mut socket, "a needle in the record").unwrap();
    was_ordered(&project);
    let found = project.run(["ledger", "search", "needle", "--json"]);
    let found = found.expect_success();
    assert!(
        found.stdout.contains("a needle in the record"),
        "{found:#?}"
    );
    note(&mut socket, "it goes on").unwrap();
    assert!(!log(&project).contains(QUOTED));
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.wait().code(), 0);
}

#[test]
fn a_bridge_finds_the_daemon_that_was_begun_anew_after_a_fault() {
    let project = Project::new();
    let _tidy = Tidy(&project);
    let mut daemon = Child::spawn(&orderly(&project, &["daemon"]));
    daemon.wait_for_line("its ready line", |line| Some(line.to_owned()));
    let mut claude = McpClient::start(&project.ctxrelay(["bridge"]));
    claude.tool("append_note", json!({"text": "before"}));
    order_panic(&project, "written");
    claude.tool_refused("append_note", json!({"text": "in the fault"}));
    assert_eq!(daemon.wait().code(), 1);
    // The bridge starts one by itself, where nobody else does.
    claude.tool("append_note", json!({"text": "after"}));
    let notes = notes(&project);
    assert_eq!(notes.first().unwrap(), "before");
    assert_eq!(notes.last().unwrap(), "after");
}

fn is_running(project: &Project) -> bool {
    project.run(["status", "--json"]).json()["running"] == true
}

fn expect_given_back(deck: &Pty) {
    let is_ours = deck.with_screen(|screen| screen.alternate_screen());
    assert!(!is_ours, "the terminal was not given back");
}

#[test]
fn a_deck_whose_daemon_failed_says_so_and_starts_it_again_by_a_key() {
    let project = Project::new();
    let mut deck = Pty::spawn_sized(&orderly(&project, &[]), 120, 40).labelled("deck");
    deck.wait_for_text("Claude is not installed");
    let mut socket = come_in(&project);
    note(&mut socket, "before the fault").unwrap();
    deck.wait_for_text("before the fault");
    for line in ["written", "recorded"] {
        let mut socket = come_in(&project);
        order_panic(&project, line);
        let send = json!({"from": "codex", "text": format!("lost its answer: {line}")});
        socket.call("message/send", send).unwrap_err();
        deck.wait_for_text("by a fault of ctxrelay's own");
        deck.wait_for_text("R restart");
        wait_until("the end of the daemon", timeout(), || {
            (!is_running(&project)).then_some(())
        });
        deck.press(Key::Char('R'));
        deck.wait_until_gone("R restart");
        // The words may still be those of the start before.
        wait_until("the next daemon", timeout(), || {
            is_running(&project).then_some(())
        });
        deck.wait_for_text("before this start");
        let mut socket = come_in(&project);
        let after = format!("after {line}");
        note(&mut socket, &after).unwrap();
        deck.wait_for_text(&after);
    }
    let ledger = project.ledger();
    let messages = ledger.iter().filter(|line| line["type"] == "message");
    assert_eq!(messages.count(), 2);
    deck.press(Key::Char('q'));
    assert_eq!(deck.wait_exit(), 0);
    expect_given_back(&deck);
    assert!(!is_running(&project));
    assert!(!log(&project).contains(QUOTED));
}

#[test]
fn a_deck_that_is_left_after_its_daemon_failed_exits_with_1() {
    let project = Project::new();
    let mut deck = Pty::spawn_sized(&orderly(&project, &[]), 120, 40).labelled("deck");
    deck.wait_for_text("Claude is not installed");
    let mut socket = come_in(&project);
    order_panic(&project, "written");
    note(&mut socket, "lost its answer").unwrap_err();
    deck.wait_for_text("R restart");
    deck.press(Key::Char('q'));
    assert_eq!(deck.wait_exit(), 1);
    expect_given_back(&deck);
    assert!(deck.shows("fault of ctxrelay's own"), "{}", deck.screen());
}

#[test]
fn a_deck_beside_a_daemon_that_failed_starts_one_by_a_key() {
    let project = Project::new();
    let _tidy = Tidy(&project);
    let mut daemon = Child::spawn(&orderly(&project, &["daemon"]));
    daemon.wait_for_line("its ready line", |line| Some(line.to_owned()));
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 40).labelled("deck");
    deck.wait_for_text("attached");
    let mut socket = come_in(&project);
    order_panic(&project, "written");
    note(&mut socket, "lost its answer").unwrap_err();
    assert_eq!(daemon.wait().code(), 1);
    deck.wait_for_text("R restart");
    deck.press(Key::Char('R'));
    deck.wait_for_text("before this start");
    wait_until("the next daemon", timeout(), || {
        is_running(&project).then_some(())
    });
}

#[test]
fn a_panic_while_drawing_gives_the_terminal_back_and_exits_with_1() {
    let project = Project::new();
    let mut deck = Pty::spawn_sized(&orderly(&project, &[]), 120, 40).labelled("deck");
    deck.wait_for_text("Claude is not installed");
    order_panic(&project, "the screen has another size");
    deck.resize(100, 30);
    assert_eq!(deck.wait_exit(), 1);
    expect_given_back(&deck);
    assert!(deck.shows("could not draw the deck"), "{}", deck.screen());
    // The daemon came to an orderly end.
    assert!(!is_running(&project));
    let ledger = project.ledger();
    assert!(
        ledger
            .last()
            .unwrap()
            .to_string()
            .contains("daemon_stopped")
    );
    assert!(log(&project).contains("deck-draw panicked at"));
}
