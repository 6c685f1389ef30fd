//! Going on after a break, as the operator does it in the deck.

use serde_json::json;

use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::wait::{timeout, wait_until};

#[test]
fn the_deck_shows_what_the_record_on_the_disk_tells_and_sends_the_prompt_that_is_printed() {
    let project = Project::live();
    let mut codex = project.agent("codex");
    let note = json!({"agent": "codex", "kind": "goal", "text": "sort\u{1b}[2J the plums"});
    codex.expect("note/append", note);

    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 40).labelled("deck");
    deck.wait_for_text("✓ chain");
    deck.press_until(Key::Char('R'), "where the work stands", |screen| {
        screen.contains("Codex goes on with: ctxrelay codex")
    });
    deck.wait_for_text("sort^[[2J the plums");
    // The same key turns to the other agent.
    deck.press(Key::Char('J'));
    deck.wait_for_text("Go on with the work of this project.");
    deck.press(Key::Char('m'));
    deck.wait_for_text("Message → ◆ Claude");
    deck.press(Key::Enter);
    let message = wait_until("the prompt", timeout(), || {
        let mut lines = project.ledger().into_iter();
        lines.find(|line| {
            let content = line["content"].as_str();
            content.is_some_and(|text| text.starts_with("Go on with the work"))
        })
    });
    let sent = message["content"].as_str().unwrap().to_owned();
    assert_eq!(message["target"], "claude");
    let printed = project.run(["recover", "--prompt", "claude"]);
    let printed = printed.expect_success().stdout;
    let work = |text: &str| text.split_once("\n## ").unwrap().1.to_owned();
    let objective = |text: &str| work(text).split("\n\n").next().unwrap().to_owned();
    // A terminal shows an escape as `^[`, and no field takes one.
    assert_eq!(objective(&sent), objective(&printed).replace("^[", ""));
    assert!(objective(&sent).contains("sort[2J the plums"), "{sent:?}");
    assert!(sent.starts_with("Go on with the work"), "{sent}");
}

#[test]
fn what_a_turn_of_claudes_left_is_cut_off_wherever_the_deck_tells_of_it() {
    let project = Project::live();
    let (_bridge, mut hook) = (project.agent("claude"), project.agent("hook"));
    let ask = json!({"from": "codex", "ask": "which lock is it", "reason": "you know"});
    let handed = project.agent("codex").expect("handoff/create", ask);
    let ids = json!([handed["value"]["messageId"]]);
    let prompt = json!({"event": "UserPromptSubmit", "claudePid": null});
    let given = hook.expect("hook/report", prompt);
    assert_eq!(given["value"]["ids"], ids, "{given}");
    hook.expect("hook/handed", json!({"agent": "claude", "ids": ids}));

    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 40).labelled("deck");
    deck.wait_for_text("Claude has it · no answer yet");
    let failed = json!({"event": "StopFailure", "claudePid": null, "detail": "server_error"});
    hook.expect("hook/report", failed);
    // The pane of the handoffs, the timeline and the Inbox.
    deck.wait_for_text("Claude's turn cut off · no answer");
    deck.wait_for_text("its turn was cut off");
    deck.wait_for_text("1 to Claude");
    deck.press_until(Key::Char('R'), "where the work stands", |screen| {
        screen.contains("Claude goes on with: ctxrelay claude")
    });
    deck.wait_for_text("Cut off 1");
    deck.wait_for_text("codex → claude: its turn ended early");
}
