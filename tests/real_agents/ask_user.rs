//! The real agents ask the person by `ask_user`, and their models read the answer.

use serde_json::{Value, json};

use crate::pair::{attached_claude, attached_codex, verify};
use crate::support::model_request::{hears, says, tool_said};
use crate::support::pair::Pair;
use crate::support::panes::wait_for_waiting;
use crate::support::pty::{Key, Pty};
use crate::support::script::Reply;
use crate::support::wait::{timeout, wait_until};

const QUESTION: &str = "May the old endpoint go?";

fn asks(timeout_s: u64) -> Value {
    json!({"question": QUESTION, "choices": ["yes, now", "in March"], "timeout_s": timeout_s})
}

/// The deck's card of the question, opened, with what may be answered.
#[track_caller]
fn answers(deck: &mut Pty) {
    deck.wait_for_text("May the old");
    wait_for_waiting(deck);
    deck.press(Key::Char('3'));
    // Beside the lists it is read without its keys.
    deck.press_until(Key::Enter, "the card", |screen| {
        screen.contains("esc later")
    });
    deck.wait_for_text(QUESTION);
    deck.press(Key::Char('a'));
    deck.wait_for_text("asks you a question");
}

/// The steps of the question in the record, oldest first.
fn steps(pair: &Pair) -> Vec<String> {
    let lines = pair.project.ledger().into_iter();
    let steps = lines.filter(|line| line["runtimeEvent"]["kind"] == "approval");
    let word = |line: Value| {
        let (source, status) = (&line["source"], &line["runtimeEvent"]["status"]);
        format!("{} {}", source.as_str().unwrap(), status.as_str().unwrap())
    };
    steps.map(word).collect()
}

#[track_caller]
fn is_over(pair: &Pair, deck: &mut Pty, agent: &str) {
    deck.wait_for_text("Nothing waits for you");
    let asked = format!("{agent} asked");
    assert_eq!(
        steps(pair),
        [asked.as_str(), "human given", "system answered"]
    );
    verify(pair);
}

#[test]
fn claude_waits_for_the_answer_that_is_chosen_in_the_deck() {
    let Some(pair) = Pair::new() else { return };
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    let mut claude = attached_claude(&pair);
    pair.claude_calls(says("ask the person"), "ask_user", asks(50));
    pair.messages
        .when(tool_said("in March"))
        .reply(Reply::text("Then it stays."));
    claude.submit("ask the person");
    answers(&mut deck);
    deck.press(Key::Down);
    deck.press(Key::Enter);
    claude.wait_for_text("Then it stays.");
    is_over(&pair, &mut deck, "claude");
}

#[test]
fn codex_waits_for_the_answer_that_is_typed_in_the_deck() {
    let Some(pair) = Pair::new() else { return };
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    let mut codex = attached_codex(&pair);
    pair.codex_calls(says("ask the person"), "ask_user", asks(50));
    pair.responses
        .when(tool_said("ask the mobile team"))
        .reply(Reply::text("I ask them."));
    codex.submit("ask the person");
    answers(&mut deck);
    deck.press(Key::Down);
    deck.press(Key::Down);
    deck.press(Key::Enter);
    deck.wait_for_text("Your answer");
    deck.type_text("ask the mobile team");
    deck.press(Key::Enter);
    codex.wait_for_text("I ask them.");
    is_over(&pair, &mut deck, "codex");
    // What the call returned is not a turn as well.
    let told = pair.responses.requests().into_iter();
    let told = told.filter(|request| request.user_text().contains("ask the mobile team"));
    assert_eq!(told.count(), 0);
}

#[test]
fn codex_waits_for_the_answer_that_is_given_on_the_command_line() {
    let Some(pair) = Pair::new() else { return };
    let _daemon = pair.daemon();
    let mut codex = attached_codex(&pair);
    pair.codex_calls(says("ask the person"), "ask_user", asks(50));
    pair.responses
        .when(tool_said("ask the mobile team"))
        .reply(Reply::text("I ask them."));
    codex.submit("ask the person");
    let asked = wait_until("the question in the list", timeout(), || {
        let listed = pair.project.run(["approvals", "list", "--json"]);
        let listed = listed.expect_success().json();
        let asked = listed["approvals"].as_array().unwrap().first().cloned();
        asked.filter(|asked| asked["kind"] == "user_question")
    });
    assert_eq!(asked["subject"], QUESTION);
    let id = asked["id"].as_str().unwrap();
    let words = "ask the mobile team";
    let answer = ["approvals", "answer", id, "3", "--note", words];
    let mut line = Pty::spawn(&pair.project.ctxrelay(answer));
    line.wait_for_text("Type `answer` to go on");
    line.type_text("answer");
    line.press(Key::Enter);
    assert_eq!(line.wait_exit(), 0, "{}", line.screen());
    codex.wait_for_text("I ask them.");
    wait_until("the end of the question", timeout(), || {
        (steps(&pair).len() >= 3).then_some(())
    });
    assert_eq!(
        steps(&pair),
        ["codex asked", "human given", "system answered"]
    );
    verify(&pair);
}

#[test]
fn a_late_answer_reaches_claude_as_a_message() {
    let Some(pair) = Pair::new() else { return };
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    let mut claude = attached_claude(&pair);
    pair.claude_calls(says("ask the person"), "ask_user", asks(0));
    pair.messages
        .when(tool_said("still_waiting"))
        .once()
        .reply(Reply::text("I go on meanwhile."));
    pair.messages
        .when(hears("yes, now"))
        .reply(Reply::text("Now it goes."));
    claude.submit("ask the person");
    claude.wait_for_text("I go on meanwhile.");
    answers(&mut deck);
    deck.press(Key::Enter);
    claude.wait_for_text("Now it goes.");
    is_over(&pair, &mut deck, "claude");
}

#[test]
fn a_late_answer_after_a_restart_of_the_deck_and_its_daemon_is_a_turn_of_codex() {
    let Some(pair) = Pair::new() else { return };
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    let mut codex = attached_codex(&pair);
    pair.codex_calls(says("ask the person"), "ask_user", asks(0));
    pair.responses
        .when(tool_said("still_waiting"))
        .once()
        .reply(Reply::text("I go on meanwhile."));
    pair.responses
        .when(hears("yes, now"))
        .reply(Reply::text("Now it goes."));
    codex.submit("ask the person");
    codex.wait_for_text("I go on meanwhile.");
    deck.crash();
    drop(deck);
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    answers(&mut deck);
    deck.press(Key::Enter);
    let told = pair
        .responses
        .wait_for_request("the answer at Codex's model", |request| {
            request.mentions("This answers your question")
        });
    assert!(told.mentions("yes, now"), "{}", told.summary());
    is_over(&pair, &mut deck, "codex");
}

#[test]
fn an_agent_takes_its_question_back_and_another_is_told_that_no_answer_comes() {
    let Some(pair) = Pair::new() else { return };
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    let mut codex = attached_codex(&pair);
    pair.codex_calls(says("ask the person"), "ask_user", asks(0));
    codex.submit("ask the person");
    let question = wait_until("the question in the record", timeout(), || {
        let mut lines = pair.project.ledger().into_iter();
        lines.find(|line| line["runtimeEvent"]["kind"] == "approval")
    });
    deck.wait_for_text("May the old");
    wait_for_waiting(&mut deck);
    pair.codex_calls(
        says("take it back"),
        "append_note",
        json!({"text": "found it in the docs", "withdraws": question["id"]}),
    );
    codex.submit("take it back");
    deck.wait_for_text("Nothing waits for you");
    assert_eq!(steps(&pair), ["codex asked"]);

    let mut claude = attached_claude(&pair);
    pair.claude_calls(says("ask the person"), "ask_user", asks(50));
    pair.messages
        .when(tool_said("no answer: go on without one"))
        .reply(Reply::text("Then I decide."));
    claude.submit("ask the person");
    answers(&mut deck);
    for _ in 0..3 {
        deck.press(Key::Down);
    }
    deck.press(Key::Enter);
    claude.wait_for_text("Then I decide.");
    deck.wait_for_text("Nothing waits for you");
    verify(&pair);
}
