//! Tasks that can travel are the same whether the daemon tells of the record or the disk.

use std::fs;

use serde_json::Value;

use crate::capsule::{done, listed, login, note};
use crate::support::project::Project;

/// What a command prints with the daemon's help, and what where it cannot be found; it runs in both.
fn both_ways(project: &Project, args: &[&str]) -> [Value; 2] {
    let run = || project.run(args.iter().copied()).expect_success().json();
    let by_daemon = run();
    let (ports, away) = (
        project.state().join("state/ports.json"),
        project.base().join("ports"),
    );
    fs::rename(&ports, &away).unwrap();
    let by_disk = run();
    fs::rename(&away, &ports).unwrap();
    [by_daemon, by_disk]
}

#[test]
fn a_task_is_the_same_by_the_daemon_and_by_the_disk_with_what_was_recorded_just_now() {
    let project = Project::live();
    let id = login(&project);
    let mut claude = project.agent("claude");
    // Numbers and letters that may be written in more than one way.
    let odd = "1.0, 1e3 \u{e9} \\u00e9 </script> \u{1F980}";
    note(&mut claude, "claude", "decision", odd);
    for verb in [
        &["show", &id][..],
        &["check", &id],
        &["list"],
        &["log", &id],
    ] {
        let args = [&["capsule"], verb, &["--json"]].concat();
        let [by_daemon, by_disk] = both_ways(&project, &args);
        assert_eq!(by_daemon, by_disk, "{verb:?}");
        assert!(!by_disk.to_string().is_empty());
    }
    // Each is in what goes out in the moment in which it is acknowledged.
    let file = project.base().join("task.ctxcapsule.json");
    let name = file.to_str().unwrap();
    let export = |force: &[&str]| {
        done(
            &project,
            &[&["export", &id, "-o", name][..], force].concat(),
        );
        fs::read(&file).unwrap()
    };
    for round in 0..5 {
        let said = format!("in round {round}");
        note(&mut claude, "claude", "decision", &said);
        let by_daemon = export(&["--force"]);
        assert!(String::from_utf8_lossy(&by_daemon).contains(&said));
        let ports = project.state().join("state/ports.json");
        let away = project.base().join("ports");
        fs::rename(&ports, &away).unwrap();
        let by_disk = export(&["--force"]);
        fs::rename(&away, &ports).unwrap();
        assert!(by_daemon == by_disk, "{round}");
    }
    let capsule: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let said = capsule["decisions"][1]["text"].as_str().unwrap();
    assert!(said.starts_with("1.0, 1e3 \u{e9} \\u00e9"), "{said}");
    let lines = capsule["origin"]["lines"].as_array().unwrap();
    assert!(lines.len() >= 9, "{lines:?}");
    assert_eq!(listed(&project).len(), 1);
}
