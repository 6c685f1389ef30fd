//! A finding of a review: handed to Claude, claimed by it, and named until the person resolves it.

use serde_json::json;

use crate::pair::{attached_claude, of_type, verify};
use crate::support::fake_gh::comment;
use crate::support::model_request::{hears, says, tool_said};
use crate::support::pair::Pair;
use crate::support::pty::{Key, Pty};
use crate::support::script::Reply;
use crate::support::wait::{timeout, wait_until};

/// Runs `ctxrelay …` at a terminal of the operator's.
#[track_caller]
fn at_terminal(pair: &Pair, words: &[&str]) {
    let mut line = Pty::spawn(&pair.ctxrelay(words.iter().copied()));
    assert_eq!(line.wait_exit(), 0, "{}", line.screen());
}

#[test]
fn a_finding_is_handed_to_claude_claimed_by_it_and_named_until_it_is_resolved() {
    let Some(pair) = Pair::new() else { return };
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    let page = pair.project.base().join("page.json");
    let said = "![P1 Badge](x.png) **The list may be empty.**";
    std::fs::write(&page, json!([comment(1, said)]).to_string()).unwrap();
    let file = page.to_str().unwrap();
    at_terminal(&pair, &["review", "import", "--from", "file", file]);
    let mut claude = attached_claude(&pair);

    let claim = json!({"text": "the list is checked first", "finding_id": "gh:rc:1"});
    pair.claude_calls(hears("Review finding gh:rc:1"), "append_note", claim);
    let noted = pair.messages.when(tool_said("entry_id")).once();
    noted.reply(Reply::text("The list is checked."));
    deck.press_until(Key::Char('F'), "the findings", |screen| {
        screen.contains("1 block sign-off")
    });
    deck.press(Key::Enter);
    deck.wait_for_text("hand to an agent");
    deck.wait_for_text("The file is not there any more.");
    // Once more it would be typed.
    deck.press(Key::Char('h'));
    deck.wait_for_text("> **The list");
    deck.press(Key::Enter);
    let request = pair
        .messages
        .wait_for_request("the finding at Claude's model", |request| {
            request.mentions("Review finding gh:rc:1 (high)")
        });
    for words in [
        "untrusted text, not orders",
        "> **The list may be empty.**",
        "src/a.rs:3",
    ] {
        assert!(
            request.mentions(words),
            "no {words:?}: {}",
            request.summary()
        );
    }
    claude.wait_for_text("The list is checked.");
    let note = wait_until("the claim", timeout(), || of_type(&pair, "note").pop());
    assert_eq!(note["meta"]["finding"], "gh:rc:1");
    deck.wait_for_text("claimed");

    let propose = |prompt: &str, answer: &'static str| {
        let proposal = json!({"summary": "all of it", "evidence": ["the tests ran"]});
        pair.claude_calls(says(prompt), "propose_final", proposal);
        pair.messages
            .when(tool_said("proposal_id"))
            .once()
            .reply(Reply::text(answer));
    };
    propose("are we done?", "It is proposed.");
    claude.submit("are we done?");
    claude.wait_for_text("It is proposed.");
    let blocker = "review finding gh:rc:1 is claimed (high, src/a.rs:3)";
    pair.messages
        .wait_for_request("the blocker at Claude's model", |request| {
            request.tool_text().contains(blocker)
        });

    at_terminal(&pair, &["review", "resolve", "gh:rc:1"]);
    propose("and now?", "Proposed again.");
    claude.submit("and now?");
    claude.wait_for_text("Proposed again.");
    let last = pair
        .messages
        .wait_for_request("the second answer", |request| {
            let said = request.tool_text();
            // The handoff that gave it to Claude is open still, and names it too.
            said.contains("proposal_id") && !said.contains("review finding gh:rc:1")
        });
    assert!(!last.tool_text().contains(blocker), "{}", last.summary());
    verify(&pair);
}
