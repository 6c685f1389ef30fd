//! What the real Codex asks the person: it stands in the record, and the first answer counts,
//! wherever it is given.

use serde_json::{Value, json};

use crate::pair::{attached_codex, verify, wait_attached, wait_status};
use crate::support::claude_home;
use crate::support::mcp::echo_server;
use crate::support::model_request::{hears, says, tool_said};
use crate::support::operator::Operator;
use crate::support::pair::Pair;
use crate::support::panes::wait_for_waiting;
use crate::support::pty::{Key, Pty};
use crate::support::script::{Reply, ToolCall};
use crate::support::wait::{timeout, wait_until};

pub const DIALOG: &str = "Would you like to run";

pub const CLAUDES_DIALOG: &str = "Do you want to proceed?";

/// What Claude runs: its output is not in the command.
const MAKES_FILE: &str = "touch made.txt && echo done-$((40+2))";

/// The steps of requests for approval in the record, oldest first.
pub fn approvals(pair: &Pair) -> Vec<Value> {
    let lines = pair.project.ledger().into_iter();
    lines
        .filter(|line| line["runtimeEvent"]["kind"] == "approval")
        .collect()
}

/// What became of a request, once so many steps are in the record.
#[track_caller]
pub fn expect_steps(pair: &Pair, wanted: &[&str]) {
    wait_until("the steps of the request", timeout(), || {
        (steps(pair).len() >= wanted.len()).then_some(())
    });
    assert_eq!(steps(pair), wanted);
}

/// Waits until the daemon lists a request: its line is in the file before the disk has it.
#[track_caller]
fn wait_listed(pair: &Pair, id: &str) {
    wait_until("the request in the list", timeout(), || {
        let listed = pair.project.run(["approvals", "list", "--json"]);
        let listed = listed.expect_success().json();
        let mut listed = listed["approvals"].as_array().unwrap().iter();
        listed.any(|asked| asked["id"] == id).then_some(())
    });
}

pub fn steps(pair: &Pair) -> Vec<String> {
    let word = |line: &Value| {
        let (source, status) = (&line["source"], &line["runtimeEvent"]["status"]);
        format!("{} {}", source.as_str().unwrap(), status.as_str().unwrap())
    };
    approvals(pair).iter().map(word).collect()
}

/// Codex in its terminal, which asks whether it may make a file; the id of the request.
#[track_caller]
pub fn codex_asks(pair: &Pair) -> (Pty, String) {
    let command = ToolCall::escalated("touch made.txt", "a file is needed");
    pair.responses
        .when(says("make the file"))
        .once()
        .reply(Reply::call(command));
    let mut codex = attached_codex(pair);
    codex.submit("make the file");
    let asked = wait_until("the request in the record", timeout(), || {
        approvals(pair).pop()
    });
    let request = &asked["runtimeEvent"]["request"];
    assert!(
        request["subject"]
            .as_str()
            .unwrap()
            .contains("touch made.txt")
    );
    assert_eq!(request["reason"], "a file is needed");
    assert_eq!(asked["source"], "codex");
    codex.wait_for_text(DIALOG);
    let id = asked["runtimeEvent"]["approvalId"].as_str().unwrap();
    wait_listed(pair, id);
    (codex, id.to_owned())
}

pub fn made(pair: &Pair) -> bool {
    pair.project.root().join("made.txt").exists()
}

#[test]
fn a_request_that_leaves_the_project_says_so_in_the_deck_and_on_the_command_line() {
    let Some(pair) = Pair::new() else { return };
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    let mut codex = attached_codex(&pair);
    let command = ToolCall::escalated("touch ../elsewhere.txt", "a file is needed");
    pair.responses
        .when(says("make it elsewhere"))
        .once()
        .reply(Reply::call(command));
    codex.submit("make it elsewhere");
    let hint = "names a path outside of the project: ../elsewhere.txt";
    deck.wait_for_text("../elsewhere.txt");
    wait_for_waiting(&mut deck);
    deck.press(Key::Char('3'));
    deck.press_until(Key::Enter, "the card", |screen| screen.contains(hint));
    let listed = pair.project.run(["approvals", "list", "--json"]);
    let listed = listed.expect_success().json();
    assert_eq!(listed["approvals"][0]["hints"], json!([hint]));
}

#[test]
fn the_operator_answers_codex_on_the_command_line_and_no_agent_does() {
    let Some(pair) = Pair::new() else { return };
    let _daemon = pair.daemon();
    pair.responses
        .when(tool_said("exited with code 0"))
        .reply(Reply::text("Made it."));
    let (mut codex, id) = codex_asks(&pair);
    let listed = pair.project.run(["approvals", "list", "--json"]);
    let listed = listed.expect_success().json();
    let asked = &listed["approvals"][0];
    assert_eq!(asked["id"], id.as_str());
    assert_eq!(
        (&asked["agent"], &asked["kind"], &asked["reason"]),
        (
            &json!("codex"),
            &json!("command"),
            &json!("a file is needed")
        )
    );
    assert_eq!(listed["elsewhere"], 0);
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
    assert!(!made(&pair));

    let mut line = Pty::spawn(
        &pair
            .project
            .ctxrelay(["approvals", "answer", end, "accept"]),
    );
    line.wait_for_text("touch made.txt");
    line.wait_for_text("Type `allow` to go on");
    line.type_text("allow");
    line.press(Key::Enter);
    assert_eq!(line.wait_exit(), 0, "{}", line.screen());
    codex.wait_for_text("Made it.");
    assert!(made(&pair));
    wait_status(&pair, "no request", |status| {
        status["approvals"]["pending"] == 0
    });
    let none = pair.project.run(["approvals", "list", "--json"]);
    assert_eq!(none.expect_success().json()["approvals"], json!([]));
    verify(&pair);
}

#[test]
fn the_operator_allows_a_command_away_from_codexs_terminal() {
    let Some(pair) = Pair::new() else { return };
    let _daemon = pair.daemon();
    let mut operator = Operator::connect(&pair.project);
    pair.responses
        .when(tool_said("exited with code 0"))
        .reply(Reply::text("Made it."));
    let (mut codex, id) = codex_asks(&pair);
    wait_status(&pair, "one request", |status| {
        status["approvals"]["pending"] == 1
    });
    assert!(!made(&pair));
    operator
        .call("approval/answer", json!({"id": id, "choice": "accept"}))
        .unwrap();
    codex.wait_for_text("Made it.");
    assert!(made(&pair));
    codex.wait_until_gone(DIALOG);
    wait_status(&pair, "no request", |status| {
        status["approvals"]["pending"] == 0
    });
    expect_steps(&pair, &["codex asked", "human given", "system answered"]);
    let late = operator.call("approval/answer", json!({"id": id, "choice": "decline"}));
    assert!(
        late.unwrap_err().message.contains("request"),
        "answered twice"
    );
    verify(&pair);
}

#[test]
fn the_deck_shows_what_codex_asks_and_answers_it_by_key() {
    let Some(pair) = Pair::new() else { return };
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    pair.responses
        .when(tool_said("exited with code 0"))
        .reply(Reply::text("Made it."));
    let (mut codex, _) = codex_asks(&pair);
    card(&mut deck);
    deck.wait_for_text("a file is needed");
    deck.press(Key::Char('a'));
    deck.wait_for_text("Codex asks to run a command");
    assert!(!made(&pair));
    deck.press(Key::Enter);
    codex.wait_for_text("Made it.");
    assert!(made(&pair));
    deck.wait_for_text("Nothing waits for you");
    expect_steps(&pair, &["codex asked", "human given", "system answered"]);
    verify(&pair);
}

#[test]
fn a_form_of_one_choice_is_answered_in_the_deck_and_the_server_gets_the_value() {
    let Some(pair) = Pair::new() else { return };
    let node = pair.project.program("node").program;
    pair.codex_home.add_config(&format!(
        "\n[mcp_servers.echo]\ncommand = {node:?}\nargs = [{:?}]\n",
        echo_server()
    ));
    let _daemon = pair.daemon();
    let call = Reply::mcp("echo", "ask", json!({}));
    pair.responses.when(says("deploy it")).once().reply(call);
    pair.responses
        .when(tool_said("answered:"))
        .reply(Reply::text("Deployed."));
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    let mut codex = attached_codex(&pair);
    codex.submit("deploy it");
    deck.wait_for_text("Where to?");
    card(&mut deck);
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
    expect_steps(&pair, &["codex asked", "human given", "system answered"]);
    verify(&pair);
}

#[test]
fn a_refusal_with_its_reason_reaches_codexs_model() {
    let Some(pair) = Pair::new() else { return };
    let _daemon = pair.daemon();
    let mut operator = Operator::connect(&pair.project);
    let (mut codex, id) = codex_asks(&pair);
    pair.responses
        .when(hears("use the lock instead"))
        .reply(Reply::text("Understood."));
    let answer = json!({"id": id, "choice": "decline", "note": "use the lock instead"});
    operator.call("approval/answer", answer).unwrap();
    codex.wait_for_text("Understood.");
    assert!(!made(&pair));
    expect_steps(&pair, &["codex asked", "human given", "system answered"]);
    verify(&pair);
}

#[test]
fn an_answer_in_codexs_terminal_ends_the_request_everywhere() {
    let Some(pair) = Pair::new() else { return };
    let _daemon = pair.daemon();
    let mut operator = Operator::connect(&pair.project);
    pair.responses
        .when(tool_said("exited with code 0"))
        .reply(Reply::text("Made it."));
    let (mut codex, id) = codex_asks(&pair);
    codex.press_until(Key::Char('y'), "the dialog to go", |screen| {
        !screen.contains(DIALOG)
    });
    codex.wait_for_text("Made it.");
    wait_status(&pair, "no request", |status| {
        status["approvals"]["pending"] == 0
    });
    expect_steps(&pair, &["codex asked", "system answered"]);
    let late = operator.call("approval/answer", json!({"id": id, "choice": "decline"}));
    assert!(late.is_err());
    verify(&pair);
}

#[test]
fn a_request_outlives_the_daemons_own_process_and_is_recorded_once() {
    let Some(pair) = Pair::new() else { return };
    let _daemon = pair.daemon();
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

/// Claude in its terminal, in the mode that asks, about to run a command.
#[track_caller]
fn claude_wants_a_file(pair: &Pair) -> Pty {
    pair.messages
        .when(says("make the file"))
        .once()
        .reply(Reply::shell(MAKES_FILE));
    let launch = pair.ctxrelay(["claude", "--permission-mode", "default"]);
    let mut claude = Pty::spawn(&launch).labelled("claude");
    claude.wait_for_text(claude_home::COMPOSER);
    wait_attached(pair);
    claude.submit("make the file");
    claude
}

/// As before, at its own dialog, and the id of the request.
#[track_caller]
pub fn claude_asks(pair: &Pair) -> (Pty, String) {
    let mut claude = claude_wants_a_file(pair);
    let asked = wait_until("the request in the record", timeout(), || {
        approvals(pair).pop()
    });
    assert_eq!(asked["source"], "claude");
    let event = &asked["runtimeEvent"];
    assert_eq!(event["request"]["subject"], MAKES_FILE);
    claude.wait_for_text(CLAUDES_DIALOG);
    let id = event["approvalId"].as_str().unwrap();
    wait_listed(pair, id);
    (claude, id.to_owned())
}

/// Answers Claude's own dialog.
#[track_caller]
pub fn yes(claude: &mut Pty) {
    claude.press_until(Key::Enter, "the dialog to go", |screen| {
        !screen.contains(CLAUDES_DIALOG)
    });
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

#[test]
fn the_deck_answers_claude_while_its_own_dialog_is_open() {
    let Some(pair) = Pair::new() else { return };
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    pair.messages
        .when(tool_said("done-42"))
        .reply(Reply::text("Made it."));
    let (mut claude, _) = claude_asks(&pair);
    card(&mut deck);
    deck.press(Key::Char('a'));
    deck.wait_for_text("Claude asks to run a command");
    deck.press(Key::Enter);
    claude.wait_for_text("Made it.");
    assert!(made(&pair));
    deck.wait_for_text("Nothing waits for you");
    expect_steps(&pair, &["claude asked", "human given", "system answered"]);
    verify(&pair);
}

#[test]
fn a_refusal_in_the_deck_and_its_reason_reach_claudes_model() {
    let Some(pair) = Pair::new() else { return };
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    pair.messages
        .when(hears("use the lock instead"))
        .reply(Reply::text("Understood."));
    let (mut claude, _) = claude_asks(&pair);
    card(&mut deck);
    deck.press(Key::Char('x'));
    deck.wait_for_text("Reject: why?");
    deck.type_text("use the lock instead");
    deck.press(Key::Enter);
    claude.wait_for_text("Understood.");
    assert!(!made(&pair));
    deck.wait_for_text("Nothing waits for you");
    expect_steps(&pair, &["claude asked", "human given", "system answered"]);
    verify(&pair);
}

#[test]
fn a_refusal_on_the_command_line_and_its_reason_reach_claudes_model() {
    let Some(pair) = Pair::new() else { return };
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    pair.messages
        .when(hears("use the lock instead"))
        .reply(Reply::text("Understood."));
    let (mut claude, id) = claude_asks(&pair);
    let listed = pair.project.run(["approvals", "list", "--json"]);
    let listed = listed.expect_success().json();
    let asked = &listed["approvals"][0];
    assert_eq!(asked["hints"], json!([]), "{asked}");
    let choices = asked["choices"].as_array().unwrap();
    let deny = choices.iter().find(|choice| choice["effect"] == "deny");
    let deny = deny.unwrap()["id"].as_str().unwrap();
    let reason = "use the lock instead";
    let answer = ["approvals", "answer", &id, deny, "--note", reason];
    let mut line = Pty::spawn(&pair.project.ctxrelay(answer));
    line.wait_for_text("Type `deny` to go on");
    line.type_text("deny");
    line.press(Key::Enter);
    assert_eq!(line.wait_exit(), 0, "{}", line.screen());
    claude.wait_for_text("Understood.");
    assert!(!made(&pair));
    deck.wait_for_text("Nothing waits for you");
    expect_steps(&pair, &["claude asked", "human given", "system answered"]);
    verify(&pair);
}

#[test]
fn claude_that_is_answered_in_its_own_dialog_waits_for_nobody() {
    let Some(pair) = Pair::new() else { return };
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    pair.messages
        .when(tool_said("done-42"))
        .reply(Reply::text("Made it."));
    let (mut claude, _) = claude_asks(&pair);
    yes(&mut claude);
    claude.wait_for_text("Made it.");
    assert!(made(&pair));
    deck.wait_for_text("Nothing waits for you");
    expect_steps(&pair, &["claude asked", "system answered"]);
    verify(&pair);
}

#[test]
fn without_a_deck_claudes_dialog_is_all_there_is() {
    let Some(pair) = Pair::new() else { return };
    let _daemon = pair.daemon();
    pair.messages
        .when(tool_said("done-42"))
        .reply(Reply::text("Made it."));
    let mut claude = claude_wants_a_file(&pair);
    claude.wait_for_text(CLAUDES_DIALOG);
    yes(&mut claude);
    claude.wait_for_text("Made it.");
    assert!(made(&pair));
    assert!(steps(&pair).is_empty());
}
