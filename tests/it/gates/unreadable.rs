//! Entries among the gates that are none: they are told with their reason, and never pass.

use serde_json::{Value, json};

use super::sign_off::refused;
use super::{configure, run_gates, trust, trust_file};
use crate::support::gate_scene::Scene;
use crate::support::operator::Operator;
use crate::support::panes::wait_for_waiting;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};

/// A green gate, and one whose folder is outside.
fn one_unreadable() -> Value {
    json!([
        {"name": "tests", "cmd": "true"},
        {"name": "lint", "cmd": "false", "cwd": "../elsewhere"},
    ])
}

const WHY: &str = "gates[1].cwd: it has to be a folder inside the project";

#[test]
fn a_required_gate_that_cannot_be_read_is_told_before_it_is_trusted_and_never_passes() {
    let project = Project::live();
    configure(&project, &one_unreadable());
    let mut line = Pty::spawn_sized(&project.ctxrelay(["trust"]), 200, 50);
    line.wait_for_text("Type `trust`");
    assert!(line.screen().contains(WHY), "{}", line.screen());
    line.type_text("trust\r");
    assert_eq!(line.wait_exit(), 0, "{}", line.screen());

    let listed = project.run(["gates", "list"]).expect_success().stdout;
    let lint = listed.lines().find(|row| row.contains("lint")).unwrap();
    assert!(
        lint.starts_with("cannot run") && lint.contains(WHY),
        "{lint}"
    );
    for args in [&["status"][..], &["doctor"]] {
        let told = project.run(args.iter().copied());
        let told = format!("{}{}", told.stdout, told.stderr);
        assert!(told.contains(WHY), "{args:?}: {told}");
    }

    for verb in [&["gates", "run"][..], &["release-gate"]] {
        let mut line = Pty::spawn_sized(&project.ctxrelay(verb.iter().copied()), 200, 50);
        assert_eq!(line.wait_exit(), 6, "{}", line.screen());
        assert!(line.screen().contains(WHY), "{}", line.screen());
    }
    // That the file was read again may be told behind it.
    let mut released = project.ledger();
    released.retain(|entry| entry["artifact"]["kind"] == "release_gate");
    assert_eq!(released.pop().unwrap()["artifact"]["status"], "failed");

    let mut operator = Operator::connect(&project);
    let named = operator.call("gates/run", json!({"names": ["lint"]}));
    assert!(format!("{named:?}").contains(WHY), "{named:?}");

    let scene = Scene::new(&project);
    let screen = refused(&scene);
    assert!(
        screen.contains("required gate lint cannot be run"),
        "{screen}"
    );
    // Once it can be read it is a gate like the others.
    let gates = json!([
        {"name": "tests", "cmd": "true"},
        {"name": "lint", "cmd": "true", "cwd": "sub/"},
    ]);
    project.write("sub/a", "");
    trust(&project, &gates);
    let report = run_gates(&mut operator, json!({}));
    assert_eq!(report["gates"][1]["ok"], true, "{report}");
}

#[test]
fn a_second_gate_of_one_name_and_the_thirty_third_are_told_and_never_pass() {
    let project = Project::live();
    let mut gates: Vec<Value> = (0..33)
        .map(|n| json!({"name": format!("g{n}"), "cmd": "true"}))
        .collect();
    gates.insert(1, json!({"name": "g0", "cmd": "false"}));
    configure(&project, &json!(gates));
    trust_file(&project);
    let report = project.run(["gates", "list", "--json"]).expect_success();
    let report = report.json();
    let unreadable: Vec<(&Value, &Value)> = report["gates"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|gate| gate["unreadable"].is_string())
        .map(|gate| (&gate["name"], &gate["unreadable"]))
        .collect();
    assert_eq!(
        unreadable,
        [
            (
                &json!("gates[1]"),
                &json!("gates[1].name: another gate before it has the same name")
            ),
            (
                &json!("g32"),
                &json!("gates[33]: there are 32 gates before it")
            ),
        ]
    );
    let doctor = project.run(["doctor", "--json"]).json().to_string();
    assert!(doctor.contains("another gate before it"), "{doctor}");
    assert!(doctor.contains("there are 32 gates before it"), "{doctor}");
    let mut line = Pty::spawn_sized(&project.ctxrelay(["gates", "run"]), 200, 50);
    assert_eq!(line.wait_exit(), 6, "{}", line.screen());
}

#[test]
fn the_card_says_why_a_gate_cannot_be_run() {
    let project = Project::live();
    trust(&project, &one_unreadable());
    let _scene = Scene::new(&project);
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 160, 40);
    deck.wait_for_text("config.json: gates[1].cwd");
    wait_for_waiting(&mut deck);
    deck.press(Key::Char('3'));
    deck.press_until(Key::Enter, "the card", |screen| {
        screen.contains("required gate lint cannot be run")
    });
    deck.press(Key::Char('g'));
    deck.wait_for_text("Run tests in the project's folder?");
}

#[test]
fn a_key_that_means_nothing_is_told_before_it_is_trusted() {
    const WHY: &str = "gates[0].requierd: no such key is known, so it does nothing";
    let project = Project::live();
    configure(
        &project,
        &json!([{"name": "tests", "cmd": "true", "requierd": false}]),
    );
    let shown = project.run(["trust", "--show"]).expect_success().stdout;
    assert!(shown.contains(WHY), "{shown}");
    let json = project.run(["trust", "--show", "--json"]).json();
    let problem = &json["waiting"][0]["problems"][0];
    assert_eq!(problem["key"], "gates[0].requierd", "{json}");
    let mut deck = Pty::spawn_sized(&project.ctxrelay([]), 160, 40);
    wait_for_waiting(&mut deck);
    deck.press(Key::Char('3'));
    deck.press_until(Key::Enter, "the card", |screen| screen.contains(WHY));
}
