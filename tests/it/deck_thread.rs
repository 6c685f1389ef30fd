//! A thread in the deck, of a record that the timeline has not loaded.

use serde_json::{Value, json};

use crate::support::contextrelay3::{fill, ledger};
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::wait::{timeout, wait_until};

fn id_of(project: &Project, kind: &str) -> String {
    wait_until(kind, timeout(), || {
        let lines = project.ledger();
        let line = lines.iter().rfind(|line| line["type"] == kind)?;
        line["id"].as_str().map(str::to_owned)
    })
}

#[test]
fn a_thread_has_all_that_belongs_to_a_handoff_however_long_ago_it_was() {
    let project = Project::live();
    let mut codex = project.agent("codex");
    let mut claude = project.agent("claude");
    let ask = json!({"from": "codex", "ask": "which lock is it", "reason": "you know"});
    codex.expect("handoff/create", ask);
    let handoff = id_of(&project, "handoff");
    let note = |text: &str, handles: Value| json!({"agent": "claude", "text": text, "kind": "blocker", "handles": handles});
    claude.expect("note/append", note("the docs are gone", json!([handoff])));
    claude.expect(
        "artifact/record",
        json!({"agent": "claude", "kind": "test_report", "title": "lock bench",
            "summary": "it is fast", "status": "passed", "evidence": []}),
    );
    claude.expect("note/append", note("about something else", json!([])));
    claude.expect(
        "message/send",
        json!({"from": "claude", "text": "parking_lot, but why", "inReplyTo": handoff,
            "requireReply": true}),
    );
    let answer = id_of(&project, "message");
    codex.expect(
        "message/send",
        json!({"from": "codex", "text": "because of fairness", "inReplyTo": answer,
            "handles": [handoff]}),
    );
    let last = id_of(&project, "message");
    for n in 0..700 {
        let later = json!({"agent": "claude", "text": format!("later {n}"), "kind": "note"});
        claude.expect("note/append", later);
    }
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 40).labelled("deck");
    deck.wait_for_text("● attached");
    deck.wait_for_text("later 699");
    // Tasks, the last line of it: what is done.
    deck.press(Key::Char('4'));
    deck.press(Key::Char('G'));
    deck.wait_for_text("\u{25b8} \u{2713} done 1");
    deck.press(Key::Enter);
    deck.press(Key::Char('G'));
    deck.press(Key::Char('o'));
    for text in [
        "Thread  h",
        "which lock is it",
        "the docs are gone",
        "lock bench",
        "made meanwhile",
        "parking_lot, but why",
        "because of fairness",
    ] {
        deck.wait_for_text(text);
    }
    assert!(
        !deck.screen().contains("about something else"),
        "{}",
        deck.screen()
    );
    deck.press(Key::Char('G'));
    deck.press(Key::Enter);
    deck.wait_for_text(&last);
    // What it answers is a row of it.
    deck.wait_for_text("answers");
    deck.type_text("\t\r");
    deck.wait_for_text(&answer);
    deck.press(Key::Ctrl('o'));
    deck.wait_for_text(&last);
    deck.press(Key::Ctrl('o'));
    deck.wait_for_text("Thread  h");
}

/// Its entries carry no number of their own.
#[test]
fn an_answer_in_a_record_of_contextrelay_3_leads_to_its_handoff() {
    let project = Project::new();
    fill(&project, true);
    let _daemon = project.daemon();
    let lines = ledger();
    let is_answer = |line: &Value| line["content"] == "the parser is fine but for one loop";
    let answer = lines.iter().position(is_answer).unwrap() + 1;
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 40).labelled("deck");
    deck.wait_for_text("● attached");
    deck.press(Key::Char('#'));
    deck.type_text(&format!("{answer}\r"));
    deck.wait_for_text(&format!("Entry {answer}"));
    deck.press(Key::Char('o'));
    deck.wait_for_text(&format!("Thread  h{}", answer - 1));
    deck.wait_for_text("review src/parser.rs");
    deck.wait_for_text("2 entries");
}
