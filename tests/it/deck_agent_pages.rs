//! What an agent is at and what it is told, as the operator reads it in the deck.

use serde_json::json;

use crate::support::panes::wait_for_card;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};

#[test]
fn the_deck_shows_what_an_agent_is_at_as_it_grows_and_what_its_files_tell_it() {
    let project = Project::new();
    project.write("AGENTS.md", "Run the tests.\n");
    project.write("CLAUDE.md", "Run the tests.\n\nPlums are weighed twice.\n");
    let _daemon = project.daemon();
    let mut codex = project.agent("codex");
    let mut note = |kind: &str, text: &str| {
        let params = json!({"agent": "codex", "kind": kind, "text": text});
        codex.expect("note/append", params);
    };
    note("goal", "nobody is logged out");
    note("next_step", "run it\u{1b}[2Junder load");

    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 40).labelled("deck");
    deck.wait_for_text("✓ chain");
    wait_for_card(&mut deck, "Codex");
    deck.press(Key::Char('1'));
    deck.press(Key::Char('j'));
    // The same key turns to the next page.
    deck.press(Key::Char('p'));
    deck.wait_for_text("nobody is logged out  [note by codex]");
    deck.wait_for_text("run it^[[2Junder load");
    note("constraint", "no new dependency");
    deck.wait_for_text("no new dependency  [note by codex]");
    deck.press(Key::Char('p'));
    deck.wait_for_text("It was given none yet.");
    let told = |form: &str| {
        let show = ["continuity", "show", "codex", "--as", form, "--json"];
        project.run(show).expect_success().json()
    };
    deck.press(Key::Char('p'));
    deck.wait_for_text("its files and results");
    deck.wait_for_text("No file and no result of its work is known.");
    deck.press(Key::Char('p'));
    deck.wait_for_text("3 lines of the record");
    let log = told("log")["log"].clone();
    let log = log.as_array().unwrap();
    let said = [
        "nobody is logged out",
        "run it[2Junder load",
        "no new dependency",
    ];
    assert_eq!(log.len(), said.len(), "{log:?}");
    for said in said {
        assert!(
            log.iter().any(|line| line.as_str().unwrap().contains(said)),
            "{log:?}"
        );
        deck.wait_for_text(said);
    }
    note("constraint", "no new table either");
    deck.wait_for_text("4 lines of the record");
    deck.wait_for_text("no new table either");
    deck.press(Key::Char('o'));
    deck.wait_for_text("Run the tests.  read by itself");
    deck.wait_for_text("Plums are weighed twice.  given by us");
    deck.wait_for_text("not given: AGENTS.md says it too");
}
