//! The deck in a real terminal: hosting, attached, resized, left, and with hostile text in it.

use std::fs::File;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::child::Child;
use crate::support::contextrelay3::{SESSION, fill};
use crate::support::gate_scene::Scene;
use crate::support::hand_over::stay;
use crate::support::mcp::McpClient;
use crate::support::panes::wait_for_waiting;
use crate::support::privileged;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::wait::{timeout, wait_until};

fn deck(project: &Project, columns: u16, rows: u16) -> Pty {
    Pty::spawn_sized(&project.ctxrelay([]), columns, rows).labelled("deck")
}

/// A deck that hosts the daemon of a project of its own.
fn hosting_deck() -> (Project, Pty) {
    let project = Project::new();
    let mut deck = deck(&project, 120, 40);
    deck.wait_for_text("● daemon");
    (project, deck)
}

fn status(project: &Project) -> Value {
    project.run(["status", "--json"]).expect_success().json()
}

fn codex(project: &Project) -> McpClient {
    McpClient::start(&project.ctxrelay(["codex-mcp", "server"]))
}

#[test]
fn the_deck_hosts_the_daemon_and_takes_it_along_when_nobody_is_attached() {
    let project = Project::new();
    let mut deck = deck(&project, 120, 40);
    deck.wait_for_text("Claude is not installed");
    assert_eq!(status(&project)["running"], true);
    deck.press(Key::Char('q'));
    assert_eq!(deck.wait_exit(), 0);
    assert_eq!(status(&project)["running"], false);
    assert!(
        !deck.with_screen(|screen| screen.alternate_screen()),
        "the terminal was not given back"
    );
}

/// Holds up every start of a daemon at the list of projects, for as long as the value lives.
fn hold_starts(project: &Project) -> File {
    std::fs::create_dir_all(project.registry()).unwrap();
    let held = File::create(project.registry().join("instances.lock")).unwrap();
    held.lock().unwrap();
    held
}

#[test]
fn a_search_typed_before_the_daemon_is_there_is_carried_out_when_it_is() {
    let project = Project::new();
    let held = hold_starts(&project);
    let mut deck = deck(&project, 120, 40);
    deck.wait_for_text("starting the daemon …");
    deck.type_text("/plum");
    deck.wait_for_text("searching …");
    drop(held);
    deck.wait_for_text("in the whole record");
}

#[test]
fn the_first_frame_stands_before_the_daemon_does() {
    let project = Project::new();
    let held = hold_starts(&project);
    let mut deck = deck(&project, 120, 40);
    deck.wait_for_text("starting the daemon …");
    assert!(deck.shows("1 Agents"), "{}", deck.screen());
    assert!(!deck.shows("Nothing has happened"), "nothing was read yet");
    // What is typed is text, and no command.
    deck.type_text("mquick question");
    deck.wait_for_text("nothing can be sent now");
    deck.wait_for_text("quick question");
    drop(held);
    deck.wait_until_gone("nothing can be sent now");
    deck.wait_for_text("quick question");
    deck.press(Key::Escape);
    // A key that comes in one read with an escape is another key.
    deck.wait_until_gone("quick question");
    deck.wait_for_text("Claude is not installed");
    assert_eq!(status(&project)["running"], true);
    deck.press(Key::Char('q'));
    assert_eq!(deck.wait_exit(), 0);
}

#[test]
fn a_deck_that_still_opens_can_be_left() {
    let project = Project::new();
    let _held = hold_starts(&project);
    for leave in [Key::Char('q'), Key::Ctrl('c')] {
        let mut deck = deck(&project, 120, 40);
        deck.wait_for_text("starting the daemon …");
        deck.press(leave);
        assert_eq!(deck.wait_exit(), 0);
        assert!(!deck.with_screen(|screen| screen.alternate_screen()));
    }
    let mut deck = deck(&project, 120, 40);
    deck.wait_for_text("starting the daemon …");
    deck.signal(Signal::TERM);
    deck.wait_exit();
    assert!(!deck.with_screen(|screen| screen.alternate_screen()));
}

#[test]
fn what_keeps_the_daemon_from_starting_is_said_on_the_terminal_as_it_was() {
    let project = Project::new();
    project.begin();
    // A folder where the list of projects belongs.
    std::fs::create_dir_all(project.registry().join("instances.lock")).unwrap();
    let mut deck = deck(&project, 120, 40);
    assert_eq!(deck.wait_exit(), 3);
    assert!(!deck.with_screen(|screen| screen.alternate_screen()));
    assert!(deck.shows("cannot write"), "{}", deck.screen());
    assert!(deck.shows("instances"), "{}", deck.screen());
}

#[test]
fn a_proposals_card_that_stays_open_tells_of_a_tree_that_changes_and_is_as_before_again() {
    let project = Project::live();
    Scene::new(&project);
    let mut deck = deck(&project, 120, 40);
    deck.wait_for_text("1 waits for you");
    deck.press(Key::Char('3'));
    deck.press(Key::Enter);
    deck.wait_for_text("reject with a reason");
    deck.wait_for_text("still the same");
    let before = project.read("README.md");
    project.write("README.md", "# Another one\n");
    deck.wait_for_text("has changed since");
    assert!(deck.shows("reject with a reason"), "{}", deck.screen());
    project.write("README.md", &before);
    deck.wait_for_text("still the same");
}

#[test]
fn every_size_is_drawn_without_leftovers() {
    let (project, mut deck) = hosting_deck();
    codex(&project).tool("append_note", json!({"text": "a note for all sizes"}));
    deck.wait_for_text("a note for all sizes");
    deck.resize(80, 24);
    deck.wait_for_text("2 Timeline");
    deck.resize(59, 14);
    deck.wait_for_text("make me larger");
    assert!(!deck.shows("a note for all sizes"), "{}", deck.screen());
    deck.resize(60, 15);
    deck.wait_until_gone("make me larger");
    deck.resize(200, 50);
    deck.wait_for_text("a note for all sizes");
}

#[test]
fn hostile_text_cannot_paint_over_its_own_line() {
    let (project, mut deck) = hosting_deck();
    codex(&project).tool(
        "send_to_claude",
        json!({"text": "harmless\r\u{1b}[2Japproved by the operator\u{202e}\u{1b}]0;owned\u{7}"}),
    );
    deck.wait_for_text("harmless");
    let line = deck
        .screen()
        .lines()
        .find(|line| line.contains("harmless"))
        .unwrap()
        .to_owned();
    assert!(line.contains("^M"), "{line}");
    assert!(deck.shows("1 Agents"), "{}", deck.screen());
    let bytes = deck.transcript();
    for needle in [
        &b"\x1b[2Japproved"[..],
        b"\x1b]0;owned",
        "\u{202e}".as_bytes(),
    ] {
        assert!(
            !bytes.windows(needle.len()).any(|window| window == needle),
            "{needle:?} reached the terminal"
        );
    }
}

#[test]
fn an_attached_deck_decides_over_the_operators_socket() {
    let project = Project::live();
    let mut deck = deck(&project, 120, 40);
    deck.wait_for_text("attached");
    let mut claude = McpClient::start(&project.ctxrelay(["bridge"]));
    claude.tool(
        "propose_final",
        json!({"summary": "the lock is in", "evidence": ["cargo test"]}),
    );
    wait_for_waiting(&mut deck);
    deck.press(Key::Char('3'));
    deck.press_until(Key::Enter, "the card", |screen| {
        screen.contains("reject with a reason")
    });
    deck.press(Key::Char('x'));
    deck.type_text("the tests were not run");
    deck.press(Key::Enter);
    let decision = wait_until("the decision", timeout(), || {
        project
            .ledger()
            .into_iter()
            .find(|line| line["type"] == "finality_decision")
    });
    assert_eq!(decision["source"], "human");
    assert!(decision.to_string().contains("the tests were not run"));
    deck.wait_for_text(&format!("rejected, on record: entry {}", decision["seq"]));
    // Leaving an attached deck leaves the daemon alone.
    stay(&mut deck);
    deck.wait_exit();
    assert_eq!(status(&project)["running"], true);
}

#[test]
fn a_second_deck_shows_a_large_state_as_the_first_does() {
    let project = Project::new();
    let mut first = deck(&project, 120, 40);
    first.wait_for_text("Claude is not installed");
    let mut codex = project.agent("codex");
    // Together more than one frame may hold, as state and as a page of entries.
    let long = "漢".repeat(3_900);
    for n in 0..720 {
        codex.expect(
            "handoff/create",
            json!({"from": "codex", "ask": format!("work {n} {long}"), "reason": "it is yours"}),
        );
    }
    first.wait_for_text("open 720");
    let mut second = deck(&project, 120, 40).labelled("second deck");
    second.wait_for_text("open 720");
    second.wait_for_text("attached");
    second.wait_for_text("work 719");
}

#[test]
fn a_line_that_cannot_be_read_has_a_row_between_its_neighbours() {
    let project = Project::new();
    fill(&project, true);
    let path = project
        .root()
        .join(format!(".contextrelay/sessions/{SESSION}.jsonl"));
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let bad = lines.len();
    lines.insert(bad - 1, "\x1b]0;no entry\x07 {\"id\":");
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    let mut deck = deck(&project, 160, 50);
    let row = format!("line {bad} could not be read");
    deck.wait_for_text(&row);
    deck.type_text(&format!("2#{bad}"));
    deck.press(Key::Enter);
    deck.wait_for_text(&format!("Line {bad}"));
    deck.press(Key::Enter);
    deck.wait_for_text(&format!("Line {bad}"));
    deck.wait_for_text("ctxrelay ledger verify");
    deck.wait_until_gone("being read");
    deck.press(Key::Escape);
    deck.wait_until_gone("esc close");
    // What is no entry is not counted as one. Some may have come since the question was opened.
    wait_until("how many entries there are", timeout(), || {
        deck.press(Key::Char('C'));
        deck.wait_for_text("record has ");
        let screen = deck.screen();
        deck.press(Key::Escape);
        deck.wait_until_gone("record has ");
        let (_, told) = screen.split_once("record has ")?;
        let (told, _) = told.split_once(" entries.")?;
        let entries = status(&project)["ledger"]["entries"].as_u64()?;
        (told.replace(' ', "") == entries.to_string()).then_some(())
    });
    deck.press(Key::Ctrl('c'));
    assert_eq!(deck.wait_exit(), 0);
}

#[test]
fn a_note_of_the_operator_is_recorded_with_its_sort() {
    let (project, mut deck) = hosting_deck();
    deck.press(Key::Char('M'));
    deck.wait_for_text("Note · note");
    deck.press(Key::Ctrl('t'));
    deck.wait_for_text("Note · decision");
    deck.type_text("keep the old endpoint");
    deck.press(Key::Enter);
    let note = wait_until("the note", timeout(), || {
        let mut lines = project.ledger().into_iter();
        lines.find(|line| line["content"] == "keep the old endpoint")
    });
    assert_eq!(note["source"], "human");
    assert!(note.to_string().contains("\"decision\""), "{note}");
    deck.wait_for_text("recorded: your decision");
    // The hints stay.
    deck.wait_for_text("? help");
}

#[test]
fn a_message_is_followed_above_the_hints() {
    let (project, mut deck) = hosting_deck();
    deck.press(Key::Char('m'));
    deck.wait_for_text("not there now: once it is");
    deck.press(Key::Ctrl('t'));
    deck.wait_for_text("Message → ◇ Codex");
    deck.press(Key::Ctrl('t'));
    deck.press(Key::Ctrl('o'));
    deck.wait_for_text("join if busy");
    deck.type_text("look at the lock");
    deck.press(Key::Enter);
    let sent = wait_until("the message", timeout(), || {
        let mut lines = project.ledger().into_iter();
        lines.find(|line| line["content"] == "look at the lock")
    });
    assert!(sent.to_string().contains("\"onBusy\":\"steer\""), "{sent}");
    // What is missing stays until it is there, also after the first message.
    // The message's own box is there until the daemon has acknowledged it.
    deck.wait_for_text("To make the pair complete");
    deck.wait_for_text("? help");
}

#[test]
fn a_paste_of_many_lines_arrives_as_many_lines() {
    let (project, mut deck) = hosting_deck();
    deck.press(Key::Char('m'));
    deck.wait_for_text("not there now: once it is");
    // As terminals paste: each line end is a return.
    deck.send(b"\x1b[200~fn first() {\r    second();\r}\x1b[201~");
    deck.wait_for_text("fn first() {");
    deck.wait_for_text("3 lines");
    deck.press(Key::Enter);
    wait_until("the message", timeout(), || {
        let mut lines = project.ledger().into_iter();
        lines.find(|line| line["content"] == "fn first() {\n    second();\n}")
    });
}

#[test]
fn clearing_needs_the_typed_word_and_keeps_the_archive() {
    let (project, mut deck) = hosting_deck();
    codex(&project).tool("append_note", json!({"text": "an old note"}));
    deck.wait_for_text("an old note");
    let before = status(&project)["sessionId"].clone();
    deck.press(Key::Char('C'));
    deck.wait_for_text("delete for good");
    deck.press(Key::Enter);
    deck.wait_for_text("Type clear to do it");
    deck.type_text("clear");
    deck.press(Key::Enter);
    wait_until("another session", timeout(), || {
        (status(&project)["sessionId"] != before).then_some(())
    });
    deck.wait_until_gone("an old note");
    let archived = project
        .state()
        .join("archives")
        .join(format!("{}.jsonl", before.as_str().unwrap()));
    let text = std::fs::read_to_string(archived).unwrap();
    assert!(text.contains("an old note"));
    let first = &project.ledger()[0];
    assert_eq!(first["type"], "session_started");
    assert!(first.to_string().contains(before.as_str().unwrap()));
    let verified = project.run(["ledger", "verify", "--json"]).json();
    assert_eq!(verified["ok"], true, "{verified}");
}

#[test]
fn deleting_for_good_needs_the_end_of_the_sessions_id_and_leaves_nothing() {
    let (project, mut deck) = hosting_deck();
    codex(&project).tool("append_note", json!({"text": "an old note"}));
    deck.wait_for_text("an old note");
    let before = status(&project)["sessionId"].clone();
    let before = before.as_str().unwrap();
    deck.press(Key::Char('C'));
    deck.wait_for_text("delete for good");
    deck.type_text("j");
    deck.press(Key::Enter);
    deck.wait_for_text("cannot be undone");
    deck.type_text(&before[before.len() - 4..]);
    deck.press(Key::Enter);
    wait_until("another session", timeout(), || {
        (status(&project)["sessionId"] != json!(before)).then_some(())
    });
    deck.wait_until_gone("an old note");
    let name = format!("{before}.jsonl");
    assert!(!project.state().join("sessions").join(&name).exists());
    assert!(!project.state().join("archives").join(&name).exists());
    assert_eq!(project.ledger()[0]["predecessor"]["fate"], "discarded");
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let project = Project::new();
    let mut deck = deck(&project, 80, 24);
    // Also one that comes as soon as the terminal is taken.
    wait_until("the terminal taken", timeout(), || {
        deck.with_screen(|screen| screen.alternate_screen())
            .then_some(())
    });
    deck.signal(Signal::TERM);
    deck.wait_exit();
    assert!(!deck.with_screen(|screen| screen.alternate_screen()));
    assert_eq!(status(&project)["running"], false);
}

/// The age of the message of which there is no proof yet, in seconds.
fn unproven_s(deck: &Pty) -> Option<u64> {
    let screen = deck.screen();
    let line = screen.lines().find(|line| line.contains("no proof yet"))?;
    let mut words = line.split([' ', '│']).rev();
    words.find_map(|word| word.strip_suffix('s')?.parse().ok())
}

#[test]
fn seconds_are_counted_on_while_keys_come_without_a_pause() {
    let (project, mut deck) = hosting_deck();
    codex(&project).tool("send_to_claude", json!({"text": "which lock is it?"}));
    deck.wait_for_text("no proof yet that Claude has it");
    deck.press(Key::Char('2'));
    let mut ages = Vec::new();
    let mut keys = [Key::Char('j'), Key::Char('k')].into_iter().cycle();
    // A key comes each time that it is looked, far more often than each second.
    wait_until("three more seconds on the screen", timeout(), || {
        deck.press(keys.next()?);
        let age = unproven_s(&deck)?;
        ages.push(age);
        (age >= ages[0] + 3).then_some(())
    });
    assert!(ages.is_sorted(), "{ages:?}");
}

/// The disk gives nothing for a while: every read of the daemon's fails.
#[test]
fn a_record_that_cannot_be_read_is_said_with_its_reason_until_it_can() {
    if !privileged::granted() {
        return;
    }
    let project = Project::new();
    fill(&project, true);
    let daemon = project.daemon();
    let strace = project
        .program("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=pread64"])
        .args(["-e", "inject=pread64:error=EIO", "-p"])
        .arg(daemon.pid().to_string());
    let strace = Child::spawn(&strace);
    // It comes to one thread after the other, and each of them may read.
    let threads = format!("/proc/{}/task", daemon.pid());
    wait_until("strace at all of the daemon", timeout(), || {
        let mut threads = std::fs::read_dir(&threads).ok()?.flatten();
        let is_traced = threads.all(|thread| {
            let status = std::fs::read_to_string(thread.path().join("status"));
            status.is_ok_and(|status| !status.contains("TracerPid:\t0\n"))
        });
        is_traced.then_some(())
    });
    let mut deck = deck(&project, 120, 40);
    deck.wait_for_text("the record could not be read: Input/output error");
    assert!(!deck.shows("cannot be read"), "it is said once");
    assert!(!deck.shows("Nothing has happened"), "{}", deck.screen());
    strace.signal(Signal::TERM);
    strace.wait();
    deck.wait_until_gone("could not be read");
    deck.wait_for_text("the parser works");
    deck.press(Key::Char('q'));
    assert_eq!(deck.wait_exit(), 0);
}

/// Somebody's editor goes over one line of the record while the daemon runs.
#[test]
fn a_line_that_cannot_be_read_any_more_hides_none_of_the_others() {
    let project = Project::live();
    let mut socket = project.agent("codex");
    for text in ["plums are kept cold", "pears are ripe", "plums are dried"] {
        socket.expect("note/append", json!({"agent": "codex", "text": text}));
    }
    let path = status(&project)["ledger"]["path"]
        .as_str()
        .unwrap()
        .to_owned();
    let record = std::fs::read_to_string(&path).unwrap();
    let line = record.lines().find(|line| line.contains("pears")).unwrap();
    let at = record.find(line).unwrap() as u64;
    let file = File::options().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, "x".repeat(line.len()).as_bytes(), at).unwrap();

    let mut deck = deck(&project, 120, 40);
    for text in [
        "plums are kept cold",
        "could not be read",
        "plums are dried",
    ] {
        deck.wait_for_text(text);
    }
    deck.type_text("/plums");
    deck.wait_for_text("1 of 2 in the whole record");
    deck.press(Key::Escape);
    deck.press_until_exit(Key::Ctrl('c'));
    let list = project.run(["ledger", "list"]).expect_success();
    assert!(list.stdout.contains("plums are dried"), "{}", list.stdout);
}
