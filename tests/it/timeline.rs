//! The timeline of a long record in a real terminal: any entry is a few keys away.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::time::Duration;

use ctxrelay::core::agent::Agent;
use ctxrelay::core::entry::NoteKind;
use ctxrelay::store::dirs::ProjectDirs;
use serde_json::json;

use crate::support::contextrelay3::{SESSION, fill, ledger};
use crate::support::fake_gh::{FakeGh, comment};
use crate::support::panes::wait_for_state;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::record::{Record, RecordEnd};
use crate::support::wait::{poll_until, timeout, wait_until};

/// Adds so many notes to a record of ContextRelay 3, which has no numbers on its lines. One of them
/// has a word of its own.
fn lengthen(project: &Project, notes: usize, word_in: usize) {
    let path = project
        .root()
        .join(format!(".contextrelay/sessions/{SESSION}.jsonl"));
    let mut text = String::new();
    for number in 1..=notes {
        let word = if number == word_in { " zweihander" } else { "" };
        let note = json!({"schema": "v1", "id": format!("long-{number}"),
            "timestamp": 1_789_000_000_000_u64 + 1_000 * number as u64, "sessionId": SESSION,
            "type": "note", "source": "codex", "content": format!("note-{number} is here{word}")});
        writeln!(text, "{note}").unwrap();
    }
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// Goes to the oldest and newest entry, to a number, and to what a search finds.
fn get_about(notes: usize) {
    let project = Project::new();
    fill(&project, true);
    let imported = ledger().len();
    let word_in = notes / 3;
    lengthen(&project, notes, word_in);
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 33).labelled("deck");
    deck.wait_for_text(&format!("note-{notes} is here"));

    deck.type_text("2G");
    deck.wait_for_text("look at the parser");
    deck.wait_until_gone("following");
    let middle = notes / 2;
    deck.type_text(&format!("#{}", imported + middle));
    deck.press(Key::Enter);
    deck.wait_for_text(&format!("note-{middle} is here"));
    // Up and down from there, past what was read at first.
    let further = middle.saturating_sub(30);
    deck.press_until(Key::Ctrl('d'), "older rows", |screen| {
        screen.contains(&format!("note-{further} is here"))
    });
    deck.type_text("g");
    deck.wait_for_text("following");
    deck.wait_for_text(&format!("note-{notes} is here"));

    deck.type_text("/zweihander");
    deck.wait_for_text("1 of 1 in the whole record");
    deck.press(Key::Enter);
    deck.wait_for_text(&format!("note-{word_in} is here zweihander"));
    deck.wait_for_text(&format!("note-{} is here", word_in + 1));
    deck.press(Key::Ctrl('o'));
    deck.wait_for_text("following");
    deck.type_text("#noon");
    deck.press(Key::Enter);
    deck.wait_for_text("neither a number nor a time");
    deck.press(Key::Escape);
    deck.wait_until_gone("neither a number nor a time");
    deck.press(Key::Ctrl('c'));
    assert_eq!(deck.wait_exit(), 0);
}

/// How long a page may take to be read before the key is pressed again.
const PAGE: Duration = Duration::from_secs(2);

/// The beginning of what the folded row says: the rest may be cut.
const STEPS: &str = "1 800 on messages";

/// A page of the record that has nothing but steps of deliveries is not its end.
#[test]
fn nine_hundred_entries_behind_eighteen_hundred_steps_of_deliveries_are_paged_to() {
    let project = Project::new();
    let record = Record::of(16);
    let mut end = RecordEnd::of(&record, 1_795_100_000_000);
    end.settle(&record);
    for leaf in 1..=900 {
        end.note(
            Agent::Codex,
            NoteKind::Note,
            &format!("leaf {leaf} of it"),
            Vec::new(),
        );
    }
    let sent = end.message(Agent::Claude, "whose steps they are");
    for _ in 0..1_800 {
        end.step(Agent::Claude, &sent);
    }
    record.lay_with(&ProjectDirs::new(project.root().to_owned(), None), end);
    let _daemon = project.daemon();
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 33).labelled("deck");
    deck.wait_for_text(STEPS);
    deck.wait_for_text("whose steps they are");
    deck.wait_for_text("leaf 900 of it");
    deck.press(Key::Char('2'));
    page_to(&mut deck, Key::Ctrl('d'), "leaf 1 of it");
    page_to(&mut deck, Key::Ctrl('u'), STEPS);
    // One by one they are rows to page over.
    deck.press(Key::Char('g'));
    deck.wait_for_text("following");
    wait_until("the cursor on them", timeout(), || {
        let has_cursor = |screen: &str| {
            let mut rows = screen.lines().filter(|line| line.contains('\u{25b8}'));
            rows.any(|row| row.contains(STEPS))
        };
        if has_cursor(&deck.screen()) {
            return Some(());
        }
        let before = deck.screen();
        deck.press(Key::Char('j'));
        deck.wait_for_screen("the next row", |screen| screen != before);
        None
    });
    deck.press(Key::Enter);
    deck.wait_until_gone(STEPS);
    page_to(&mut deck, Key::Ctrl('d'), "leaf 900 of it");
    assert_eq!(deck.press_until_exit(Key::Ctrl('c')), 0);
}

/// Presses a key until a text is there, each time once the one before has had its effect: more of
/// them at once go over what stands between. Pages are read meanwhile.
#[track_caller]
fn page_to(deck: &mut Pty, key: Key, text: &str) {
    wait_until(text, timeout(), || {
        if deck.shows(text) {
            return Some(());
        }
        let before = deck.screen();
        deck.press(key);
        poll_until(PAGE, || (deck.screen() != before).then_some(()));
        None
    });
}

#[test]
fn any_entry_of_an_imported_record_is_a_few_keys_away() {
    get_about(900);
}

#[test]
fn any_entry_of_a_hundred_thousand_is_a_few_keys_away() {
    get_about(100_000);
}

#[test]
fn a_thousand_findings_are_one_row_until_one_of_them_is_looked_for() {
    let project = Project::new();
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 40).labelled("deck");
    deck.wait_for_text("● daemon");
    let mut claude = project.agent("claude");
    let note = json!({"agent": "claude", "kind": "decision", "text": "said before the review"});
    claude.expect("note/append", note);
    deck.wait_for_text("said before the review");
    let gh = FakeGh::of(&project);
    let body = |id| match id {
        500 => "P3: the zweihander is not sheathed".to_owned(),
        id => format!("P3: remark number {id}"),
    };
    let comments: Vec<_> = (1..=1_000).map(|id| comment(id, &body(id))).collect();
    gh.comments(&comments);
    let mut import = Pty::spawn_sized(&project.ctxrelay(["review", "import"]), 120, 40);
    assert_eq!(import.wait_exit(), 0, "{}", import.screen());
    // As they come, and as they are read again by another deck.
    deck.wait_for_text("1 000 findings of reviews, new or changed");
    deck.wait_for_text("said before the review");
    let mut other = Pty::spawn_sized(&project.ctxrelay([]), 120, 40).labelled("other");
    other.wait_for_text("1 000 findings of reviews, new or changed");
    other.wait_for_text("said before the review");
    assert_eq!(other.press_until_exit(Key::Ctrl('c')), 0);

    deck.type_text("/zweihander");
    deck.wait_for_text("1 of 1 in the whole record");
    deck.press(Key::Enter);
    deck.wait_until_gone("1 of 1 in the whole record");
    deck.wait_until_gone("1 000 findings");
    deck.wait_for_text("the zweihander is not sheathed");
    deck.wait_for_text("remark number 501");
    deck.wait_for_text("remark number 499");
    // Back, and folded again.
    deck.press(Key::Ctrl('o'));
    deck.wait_for_text("following");
    deck.press_until(Key::Escape, "the folded row", |screen| {
        screen.contains("1 000 findings")
    });
    deck.wait_for_text("said before the review");
    // Where no agent is left nobody is asked, and a second key would be a signal that ends it at once.
    drop(claude);
    wait_for_state(&mut deck, "Claude", "offline");
    deck.press(Key::Ctrl('c'));
    assert_eq!(deck.wait_exit(), 0);
}
