//! Approvals that are answered in two places at once, or whose deck or daemon dies meanwhile.

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::approvals::{DIALOG, card, codex_asks, expect_steps, is_made, steps};
use crate::claudes_approvals::{claude_asks, yes};
use crate::ladder::below;
use crate::pair::{status, verify, wait_status};
use crate::support::child::is_alive;
use crate::support::model_request::tool_said;
use crate::support::operator::Operator;
use crate::support::pair::Pair;
use crate::support::pty::{Key, Pty};
use crate::support::script::Reply;
use crate::support::wait::{timeout, wait_until};

#[test]
fn answered_in_the_deck_and_in_codexs_terminal_at_once_one_answer_counts_and_both_see_the_end() {
    let Some(pair) = Pair::new() else { return };
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    let ran = pair.responses.when(tool_said("exited with code 0"));
    ran.once().reply(Reply::text("Made it."));
    let (mut codex, _) = codex_asks(&pair);
    card(&mut deck);
    deck.press(Key::Char('a'));
    deck.wait_for_text("Codex asks to run a command");
    // Both say yes, and neither waits for the other.
    deck.press(Key::Enter);
    codex.press(Key::Char('y'));
    codex.wait_for_text("Made it.");
    assert!(is_made(&pair, "made"));
    wait_status(&pair, "no request", |status| {
        status["approvals"]["pending"] == 0
    });
    deck.wait_for_text("Nothing waits for you");
    codex.wait_until_gone(DIALOG);
    let steps = steps(&pair);
    let count = |step: &str| steps.iter().filter(|it| *it == step).count();
    assert_eq!((count("codex asked"), count("system answered")), (1, 1));
    // What the deck said is in the record where it was in time, and never twice.
    assert!(count("human given") <= 1, "{steps:?}");
    verify(&pair);
}

#[test]
fn a_deck_that_is_killed_while_codex_waits_answers_nothing_and_the_next_one_does() {
    let Some(pair) = Pair::live() else { return };
    let mut killed = pair.deck();
    killed.wait_for_text("✓ chain");
    pair.responses
        .when(tool_said("exited with code 0"))
        .reply(Reply::text("Made it."));
    let (mut codex, id) = codex_asks(&pair);
    card(&mut killed);
    killed.press(Key::Char('a'));
    killed.wait_for_text("Codex asks to run a command");
    killed.crash();
    assert_eq!(steps(&pair), ["codex asked"]);
    assert!(codex.screen().contains(DIALOG) && !is_made(&pair, "made"));
    let mut next = pair.deck();
    next.wait_for_text("✓ chain");
    card(&mut next);
    next.press(Key::Char('a'));
    next.wait_for_text("Codex asks to run a command");
    next.press(Key::Enter);
    codex.wait_for_text("Made it.");
    next.wait_for_text("Nothing waits for you");
    let wanted = ["codex asked", "human given", "system answered"];
    expect_steps(&pair, &id, &wanted);
    assert_eq!(steps(&pair).len(), wanted.len());
    verify(&pair);
}

#[test]
fn claude_whose_daemon_dies_while_it_asks_is_answered_in_its_own_dialog() {
    let Some(pair) = Pair::new() else { return };
    let mut daemon = pair.daemon();
    let mut deck: Pty = pair.deck();
    deck.wait_for_text("✓ chain");
    pair.messages
        .when(tool_said("done-42"))
        .reply(Reply::text("Made it."));
    let (mut claude, _) = claude_asks(&pair);
    daemon.crash();
    yes(&mut claude);
    claude.wait_for_text("Made it.");
    assert!(is_made(&pair, "made"));
    // The next daemon answers nothing that hung on the one before.
    wait_until("the next daemon", timeout(), || {
        let status = pair.project.run(["status", "--json"]).json();
        (status["running"] == true && status["approvals"]["pending"] == 0).then_some(())
    });
    let given = steps(&pair)
        .into_iter()
        .filter(|step| step == "human given");
    assert_eq!(given.count(), 0);
}

/// A yes in Claude's dialog does not end its hook, which asks the next daemon when Claude has gone on.
#[test]
fn what_claude_was_answered_while_its_hook_stood_still_is_no_card_of_the_next_daemon() {
    let Some(pair) = Pair::new() else { return };
    let mut daemon = pair.daemon();
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    let ran = pair.messages.when(tool_said("done-42"));
    ran.reply(Reply::text("Made it."));
    let (mut claude, _) = claude_asks(&pair);
    let hook = below(&claude, "hook");
    kill_process(hook, Signal::STOP).unwrap();
    daemon.crash();
    // Claude's bridge starts the next one.
    wait_status(&pair, "the Claude at the next daemon", |status| {
        status["pid"] != daemon.pid() && status["agents"]["claude"]["state"] != "offline"
    });
    deck.wait_for_text("✓ chain");
    yes(&mut claude);
    claude.wait_for_text("Made it.");
    let is_idle = |status: &Value| status["agents"]["claude"]["state"] == "idle";
    wait_status(&pair, "an idle Claude", is_idle);
    kill_process(hook, Signal::CONT).unwrap();
    wait_until("the end of the hook", timeout(), || {
        (!is_alive(hook.as_raw_pid().cast_unsigned())).then_some(())
    });
    let status = status(&pair);
    assert!(is_idle(&status), "{status}");
    assert_eq!(status["approvals"]["pending"], 0, "{status}");
    assert_eq!(steps(&pair), ["claude asked", "system lost"]);
    verify(&pair);
}

#[test]
fn codex_that_runs_on_is_told_of_another_coordinator_with_its_next_message() {
    let Some(pair) = Pair::live() else { return };
    let mut operator = Operator::connect(&pair.project);
    let note = "The operator changed who writes to git: Claude alone";
    pair.responses.otherwise(|_| Reply::text("Understood."));
    let mut codex = crate::pair::attached_codex(&pair);
    codex.submit("hello there");
    codex.wait_for_text("Understood.");
    let change = json!({"change": "coordinator", "to": "claude"});
    operator.call("policy/set", change).unwrap();
    for text in ["first of two", "second of two"] {
        let send = json!({"to": "codex", "text": text});
        operator.call("message/send", send).unwrap();
        wait_until("the message at Codex's model", timeout(), || {
            let requests = pair.responses.requests();
            requests.iter().any(|it| it.mentions(text)).then_some(())
        });
        wait_status(&pair, "an idle Codex", |status| {
            status["agents"]["codex"]["state"] == "idle"
        });
    }
    let requests = pair.responses.requests();
    let first = requests.iter().find(|it| it.mentions("first of two"));
    assert!(first.unwrap().mentions(note));
    let told = pair.project.ledger().into_iter();
    let told = told.filter(|line| line["runtimeEvent"]["event"] == "coordinator_told");
    assert_eq!(told.count(), 1);
    verify(&pair);
}
