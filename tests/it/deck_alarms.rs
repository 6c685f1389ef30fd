//! What is not as it should be stands in the Inbox for as long as it is so.

use std::fs::OpenOptions;
use std::io::Write as _;

use serde_json::json;

use crate::support::panes::open_row;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::wait::{timeout, wait_until};

#[test]
fn a_broken_configuration_is_a_row_until_it_is_mended() {
    let project = Project::live();
    project.write(".contextrelay/config.json", "{");
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 40).labelled("deck");
    deck.wait_for_text("setup    ▪ config.json");
    open_row(&mut deck, &["config.json"], "What to do");
    deck.wait_for_text("it is read again when you save it");
    let status = project.run(["status", "--json"]).json();
    assert_eq!(status["noticeKeys"][0], "config");
    project.write(".contextrelay/config.json", "{}");
    deck.wait_for_text("This card is gone");
    deck.press(Key::Escape);
    deck.wait_until_gone("config.json");
    // What only waits for trust is told as that, with its own command.
    let gates = r#"{"gates": [{"name": "tests", "cmd": "true"}]}"#;
    project.write(".contextrelay/config.json", gates);
    wait_until("the notice", timeout(), || {
        let status = project.run(["status", "--json"]).json();
        (status["noticeKeys"] == json!(["config_trust"])).then_some(())
    });
}

#[test]
fn a_record_that_somebody_touched_waits_with_the_command_that_says_where() {
    let project = Project::live();
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 40).labelled("deck");
    deck.wait_for_text("● attached");
    let session = project.read(".contextrelay/current").trim().to_owned();
    let path = project
        .root()
        .join(format!(".contextrelay/sessions/{session}.jsonl"));
    let said = "the daemon started";
    let written = wait_until("the entry to edit", timeout(), || {
        let written = std::fs::read_to_string(&path).ok()?;
        written.contains(said).then_some(written)
    });
    let edited = written.replace(said, "the daemon starved");
    let mut file = OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all(edited.as_bytes()).unwrap();
    drop(file);
    deck.wait_for_text("somebody else touched the record");
    deck.wait_for_text("1 waits for you");
    assert!(!deck.screen().contains("Nothing waits"));
    open_row(&mut deck, &["alarm"], "What to do");
    deck.wait_for_text("ctxrelay ledger verify");
}
