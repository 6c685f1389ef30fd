//! A proposal that is not decided as it was made: its work tree changed, or its agent takes it back.

use serde_json::{Value, json};

use crate::pair::{attached_claude, of_type, verify, wait_status};
use crate::support::child::run;
use crate::support::model_request::{hears, says, tool_said};
use crate::support::pair::Pair;
use crate::support::panes::{open_row, to_row, wait_for_waiting};
use crate::support::pty::{Key, Pty};
use crate::support::script::Reply;
use crate::support::wait::{timeout, wait_until};

/// Claude in its terminal, and the proposal that it made there.
#[track_caller]
fn claude_proposes(pair: &Pair) -> (Pty, String) {
    let mut claude = attached_claude(pair);
    let id = proposes(pair, &mut claude, "are we done?", "all of it");
    (claude, id)
}

/// The proposal with this summary, made when Claude is asked this.
#[track_caller]
fn proposes(pair: &Pair, claude: &mut Pty, ask: &str, summary: &str) -> String {
    pair.claude_calls(
        says(ask),
        "propose_final",
        json!({"summary": summary, "evidence": ["the tests ran"]}),
    );
    claude.submit(ask);
    let proposal = wait_until("the proposal", timeout(), || with_summary(pair, summary));
    let id = proposal["id"].as_str().unwrap().to_owned();
    // The line is in the file before the disk has it, and counts from then on.
    wait_until("the proposal in the list", timeout(), || {
        let listed = run(&pair.ctxrelay(["finality", "list", "--json"]));
        let listed = listed.expect_success().json();
        let mut listed = listed["proposals"].as_array().unwrap().iter();
        listed
            .any(|listed| listed["id"] == id.as_str())
            .then_some(())
    });
    rests(pair);
    id
}

fn with_summary(pair: &Pair, summary: &str) -> Option<Value> {
    let mut all = of_type(pair, "finality_proposal").into_iter();
    all.find(|entry| entry["finality"]["summary"] == summary)
}

/// Waits for the end of Claude's turn: what is typed before may come in another order.
#[track_caller]
fn rests(pair: &Pair) {
    wait_status(pair, "an idle Claude", |status| {
        status["agents"]["claude"]["state"] == "idle"
    });
}

#[test]
fn a_proposal_is_taken_back_approved_though_it_is_stale_or_replaced_by_a_later_one() {
    let Some(pair) = Pair::new() else { return };
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    let mut claude = attached_claude(&pair);
    claude_takes_its_proposal_back_and_nobody_can_decide_it_any_more(&pair, &mut deck, &mut claude);
    rests(&pair);
    what_changed_since_is_approved_only_by_a_typed_word_and_named_in_the_decision(
        &pair,
        &mut deck,
        &mut claude,
    );
    // The card that is decided stays for a moment.
    deck.wait_until_gone("answered");
    rests(&pair);
    a_later_proposal_for_the_same_handoff_replaces_the_first_and_agent_and_card_say_which(
        &pair,
        &mut deck,
        &mut claude,
    );
    verify(&pair);
}

fn claude_takes_its_proposal_back_and_nobody_can_decide_it_any_more(
    pair: &Pair,
    deck: &mut Pty,
    claude: &mut Pty,
) {
    let proposal = proposes(pair, claude, "are we done?", "all of it");
    deck.wait_for_text("1 waits for you");
    pair.claude_calls(
        says("wait, not yet"),
        "append_note",
        json!({"text": "the load test is missing", "withdraws": proposal}),
    );
    pair.messages
        .when(hears("recorded as"))
        .once()
        .reply(Reply::text("Taken back."));
    claude.submit("wait, not yet");
    deck.wait_until_gone("1 waits for you");
    let listed = run(&pair.ctxrelay(["finality", "list", "--json"])).expect_success();
    let listed = &listed.json()["proposals"][0];
    let note = of_type(pair, "note").remove(0);
    assert_eq!(listed["status"], "withdrawn");
    assert_eq!(listed["endedBy"], note["id"]);
    assert_eq!(note["withdraws"], proposal);
    // No word is asked for what can no longer be decided.
    let mut line = Pty::spawn(&pair.ctxrelay(["finality", "approve", &proposal]));
    line.wait_for_text("does not wait any more: withdrawn");
    assert!(!line.screen().contains("to go on"), "{}", line.screen());
    assert_eq!(line.wait_exit(), 3);
    assert!(of_type(pair, "finality_decision").is_empty());
}

fn what_changed_since_is_approved_only_by_a_typed_word_and_named_in_the_decision(
    pair: &Pair,
    deck: &mut Pty,
    claude: &mut Pty,
) {
    let proposal = proposes(pair, claude, "are we done now?", "done before it changed");
    pair.project.write("late.txt", "nobody has tested this\n");

    // The command line asks for the same word.
    let mut line = Pty::spawn(&pair.ctxrelay(["finality", "approve", &proposal]));
    line.wait_for_text("STALE");
    line.wait_for_text("Type `stale` to go on");
    line.type_text("approve");
    line.press(Key::Enter);
    line.wait_for_text("not confirmed");
    assert_ne!(line.wait_exit(), 0);

    let words = ["finality", "done before"];
    open_row(deck, &words, "approve as the operator");
    deck.wait_for_text("has changed since");
    deck.press(Key::Char('a'));
    deck.wait_for_text("Approve what was not proposed?");
    deck.type_text("approve");
    deck.press(Key::Enter);
    deck.wait_for_text("type stale first");
    assert!(of_type(pair, "finality_decision").is_empty());
    deck.press(Key::Escape);
    deck.wait_until_gone("Approve what was not proposed?");
    deck.press(Key::Char('a'));
    deck.wait_for_text("Approve what was not proposed?");
    deck.type_text("stale");
    deck.press(Key::Enter);
    let decision = wait_until("the decision", timeout(), || {
        of_type(pair, "finality_decision").pop()
    });
    let proposed = with_summary(pair, "done before it changed").unwrap();
    assert_ne!(
        decision["finality"]["tree"]["tree"],
        proposed["finality"]["tree"]["tree"]
    );
    pair.messages
        .wait_for_request("the approval at Claude's model", |request| {
            request.mentions(&format!("The operator approved proposal {proposal}."))
        });
}

fn a_later_proposal_for_the_same_handoff_replaces_the_first_and_agent_and_card_say_which(
    pair: &Pair,
    deck: &mut Pty,
    claude: &mut Pty,
) {
    let mut codex = pair.project.agent("codex");
    codex.expect(
        "handoff/create",
        json!({"from": "codex", "ask": "mend the lock", "reason": "you know it"}),
    );
    let handoff = wait_until("the handoff", timeout(), || of_type(pair, "handoff").pop());
    let mut proposed = Vec::new();
    for (ask, summary) in [("first try", "mended once"), ("second try", "mended well")] {
        let arguments = json!({"summary": summary, "evidence": ["ran it"],
            "handles_handoff_id": handoff["id"]});
        pair.claude_calls(says(ask), "propose_final", arguments);
        rests(pair);
        claude.submit(ask);
        let proposal = wait_until(ask, timeout(), || with_summary(pair, summary));
        proposed.push(proposal["id"].as_str().unwrap().to_owned());
    }
    let replaced = format!(r#""replaces":["{}"]"#, proposed[0]);
    pair.messages.wait_for_request(
        "which one it replaced, at Claude's model",
        tool_said(&replaced),
    );
    // The first one stays for a moment.
    to_row(deck, &["finality", "mended well"]);
    deck.press_until(Key::Enter, "the card", |screen| screen.contains("Replaces"));
    deck.wait_for_text("of claude: mended once");
    let shown = run(&pair.ctxrelay(["finality", "show", &proposed[1], "--json"])).expect_success();
    assert_eq!(shown.json()["replaces"], json!([proposed[0]]));
    let shown = run(&pair.ctxrelay(["finality", "show", &proposed[0], "--json"])).expect_success();
    assert_eq!(shown.json()["status"], "superseded");
}

#[test]
fn an_agent_that_claims_green_hears_of_the_gate_and_is_not_approved_while_it_is_red() {
    let Some(pair) = Pair::new() else { return };
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    pair.project.write("state.txt", "broken\n");
    pair.project.write(
        ".contextrelay/config.json",
        r#"{"gates": [{"name": "tests", "cmd": "! grep -q broken state.txt"}]}"#,
    );
    let mut line = Pty::spawn(&pair.ctxrelay(["trust"]));
    line.wait_for_text("Type `trust`");
    line.type_text("trust");
    line.press(Key::Enter);
    assert_eq!(line.wait_exit(), 0, "{}", line.screen());

    let (_claude, proposal) = claude_proposes(&pair);
    pair.messages
        .wait_for_request("the gate at Claude's model", |request| {
            request.mentions("required gate tests has not run")
        });
    wait_for_waiting(&mut deck);
    deck.press(Key::Char('3'));
    deck.press_until(Key::Enter, "the card", |screen| {
        screen.contains("run the gates")
    });
    deck.press(Key::Char('g'));
    deck.wait_for_text("Run tests in the project's folder?");
    deck.press(Key::Enter);
    deck.wait_for_text("required gate tests is red: exit 1");
    deck.press(Key::Char('a'));
    deck.wait_for_text("cannot be approved: required gate tests is red");
    deck.press(Key::Escape);
    assert!(of_type(&pair, "finality_decision").is_empty());

    // Mended, and run on what is there now.
    pair.project.write("state.txt", "mended\n");
    deck.press_until(Key::Enter, "the card", |screen| {
        screen.contains("has changed since")
    });
    deck.press(Key::Char('g'));
    deck.wait_for_text("Run tests in the project's folder?");
    deck.press(Key::Enter);
    wait_until("the green gate", timeout(), || {
        let mut evidence = of_type(&pair, "artifact");
        evidence.retain(|entry| entry["artifact"]["status"] == "passed");
        evidence.pop()
    });
    // The line is in the file before the disk has it, and counts from then on.
    wait_status(&pair, "the end of the gates", |status| {
        status["gates"]["running"].is_null()
    });
    // It ran on what lies there now, which is what an approval is of.
    deck.wait_for_text("approve as the operator");
    deck.press(Key::Char('a'));
    deck.wait_for_text("Approve what was not proposed?");
    deck.type_text("stale");
    deck.press(Key::Enter);
    pair.messages
        .wait_for_request("the approval at Claude's model", |request| {
            request.mentions(&format!("The operator approved proposal {proposal}."))
        });
    verify(&pair);
}

#[test]
fn in_mode_auto_a_red_gate_is_told_to_the_agent_and_a_green_one_approves_by_the_system() {
    let Some(pair) = Pair::new() else { return };
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    pair.project.write("state.txt", "broken\n");
    pair.project.write(
        ".contextrelay/config.json",
        r#"{"gates": [{"name": "tests", "cmd": "! grep -q broken state.txt"}],
            "finality": {"mode": "auto"}}"#,
    );
    let mut line = Pty::spawn(&pair.ctxrelay(["trust"]));
    line.wait_for_text("Type `trust`");
    line.type_text("trust");
    line.press(Key::Enter);
    assert_eq!(line.wait_exit(), 0, "{}", line.screen());

    let (mut claude, red) = claude_proposes(&pair);
    pair.messages
        .wait_for_request("why not, at Claude's model", |request| {
            request.mentions(&format!("The gates did not approve proposal {red}"))
                && request.mentions("required gate tests is red: exit 1")
        });
    assert!(of_type(&pair, "finality_decision").is_empty());

    pair.project.write("state.txt", "mended\n");
    pair.claude_calls(
        says("and now?"),
        "propose_final",
        json!({"summary": "mended", "evidence": ["the tests ran"]}),
    );
    rests(&pair);
    claude.submit("and now?");
    let decision = wait_until("the decision", timeout(), || {
        of_type(&pair, "finality_decision").pop()
    });
    let green = of_type(&pair, "finality_proposal").pop().unwrap();
    assert_eq!(decision["source"], "system");
    assert_eq!(decision["finality"]["proposalId"], green["id"]);
    assert_eq!(decision["finality"]["tree"], green["finality"]["tree"]);
    let green = green["id"].as_str().unwrap().to_owned();
    pair.messages
        .wait_for_request("the approval at Claude's model", |request| {
            request.mentions(&format!("The gates approved proposal {green}"))
        });
    verify(&pair);
}
