//! Gates in a clean work tree of their own.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::sign_off::{approve, refused};
use super::{configure, evidence, run_gates, trust};
use crate::support::gate_scene::Scene;
use crate::support::operator::Operator;
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::wait::{timeout, wait_until};

/// The work trees that are there now.
fn work_trees(project: &Project) -> Vec<PathBuf> {
    let instances = std::fs::read_dir(project.registry().join("worktrees"));
    let instances = instances.into_iter().flatten().flatten();
    let trees = instances.flat_map(|one| std::fs::read_dir(one.path()).unwrap());
    trees.map(|tree| tree.unwrap().path()).collect()
}

fn commit(project: &Project) {
    project.git(&["add", "--all"]);
    project.git(&["commit", "--quiet", "--message=more"]);
}

#[test]
fn it_checks_the_commit_after_its_setup_and_what_is_not_committed_is_not_approved() {
    let project = Project::new();
    project.write("state.txt", "good\n");
    project.write(".gitignore", "installed\n");
    commit(&project);
    let _daemon = project.daemon();
    let gates = json!([{
        "name": "tests", "isolation": "worktree", "setup": "cat state.txt >installed",
        "cmd": "pwd >../../../../../where; grep good installed && git diff --quiet HEAD",
    }]);
    trust(&project, &gates);
    // An agent mends it in the work tree and does not commit.
    project.write("state.txt", "good, and more\n");
    project.write("left.txt", "out\n");
    let scene = Scene::new(&project);
    let mut operator = Operator::connect(&project);
    let report = run_gates(&mut operator, json!({}));
    let gate = &report["gates"][0];
    assert_eq!(
        (&gate["ok"], &gate["isolated"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(gate["not_covered"], "2 files (left.txt, state.txt)");
    let told = evidence(&project).remove(0);
    let text = told["content"].as_str().unwrap();
    assert!(
        text.contains("NOT COVERED: 2 files (left.txt, state.txt)"),
        "{text}"
    );
    assert!(
        text.contains("\n$ cat state.txt >installed\n$ pwd"),
        "{text}"
    );
    assert!(text.ends_with("\ngood\n"), "{text}");
    let place = std::fs::read_to_string(project.base().join("where")).unwrap();
    let place = PathBuf::from(place.trim());
    assert!(place.starts_with(project.registry()) && !place.exists());
    assert!(work_trees(&project).is_empty());
    assert!(!project.root().join("installed").exists());

    let (code, screen) = approve(&scene, "approve");
    assert_eq!(code, 6, "{screen}");
    let flat = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("did not cover 2 files"), "{screen}");
    // Committed, it is the very tree that was proposed.
    commit(&project);
    run_gates(&mut operator, json!({}));
    let (code, screen) = approve(&scene, "approve");
    assert_eq!(code, 0, "{screen}");
}

#[test]
fn a_setup_that_fails_or_hangs_is_what_the_gate_came_to() {
    let project = Project::live();
    let gate = |name: &str, setup: &str, timeout_s: u64| {
        json!({"name": name, "cmd": "touch ../../../../../ran", "setup": setup,
               "isolation": "worktree", "timeout_s": timeout_s})
    };
    let gates = json!([
        gate("fails", "echo no network; exit 9", 60),
        gate("hangs", "sleep 1000", 2)
    ]);
    trust(&project, &gates);
    let mut line = Pty::spawn(&project.ctxrelay(["gates", "run"]));
    assert_eq!(line.wait_exit(), 6, "{}", line.screen());
    let told = evidence(&project);
    let of = |at: usize| told[at]["artifact"]["verified"].clone();
    assert_eq!(
        (&of(0)["exitCode"], &of(0)["setupFailed"]),
        (&json!(9), &json!(true))
    );
    assert_eq!(told[0]["artifact"]["status"], "failed");
    assert!(
        told[0]["content"]
            .as_str()
            .unwrap()
            .ends_with("\nno network\n")
    );
    assert_eq!(
        (&of(1)["exitCode"], &of(1)["setupFailed"]),
        (&Value::Null, &json!(true))
    );
    assert_eq!(told[1]["artifact"]["status"], "timed_out");
    assert!(!project.base().join("ran").exists());
    assert!(work_trees(&project).is_empty());
}

#[test]
fn a_crash_during_the_run_leaves_no_evidence_and_its_work_tree_is_swept_at_the_next_start() {
    let project = Project::new();
    let mut daemon = project.daemon();
    trust(
        &project,
        &json!([{"name": "tests", "cmd": "sleep 1000", "setup": "mkdir -p a/b; chmod 0500 a",
                 "isolation": "worktree"}]),
    );
    let mut operator = Operator::connect(&project);
    operator.call("gates/run", json!({})).unwrap();
    wait_until("the work tree", timeout(), || {
        let trees = work_trees(&project);
        trees
            .iter()
            .any(|tree| tree.join("tree/a/b").exists())
            .then_some(())
    });
    drop(operator);
    daemon.crash();
    drop(daemon);
    assert_eq!(work_trees(&project).len(), 1);
    let _daemon = project.daemon();
    wait_until("the sweeping", timeout(), || {
        work_trees(&project).is_empty().then_some(())
    });
    assert!(evidence(&project).is_empty());
}

#[test]
fn the_operator_stops_it_and_nothing_of_it_stays() {
    let project = Project::live();
    let setup = "echo begun; sleep 1000";
    trust(
        &project,
        &json!([{"name": "tests", "cmd": "true", "setup": setup, "isolation": "worktree"}]),
    );
    let mut operator = Operator::connect(&project);
    let begun = operator.call("gates/run", json!({})).unwrap();
    wait_until("its setup", timeout(), || {
        let status = project.run(["status", "--json"]).json();
        let lines = status["gates"]["running"]["lines"].to_string();
        lines.contains("begun").then_some(())
    });
    operator.call("gates/stop", json!({})).unwrap();
    let report = super::end_of(&mut operator, &begun);
    assert_eq!(report["gates"][0]["status"], "skipped");
    assert!(work_trees(&project).is_empty());
}

#[test]
fn where_no_work_tree_can_be_made_nothing_runs_and_it_says_why() {
    let project = Project::without_git();
    let _daemon = project.daemon();
    let gates = json!([{"name": "tests", "cmd": "touch ../ran", "isolation": "worktree"}]);
    trust(&project, &gates);
    let mut operator = Operator::connect(&project);
    let report = run_gates(&mut operator, json!({}));
    assert_eq!(report["gates"][0]["status"], "blocked");
    let told = evidence(&project).remove(0);
    let why = "a work tree of its own could not be made: the project is no git repository";
    assert!(told["content"].as_str().unwrap().contains(why), "{told}");
    assert!(!project.base().join("ran").exists());
}

#[test]
fn where_the_project_never_has_all_of_its_commit_nobody_is_told_to_commit() {
    let project = Project::new();
    project.write("web/a.txt", "one\n");
    project.write("server/b.txt", "one\n");
    commit(&project);
    project.git(&["sparse-checkout", "set", "--cone", "web"]);
    assert!(!project.root().join("server").exists());
    let _daemon = project.daemon();
    trust(
        &project,
        &json!([{"name": "tests", "cmd": "true", "isolation": "worktree"}]),
    );
    let scene = Scene::new(&project);
    let mut operator = Operator::connect(&project);
    let report = run_gates(&mut operator, json!({}));
    assert_eq!(report["gates"][0]["not_covered"], "1 file (server/b.txt)");
    let screen = refused(&scene);
    let flat = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("run this gate without isolation"), "{screen}");
    assert!(!flat.contains("commit them"), "{screen}");
}

#[test]
fn where_it_runs_and_what_prepares_it_count_as_they_were_trusted() {
    let project = Project::live();
    let gate = |setup: &str| json!([{"name": "tests", "cmd": "true", "setup": setup, "isolation": "worktree"}]);
    trust(&project, &gate("true"));
    let here = json!([{"name": "tests", "cmd": "true", "setup": "true"}]);
    for gates in [gate("touch ../../../../../ran"), here] {
        configure(&project, &gates);
        let shown = project.run(["trust", "--show", "--json"]).expect_success();
        assert_eq!(shown.json()["waiting"][0]["key"], "gates");
        let listed = project.run(["gates", "list", "--json"]).expect_success();
        let trusted: Vec<Value> = listed.json()["gates"].as_array().unwrap().clone();
        let trusted: Vec<&Value> = trusted.iter().map(|gate| &gate["trusted"]).collect();
        assert_eq!(trusted, [&json!(true), &json!(false)]);
        let mut operator = Operator::connect(&project);
        let report = run_gates(&mut operator, json!({}));
        let ran = &report["gates"][0];
        assert_eq!(
            (&ran["setup"], &ran["isolated"]),
            (&json!("true"), &json!(true))
        );
    }
    assert!(!project.base().join("ran").exists());
}
