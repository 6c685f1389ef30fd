//! What the operator is shown of tests and manifests: a trusted command stays, what it reads
//! does not.

use serde_json::json;

use super::sign_off::approve;
use crate::support::gate_scene::Scene;
use crate::support::panes::wait_for_waiting;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};

fn commit(project: &Project) {
    project.git(&["add", "--all"]);
    project.git(&["commit", "--quiet", "--message=more"]);
}

#[test]
fn card_and_command_name_the_tests_and_manifests_that_changed_since_the_last_approval() {
    let project = Project::new();
    project.write("package.json", r#"{"scripts": {"test": "vitest"}}"#);
    project.write("tests/kept.js", "kept\n");
    commit(&project);
    let _daemon = project.daemon();
    let first = Scene::new(&project);
    let show = |scene: &Scene<'_>| {
        let launch = ["finality", "show", &scene.proposal, "--json"];
        project.run(launch).expect_success().json()["changedChecks"].clone()
    };
    let note = show(&first)["note"].as_str().unwrap().to_owned();
    assert!(note.contains("nothing was approved yet"), "{note}");
    let (code, screen) = approve(&first, "approve");
    assert_eq!(code, 0, "{screen}");

    // What is committed counts as well as what is not.
    project.write("package.json", r#"{"scripts": {"test": "true"}}"#);
    commit(&project);
    project.write("tests/a\u{1b}[2Jb.test.js", "new\n");
    project.write("src/main.js", "new\n");
    let second = Scene::new(&project);
    let changed = show(&second);
    assert_eq!(
        changed["files"],
        json!(["package.json", r#""tests/a\u{1b}[2Jb.test.js""#])
    );
    assert_eq!(
        (&changed["more"], &changed["note"]),
        (&json!(0), &json!(null))
    );
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 120, 40);
    // A row that comes when the Inbox has the cursor does not get it.
    wait_for_waiting(&mut deck);
    deck.press(Key::Char('3'));
    deck.press_until(Key::Enter, "the card", |screen| {
        screen.contains("Is it done?")
    });
    deck.wait_for_text("Tests and manifests");
    deck.wait_for_text("package.json");
    deck.wait_for_text(r"tests/a\u{1b}[2Jb.test.js");
    drop(deck);
    // It stands above the question at a terminal too.
    let (code, screen) = approve(&second, "approve");
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("changed  package.json"), "{screen}");

    // What was approved was never committed, and is not there to be compared with.
    project.write("tests/a\u{1b}[2Jb.test.js", "easier\n");
    let third = Scene::new(&project);
    let changed = show(&third);
    assert!(
        changed["note"]
            .as_str()
            .unwrap()
            .contains("never committed"),
        "{changed}"
    );
    assert_eq!(changed["files"], json!([r#""tests/a\u{1b}[2Jb.test.js""#]));
}
