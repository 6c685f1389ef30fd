//! The real agents ask the person by `ask_user`, and their models read the answer.

use serde_json::{Value, json};

use crate::approvals::{answers, expect_steps, id_of, rests, wait_asked};
use crate::pair::{attached_claude, attached_codex, verify, wait_status};
use crate::support::model_request::{hears, says, tool_said};
use crate::support::pair::Pair;
use crate::support::panes::wait_for_waiting;
use crate::support::pty::{Key, Pty};
use crate::support::script::Reply;
use crate::support::wait::{timeout, wait_until};

/// Short, so that a row of the Inbox holds it.
fn question(what: &str) -> String {
    format!("May {what} go?")
}

fn asks(what: &str, timeout_s: u64) -> Value {
    json!({"question": question(what), "choices": ["yes, now", "in March"], "timeout_s": timeout_s})
}

/// What an agent is told to do so that it asks about this.
fn prompt(what: &str) -> String {
    format!("ask about {what}")
}

/// The deck's card of the question, opened, with what may be answered.
#[track_caller]
fn open_answers(deck: &mut Pty, agent: &str, what: &str) {
    deck.wait_for_text(&question(what));
    wait_for_waiting(deck);
    deck.press(Key::Char('3'));
    // Beside the lists it is read without its keys.
    deck.press_until(Key::Enter, "the card", |screen| {
        screen.contains("esc later")
    });
    deck.wait_for_text(&question(what));
    answers(deck, &format!("{agent} asks you a question"));
}

/// Waits for the question in the record; its id.
#[track_caller]
fn asked(pair: &Pair, what: &str) -> String {
    id_of(&wait_asked(pair, &question(what)))
}

#[track_caller]
fn is_over(pair: &Pair, deck: &mut Pty, agent: &str, id: &str) {
    deck.wait_for_text("Nothing waits for you");
    let asked = format!("{agent} asked");
    expect_steps(
        pair,
        id,
        &[asked.as_str(), "human given", "system answered"],
    );
}

/// Claude, whose turn before has ended, is told to ask, and waits so long for the answer.
#[track_caller]
fn claude_asks(pair: &Pair, claude: &mut Pty, what: &str, timeout_s: u64) -> String {
    wait_status(pair, "an idle Claude", |status| {
        status["agents"]["claude"]["state"] == "idle"
    });
    pair.claude_calls(says(&prompt(what)), "ask_user", asks(what, timeout_s));
    claude.submit(&prompt(what));
    asked(pair, what)
}

/// As [`claude_asks`], Codex.
#[track_caller]
fn codex_asks(pair: &Pair, codex: &mut Pty, what: &str, timeout_s: u64) -> String {
    rests(pair, codex);
    pair.codex_calls(says(&prompt(what)), "ask_user", asks(what, timeout_s));
    codex.submit(&prompt(what));
    asked(pair, what)
}

#[test]
fn claude_is_answered_in_the_deck_while_it_waits_and_late() {
    let Some(pair) = Pair::live() else { return };
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    let mut claude = attached_claude(&pair);
    claude_waits_for_the_answer_that_is_chosen_in_the_deck(&pair, &mut deck, &mut claude);
    claude_is_told_that_no_answer_comes(&pair, &mut deck, &mut claude);
    a_late_answer_reaches_claude_as_a_message(&pair, &mut deck, &mut claude);
    verify(&pair);
}

fn claude_waits_for_the_answer_that_is_chosen_in_the_deck(
    pair: &Pair,
    deck: &mut Pty,
    claude: &mut Pty,
) {
    pair.messages
        .when(tool_said("in March"))
        .once()
        .reply(Reply::text("Then it stays."));
    let id = claude_asks(pair, claude, "v1", 50);
    open_answers(deck, "Claude", "v1");
    deck.press(Key::Down);
    deck.press(Key::Enter);
    claude.wait_for_text("Then it stays.");
    is_over(pair, deck, "claude", &id);
}

fn claude_is_told_that_no_answer_comes(pair: &Pair, deck: &mut Pty, claude: &mut Pty) {
    pair.messages
        .when(tool_said("no answer: go on without one"))
        .once()
        .reply(Reply::text("Then I decide."));
    let id = claude_asks(pair, claude, "v2", 50);
    open_answers(deck, "Claude", "v2");
    for _ in 0..3 {
        deck.press(Key::Down);
    }
    deck.press(Key::Enter);
    claude.wait_for_text("Then I decide.");
    is_over(pair, deck, "claude", &id);
}

fn a_late_answer_reaches_claude_as_a_message(pair: &Pair, deck: &mut Pty, claude: &mut Pty) {
    pair.messages
        .when(tool_said("still_waiting"))
        .once()
        .reply(Reply::text("I go on meanwhile."));
    pair.messages
        .when(hears("yes, now"))
        .reply(Reply::text("Now it goes."));
    let id = claude_asks(pair, claude, "v3", 0);
    claude.wait_for_text("I go on meanwhile.");
    open_answers(deck, "Claude", "v3");
    deck.press(Key::Enter);
    claude.wait_for_text("Now it goes.");
    is_over(pair, deck, "claude", &id);
}

#[test]
fn codex_is_answered_on_the_command_line_and_in_the_deck_and_takes_a_question_back() {
    let Some(pair) = Pair::live() else { return };
    let mut codex = attached_codex(&pair);
    codex_waits_for_the_answer_that_is_given_on_the_command_line(&pair, &mut codex);
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    codex_waits_for_the_answer_that_is_typed_in_the_deck(&pair, &mut deck, &mut codex);
    codex_takes_its_question_back(&pair, &mut deck, &mut codex);
    verify(&pair);
}

/// With no deck.
fn codex_waits_for_the_answer_that_is_given_on_the_command_line(pair: &Pair, codex: &mut Pty) {
    let words = "ask the tablet team";
    pair.responses
        .when(tool_said(words))
        .once()
        .reply(Reply::text("I ask the tablet team."));
    let id = codex_asks(pair, codex, "v1", 50);
    let asked = wait_until("the question in the list", timeout(), || {
        let listed = pair.project.run(["approvals", "list", "--json"]);
        let listed = listed.expect_success().json();
        let asked = listed["approvals"].as_array().unwrap().first().cloned();
        asked.filter(|asked| asked["kind"] == "user_question")
    });
    assert_eq!(asked["subject"], question("v1"));
    assert_eq!(asked["id"], id.as_str());
    let answer = ["approvals", "answer", &id, "3", "--note", words];
    let mut line = Pty::spawn(&pair.project.ctxrelay(answer));
    line.wait_for_text("Type `answer` to go on");
    line.type_text("answer");
    line.press(Key::Enter);
    assert_eq!(line.wait_exit(), 0, "{}", line.screen());
    codex.wait_for_text("I ask the tablet team.");
    let wanted = ["codex asked", "human given", "system answered"];
    expect_steps(pair, &id, &wanted);
}

fn codex_waits_for_the_answer_that_is_typed_in_the_deck(
    pair: &Pair,
    deck: &mut Pty,
    codex: &mut Pty,
) {
    let words = "ask the mobile team";
    pair.responses
        .when(tool_said(words))
        .once()
        .reply(Reply::text("I ask the mobile team."));
    let id = codex_asks(pair, codex, "v2", 50);
    open_answers(deck, "Codex", "v2");
    deck.press(Key::Down);
    deck.press(Key::Down);
    deck.press(Key::Enter);
    deck.wait_for_text("Your answer");
    deck.type_text(words);
    deck.press(Key::Enter);
    codex.wait_for_text("I ask the mobile team.");
    is_over(pair, deck, "codex", &id);
    // What the call returned is not a turn as well.
    let told = pair.responses.requests().into_iter();
    let told = told.filter(|request| request.user_text().contains(words));
    assert_eq!(told.count(), 0);
}

fn codex_takes_its_question_back(pair: &Pair, deck: &mut Pty, codex: &mut Pty) {
    let id = codex_asks(pair, codex, "v3", 0);
    deck.wait_for_text(&question("v3"));
    wait_for_waiting(deck);
    let note = json!({"text": "found it in the docs", "withdraws": id});
    pair.codex_calls(says("take it back"), "append_note", note);
    rests(pair, codex);
    codex.submit("take it back");
    deck.wait_for_text("Nothing waits for you");
    expect_steps(pair, &id, &["codex asked"]);
}

#[test]
fn a_late_answer_after_a_restart_of_the_deck_and_its_daemon_is_a_turn_of_codex() {
    let Some(pair) = Pair::new() else { return };
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    let mut codex = attached_codex(&pair);
    pair.responses
        .when(tool_said("still_waiting"))
        .once()
        .reply(Reply::text("I go on meanwhile."));
    pair.responses
        .when(hears("yes, now"))
        .reply(Reply::text("Now it goes."));
    let id = codex_asks(&pair, &mut codex, "v1", 0);
    codex.wait_for_text("I go on meanwhile.");
    deck.crash();
    drop(deck);
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    open_answers(&mut deck, "Codex", "v1");
    deck.press(Key::Enter);
    let told = pair
        .responses
        .wait_for_request("the answer at Codex's model", |request| {
            request.mentions("This answers your question")
        });
    assert!(told.mentions("yes, now"), "{}", told.summary());
    is_over(&pair, &mut deck, "codex", &id);
    verify(&pair);
}
