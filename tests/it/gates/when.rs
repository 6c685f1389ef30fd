//! Gates that are needed for some files only.

use serde_json::json;

use super::repositories::add_submodule;
use super::sign_off::approve;
use super::{evidence, trust};
use crate::support::gate_scene::Scene;
use crate::support::operator::Operator;
use crate::support::panes::wait_for_waiting;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};

#[track_caller]
fn shown(scene: &Scene<'_>) -> String {
    let launch = ["finality", "show", &scene.proposal];
    let shown = scene.project.run(launch).expect_success().stdout;
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn it_is_needed_where_such_a_file_changed_since_the_last_approval_and_the_card_says_which() {
    let project = Project::live();
    let gates = json!([{"name": "web", "cmd": "exit 1", "when": {"paths": ["web/**", "*.toml"]}}]);
    trust(&project, &gates);
    // Nothing was approved yet, so that everything is new.
    let first = Scene::new(&project);
    assert!(shown(&first).contains("nothing was approved yet"));
    let (code, screen) = approve(&first, "approve");
    assert_eq!(code, 6, "{screen}");
    trust(
        &project,
        &json!([{"name": "web", "cmd": "true", "when": {"paths": ["web/**"]}}]),
    );
    let mut operator = Operator::connect(&project);
    super::run_gates(&mut operator, json!({}));
    let (code, screen) = approve(&first, "approve");
    assert_eq!(code, 0, "{screen}");

    // Other files: it is not run, and not missed.
    project.write("src/a.rs", "fn main() {}\n");
    let second = Scene::new(&project);
    let text = shown(&second);
    let want = "not needed: nothing in web/** changed since the last approval";
    assert!(text.contains(want), "{text}");
    let (code, screen) = approve(&second, "approve");
    assert_eq!(code, 0, "{screen}");

    // One of its own, committed or not.
    project.git(&["add", "--all"]);
    project.git(&["commit", "--quiet", "--message=more"]);
    project.write("web/app.js", "alert(1)\n");
    let third = Scene::new(&project);
    let text = shown(&third);
    assert!(text.contains("needed for web/app.js"), "{text}");
    let (code, screen) = approve(&third, "approve");
    assert_eq!(code, 6, "{screen}");
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 40);
    // A row that comes when the Inbox has the cursor does not get it.
    wait_for_waiting(&mut deck);
    deck.press(Key::Char('3'));
    deck.press_until(Key::Enter, "the card", |screen| {
        screen.contains("run the gates")
    });
    deck.wait_for_text("needed for web/app.js");
    assert_eq!(evidence(&project).len(), 1);
}

#[test]
fn an_agent_cannot_narrow_what_it_is_needed_for() {
    let project = Project::live();
    let gate = |paths| json!([{"name": "web", "cmd": "exit 1", "when": {"paths": paths}}]);
    trust(&project, &gate(json!(["**"])));
    super::configure(&project, &gate(json!(["no/such/file"])));
    let listed = project
        .run(["gates", "list", "--json"])
        .expect_success()
        .json();
    assert_eq!(listed["gates"][0]["when"], json!(["**"]));
    assert_eq!(listed["gates"][1]["trusted"], false);
    let waiting = project
        .run(["trust", "--show", "--json"])
        .expect_success()
        .json();
    assert_eq!(waiting["waiting"][0]["key"], "gates");
    let scene = Scene::new(&project);
    let (code, screen) = approve(&scene, "approve");
    assert_eq!(code, 6, "{screen}");
}

#[test]
fn it_is_needed_where_something_changed_within_a_submodule_committed_there_or_not() {
    let project = Project::new();
    add_submodule(&project, "web");
    let _daemon = project.daemon();
    trust(
        &project,
        &json!([{"name": "web", "cmd": "true", "when": {"paths": ["web/**"]}}]),
    );
    let mut operator = Operator::connect(&project);
    super::run_gates(&mut operator, json!({}));
    let (code, screen) = approve(&Scene::new(&project), "approve");
    assert_eq!(code, 0, "{screen}");

    let is_needed = || {
        let scene = Scene::new(&project);
        let text = shown(&scene);
        assert!(text.contains("needed for web/"), "{text}");
        let (code, screen) = approve(&scene, "approve");
        assert_eq!(code, 6, "{screen}");
    };
    project.write("web/own.txt", "two\n");
    is_needed();
    let who = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"];
    let commit = ["commit", "--quiet", "--all", "--message=two"];
    project.git(&[&["-C", "web"], &who[..], &commit].concat());
    is_needed();
}
