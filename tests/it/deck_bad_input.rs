//! What no record ought to hold, and more of it than anybody ought to have: the deck shows it, says
//! what it is, and keys go on acting.

use std::fmt::Write as _;

use ctxrelay::core::agent::Agent;
use ctxrelay::store::dirs::ProjectDirs;
use serde_json::{Value, json};

use crate::support::contextrelay3::SESSION;
use crate::support::panes::open_row;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::record::{Record, RecordEnd};
use crate::support::wait::{timeout, wait_until};

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
    // What it printed last may still be on its way to the screen.
    wait_until("the terminal to be given back", timeout(), || {
        let is_kept = deck.with_screen(|screen| screen.alternate_screen());
        (!is_kept).then_some(())
    });
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
    deck.press(Key::Char('G'));
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
