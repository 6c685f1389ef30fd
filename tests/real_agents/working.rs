//! What the deck shows of the real agents' turns while they run.

use crate::pair::{attached_codex, status, verify};
use crate::support::claude_home;
use crate::support::model_request::{says, tool_said};
use crate::support::pair::Pair;
use crate::support::panes::wait_for_card;
use crate::support::pty::{Key, Pty};
use crate::support::script::{Gate, Reply, ToolCall};
use serde_json::json;

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

#[test]
fn the_deck_follows_what_codexs_turn_says_runs_and_calls() {
    let Some(pair) = Pair::new() else { return };
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    let note = json!({"text": "the lock is chosen"});
    pair.responses
        .when(tool_said("went on"))
        .reply(Reply::text("It went on."));
    pair.responses.when(says("wait for the file")).once().reply(
        Reply::text("I look at the lock first.")
            .then_call(ToolCall::mcp("ctxrelay", "append_note", note))
            .then_call(ToolCall::shell(WAITS)),
    );
    let mut codex = attached_codex(&pair);
    wait_for_card(&mut deck, "Codex");
    deck.press(Key::Char('1'));
    deck.press(Key::Char('j'));
    // Once more it would be closed.
    deck.press(Key::Enter);
    deck.wait_for_text("How messages reach it");
    codex.submit("wait for the file");
    deck.wait_for_text("$ while [ ! -e go.txt ]");
    deck.wait_for_text("I look at the lock first.");
    deck.wait_for_text("calls ctxrelay.append_note");
    std::fs::write(pair.project.root().join("go.txt"), "").unwrap();
    codex.wait_for_text("It went on.");
    deck.wait_for_text("Its last turn");
    for line in pair.project.ledger() {
        for word in [
            "write the lock",
            "measure it",
            "I look at the lock",
            "go.txt",
        ] {
            assert!(!line.to_string().contains(word), "{line}");
        }
    }
    verify(&pair);
}

#[test]
fn the_deck_shows_what_claude_was_asked_and_runs_and_no_longer_once_that_failed() {
    let Some(pair) = Pair::new() else { return };
    let settings = json!({"permissions": {"allow": ["Bash"]}});
    std::fs::write(pair.claude_home.settings(), settings.to_string()).unwrap();
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    let thinks = Gate::new("claude thinks about what failed");
    let fails = format!("{WAITS}; exit 3");
    pair.messages
        .when(says("wait for the file"))
        .once()
        .reply(Reply::shell(&fails));
    pair.messages
        .when(tool_said("went on"))
        .once()
        .reply(Reply::held("It ", &thinks, "failed."));
    let launch = pair.ctxrelay(["claude", "--permission-mode", "default"]);
    let mut claude = Pty::spawn(&launch).labelled("claude");
    claude.wait_for_text(claude_home::COMPOSER);
    wait_for_card(&mut deck, "Claude");
    claude.submit("wait for the file");
    deck.wait_for_text("$ while [ ! -e go.txt ]");
    deck.wait_for_text("turn: wait for the file");
    std::fs::write(pair.project.root().join("go.txt"), "").unwrap();
    thinks.wait_arrived();
    // Its turn goes on, without it.
    deck.wait_until_gone("$ while [");
    assert_eq!(status(&pair)["agents"]["claude"]["state"], "busy");
    thinks.open();
    claude.wait_for_text("failed.");
    deck.wait_until_gone("turn: wait for the file");
    for line in pair.project.ledger() {
        let line = line.to_string();
        assert!(
            !line.contains("go.txt") && !line.contains("wait for the file"),
            "{line}"
        );
    }
    verify(&pair);
}
