//! What the real Claude asks the person: its own dialog stands beside the deck and the command line,
//! and the first answer counts.

use serde_json::json;

use crate::approvals::{
    answers, card, expect_steps, id_of, is_made, listed, prompt, steps, touches, wait_asked,
};
use crate::pair::{verify, wait_attached, wait_status};
use crate::support::claude_home;
use crate::support::model_request::{hears, mentions, says, tool_said};
use crate::support::pair::Pair;
use crate::support::panes::wait_for_waiting;
use crate::support::pty::{Key, Pty};
use crate::support::script::{Reply, ToolCall};

const DIALOG: &str = "Do you want to proceed?";

/// What Claude runs: its output is not in the command.
fn makes_file(word: &str) -> String {
    format!("{} && echo done-$((40+2))", touches(word))
}

/// Claude in its terminal, in the mode that asks.
#[track_caller]
fn claude_in_the_mode_that_asks(pair: &Pair) -> Pty {
    let launch = pair.ctxrelay(["claude", "--permission-mode", "default"]);
    let mut claude = Pty::spawn(&launch).labelled("claude");
    claude.wait_for_text(claude_home::COMPOSER);
    wait_attached(pair);
    claude
}

/// Claude, whose turn before has ended, is about to run a command.
#[track_caller]
fn claude_wants_a_file(pair: &Pair, claude: &mut Pty, word: &str) {
    wait_status(pair, "an idle Claude", |status| {
        status["agents"]["claude"]["state"] == "idle"
    });
    pair.messages
        .when(says(&prompt(word)))
        .once()
        .reply(Reply::shell(&makes_file(word)));
    claude.submit(&prompt(word));
}

/// As before, at its own dialog; the id of the request.
#[track_caller]
fn claude_asks_for(pair: &Pair, claude: &mut Pty, word: &str) -> String {
    claude_wants_a_file(pair, claude, word);
    let asked = wait_asked(pair, &makes_file(word));
    assert_eq!(asked["source"], "claude");
    let subject = &asked["runtimeEvent"]["request"]["subject"];
    assert_eq!(*subject, makes_file(word));
    claude.wait_for_text(DIALOG);
    id_of(&asked)
}

/// Claude in its terminal, at its dialog about the file `made.txt`; the id of the request.
#[track_caller]
pub fn claude_asks(pair: &Pair) -> (Pty, String) {
    let mut claude = claude_in_the_mode_that_asks(pair);
    let id = claude_asks_for(pair, &mut claude, "made");
    (claude, id)
}

/// Claude's model says that the file is made, once the command has run; the words.
fn claude_says_it_is_made(pair: &Pair, word: &str) -> String {
    let said = format!("Made {word}.");
    let ran = pair.messages.when(tool_said("done-42"));
    ran.once().reply(Reply::text(&said));
    said
}

/// Answers Claude's own dialog.
#[track_caller]
pub fn yes(claude: &mut Pty) {
    claude.enter_until_gone(DIALOG);
}

#[test]
fn what_claude_asks_is_answered_in_its_dialog_in_the_deck_or_on_the_command_line() {
    let Some(pair) = Pair::live() else { return };
    let mut claude = claude_in_the_mode_that_asks(&pair);
    without_a_deck_claudes_dialog_is_all_there_is(&pair, &mut claude);
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    the_deck_answers_claude_while_its_own_dialog_is_open(&pair, &mut deck, &mut claude);
    a_refusal_in_the_deck_and_its_reason_reach_claudes_model(&pair, &mut deck, &mut claude);
    a_refusal_on_the_command_line_and_its_reason_reach_claudes_model(&pair, &mut deck, &mut claude);
    claude_that_is_answered_in_its_own_dialog_waits_for_nobody(&pair, &mut deck, &mut claude);
    a_question_of_claudes_own_is_answered_with_one_of_its_options(&pair, &mut deck, &mut claude);
    verify(&pair);
}

fn without_a_deck_claudes_dialog_is_all_there_is(pair: &Pair, claude: &mut Pty) {
    let said = claude_says_it_is_made(pair, "alone");
    claude_wants_a_file(pair, claude, "alone");
    claude.wait_for_text(DIALOG);
    yes(claude);
    claude.wait_for_text(&said);
    assert!(is_made(pair, "alone"));
    assert!(steps(pair).is_empty());
}

fn the_deck_answers_claude_while_its_own_dialog_is_open(
    pair: &Pair,
    deck: &mut Pty,
    claude: &mut Pty,
) {
    let said = claude_says_it_is_made(pair, "allowed");
    let id = claude_asks_for(pair, claude, "allowed");
    card(deck);
    answers(deck, "Claude asks to run a command");
    deck.press(Key::Enter);
    claude.wait_for_text(&said);
    assert!(is_made(pair, "allowed"));
    deck.wait_for_text("Nothing waits for you");
    let wanted = ["claude asked", "human given", "system answered"];
    expect_steps(pair, &id, &wanted);
}

/// Nobody waits for the person any more while what they allowed runs.
#[test]
fn claude_is_at_work_once_it_has_the_decks_answer_however_long_the_command_runs() {
    let Some(pair) = Pair::live() else { return };
    let mut claude = claude_in_the_mode_that_asks(&pair);
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    let said = claude_says_it_is_made(&pair, "allowed");
    let made = makes_file("allowed");
    let waits = format!("while [ ! -e go ]; do sleep 0.1; done; {made}");
    let asked = pair.messages.when(says("make it when I say so"));
    asked.once().reply(Reply::shell(&waits));
    claude.submit("make it when I say so");
    wait_asked(&pair, &made);
    wait_status(&pair, "a Claude that waits", |status| {
        status["agents"]["claude"]["state"] == "waiting"
    });
    card(&mut deck);
    answers(&mut deck, "Claude asks to run a command");
    deck.press(Key::Enter);
    wait_status(&pair, "a Claude at work", |status| {
        status["agents"]["claude"]["state"] == "busy"
    });
    assert!(!is_made(&pair, "allowed"));
    pair.project.write("go", "");
    claude.wait_for_text(&said);
    verify(&pair);
}

fn a_refusal_in_the_deck_and_its_reason_reach_claudes_model(
    pair: &Pair,
    deck: &mut Pty,
    claude: &mut Pty,
) {
    pair.messages
        .when(hears("use the lock instead"))
        .once()
        .reply(Reply::text("Then with the lock."));
    let id = claude_asks_for(pair, claude, "refused");
    card(deck);
    deck.press(Key::Char('x'));
    deck.wait_for_text("Do not allow: why?");
    deck.type_text("use the lock instead");
    deck.press(Key::Enter);
    claude.wait_for_text("Then with the lock.");
    assert!(!is_made(pair, "refused"));
    deck.wait_for_text("Nothing waits for you");
    let wanted = ["claude asked", "human given", "system answered"];
    expect_steps(pair, &id, &wanted);
}

/// Runs `ctxrelay approvals answer …` in a terminal, where `word` is typed before it is sent.
#[track_caller]
fn answers_on_the_command_line(pair: &Pair, answer: &[&str], word: &str) {
    let mut line = Pty::spawn(&pair.project.ctxrelay(answer.iter().copied()));
    line.wait_for_text(&format!("Type `{word}` to go on"));
    line.type_text(word);
    line.press(Key::Enter);
    assert_eq!(line.wait_exit(), 0, "{}", line.screen());
}

fn a_refusal_on_the_command_line_and_its_reason_reach_claudes_model(
    pair: &Pair,
    deck: &mut Pty,
    claude: &mut Pty,
) {
    let reason = "take the queue instead";
    pair.messages
        .when(hears(reason))
        .once()
        .reply(Reply::text("Then with the queue."));
    let id = claude_asks_for(pair, claude, "denied");
    let listed = listed(pair);
    let asked = &listed["approvals"][0];
    assert_eq!(asked["id"], id.as_str());
    assert_eq!(asked["hints"], json!([]), "{asked}");
    let choices = asked["choices"].as_array().unwrap();
    let deny = choices.iter().find(|choice| choice["effect"] == "deny");
    let deny = deny.unwrap()["id"].as_str().unwrap();
    let answer = ["approvals", "answer", &id, deny, "--note", reason];
    answers_on_the_command_line(pair, &answer, "deny");
    claude.wait_for_text("Then with the queue.");
    assert!(!is_made(pair, "denied"));
    deck.wait_for_text("Nothing waits for you");
    let wanted = ["claude asked", "human given", "system answered"];
    expect_steps(pair, &id, &wanted);
}

fn claude_that_is_answered_in_its_own_dialog_waits_for_nobody(
    pair: &Pair,
    deck: &mut Pty,
    claude: &mut Pty,
) {
    let said = claude_says_it_is_made(pair, "answered");
    let id = claude_asks_for(pair, claude, "answered");
    yes(claude);
    claude.wait_for_text(&said);
    assert!(is_made(pair, "answered"));
    deck.wait_for_text("Nothing waits for you");
    expect_steps(pair, &id, &["claude asked", "system answered"]);
}

/// The file that Claude tells its model to write the plan into.
#[track_caller]
fn plan_file(pair: &Pair) -> String {
    const BEFORE: &str = "create your plan at ";
    let request = pair
        .messages
        .wait_for_request("plan mode", mentions(BEFORE));
    let told = request.body.to_string();
    let (_, behind) = told.split_once(BEFORE).unwrap();
    behind.split_once(" using").unwrap().0.to_owned()
}

#[test]
fn a_plan_that_is_allowed_in_the_deck_has_claude_ask_before_each_edit() {
    let Some(pair) = Pair::live() else { return };
    let mut claude = claude_in_the_mode_that_asks(&pair);
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    // The way there leads through the mode in which Claude edits without asking.
    claude.press_until(Key::BackTab, "the mode that edits", |screen| {
        screen.contains("accept edits on")
    });
    claude.press_until(Key::BackTab, "plan mode", |screen| {
        screen.contains("plan mode on")
    });
    claude.submit("what is to be done?");
    let file = plan_file(&pair);
    wait_status(&pair, "an idle Claude", |status| {
        status["agents"]["claude"]["state"] == "idle"
    });
    let plan = json!({"file_path": file, "content": "1. Write the note.\n"});
    pair.messages
        .when(says("plan it"))
        .once()
        .reply(Reply::call(ToolCall::named("Write", plan)));
    pair.messages
        .when(tool_said("File created successfully"))
        .once()
        .reply(Reply::call(ToolCall::named("ExitPlanMode", json!({}))));
    let note = pair.project.root().join("note.txt");
    let edit = json!({"file_path": note, "content": "done"});
    pair.messages
        .when(tool_said("User has approved your plan"))
        .once()
        .reply(Reply::call(ToolCall::named("Write", edit)));
    claude.submit("plan it");
    let asked = wait_asked(&pair, "ExitPlanMode");
    let mut choices = asked["runtimeEvent"]["request"]["choices"]
        .as_array()
        .into_iter()
        .flatten();
    assert!(
        choices.all(|choice| choice["label"] != "allow once"),
        "{asked}"
    );
    card(&mut deck);
    answers(&mut deck, "Claude asks to use a tool");
    deck.wait_for_text("allow, and ask before each edit");
    deck.press(Key::Enter);
    let asked = wait_asked(&pair, "note.txt");
    assert_eq!(asked["runtimeEvent"]["request"]["kind"], "file_change");
    assert!(!note.exists());
}

/// A helper of Claude's, whose turn is over by then, is at its dialog about a file.
#[track_caller]
fn helper_asks_for(pair: &Pair, claude: &mut Pty, deck: &mut Pty, word: &str) {
    let helper = json!({"description": "make it", "prompt": format!("make {word} as a helper"),
        "subagent_type": "general-purpose"});
    pair.messages
        .when(says(&prompt(word)))
        .once()
        .reply(Reply::call(ToolCall::named("Agent", helper)));
    pair.messages
        .when(says(&format!("make {word} as a helper")))
        .once()
        .reply(Reply::shell(&makes_file(word)));
    claude.submit(&prompt(word));
    claude.wait_for_text(DIALOG);
    wait_status(pair, "a helper that asks behind the turn", |status| {
        let claude = &status["agents"]["claude"];
        claude["state"] == "idle" && claude["askingHelpers"] == 1
    });
    wait_for_waiting(deck);
    assert_eq!(listed(pair)["claudeElsewhere"], true);
}

/// No helper of Claude's asks any more.
#[track_caller]
fn no_helper_asks(pair: &Pair, deck: &mut Pty) {
    wait_status(pair, "a helper that goes on", |status| {
        status["agents"]["claude"]["askingHelpers"] == 0
    });
    deck.wait_for_text("Nothing waits for you");
}

#[test]
fn a_helper_of_claudes_that_asks_is_told_of_until_it_is_answered_also_behind_its_turn() {
    let Some(pair) = Pair::live() else { return };
    let mut claude = claude_in_the_mode_that_asks(&pair);
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    let back = json!({"message": "It is made."});
    pair.messages
        .when(tool_said("done-42"))
        .once()
        .reply(Reply::call(ToolCall::named("SubagentHandback", back)));
    helper_asks_for(&pair, &mut claude, &mut deck, "allowed");
    yes(&mut claude);
    no_helper_asks(&pair, &mut deck);
    assert!(is_made(&pair, "allowed"));
    wait_status(&pair, "an idle Claude", |status| {
        status["agents"]["claude"]["state"] == "idle"
    });
    helper_asks_for(&pair, &mut claude, &mut deck, "refused");
    claude.press_until(Key::Escape, "the dialog to go", |screen| {
        !screen.contains(DIALOG)
    });
    no_helper_asks(&pair, &mut deck);
    assert!(!is_made(&pair, "refused"));
    verify(&pair);
}

/// Claude takes a bare yes to its own question for no answer, and asks on: its model hears the option.
fn a_question_of_claudes_own_is_answered_with_one_of_its_options(
    pair: &Pair,
    deck: &mut Pty,
    claude: &mut Pty,
) {
    let question = "Which lock shall guard the file?";
    let asks = ToolCall::named(
        "AskUserQuestion",
        json!({"questions": [{"question": question, "header": "Lock", "multiSelect": false,
        "options": [
            {"label": "Mutex", "description": "within the process"},
            {"label": "Advisory", "description": "between processes"},
        ]}]}),
    );
    wait_status(pair, "an idle Claude", |status| {
        status["agents"]["claude"]["state"] == "idle"
    });
    pair.messages
        .when(says("guard it"))
        .once()
        .reply(Reply::call(asks));
    let chosen = pair
        .messages
        .when(tool_said(&format!("\"{question}\"=\"Advisory\"")));
    chosen.once().reply(Reply::text("An advisory one."));
    claude.submit("guard it");
    let asked = wait_asked(pair, question);
    let id = id_of(&asked);
    assert_eq!(asked["runtimeEvent"]["request"]["kind"], "question");
    claude.wait_for_text(question);
    let listed = listed(pair);
    let choices = listed["approvals"][0]["choices"].as_array().unwrap();
    let label = "Advisory: between processes";
    let choice = choices.iter().find(|choice| choice["label"] == label);
    let choice = choice.unwrap()["id"].as_str().unwrap();
    answers_on_the_command_line(pair, &["approvals", "answer", &id, choice], "answer");
    claude.wait_for_text("An advisory one.");
    deck.wait_for_text("Nothing waits for you");
    let wanted = ["claude asked", "human given", "system answered"];
    expect_steps(pair, &id, &wanted);
}
