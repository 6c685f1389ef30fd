//! What was said elsewhere goes with a task as far as the person ticked it, up to Codex's model.

use serde_json::json;

use crate::pair::{attached_claude, attached_codex, verify};
use crate::support::model_request::{hears, says, tool_said};
use crate::support::pair::Pair;
use crate::support::pty::{Key, Pty};
use crate::support::script::Reply;

#[test]
fn codexs_model_reads_of_what_was_said_before_what_the_person_ticked() {
    let Some(pair) = Pair::new() else { return };
    let mut deck = Pty::spawn_sized(&pair.ctxrelay([]), 120, 40).labelled("deck");
    deck.wait_for_text("✓ chain");
    let opens = |title: &str| {
        let mut line = Pty::spawn(&pair.ctxrelay(["capsule", "new", title]));
        assert_eq!(line.wait_exit(), 0, "{}", line.screen());
    };
    opens("Bake a cake");
    let mut claude = attached_claude(&pair);
    let said = ["the login needs a cake", "no login without candles"];
    for (prompt, text) in ["what is decided?", "and what else?"].into_iter().zip(said) {
        let decision = json!({"text": text, "kind": "decision"});
        pair.claude_calls(says(prompt), "append_note", decision);
        let noted = pair.messages.when(tool_said("entry_id")).once();
        let answer = format!("Noted: {text}.");
        noted.reply(Reply::text(&answer));
        claude.submit(prompt);
        claude.wait_for_text(&answer);
    }
    opens("Fix the login");
    let mut codex = attached_codex(&pair);
    let has_it = pair.responses.when(hears("Task: Fix the login")).once();
    has_it.reply(Reply::text("I have the task."));

    deck.type_text("T");
    deck.wait_for_text("hand to an agent");
    deck.press(Key::Enter);
    deck.wait_for_screen("the task", |screen| {
        screen.contains("hand to") && !screen.contains("begin one")
    });
    deck.type_text("hjjjj");
    deck.press(Key::Enter);
    deck.wait_for_text("what goes along to Codex?");
    deck.wait_for_text("[ ] ");
    deck.type_text(" ");
    deck.wait_for_text("[x] ");
    let shown = deck.screen();
    let row = |mark: &str| {
        let mut marked = shown.lines().filter(|line| line.contains(mark));
        let text = marked.find_map(|line| said.into_iter().find(|text| line.contains(text)));
        text.unwrap_or_else(|| panic!("no decision at {mark:?}: {shown}"))
    };
    let (ticked, left) = (row("[x] "), row("[ ] "));
    assert_ne!(ticked, left);
    deck.press(Key::Enter);
    deck.wait_for_text("handed to Codex as entry");

    let request = pair
        .responses
        .wait_for_request("the task at Codex's model", |request| {
            request.mentions("Task: Fix the login")
        });
    // In the task's own text: what both decided is also told to a conversation that begins.
    let task = request.user_text();
    assert!(task.contains("Said before, elsewhere"), "{task}");
    assert!(task.contains(ticked) && !task.contains(left), "{task}");
    codex.wait_for_text("I have the task.");
    verify(&pair);
}
