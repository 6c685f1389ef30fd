//! How full the agents' contexts are: the vendors' own figures, at the far end of `status`.

use serde_json::{Value, json};

use crate::pair::{attached_codex, wait_status};
use crate::support::child::run;
use crate::support::claude_home;
use crate::support::mcp::McpClient;
use crate::support::model_request::says;
use crate::support::pair::Pair;
use crate::support::pty::{Key, Pty};
use crate::support::script::Reply;
use crate::support::wait::{timeout, wait_until};

#[track_caller]
fn wait_context(pair: &Pair, agent: &str, used: u64) -> Value {
    let what = format!("a context of {used} tokens");
    let status = wait_status(pair, &what, |status| {
        status["agents"][agent]["context"]["used"] == used
    });
    status["agents"][agent]["context"].clone()
}

#[test]
fn what_codex_says_of_its_context_is_in_the_status_with_the_turns_that_are_left() {
    let Some(pair) = Pair::live() else { return };
    let mut claude = McpClient::start(&pair.ctxrelay(["bridge"]));
    let mut last = Value::Null;
    for (word, tokens) in [("first", 40_000), ("second", 60_000), ("third", 80_000)] {
        pair.responses
            .when(says(word))
            .once()
            .reply(Reply::text("done").filling(tokens));
        claude.tool("reply", json!({"text": format!("do the {word} piece")}));
        last = wait_context(&pair, "codex", tokens);
    }
    let window = last["window"].as_u64().unwrap();
    assert_eq!(last["percent"], 80_000 * 100 / window, "{last}");
    assert_eq!(last["source"], "vendor");
    assert_eq!(last["windowSource"], "vendor");
    assert_eq!(last["compactions"], 0);
    let room = last["compactsAt"].as_u64().unwrap() - 80_000;
    assert_eq!(last["turnsLeft"], room / 20_000, "{last}");

    let said = run(&pair.ctxrelay(["status"])).expect_success();
    let wanted = format!("80000 of {window} tokens");
    assert!(said.stdout.contains(&wanted), "{}", said.stdout);
}

#[test]
fn what_claudes_transcript_says_of_its_context_is_in_the_status() {
    let Some(pair) = Pair::live() else { return };
    let mut claude = pair.claude();
    claude.wait_for_text(claude_home::COMPOSER);
    for (word, tokens) in [("first", 50_000), ("second", 150_000)] {
        pair.messages
            .when(says(word))
            .once()
            .reply(Reply::text("done").filling(tokens));
        claude.submit(&format!("do the {word} piece"));
        let context = wait_context(&pair, "claude", tokens);
        assert_eq!(context["source"], "transcript", "{context}");
        match context["window"].as_u64() {
            Some(window) => {
                assert_eq!(context["windowSource"], "table", "{context}");
                assert_eq!(context["percent"], tokens * 100 / window, "{context}");
            }
            None => assert!(context["percent"].is_null(), "{context}"),
        }
    }
}

#[test]
fn a_nearly_full_codex_is_a_row_in_the_deck_until_it_wrote_down_and_was_compacted() {
    let Some(pair) = Pair::new() else { return };
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    let mut codex = attached_codex(&pair);
    pair.responses
        .when(says("sort the pears"))
        .once()
        .reply(Reply::text("The scale is set up.").filling(220_000));
    codex.submit("sort the pears");
    codex.wait_for_text("The scale is set up.");
    deck.wait_for_text("Context 85% full");
    wait_idle(&pair);
    deck.press(Key::Char('3'));
    deck.press(Key::Char('G'));
    deck.press(Key::Enter);
    deck.wait_for_text("Nearly full");
    offer_compaction(&mut deck);
    deck.press(Key::Char('j'));
    deck.press(Key::Enter);
    let asked = "Write down in the record now";
    pair.responses.wait_for_request("the request", says(asked));
    wait_idle(&pair);
    offer_compaction(&mut deck);
    deck.press(Key::Char('j'));
    deck.press(Key::Char('j'));
    deck.press(Key::Enter);
    wait_status(&pair, "a context that was compacted", |status| {
        let context = &status["agents"]["codex"]["context"];
        context["compactions"] == 1 && context["nearlyFullSince"].is_null()
    });
    deck.press(Key::Escape);
    deck.wait_for_screen("no row for it", |screen| !screen.contains("% full"));
}

/// The deck hears a moment after `status` that the turn has ended; until then its question is
/// another one, without a compaction.
#[track_caller]
fn offer_compaction(deck: &mut Pty) {
    wait_until("the offer of a compaction", timeout(), || {
        deck.press_until(Key::Char('%'), "what can be done", |screen| {
            screen.contains("have it write down")
        });
        if deck.shows("Compact Codex's context?") {
            return Some(());
        }
        deck.press(Key::Escape);
        deck.wait_until_gone("have it write down");
        None
    });
}

#[track_caller]
fn wait_idle(pair: &Pair) {
    wait_status(pair, "an idle Codex", |status| {
        status["agents"]["codex"]["state"] == "idle" && status["queue"]["codex"]["pending"] == 0
    });
}
