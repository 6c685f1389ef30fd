//! The operator's gate, from real process trees: what runs below an agent does not decide, however
//! it was started; the operator's own shell does.
#![cfg(target_os = "linux")]

use serde_json::{Value, json};

use crate::support::gate_scene::{Scene, agent_launch, outcome};
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::wait::{timeout, wait_until};

#[test]
fn nothing_that_an_agent_starts_decides_however_it_is_started() {
    let project = Project::new();
    let daemon = project.daemon();
    let scene = Scene::new(&project);
    let (lines, tries) = scene.tries();
    let mut agent = scene.agent(&lines);
    agent.wait_for_text("the agent waits");
    scene.expect_refused(&tries);
    // The operator's own shell does, while that agent lives.
    scene.approve();
    // Each of the tries is in the record, whoever refused it.
    daemon.stop();
    let counts = refusals(&project);
    let counted: u64 = counts.iter().filter_map(Value::as_u64).sum();
    assert_eq!(counted, tries.len() as u64, "{counts:?}");
}

/// How many commands each entry about refused ones counts.
fn refusals(project: &Project) -> Vec<Value> {
    let entries = project.ledger().into_iter();
    let refused = entries.filter(|entry| entry["error"]["code"] == "operator_only");
    refused
        .map(|entry| entry["meta"]["count"].clone())
        .collect()
}

#[test]
fn the_very_same_commands_decide_in_the_operators_own_terminal() {
    for by_hand in [true, false] {
        let project = Project::live();
        let scene = Scene::new(&project);
        let (script, path) = if by_hand {
            scene.raw("raw", 1)
        } else {
            scene.program("program")
        };
        let line = format!("script -qec 'sh {}' /dev/null <../typed", script.display());
        let shell = scene.project.program("/bin/sh").args(["-c", &line]);
        let mut operator = Pty::spawn(&shell);
        operator.wait_exit();
        let outcome = outcome("of the operator", &path);
        let decided = outcome["exit"] == 0 || outcome["result"].is_object();
        assert!(decided, "{outcome}\n{}", operator.screen());
        assert!(scene.is_decided());
    }
}

#[test]
fn a_process_without_a_terminal_does_not_decide_though_no_agent_is_above_it() {
    let project = Project::live();
    let scene = Scene::new(&project);
    let (script, path) = scene.raw("raw", 1);
    let launch = scene.project.program("setsid").arg("sh").arg(script);
    crate::support::child::run(&launch);
    let outcome = outcome("without a terminal", &path);
    assert_eq!(
        outcome["error"]["data"]["code"], "operator_only",
        "{outcome}"
    );
    assert!(!scene.is_decided());
}

#[test]
fn another_daemon_that_knows_no_process_yet_refuses_them_all_the_same() {
    let project = Project::new();
    let mut daemon = project.daemon();
    let scene = Scene::new(&project);
    let (lines, tries) = scene.tries();
    let go = scene.project.base().join("go");
    let lines = format!(
        "echo the agent is up\nwhile ! [ -e {} ]; do sleep 0.02; done\n{lines}",
        go.display()
    );
    let mut agent = scene.agent(&lines);
    agent.wait_for_text("the agent is up");
    daemon.crash();
    drop(daemon);
    let _daemon = scene.project.daemon();
    std::fs::write(&go, "").unwrap();
    agent.wait_for_text("the agent waits");
    scene.expect_refused(&tries);
    scene.approve();
}

#[test]
fn a_deck_that_an_agent_opens_where_no_daemon_runs_starts_nothing_and_decides_nothing() {
    let project = Project::new();
    let mut daemon = project.daemon();
    let scene = Scene::new(&project);
    let (lines, tries) = scene.decks();
    let go = scene.project.base().join("go");
    let lines = format!(
        "echo the agent is up\nwhile ! [ -e {} ]; do sleep 0.02; done\n{lines}",
        go.display()
    );
    let mut agent = scene.agent(&lines);
    agent.wait_for_text("the agent is up");
    daemon.crash();
    drop(daemon);
    std::fs::write(&go, "").unwrap();
    for (one, exit) in &tries {
        let outcome = outcome(&one.what, &one.outcome);
        assert_eq!(outcome["exit"], *exit, "{}", one.what);
    }
    agent.wait_for_text("the agent waits");
    assert!(!scene.is_decided());
    // The operator's own terminal hosts the daemon, while that agent lives.
    let _deck = Pty::spawn_sized(&scene.project.ctxrelay([]), 120, 40).labelled("deck");
    wait_until("a deck that hosts", timeout(), || {
        scene.project.status_of_daemon()
    });
    scene.approve();
}

#[test]
fn a_daemon_that_an_agents_launch_started_lets_the_operator_in_and_the_agent_not() {
    let project = Project::new();
    let go = project.base().join("go");
    let lines = format!(
        "echo the agent is up\nwhile ! [ -e {} ]; do sleep 0.02; done\n. ../lines.sh",
        go.display()
    );
    let mut agent = Pty::spawn(&agent_launch(&project, &lines)).labelled("agent");
    agent.wait_for_text("the agent is up");
    let scene = Scene::new(&project);
    let (lines, tries) = scene.tries();
    scene.write("lines.sh", &lines);
    std::fs::write(&go, "").unwrap();
    agent.wait_for_text("the agent waits");
    scene.expect_refused(&tries);
    scene.approve();
    let status = scene.project.run(["status", "--json"]).json();
    let pid = i32::try_from(status["pid"].as_i64().unwrap()).unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
}

#[test]
fn naming_the_operators_shell_as_an_agent_locks_nobody_out() {
    let project = Project::live();
    let scene = Scene::new(&project);
    let (script, path) = scene.raw("raw", 1);
    let go = scene.project.base().join("go");
    // The shell stays above what it starts.
    let line = format!(
        "echo my shell; while ! [ -e {} ]; do sleep 0.02; done; sh {}; :",
        go.display(),
        script.display()
    );
    let shell = scene.project.program("/bin/sh").args(["-c", &line]);
    let mut operator = Pty::spawn(&shell);
    operator.wait_for_text("my shell");
    let named = operator.pid();
    let mut claims: Vec<_> = ["hook", "claude", "codex"]
        .into_iter()
        .map(|role| {
            let mut socket = scene.project.control_of(role).unwrap();
            let hello = json!({"protocol": 1, "role": role, "pid": named, "agentPid": named});
            socket.expect("hello", hello);
            socket
        })
        .collect();
    claims[0].expect(
        "hook/report",
        json!({"event": "Stop", "claudePid": named, "input": {}}),
    );
    std::fs::write(&go, "").unwrap();
    let outcome = outcome("of the operator", &path);
    assert!(outcome["result"].is_object(), "{outcome}");
    assert!(scene.is_decided());
    wait_until("the end of the shell", timeout(), || operator.exit_code());
}

#[test]
fn a_flood_of_refused_decisions_is_two_entries_with_their_number() {
    let project = Project::new();
    let daemon = project.daemon();
    let scene = Scene::new(&project);
    let (script, path) = scene.raw("raw", 500);
    let launch = project.program("setsid").arg("sh").arg(script);
    crate::support::child::run(&launch);
    let outcome = outcome("of the last one", &path);
    assert_eq!(outcome["error"]["data"]["code"], "operator_only");
    daemon.stop();
    assert_eq!(refusals(&project), [1, 499]);
}
