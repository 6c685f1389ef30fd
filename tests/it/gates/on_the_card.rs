//! Gates run from the deck's card of a proposal.

use serde_json::json;

use super::{evidence, run_gates, trust};
use crate::support::gate_scene::Scene;
use crate::support::operator::Operator;
use crate::support::panes::wait_for_waiting;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::wait::{timeout, wait_until};

#[test]
fn the_operator_runs_the_gates_on_the_card_sees_them_print_and_approves_what_is_green() {
    let project = Project::live();
    // Green once somebody lets it end, so that it is seen while it runs.
    let cmd = "echo 118 tests begin; until [ -e ../go ]; do sleep 0.05; done; echo all pass";
    trust(
        &project,
        &json!([
            {"name": "tests", "cmd": cmd},
            {"name": "e2e", "cmd": "exit 1", "required": false},
        ]),
    );
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 40);
    deck.wait_for_text("✓ chain");
    let _scene = Scene::new(&project);
    wait_for_waiting(&mut deck);
    deck.press(Key::Char('3'));
    deck.press_until(Key::Enter, "the card", |screen| {
        screen.contains("run the gates")
    });
    deck.wait_for_text("required gate tests has not run");

    // No single key runs anything.
    deck.press(Key::Char('g'));
    deck.wait_for_text("Run tests, e2e in the project's folder?");
    assert!(evidence(&project).is_empty());
    deck.press(Key::Enter);
    deck.wait_for_text("118 tests begin");
    deck.wait_for_text("stop the gates");
    std::fs::write(project.base().join("go"), "").unwrap();
    deck.wait_for_text("exit 0 after");
    deck.wait_for_text("exit 1 after");
    deck.wait_for_text("· not required");
    deck.wait_for_text("none open");

    deck.press(Key::Char('a'));
    deck.wait_for_text("Record your approval");
    deck.press(Key::Enter);
    wait_until("the decision", timeout(), || {
        let mut entries = project.ledger().into_iter();
        entries.find(|entry| entry["type"] == "finality_decision")
    });
}

#[test]
fn a_gate_has_no_terminal_though_the_deck_hosts_the_daemon_that_runs_it() {
    let project = Project::new();
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 40);
    deck.wait_for_text("✓ chain");
    let cmd = "! (: </dev/tty) 2>/dev/null";
    trust(&project, &json!([{"name": "tests", "cmd": cmd}]));
    let mut operator = Operator::connect(&project);
    let report = run_gates(&mut operator, json!({}));
    assert_eq!(report["gates"][0]["ok"], true, "{report}");
}

#[test]
fn the_card_says_what_a_gate_did_not_cover_also_where_the_work_tree_has_changed() {
    let project = Project::live();
    trust(
        &project,
        &json!([{"name": "tests", "cmd": "true", "isolation": "worktree"}]),
    );
    project.write("left.txt", "never committed\n");
    let _scene = Scene::new(&project);
    let mut operator = Operator::connect(&project);
    run_gates(&mut operator, json!({}));
    project.write("later.txt", "nor this\n");
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 200, 50);
    wait_for_waiting(&mut deck);
    deck.press(Key::Char('3'));
    deck.press_until(Key::Enter, "the card", |screen| {
        screen.contains("run the gates")
    });
    deck.wait_for_text("has changed since");
    deck.wait_for_text("did not cover 1 file (left.txt): commit them");
}

#[test]
fn the_card_says_of_a_gate_that_could_not_begin_that_it_has_no_result_and_why() {
    let project = Project::live();
    trust(
        &project,
        &json!([{"name": "tests", "cmd": "true", "cwd": "gone"}]),
    );
    let _scene = Scene::new(&project);
    let mut operator = Operator::connect(&project);
    run_gates(&mut operator, json!({}));
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 200, 50);
    wait_for_waiting(&mut deck);
    deck.press(Key::Char('3'));
    deck.press_until(Key::Enter, "the card", |screen| {
        screen.contains("run the gates")
    });
    deck.wait_for_text("required gate tests has no result: could not begin: ");
}
