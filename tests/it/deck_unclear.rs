//! Messages of which nobody can know whether they arrived: one row of the Inbox, settled together.

use crate::support::contextrelay3::fill;
use crate::support::panes::to_row;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::wait::{timeout, wait_until};

fn states(project: &Project) -> Vec<String> {
    let queue = project.run(["queue", "list", "--json"]).json();
    let rows = queue["messages"].as_array().unwrap();
    let state = |row: &serde_json::Value| row["state"].as_str().unwrap().to_owned();
    rows.iter().map(state).collect()
}

#[test]
fn they_are_one_row_that_opens_to_their_words_and_are_given_up_together() {
    let project = Project::new();
    fill(&project, true);
    let _daemon = project.daemon();
    wait_until("two ambiguous messages", timeout(), || {
        (states(&project) == ["ambiguous", "ambiguous"]).then_some(())
    });
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 40).labelled("deck");
    deck.wait_for_text("2 ambiguous to");
    to_row(&mut deck, &["▲ alarm", "2 ambi"]);
    // Once more it would open the first of them.
    deck.press(Key::Enter);
    deck.wait_for_text("Nobody can know whether Claude has them");
    deck.wait_for_text("and the tests are read");
    deck.wait_for_text("[REDACTED_GITHUB_TOKEN]");
    // To the last row.
    deck.press(Key::Char('G'));
    deck.press(Key::Char('V'));
    deck.wait_for_text("2 marked");
    deck.press(Key::Char('x'));
    deck.wait_for_text("Give up these 2 messages?");
    assert_eq!(states(&project), ["ambiguous", "ambiguous"], "it only asks");
    deck.press(Key::Enter);
    deck.wait_for_text("None of them is left");
    deck.wait_for_text("2 given up: entries ");
    assert_eq!(states(&project), [""; 0]);
    let given_up = project
        .ledger()
        .into_iter()
        .filter(|line| line["runtimeEvent"]["status"] == "cancelled")
        .count();
    assert_eq!(given_up, 2, "the record says so of each");
}
