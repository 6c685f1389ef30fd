//! What the deck shows of the real Codex's turn while it runs.

use crate::pair::{attached_codex, verify};
use crate::support::model_request::{says, tool_said};
use crate::support::pair::Pair;
use crate::support::script::Reply;

/// Runs until the test says so.
const WAITS: &str = "while [ ! -e go.txt ]; do sleep 0.05; done; echo went on";

#[test]
fn the_deck_shows_the_command_that_codex_runs_and_nothing_of_it_is_recorded() {
    let Some(pair) = Pair::new() else { return };
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    pair.responses
        .when(tool_said("went on"))
        .reply(Reply::text("It went on."));
    pair.responses
        .when(says("wait for the file"))
        .once()
        .reply(Reply::shell(WAITS));
    let mut codex = attached_codex(&pair);
    codex.submit("wait for the file");
    deck.wait_for_text("$ while [ ! -e go.txt ]");
    std::fs::write(pair.project.root().join("go.txt"), "").unwrap();
    codex.wait_for_text("It went on.");
    deck.wait_until_gone("$ while [");
    for line in pair.project.ledger() {
        assert!(!line.to_string().contains("go.txt"), "{line}");
    }
    verify(&pair);
}
