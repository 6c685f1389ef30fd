//! A record that is sealed, deleted, or written to by somebody else under what is open: what was
//! read stays, nothing of it is decided about another record, and the same keys lead out.

use std::fs::OpenOptions;
use std::io::Write as _;

use ctxrelay::core::agent::Agent;
use ctxrelay::store::dirs::ProjectDirs;
use serde_json::{Value, json};

use crate::support::daemon::Daemon;
use crate::support::operator::Operator;
use crate::support::panes::open_row;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::record::{Record, RecordEnd};

/// The list of messages whose fate nobody knows.
const UNCLEAR: &str = "Nobody can know whether Codex has them";

/// The note of which there is one.
const PLUM: &str = "a plum of the first record";

/// What becomes of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gone {
    Archived,
    Discarded,
    /// Somebody else writes into it.
    Broken,
}

/// A deck on a record with five messages of which nobody knows whether they arrived, and a note.
struct Shown {
    deck: Pty,
    operator: Operator,
    _daemon: Daemon,
    project: Project,
}

impl Shown {
    fn new() -> Self {
        let project = Project::new();
        let record = Record::of(16);
        let mut end = RecordEnd::of(&record, 1_795_100_000_000);
        end.settle(&record);
        for n in 0..5 {
            end.ambiguous(Agent::Claude, &format!("question {n}"));
        }
        record.lay_with(&ProjectDirs::new(project.root().to_owned(), None), end);
        let daemon = project.daemon();
        let operator = Operator::connect(&project);
        note(&project, PLUM);
        let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 40).labelled("deck");
        deck.wait_for_text(PLUM);
        deck.wait_for_text("5 ambiguous");
        Self {
            deck,
            operator,
            _daemon: daemon,
            project,
        }
    }

    #[track_caller]
    fn goes(&mut self, gone: Gone) {
        let mut clear = |discard: bool| {
            let discard = json!({"discard": discard});
            let cleared = self.operator.when_quiet("ledger/clear", discard);
            cleared.unwrap();
        };
        match gone {
            Gone::Archived => clear(false),
            Gone::Discarded => clear(true),
            Gone::Broken => {
                let current = self.project.read(".contextrelay/current");
                let name = format!("sessions/{}.jsonl", current.trim());
                let path = self.project.state().join(name);
                let mut file = OpenOptions::new().append(true).open(path).unwrap();
                file.write_all(b"{\"a plum of nobody\n").unwrap();
            }
        }
    }

    /// Leaves what is open. The record that is there then is read and written to, and the deck can
    /// be left.
    #[track_caller]
    fn leaves_right(mut self, gone: Gone, open: &str) {
        let deck = &mut self.deck;
        close(deck, open);
        match gone {
            // What became of it may stand behind the end of the line.
            Gone::Archived | Gone::Discarded => deck.wait_for_text("entries is"),
            Gone::Broken => deck.wait_for_text("somebody else touched"),
        }
        if gone != Gone::Broken {
            deck.wait_until_gone(PLUM);
            deck.wait_until_gone("5 ambiguous");
        }
        // A search has put the timeline elsewhere.
        deck.type_text("2g");
        note(&self.project, "a pear behind it");
        deck.wait_for_text("a pear behind it");
        deck.press(Key::Char('?'));
        deck.wait_for_text("Keys and marks");
        close(deck, "esc close");
        deck.press_until_exit(Key::Ctrl('c'));
    }
}

/// Has a note recorded, as an agent's bridge.
fn note(project: &Project, text: &str) {
    let mut codex = project.agent("codex");
    codex.expect("note/append", json!({"agent": "codex", "text": text}));
}

#[track_caller]
fn close(deck: &mut Pty, gone: &str) {
    deck.press(Key::Escape);
    // A key that comes in one read with an escape is another key.
    deck.wait_until_gone(gone);
}

/// What the title of an opened entry begins with, up to its number's end.
fn opened(screen: &str) -> Option<String> {
    let (_, behind) = screen.split_once("\u{256d} Entry ")?;
    behind.split_once("  ").map(|(line, _)| line.to_owned())
}

/// Waits until the deck has learnt what became of the record, whatever covers it.
#[track_caller]
fn hears(shown: &mut Shown, gone: Gone) {
    match gone {
        // The counts of what waits stand in the header.
        Gone::Archived | Gone::Discarded => shown.deck.wait_until_gone("5 ambiguous"),
        // There is room for one of its sentences.
        Gone::Broken => shown.deck.wait_for_screen("an alarm", |screen| {
            screen.contains("somebody else touched") || screen.contains("1 line stood behind")
        }),
    }
}

fn an_opened_entry_stays(gone: Gone) {
    let mut shown = Shown::new();
    let deck = &mut shown.deck;
    deck.press(Key::Enter);
    deck.wait_for_text("esc close");
    deck.wait_for_text("note");
    let before = opened(&deck.screen()).unwrap();
    shown.goes(gone);
    hears(&mut shown, gone);
    let deck = &mut shown.deck;
    // What was read stays, and is still called by its own number.
    deck.wait_for_screen("the entry", |screen| {
        opened(screen).as_ref() == Some(&before) && screen.contains(PLUM)
    });
    shown.leaves_right(gone, "esc close");
}

fn a_search_is_made_again_in_what_is_there(gone: Gone) {
    let mut shown = Shown::new();
    let deck = &mut shown.deck;
    deck.press(Key::Char('/'));
    deck.type_text("plum");
    deck.wait_for_text("1 of 1 in the whole record");
    shown.goes(gone);
    hears(&mut shown, gone);
    let deck = &mut shown.deck;
    if gone == Gone::Broken {
        // What is no entry is none of its hits, and the one that there is leads to its entry.
        deck.wait_for_text("1 of 1 in the whole record");
        deck.press(Key::Enter);
        deck.wait_until_gone("esc as it was");
        deck.wait_for_screen("the hit under the cursor", |screen| {
            let mut rows = screen.lines().filter(|line| line.contains('\u{25b8}'));
            rows.any(|row| row.contains(PLUM))
        });
        return shown.leaves_right(gone, "/plum");
    }
    deck.wait_for_text("0 of 0 in the whole record");
    deck.wait_for_text("nothing in the whole record has these words");
    // It goes on being made there.
    note(&shown.project, "a plum of the next record");
    let deck = &mut shown.deck;
    deck.send(b"\x15");
    deck.wait_until_gone("0 of 0 in the whole record");
    deck.type_text("plum");
    deck.wait_for_text("1 of 1 in the whole record");
    shown.leaves_right(gone, "in the whole record");
}

fn marks_are_of_the_record_that_they_were_made_in(gone: Gone) {
    let mut shown = Shown::new();
    let deck = &mut shown.deck;
    open_row(deck, &["▲ alarm", "5 ambi"], UNCLEAR);
    deck.wait_for_text("question 0");
    // Each mark goes on to the next.
    deck.press(Key::Char('v'));
    deck.press(Key::Char('v'));
    deck.wait_for_text("2 marked");
    deck.press(Key::Char('x'));
    deck.wait_for_text("Give up these 2 messages?");
    shown.goes(gone);
    hears(&mut shown, gone);
    let deck = &mut shown.deck;
    if gone == Gone::Broken {
        // They are the messages that they were.
        deck.wait_for_text("Give up these 2 messages?");
        deck.press(Key::Enter);
        deck.wait_until_gone("2 marked");
        deck.wait_for_text("question 2");
        deck.wait_until_gone("question 1");
        return shown.leaves_right(gone, "esc later");
    }
    deck.wait_for_text("None of them is left");
    // Nothing is asked about messages of another record.
    deck.wait_until_gone("Give up");
    deck.press(Key::Enter);
    deck.wait_until_gone("None of them");
    let given_up = |line: &Value| line["runtimeEvent"]["status"] == "cancelled";
    assert!(!shown.project.ledger().iter().any(given_up));
    shown.leaves_right(gone, "None of them");
}

#[test]
fn an_opened_entry_stays_when_its_record_is_sealed() {
    an_opened_entry_stays(Gone::Archived);
}

#[test]
fn an_opened_entry_stays_when_its_record_is_deleted() {
    an_opened_entry_stays(Gone::Discarded);
}

#[test]
fn an_opened_entry_stays_when_somebody_else_writes_into_its_record() {
    an_opened_entry_stays(Gone::Broken);
}

#[test]
fn a_search_is_made_again_when_the_record_is_sealed() {
    a_search_is_made_again_in_what_is_there(Gone::Archived);
}

#[test]
fn a_search_is_made_again_when_the_record_is_deleted() {
    a_search_is_made_again_in_what_is_there(Gone::Discarded);
}

#[test]
fn a_search_finds_what_it_found_when_somebody_else_writes_into_the_record() {
    a_search_is_made_again_in_what_is_there(Gone::Broken);
}

#[test]
fn nothing_is_asked_about_marks_when_their_record_is_sealed() {
    marks_are_of_the_record_that_they_were_made_in(Gone::Archived);
}

#[test]
fn nothing_is_asked_about_marks_when_their_record_is_deleted() {
    marks_are_of_the_record_that_they_were_made_in(Gone::Discarded);
}

#[test]
fn marks_are_settled_when_somebody_else_writes_into_their_record() {
    marks_are_of_the_record_that_they_were_made_in(Gone::Broken);
}

#[test]
fn an_entry_of_a_sealed_session_stays_when_the_next_one_is_sealed_and_when_its_file_goes() {
    let mut shown = Shown::new();
    shown.goes(Gone::Archived);
    shown.deck.wait_for_text("entries is");
    let (deck, project) = (&mut shown.deck, &shown.project);
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
    shown
        .operator
        .when_quiet("ledger/clear", json!({"discard": false}))
        .unwrap();
    deck.wait_until_gone(&before);
    deck.wait_for_text(", sealed");
    close(deck, ", sealed");
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
    close(deck, "/question");
    deck.press(Key::Char('/'));
    deck.type_text("question");
    deck.wait_for_text("nothing in all sealed sessions has these words");
    close(deck, "esc as it was");
    deck.press_until_exit(Key::Ctrl('c'));
}
