//! What no record ought to hold, in more of it than anybody ought to have, and a record that goes
//! away under what is open: the deck shows it, says what it is, and keys go on acting.

use std::fmt::Write as _;

use ctxrelay::core::agent::Agent;
use ctxrelay::store::dirs::ProjectDirs;
use serde_json::{Value, json};

use crate::support::contextrelay3::SESSION;
use crate::support::operator::Operator;
use crate::support::panes::open_row;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::record::{Record, RecordEnd};

/// The list of messages whose fate nobody knows.
const UNCLEAR: &str = "Nobody can know whether Codex has them";

fn deck(project: &Project) -> Pty {
    Pty::spawn_sized(&project.ctxrelay([]), 120, 40).labelled("deck")
}

/// Goes to a line of the record and opens it.
#[track_caller]
fn open_line(deck: &mut Pty, line: u64) {
    deck.press(Key::Char('#'));
    deck.type_text(&line.to_string());
    deck.wait_for_text(&format!("# {line}"));
    deck.press(Key::Enter);
    deck.wait_until_gone(&format!("# {line}"));
    // It is read beside the panes first.
    deck.wait_for_text(&format!("Entry {line} "));
    deck.press(Key::Enter);
    deck.wait_for_text("esc close");
}

#[track_caller]
fn close(deck: &mut Pty, gone: &str) {
    deck.press(Key::Escape);
    // A key that comes in one read with an escape is another key.
    deck.wait_until_gone(gone);
}

/// Keys act, and it is left.
#[track_caller]
fn is_well(mut deck: Pty) {
    deck.press(Key::Char('?'));
    deck.wait_for_text("Keys and marks");
    close(&mut deck, "esc close");
    deck.press_until_exit(Key::Ctrl('c'));
    assert!(!deck.with_screen(|screen| screen.alternate_screen()));
}

/// A record of ContextRelay 3 with these members on its lines, beside those that each has.
fn lay(project: &Project, lines: &[Value]) {
    let mut text = String::new();
    for (n, members) in lines.iter().enumerate() {
        let mut line = json!({"schema": "v1", "id": format!("bb-{n}"), "sessionId": SESSION,
            "timestamp": 1_789_000_000_000_u64 + 1_000 * n as u64});
        for (key, value) in members.as_object().unwrap() {
            line[key] = value.clone();
        }
        writeln!(text, "{line}").unwrap();
    }
    project.write(&format!(".contextrelay/sessions/{SESSION}.jsonl"), &text);
    project.write(".contextrelay/current", &format!("{SESSION}\n"));
}

#[test]
fn an_entry_of_ten_megabytes_and_those_without_their_parts_are_rows_that_open() {
    let project = Project::new();
    let long = "漢".repeat(10 * 1024 * 1024 / 3);
    lay(
        &project,
        &[
            json!({"type": "session_started", "source": "system", "content": "begun"}),
            json!({"type": "note", "source": "claude"}),
            json!({"type": "message", "source": "codex"}),
            json!({"type": "handoff", "source": "claude", "content": "to nobody"}),
            json!({"type": "finality_proposal", "source": "codex"}),
            json!({"type": "artifact", "source": "codex"}),
            json!({"type": "error", "source": "system"}),
            json!({"type": "message", "source": "codex", "target": "claude", "content": long}),
            json!({"type": "note", "source": "claude", "content": "the last line"}),
        ],
    );
    let mut deck = deck(&project);
    deck.wait_for_text("the last line");
    for line in 2..=7 {
        open_line(&mut deck, line);
        close(&mut deck, "esc close");
    }
    open_line(&mut deck, 8);
    deck.wait_until_gone("being read");
    deck.press(Key::Char('G'));
    deck.wait_for_text("bytes more: e opens all of the text in $EDITOR");
    close(&mut deck, "esc close");
    is_well(deck);
}

/// A native record with this behind its first entries.
fn lay_end(project: &Project, fill: impl FnOnce(&mut RecordEnd)) {
    let record = Record::of(16);
    let mut end = RecordEnd::of(&record, 1_795_100_000_000);
    end.settle(&record);
    fill(&mut end);
    record.lay_with(&ProjectDirs::new(project.root().to_owned(), None), end);
}

#[test]
fn ten_thousand_open_handoffs_of_four_thousand_characters_are_listed_and_opened() {
    let project = Project::new();
    let long = "the lock ".repeat(440);
    lay_end(&project, |end| {
        for n in 0..10_000 {
            end.handoff(Agent::Claude, &format!("work {n} {long}"));
        }
    });
    let _daemon = project.daemon();
    let mut deck = deck(&project);
    deck.wait_for_text("5 Handoffs 10 000 open");
    deck.press(Key::Char('5'));
    deck.press(Key::Char('G'));
    deck.wait_for_screen("the last one under the cursor", |screen| {
        let mut rows = screen.lines().filter(|line| line.contains('\u{25b8}'));
        rows.any(|row| row.contains("work 0 "))
    });
    deck.press(Key::Enter);
    deck.wait_for_text("esc close");
    deck.wait_for_text("work 0 the lock");
    close(&mut deck, "esc close");
    is_well(deck);
}

#[test]
fn fifty_thousand_ambiguous_messages_are_one_row_and_settled_five_hundred_at_once() {
    let project = Project::new();
    lay_end(&project, |end| {
        for n in 0..50_000 {
            end.ambiguous(Agent::Claude, &format!("question {n}"));
        }
    });
    let _daemon = project.daemon();
    let mut deck = deck(&project);
    deck.wait_for_text("50 000 ambiguous");
    open_row(&mut deck, &["▲ alarm", "50 000 ambi"], UNCLEAR);
    deck.wait_for_text("question 0");
    deck.press(Key::Char('V'));
    deck.wait_for_text("500 marked");
    deck.press(Key::Char('x'));
    deck.wait_for_text("Give up these 500 messages?");
    deck.press(Key::Enter);
    deck.wait_until_gone("500 marked");
    deck.wait_for_text("question 500");
    close(&mut deck, "esc later");
    deck.wait_for_text("49 500 ambi");
    is_well(deck);
}

#[test]
fn a_record_that_is_cleared_or_broken_under_what_is_open_is_left_by_the_same_keys() {
    let project = Project::new();
    let _daemon = project.daemon();
    let mut operator = Operator::connect(&project);
    let note = |text: &str| {
        let mut codex = project.control_of("codex").unwrap();
        codex.expect(
            "hello",
            json!({"protocol": 1, "role": "codex", "pid": 4_000_000}),
        );
        codex.expect("note/append", json!({"agent": "codex", "text": text}));
    };
    note("a plum of the first record");
    let mut deck = deck(&project);
    deck.wait_for_text("a plum of the first record");
    // Under an opened entry.
    deck.press(Key::Enter);
    deck.wait_for_text("esc close");
    operator
        .call("ledger/clear", json!({"discard": false}))
        .unwrap();
    // What was read stays, beside what is there now.
    deck.wait_for_text("is sealed, its head is");
    assert!(deck.shows("Entry 3"), "{}", deck.screen());
    close(&mut deck, "esc close");
    deck.wait_until_gone("a plum of the first record");
    // Under a search: it is made again in the record that is there now.
    note("a plum of the second record");
    deck.press(Key::Char('/'));
    deck.type_text("plum");
    deck.wait_for_text("1 of 1 in the whole record");
    operator
        .call("ledger/clear", json!({"discard": true}))
        .unwrap();
    deck.wait_until_gone("1 of 1 in the whole record");
    deck.wait_until_gone("a plum of the second record");
    close(&mut deck, "in the whole record");
    // Somebody else writes into it under an opened entry.
    note("a plum of the third record");
    deck.wait_for_text("a plum of the third record");
    deck.press(Key::Enter);
    deck.wait_for_text("esc close");
    let current = std::fs::read_to_string(project.state().join("current")).unwrap();
    let name = format!("{}.jsonl", current.trim());
    let path = project.state().join("sessions").join(name);
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str("{\"no entry\n");
    std::fs::write(&path, text).unwrap();
    deck.wait_for_text("a plum of the third record");
    close(&mut deck, "esc close");
    deck.wait_for_screen("an alarm", |screen| screen.contains('▲'));
    is_well(deck);
}

#[test]
fn a_record_that_is_cleared_under_marks_or_under_a_sealed_session_leaves_what_can_be_read() {
    let project = Project::new();
    lay_end(&project, |end| {
        for n in 0..5 {
            end.ambiguous(Agent::Claude, &format!("question {n}"));
        }
    });
    let _daemon = project.daemon();
    let mut operator = Operator::connect(&project);
    let mut deck = deck(&project);
    deck.wait_for_text("5 ambiguous");
    // Under marks, while a question about them stands there.
    open_row(&mut deck, &["▲ alarm", "5 ambi"], UNCLEAR);
    deck.wait_for_text("question 0");
    deck.press(Key::Char('v'));
    deck.press(Key::Char('v'));
    deck.wait_for_text("2 marked");
    deck.press(Key::Char('x'));
    deck.wait_for_text("Give up these 2 messages?");
    let archived = json!({"discard": false});
    operator.call("ledger/clear", archived.clone()).unwrap();
    deck.wait_for_text("None of them is ambiguous any more.");
    // Nothing is asked about messages of another record.
    assert!(!deck.shows("Give up"), "{}", deck.screen());
    close(&mut deck, "None of them");
    // Under an entry of the session that is sealed by now.
    deck.press(Key::Char('/'));
    deck.type_text("question");
    deck.send(b"\x14\x14");
    deck.wait_for_text("1 of 5 in all sealed sessions");
    deck.press(Key::Enter);
    deck.wait_for_text(", sealed");
    deck.wait_for_text("question");
    let screen = deck.screen();
    let (_, session) = screen.split_once("session ").unwrap();
    let before = format!("session {}", &session[..8]);
    operator.call("ledger/clear", archived).unwrap();
    deck.wait_until_gone(&before);
    assert!(deck.shows(", sealed"), "{}", deck.screen());
    close(&mut deck, ", sealed");
    // Its file is taken away under the hits: it is said, and the deck goes on.
    for folder in ["archives", "sessions"] {
        let folder = project.state().join(folder);
        let files = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        for file in files.filter(|file| file.file_name().to_string_lossy().contains(".jsonl")) {
            let current = std::fs::read_to_string(project.state().join("current")).unwrap();
            if !file.file_name().to_string_lossy().contains(current.trim()) {
                std::fs::remove_file(file.path()).unwrap();
            }
        }
    }
    close(&mut deck, "/question");
    deck.press(Key::Char('/'));
    deck.type_text("question");
    deck.wait_for_text("nothing in all sealed sessions has these words");
    close(&mut deck, "esc as it was");
    is_well(deck);
}
