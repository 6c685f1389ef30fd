//! What the real Codex asks the person: it stands in the record, and the first answer counts,
//! wherever it is given.

use serde_json::{Value, json};

use crate::held_queue::wait_settled;
use crate::pair::{attached_codex, verify, wait_status};
use crate::support::mcp::echo_server;
use crate::support::model_request::{hears, says, tool_said};
use crate::support::operator::Operator;
use crate::support::pair::Pair;
use crate::support::panes::wait_for_waiting;
use crate::support::pty::{Key, Pty};
use crate::support::script::{Reply, ToolCall};
use crate::support::wait::{timeout, wait_until};

pub const DIALOG: &str = "Would you like to run";

/// What an agent is told to do so that it asks.
pub fn prompt(word: &str) -> String {
    format!("make {word}.txt")
}

/// What Codex runs.
pub fn touches(word: &str) -> String {
    format!("touch {word}.txt")
}

pub fn is_made(pair: &Pair, word: &str) -> bool {
    pair.project.root().join(format!("{word}.txt")).exists()
}

/// The steps of requests for approval in the record, oldest first.
pub fn approvals(pair: &Pair) -> Vec<Value> {
    let lines = pair.project.ledger().into_iter();
    lines
        .filter(|line| line["runtimeEvent"]["kind"] == "approval")
        .collect()
}

/// What a step is, and whose.
fn word_of(line: &Value) -> String {
    let (source, status) = (&line["source"], &line["runtimeEvent"]["status"]);
    format!("{} {}", source.as_str().unwrap(), status.as_str().unwrap())
}

pub fn steps(pair: &Pair) -> Vec<String> {
    approvals(pair).iter().map(word_of).collect()
}

/// The steps from this request's first one on. Those before it are of what was asked earlier.
fn since_asked(pair: &Pair, id: &str) -> Vec<Value> {
    let is_earlier = |line: &Value| line["runtimeEvent"]["approvalId"] != id;
    let lines = approvals(pair).into_iter();
    lines.skip_while(is_earlier).collect()
}

/// What became of a request, once so many steps are in the record. Nothing else was asked since.
#[track_caller]
pub fn expect_steps(pair: &Pair, id: &str, wanted: &[&str]) {
    wait_until("the steps of the request", timeout(), || {
        (since_asked(pair, id).len() >= wanted.len()).then_some(())
    });
    let lines = since_asked(pair, id);
    let became: Vec<String> = lines.iter().map(word_of).collect();
    assert_eq!(became, wanted);
    for line in &lines {
        assert_eq!(line["runtimeEvent"]["approvalId"], id, "{lines:#?}");
    }
}

/// What waits for the person, as the command line lists it.
#[track_caller]
pub fn listed(pair: &Pair) -> Value {
    let listed = pair.project.run(["approvals", "list", "--json"]);
    listed.expect_success().json()
}

/// Waits for this request in the record, and until the daemon lists it: its line is in the file
/// before the disk has it. The line.
#[track_caller]
pub fn wait_asked(pair: &Pair, command: &str) -> Value {
    let asked = wait_until("the request in the record", timeout(), || {
        let mut lines = approvals(pair).into_iter();
        lines.find(|line| {
            let subject = line["runtimeEvent"]["request"]["subject"].as_str();
            subject.is_some_and(|subject| subject.contains(command))
        })
    });
    wait_until("the request in the list", timeout(), || {
        let listed = listed(pair);
        let mut listed = listed["approvals"].as_array().unwrap().iter();
        let id = &asked["runtimeEvent"]["approvalId"];
        listed.any(|listed| listed["id"] == *id).then_some(())
    });
    asked
}

pub fn id_of(asked: &Value) -> String {
    let id = asked["runtimeEvent"]["approvalId"].as_str();
    id.unwrap().to_owned()
}

/// Waits until Codex's turn before has ended, for its terminal too: what is typed in one joins it.
#[track_caller]
pub fn rests(pair: &Pair, codex: &mut Pty) {
    wait_settled(pair);
    codex.wait_for_screen("a terminal at rest", |screen| {
        !screen.contains("esc to interrupt") && !screen.contains(DIALOG)
    });
}

/// Codex, at rest in its terminal, asks whether it may make a file; the id of the request.
#[track_caller]
fn codex_asks_for(pair: &Pair, codex: &mut Pty, word: &str) -> String {
    rests(pair, codex);
    let command = ToolCall::escalated(&touches(word), "a file is needed");
    pair.responses
        .when(says(&prompt(word)))
        .once()
        .reply(Reply::call(command));
    codex.submit(&prompt(word));
    let asked = wait_asked(pair, &touches(word));
    assert_eq!(
        asked["runtimeEvent"]["request"]["reason"],
        "a file is needed"
    );
    assert_eq!(asked["source"], "codex");
    codex.wait_for_text(DIALOG);
    id_of(&asked)
}

/// Codex in its terminal, which asks whether it may make the file `made.txt`; the id of the request.
#[track_caller]
pub fn codex_asks(pair: &Pair) -> (Pty, String) {
    let mut codex = attached_codex(pair);
    let id = codex_asks_for(pair, &mut codex, "made");
    (codex, id)
}

/// Codex's model says that the file is made, once the command has run; the words.
fn codex_says_it_is_made(pair: &Pair, word: &str) -> String {
    let said = format!("Made {word}.");
    let ran = pair.responses.when(tool_said("exited with code 0"));
    ran.once().reply(Reply::text(&said));
    said
}

/// Waits until no request is counted any more.
#[track_caller]
fn wait_for_none(pair: &Pair) {
    wait_status(pair, "no request", |status| {
        status["approvals"]["pending"] == 0
    });
}

#[test]
fn what_codex_asks_is_answered_on_the_command_line_on_the_socket_or_in_its_terminal() {
    let Some(pair) = Pair::live() else { return };
    let mut codex = attached_codex(&pair);
    the_operator_answers_codex_on_the_command_line_and_no_agent_does(&pair, &mut codex);
    let mut operator = Operator::connect(&pair.project);
    the_operator_allows_a_command_away_from_codexs_terminal(&pair, &mut codex, &mut operator);
    an_answer_in_codexs_terminal_ends_the_request_everywhere(&pair, &mut codex, &mut operator);
    a_refusal_with_its_reason_reaches_codexs_model(&pair, &mut codex, &mut operator);
    the_choice_that_stops_the_turn_stops_it(&pair, &mut codex, &mut operator);
    verify(&pair);
}

fn the_operator_answers_codex_on_the_command_line_and_no_agent_does(pair: &Pair, codex: &mut Pty) {
    let said = codex_says_it_is_made(pair, "typed");
    let id = codex_asks_for(pair, codex, "typed");
    let listing = listed(pair);
    let asked = &listing["approvals"][0];
    assert_eq!(asked["id"], id.as_str());
    assert_eq!(
        (&asked["agent"], &asked["kind"], &asked["reason"]),
        (
            &json!("codex"),
            &json!("command"),
            &json!("a file is needed")
        )
    );
    assert_eq!(listing["elsewhere"], 0);
    // Where Codex says that it runs is the project's folder.
    assert!(asked["cwd"].is_string(), "{asked}");
    assert_eq!(asked["hints"], json!([]), "{asked}");

    // Without a terminal, and with a choice that Codex does not take.
    let end = &id[id.len() - 12..];
    let refused = pair.project.run(["approvals", "answer", end, "accept"]);
    assert_eq!(refused.code(), 5, "{refused:?}");
    let mut line = Pty::spawn(
        &pair
            .project
            .ctxrelay(["approvals", "answer", end, "always"]),
    );
    assert_eq!(line.wait_exit(), 3, "{}", line.screen());
    assert!(!is_made(pair, "typed"));

    let mut line = Pty::spawn(
        &pair
            .project
            .ctxrelay(["approvals", "answer", end, "accept"]),
    );
    line.wait_for_text("touch typed.txt");
    line.wait_for_text("Type `allow` to go on");
    line.type_text("allow");
    line.press(Key::Enter);
    assert_eq!(line.wait_exit(), 0, "{}", line.screen());
    codex.wait_for_text(&said);
    assert!(is_made(pair, "typed"));
    wait_for_none(pair);
    assert_eq!(listed(pair)["approvals"], json!([]));
}

fn the_operator_allows_a_command_away_from_codexs_terminal(
    pair: &Pair,
    codex: &mut Pty,
    operator: &mut Operator,
) {
    let said = codex_says_it_is_made(pair, "allowed");
    let id = codex_asks_for(pair, codex, "allowed");
    wait_status(pair, "one request", |status| {
        status["approvals"]["pending"] == 1
    });
    assert!(!is_made(pair, "allowed"));
    operator
        .call("approval/answer", json!({"id": id, "choice": "accept"}))
        .unwrap();
    codex.wait_for_text(&said);
    assert!(is_made(pair, "allowed"));
    codex.wait_until_gone(DIALOG);
    wait_for_none(pair);
    let wanted = ["codex asked", "human given", "system answered"];
    expect_steps(pair, &id, &wanted);
    let late = operator.call("approval/answer", json!({"id": id, "choice": "decline"}));
    assert!(
        late.unwrap_err().message.contains("request"),
        "answered twice"
    );
}

fn an_answer_in_codexs_terminal_ends_the_request_everywhere(
    pair: &Pair,
    codex: &mut Pty,
    operator: &mut Operator,
) {
    let said = codex_says_it_is_made(pair, "pressed");
    let id = codex_asks_for(pair, codex, "pressed");
    codex.press_until(Key::Char('y'), "the dialog to go", |screen| {
        !screen.contains(DIALOG)
    });
    codex.wait_for_text(&said);
    wait_for_none(pair);
    expect_steps(pair, &id, &["codex asked", "system answered"]);
    let late = operator.call("approval/answer", json!({"id": id, "choice": "decline"}));
    assert!(late.is_err());
}

fn a_refusal_with_its_reason_reaches_codexs_model(
    pair: &Pair,
    codex: &mut Pty,
    operator: &mut Operator,
) {
    let id = codex_asks_for(pair, codex, "refused");
    pair.responses
        .when(hears("use the lock instead"))
        .reply(Reply::text("Understood."));
    let answer = json!({"id": id, "choice": "decline", "note": "use the lock instead"});
    operator.call("approval/answer", answer).unwrap();
    codex.wait_for_text("Understood.");
    assert!(!is_made(pair, "refused"));
    let wanted = ["codex asked", "human given", "system answered"];
    expect_steps(pair, &id, &wanted);
}

fn the_choice_that_stops_the_turn_stops_it(pair: &Pair, codex: &mut Pty, operator: &mut Operator) {
    let id = codex_asks_for(pair, codex, "stopped");
    let asked = listed(pair);
    let choices = asked["approvals"][0]["choices"].as_array().unwrap();
    let stop = choices.iter().find(|choice| choice["effect"] == "stop");
    let answer = json!({"id": id, "choice": stop.unwrap()["id"]});
    operator.call("approval/answer", answer).unwrap();
    let turn = wait_until("the end of the turn", timeout(), || {
        let lines = since_asked(pair, &id).into_iter();
        let asked = lines.map(|line| line["runtimeEvent"]["request"]["turnId"].clone());
        let turn = asked.into_iter().find(|turn| turn.is_string())?;
        let mut lines = pair.project.ledger().into_iter();
        lines.find(|line| {
            let event = &line["runtimeEvent"];
            event["kind"] == "turn" && event["turnId"] == turn && event["status"] != "inProgress"
        })
    });
    assert_eq!(turn["runtimeEvent"]["status"], "interrupted", "{turn}");
    assert!(!is_made(pair, "stopped"));
}

#[test]
fn a_request_outlives_the_daemons_own_process_and_is_recorded_once() {
    let Some(pair) = Pair::live() else { return };
    let mut operator = Operator::connect(&pair.project);
    pair.responses
        .when(tool_said("exited with code 0"))
        .reply(Reply::text("Made it."));
    let (mut codex, id) = codex_asks(&pair);
    operator.hand_over(env!("CARGO_BIN_EXE_ctxrelay")).unwrap();
    wait_until("the next daemon", timeout(), || {
        let taken_over = |line: &Value| line["runtimeEvent"]["event"] == "daemon_taken_over";
        pair.project.ledger().iter().any(taken_over).then_some(())
    });
    let mut operator = Operator::connect(&pair.project);
    // Until Codex has asked again there is nobody to answer.
    wait_until("the answer", timeout(), || {
        let answer = json!({"id": id, "choice": "accept"});
        operator.call("approval/answer", answer).ok()
    });
    codex.wait_for_text("Made it.");
    let asked = steps(&pair)
        .into_iter()
        .filter(|step| step == "codex asked");
    assert_eq!(asked.count(), 1);
    verify(&pair);
}

/// The deck's card of what waits, opened.
#[track_caller]
pub fn card(deck: &mut Pty) {
    wait_for_waiting(deck);
    deck.press(Key::Char('3'));
    // Beside the lists it is read without its keys.
    deck.press_until(Key::Enter, "the card", |screen| {
        screen.contains("esc later")
    });
}

/// The answers of the card in front: a box over it. The timeline may have the same words.
#[track_caller]
pub fn answers(deck: &mut Pty, title: &str) {
    deck.press(Key::Char('a'));
    deck.wait_for_text(&format!("╭ {title}"));
}

#[test]
fn what_codex_asks_is_shown_and_answered_in_the_deck() {
    let Some(pair) = Pair::new() else { return };
    let node = pair.project.program("node").program;
    pair.codex_home.add_config(&format!(
        "\n[mcp_servers.echo]\ncommand = {node:?}\nargs = [{:?}]\n",
        echo_server()
    ));
    let _daemon = pair.daemon();
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    let mut codex = attached_codex(&pair);
    the_deck_shows_what_codex_asks_and_answers_it_by_key(&pair, &mut deck, &mut codex);
    a_request_that_leaves_the_project_says_so_in_the_deck_and_on_the_command_line(
        &pair, &mut deck, &mut codex,
    );
    a_form_of_one_choice_is_answered_in_the_deck_and_the_server_gets_the_value(
        &pair, &mut deck, &mut codex,
    );
    verify(&pair);
}

fn the_deck_shows_what_codex_asks_and_answers_it_by_key(
    pair: &Pair,
    deck: &mut Pty,
    codex: &mut Pty,
) {
    let said = codex_says_it_is_made(pair, "inside");
    let id = codex_asks_for(pair, codex, "inside");
    card(deck);
    deck.wait_for_text("a file is needed");
    answers(deck, "Codex asks to run a command");
    assert!(!is_made(pair, "inside"));
    deck.press(Key::Enter);
    codex.wait_for_text(&said);
    assert!(is_made(pair, "inside"));
    deck.wait_for_text("Nothing waits for you");
    let wanted = ["codex asked", "human given", "system answered"];
    expect_steps(pair, &id, &wanted);
}

/// It is allowed at the end, so that nothing waits beside what is asked next.
fn a_request_that_leaves_the_project_says_so_in_the_deck_and_on_the_command_line(
    pair: &Pair,
    deck: &mut Pty,
    codex: &mut Pty,
) {
    let said = codex_says_it_is_made(pair, "../elsewhere");
    let id = codex_asks_for(pair, codex, "../elsewhere");
    let hint = "names a path outside of the project: ../elsewhere.txt";
    deck.wait_for_text("../elsewhere.txt");
    wait_for_waiting(deck);
    deck.press(Key::Char('3'));
    deck.press_until(Key::Enter, "the card", |screen| {
        screen.contains(hint) && screen.contains("esc later")
    });
    let listed = listed(pair);
    assert_eq!(listed["approvals"][0]["id"], id.as_str());
    assert_eq!(listed["approvals"][0]["hints"], json!([hint]));
    answers(deck, "Codex asks to run a command");
    deck.press(Key::Enter);
    codex.wait_for_text(&said);
    deck.wait_for_text("Nothing waits for you");
}

fn a_form_of_one_choice_is_answered_in_the_deck_and_the_server_gets_the_value(
    pair: &Pair,
    deck: &mut Pty,
    codex: &mut Pty,
) {
    let before = approvals(pair).len();
    let call = Reply::mcp("echo", "ask", json!({}));
    pair.responses.when(says("deploy it")).once().reply(call);
    pair.responses
        .when(tool_said("answered:"))
        .reply(Reply::text("Deployed."));
    rests(pair, codex);
    codex.submit("deploy it");
    deck.wait_for_text("Where to?");
    card(deck);
    deck.press(Key::Char('a'));
    deck.wait_for_screen("the choices", |screen| {
        screen.contains("the test machine") && screen.contains("the live one")
    });
    deck.press(Key::Down);
    deck.press(Key::Enter);
    codex.wait_for_text("Deployed.");
    let said = r#"answered: {"action":"accept","content":{"place":"live"}"#;
    pair.responses
        .wait_for_request("the answer", tool_said(said));
    let id = id_of(&approvals(pair)[before]);
    let wanted = ["codex asked", "human given", "system answered"];
    expect_steps(pair, &id, &wanted);
}
