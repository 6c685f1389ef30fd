//! Sessions that have ended are searched and read from the deck.

use serde_json::json;

use crate::support::project::Project;
use crate::support::pty::{Key, Pty};

/// Has a note recorded, as an agent's bridge.
fn note(project: &Project, text: &str) {
    let mut socket = project.agent("claude");
    let params = json!({"agent": "claude", "kind": "note", "text": text});
    socket.expect("note/append", params);
}

/// Seals the session; the end of its id.
fn seal(project: &Project) -> String {
    let session = project.read(".contextrelay/current").trim().to_owned();
    let mut pty = Pty::spawn(&project.ctxrelay(["ledger", "clear", "--apply"]));
    pty.wait_for_text("to go on, anything else");
    pty.type_text("clear\r");
    assert_eq!(pty.wait_exit(), 0, "{}", pty.screen());
    let (_, digits) = session.rsplit_once('_').unwrap();
    digits.to_owned()
}

#[test]
fn a_word_of_a_sealed_session_is_found_and_its_entry_read_to_its_end() {
    let project = Project::live();
    let long = format!(
        "plums are kept cold {}and eaten in May",
        "so far ".repeat(4_000)
    );
    note(&project, &long);
    let sealed = seal(&project);
    note(&project, "pears are not plums");
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 40).labelled("deck");
    deck.wait_for_text("pears are not plums");
    deck.press(Key::Char('/'));
    deck.type_text("plums");
    deck.wait_for_text("1 of 1 in the whole record");
    deck.send(b"\x14");
    deck.wait_for_text("in all capsules");
    deck.send(b"\x14");
    deck.wait_for_text("1 of 1 in all sealed sessions");
    deck.wait_for_text(&format!("in {sealed}  plums are"));
    deck.press(Key::Enter);
    deck.wait_for_text(&format!("of session {sealed}, sealed"));
    deck.wait_for_text("plums are kept cold");
    deck.press(Key::Char('G'));
    deck.wait_for_text("and eaten in May");
    // An escape and what follows in one read are another key.
    deck.press(Key::Escape);
    deck.wait_until_gone("and eaten in May");
    deck.press(Key::Char('/'));
    deck.send(b"\x14");
    deck.wait_for_text("1 of 2 in record, capsules and archives");
    deck.send(b"\x14");
    deck.wait_for_text("1 of 1 in the whole record");
}

#[test]
fn what_anybody_put_among_the_archives_is_listed_as_from_elsewhere() {
    let project = Project::live();
    note(&project, "plums are short");
    let session = project.read(".contextrelay/current").trim().to_owned();
    let sealed = seal(&project);
    let lines = project.read(&format!(".contextrelay/archives/{session}.jsonl"));
    let planted = "session_1700000000000_a1b2c3d4";
    let said = lines.replace(&session, planted);
    let said = said.replace("plums are short", "plums are skipped");
    project.write(&format!(".contextrelay/archives/{planted}.jsonl"), &said);
    note(&project, "pears are not dear");
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 40).labelled("deck");
    deck.wait_for_text("pears are not dear");
    deck.press(Key::Char('/'));
    deck.type_text("plums");
    deck.wait_for_text("nothing in the whole record has these words");
    deck.send(b"\x14");
    deck.wait_for_text("in all capsules");
    deck.send(b"\x14");
    deck.wait_for_text("1 of 2 in all sealed sessions");
    deck.wait_for_text(&format!("in {sealed}  plums are short"));
    deck.wait_for_text("from elsewhere  in a1b2c3d4  plums are skipped");
    let screen = deck.screen();
    let own = screen.lines().find(|line| line.contains("plums are short"));
    assert!(!own.unwrap().contains("from elsewhere"), "{screen}");
}
