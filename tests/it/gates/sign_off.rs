//! What gates are worth for a decision.

use serde_json::{Value, json};

use super::{configure, evidence, run_gates, trust};
use crate::capsule::note;
use crate::keeping::confirm;
use crate::support::gate_scene::Scene;
use crate::support::operator::Operator;
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::wait::{timeout, wait_until};

/// Red while a file says so.
const TESTS: &str = "echo looking; ! grep -q broken state.txt";

/// What the operator reads when he approves at a terminal, and types the word if he is asked for it.
#[track_caller]
pub(super) fn approve(scene: &Scene<'_>, word: &str) -> (u32, String) {
    let launch = ["finality", "approve", &scene.proposal];
    let mut line = Pty::spawn(&scene.project.ctxrelay(launch));
    wait_until("the question, or the end", timeout(), || {
        let is_asked = line.screen().contains("to go on");
        (is_asked || line.exit_code().is_some()).then_some(())
    });
    line.type_text(&format!("{word}\r"));
    (line.wait_exit(), line.screen())
}

/// What the operator reads who may not approve: he is not asked for a word first.
#[track_caller]
pub(super) fn refused(scene: &Scene<'_>) -> String {
    let launch = ["finality", "approve", &scene.proposal];
    let mut line = Pty::spawn_sized(&scene.project.ctxrelay(launch), 200, 50);
    assert_eq!(line.wait_exit(), 6, "{}", line.screen());
    let screen = line.screen();
    assert!(!screen.contains("to go on"), "{screen}");
    screen
}

#[test]
fn a_blocker_that_is_recorded_while_the_operator_types_the_word_is_shown_before_it_ends() {
    let project = Project::live();
    let scene = Scene::new(&project);
    let approve = |scene: &Scene<'_>| {
        let words = ["finality", "approve", &scene.proposal];
        let mut line = Pty::spawn_sized(&project.ctxrelay(words), 200, 50);
        line.wait_for_text("to go on");
        line
    };
    let mut line = approve(&scene);
    let mut claude = project.agent("claude");
    note(&mut claude, "claude", "blocker", "it deletes all users");
    line.type_text("approve\r");
    assert_eq!(line.wait_exit(), 3, "{}", line.screen());
    let screen = line.screen();
    assert!(
        screen.contains("since you were asked: blocker note"),
        "{screen}"
    );
    assert!(!scene.is_decided());
    let mut line = approve(&scene);
    assert!(
        line.screen().contains("it deletes all users"),
        "{}",
        line.screen()
    );
    line.type_text("approve\r");
    assert_eq!(line.wait_exit(), 0, "{}", line.screen());
    assert!(scene.is_decided());
    // There is nothing more to decide, and no word is asked for.
    let rejects = ["finality", "reject", &scene.proposal, "--reason", "no"];
    for words in [&["finality", "approve", &scene.proposal][..], &rejects] {
        let words = words.iter().copied();
        let mut line = Pty::spawn_sized(&project.ctxrelay(words), 200, 50);
        assert_eq!(line.wait_exit(), 3, "{}", line.screen());
        let screen = line.screen();
        assert!(screen.contains("does not wait any more"), "{screen}");
        assert!(!screen.contains("to go on"), "{screen}");
    }
}

#[test]
fn what_was_shown_of_a_record_that_began_again_since_then_approves_nothing() {
    let project = Project::live();
    let mut claude = project.agent("claude");
    for _ in 0..20 {
        note(&mut claude, "claude", "next_step", "one more step");
    }
    let scene = Scene::new(&project);
    let words = ["finality", "approve", &scene.proposal];
    let mut line = Pty::spawn_sized(&project.ctxrelay(words), 200, 50);
    line.wait_for_text("to go on");
    let compact = project.ctxrelay(["ledger", "compact", "--apply"]);
    let (code, screen) = confirm(&compact, "compact");
    assert_eq!(code, 0, "{screen}");
    note(&mut claude, "claude", "blocker", "it deletes all users");
    line.type_text("approve\r");
    assert_eq!(line.wait_exit(), 3, "{}", line.screen());
    let screen = line.screen();
    assert!(screen.contains("the record began again"), "{screen}");
    assert!(!scene.is_decided());
}

#[test]
fn the_card_of_a_work_tree_that_has_changed_tells_of_the_gates_that_ran_on_it() {
    let project = Project::live();
    trust(&project, &json!([{"name": "tests", "cmd": TESTS}]));
    let scene = Scene::new(&project);
    project.write("state.txt", "whole\n");
    let show = |more: &[&str]| {
        let words = [&["finality", "show", &scene.proposal], more].concat();
        project.run(words).expect_success()
    };
    let text = show(&[]).stdout;
    assert!(text.contains("required gate tests has not run"), "{text}");
    let mut operator = Operator::connect(&project);
    run_gates(&mut operator, json!({}));
    let shown = show(&["--json"]).json();
    assert_eq!(
        (&shown["stale"], &shown["blockers"]),
        (&json!(true), &json!([]))
    );
    let text = show(&[]).stdout;
    assert!(
        text.contains("· green") && !text.contains("blocker"),
        "{text}"
    );
}

#[test]
fn nothing_is_approved_while_a_required_gate_is_not_green_on_the_tree_of_now() {
    let project = Project::new();
    project.write("state.txt", "broken\n");
    let _daemon = project.daemon();
    trust(
        &project,
        &json!([
            {"name": "tests", "cmd": TESTS},
            {"name": "style", "cmd": "exit 3", "required": false},
        ]),
    );
    let scene = Scene::new(&project);
    let mut operator = Operator::connect(&project);

    // Not run, and what the agent claims is no evidence.
    let screen = refused(&scene);
    assert!(
        screen.contains("required gate tests has not run"),
        "{screen}"
    );

    // Run, and red.
    let report = run_gates(&mut operator, json!({}));
    let (tests, style) = (&report["gates"][0], &report["gates"][1]);
    assert_eq!(
        (&tests["ok"], &tests["exit_code"]),
        (&json!(false), &json!(1))
    );
    assert_eq!(
        (&style["ok"], &style["exit_code"]),
        (&json!(false), &json!(3))
    );
    let screen = refused(&scene);
    assert!(
        screen.contains("required gate tests is red: exit 1"),
        "{screen}"
    );

    // Mended: the run of before is of another tree, and so is the proposal.
    project.write("state.txt", "mended\n");
    let screen = refused(&scene);
    assert!(screen.contains("has not run on this tree"), "{screen}");
    run_gates(&mut operator, json!({"names": ["tests"]}));
    let (code, screen) = approve(&scene, "stale");
    assert_eq!(code, 0, "{screen}");

    let entries = evidence(&project);
    let decision = project.ledger().into_iter().rev();
    let mut decision = decision.filter(|entry| entry["type"] == "finality_decision");
    let decision = decision.next().unwrap();
    assert_eq!(entries.len(), 3);
    let last = &entries[2];
    assert_eq!(last["source"], "system");
    assert_eq!(last["artifact"]["status"], "passed");
    let verified = &last["artifact"]["verified"];
    assert_eq!(verified["tree"], decision["finality"]["tree"]);
    assert_eq!(verified["outputBytes"], 8);
    assert!(last["content"].as_str().unwrap().ends_with("\nlooking\n"));
    let verify = project.run(["ledger", "verify", "--json"]).expect_success();
    assert_eq!(verify.json()["ok"], true);
}

#[test]
fn a_run_that_is_stopped_is_no_result_everywhere_and_the_list_says_how_it_is_stopped() {
    let project = Project::live();
    let cmd = "until [ -e ../go ]; do sleep 0.05; done";
    trust(
        &project,
        &json!([
            {"name": "tests", "cmd": cmd},
            {"name": "style", "cmd": "true", "cwd": "gone", "required": false},
        ]),
    );
    let go = project.base().join("go");
    std::fs::write(&go, "").unwrap();
    let scene = Scene::new(&project);
    let show = |more: &[&str]| {
        let words = [&["finality", "show", &scene.proposal], more].concat();
        project.run(words).expect_success()
    };
    {
        let mut operator = Operator::connect(&project);
        run_gates(&mut operator, json!({}));
    }
    assert_eq!(show(&["--json"]).json()["blockers"], json!([]));
    let text = show(&[]).stdout;
    assert!(text.contains("no result: could not begin: "), "{text}");

    std::fs::remove_file(&go).unwrap();
    let mut line = Pty::spawn_sized(&project.ctxrelay(["gates", "run", "tests"]), 200, 50);
    let listed = wait_until("the gate that runs", timeout(), || {
        let listed = project.run(["gates", "list", "--json"]).json();
        listed["runningGate"].is_object().then_some(listed)
    });
    assert_eq!(listed["runningGate"]["name"], "tests", "{listed}");
    let text = project.run(["gates", "list"]).expect_success().stdout;
    assert!(text.contains("gate tests runs since "), "{text}");
    assert!(text.contains("stops the run"), "{text}");
    line.send(b"\x03");
    assert_eq!(line.wait_exit(), 6, "{}", line.screen());

    // It says nothing of the tree: neither green as before, nor red.
    let text = show(&[]).stdout;
    assert!(text.contains("· no result: stopped after "), "{text}");
    assert!(!text.contains("is red"), "{text}");
    let screen = refused(&scene);
    let wanted = "required gate tests has no result: stopped after ";
    assert!(screen.contains(wanted), "{screen}");
    let listed = project.run(["gates", "list", "--json"]).json();
    assert_eq!(listed["runningGate"], json!(null));
}

#[test]
fn the_list_says_of_a_green_run_that_the_work_tree_is_another_one_now() {
    let project = Project::live();
    trust(&project, &json!([{"name": "tests", "cmd": "true"}]));
    {
        let mut operator = Operator::connect(&project);
        run_gates(&mut operator, json!({}));
    }
    let is_other = || {
        let listed = project.run(["gates", "list", "--json"]).json();
        listed["gates"][0]["other_tree"].clone()
    };
    assert_eq!(is_other(), json!(null));
    let log = project.root().join("log");
    std::fs::write(&log, "what the run printed\n").unwrap();
    assert_eq!(is_other(), json!(true));
    let text = project.run(["gates", "list"]).expect_success().stdout;
    let wanted = "on another tree (";
    assert!(text.contains("green") && text.contains(wanted), "{text}");
    assert!(text.contains("than the work tree of now"), "{text}");
    std::fs::remove_file(&log).unwrap();
    assert_eq!(is_other(), json!(null));
}

#[test]
fn a_tree_that_git_cannot_read_is_approved_by_no_gate() {
    let project = Project::new();
    project.write("state.txt", "whole\n");
    project.write(".git/config", "no configuration\n");
    let _daemon = project.daemon();
    trust(&project, &json!([{"name": "tests", "cmd": TESTS}]));
    let scene = Scene::new(&project);
    let mut operator = Operator::connect(&project);
    let report = run_gates(&mut operator, json!({}));
    assert_eq!(report["gates"][0]["exit_code"], 0);
    project.write("state.txt", "broken\n");
    let screen = refused(&scene);
    assert!(
        screen.contains("git could not read the work tree"),
        "{screen}"
    );
    assert!(
        screen.contains("required gate tests is green on no known tree"),
        "{screen}"
    );
}

#[test]
fn a_gate_that_changes_what_it_checks_proves_nothing() {
    let project = Project::live();
    trust(
        &project,
        &json!([{"name": "tests", "cmd": "date +%s%N > made.txt"}]),
    );
    let scene = Scene::new(&project);
    let mut operator = Operator::connect(&project);
    let report = run_gates(&mut operator, json!({}));
    assert_eq!(report["gates"][0]["stale"], true);
    assert_eq!(report["gates"][0]["ok"], false);
    refused(&scene);
}

#[test]
fn only_what_the_operator_trusted_runs_and_taking_a_gate_away_needs_trust_too() {
    let project = Project::live();
    let mut operator = Operator::connect(&project);
    configure(&project, &json!([{"name": "tests", "cmd": "touch ran"}]));
    let listed = project.run(["gates", "list", "--json"]).expect_success();
    let gate = &listed.json()["gates"][0];
    assert_eq!(
        (&gate["name"], &gate["trusted"]),
        (&json!("tests"), &json!(false))
    );
    let refused = operator.call("gates/run", json!({})).unwrap_err();
    assert_eq!(refused.data["code"], "wrong_state");

    trust(&project, &json!([{"name": "tests", "cmd": "true"}]));
    // An agent makes it easier, and then takes it away.
    for gates in [json!([{"name": "tests", "cmd": "touch ran"}]), json!([])] {
        configure(&project, &gates);
        wait_until("the banner", timeout(), || {
            let status = project.run(["status", "--json"]).json();
            let notices = status["notices"].to_string();
            notices.contains("gates waits for your trust").then_some(())
        });
        let report = run_gates(&mut operator, json!({}));
        assert_eq!(report["gates"][0]["cmd"], "true");
    }
    assert!(!project.root().join("ran").exists());
    let scene = Scene::new(&project);
    project.write("later.txt", "later\n");
    assert_eq!(approve(&scene, "stale").0, 6);
}

#[test]
fn gates_are_run_by_the_operator_alone_and_the_command_says_what_they_came_to() {
    let project = Project::live();
    let gates = json!([
        {"name": "tests", "cmd": "echo all is well"},
        {"name": "lint", "cmd": "exit 7"},
        {"name": "e2e", "cmd": "exit 8", "required": false},
    ]);
    trust(&project, &gates);
    assert_eq!(project.run(["gates", "run"]).code(), 5);
    let mut agent = Pty::spawn(&project.ctxrelay(["gates", "run"]).env("CLAUDECODE", "1"));
    assert_eq!(agent.wait_exit(), 5);
    let mut codex = project.agent("codex");
    let refused = codex.call("gates/run", json!({})).unwrap_err();
    assert_eq!(refused.data["code"], "operator_only");
    assert!(evidence(&project).is_empty());

    let mut line = Pty::spawn(&project.ctxrelay(["gates", "run", "tests"]));
    assert_eq!(line.wait_exit(), 0, "{}", line.screen());
    assert!(line.screen().contains("green"), "{}", line.screen());
    // Not required, and asked for by name all the same.
    let mut line = Pty::spawn(&project.ctxrelay(["gates", "run", "e2e"]));
    assert_eq!(line.wait_exit(), 6, "{}", line.screen());
    let mut line = Pty::spawn(&project.ctxrelay(["gates", "run", "nothing"]));
    assert_eq!(line.wait_exit(), 3, "{}", line.screen());
    assert!(line.screen().contains("in force are: tests, lint, e2e"));

    let mut line = Pty::spawn(&project.ctxrelay(["release-gate"]));
    assert_eq!(line.wait_exit(), 6, "{}", line.screen());
    assert!(line.screen().contains("exit 7"), "{}", line.screen());
    let released = project.ledger().into_iter();
    let mut released = released.filter(|entry| entry["type"] == "release_gate");
    let release = released.next().unwrap();
    assert_eq!(release["artifact"]["status"], "failed");
    assert_eq!(release["source"], "system");
    let summary = release["artifact"]["summary"].as_str().unwrap();
    let wanted = "required gate lint is red: exit 7 after ";
    assert!(summary.starts_with(wanted), "{summary}");
    // Only what is required was run.
    assert_eq!(evidence(&project).len(), 4);
}

/// A release gate of one isolated gate and another one, before and after all is committed.
#[track_caller]
fn releases_only_what_is_committed(other: &Value) {
    let project = Project::live();
    trust(
        &project,
        &json!([other, {"name": "apart", "cmd": "true", "isolation": "worktree"}]),
    );
    project.write("untracked.txt", "never committed\n");
    let launch = project.ctxrelay(["release-gate"]);
    let mut line = Pty::spawn_sized(&launch, 400, 40);
    assert_eq!(line.wait_exit(), 6, "{}", line.screen());
    let screen = line.screen();
    assert!(screen.contains("release gate failed: "), "{screen}");
    let wanted =
        "required gate apart ran on the commit alone and did not cover 1 file (untracked.txt)";
    assert!(screen.contains(wanted), "{screen}");
    let mut entries = project.ledger().into_iter();
    let released = entries.find(|entry| entry["type"] == "release_gate");
    assert_eq!(released.unwrap()["artifact"]["status"], "failed");

    project.git(&["add", "--all"]);
    project.git(&["commit", "--quiet", "--message=more"]);
    let mut line = Pty::spawn_sized(&launch, 400, 40);
    assert_eq!(line.wait_exit(), 0, "{}", line.screen());
    let screen = line.screen();
    assert!(
        screen.contains("all 2 required gates are green"),
        "{screen}"
    );
}

#[test]
fn a_release_gate_whose_gates_did_not_all_run_on_one_tree_has_failed_and_the_command_says_why() {
    releases_only_what_is_committed(&json!({"name": "here", "cmd": "true"}));
}

#[test]
fn a_release_gate_whose_gates_all_left_the_same_work_out_has_failed_and_the_command_says_why() {
    let too = json!({"name": "apart-too", "cmd": "true", "isolation": "worktree"});
    releases_only_what_is_committed(&too);
}
