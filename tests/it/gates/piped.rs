//! A run at a person's terminal whose output goes elsewhere, and one whose daemon dies.

use serde_json::json;

use super::trust;
use crate::support::launch::Launch;
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::wait::{timeout, wait_until};

const OWN: &str = env!("CARGO_BIN_EXE_ctxrelay");

/// A shell at a terminal of the operator's.
fn shell(project: &Project, script: &str) -> Launch {
    let shell = project.program("bash").envs(project.env());
    shell.args(["-c", &script.replace("ctxrelay", OWN)])
}

#[test]
fn the_operator_may_pipe_what_a_run_prints_and_is_asked_nothing_unseen() {
    let project = Project::live();
    trust(&project, &json!([{"name": "tests", "cmd": "true"}]));
    let script = "set -o pipefail; ctxrelay gates run 2>&1 | tee ../log";
    let mut line = Pty::spawn(&shell(&project, script));
    assert_eq!(line.wait_exit(), 0, "{}", line.screen());
    let log = std::fs::read_to_string(project.base().join("log")).unwrap();
    assert!(log.contains("green") && log.contains("tests"), "{log}");

    // Nobody types a word to a question that may stand in a file.
    let session = project.read(".contextrelay/current");
    let script = "ctxrelay ledger clear --apply 2> ../asked; echo code $?; cat ../asked";
    let mut line = Pty::spawn(&shell(&project, script));
    line.wait_for_text("standard error is redirected");
    line.wait_for_text("code 5");
    assert_eq!(line.wait_exit(), 0, "{}", line.screen());
    let goes_on = project.read(".contextrelay/current");
    assert_eq!(goes_on, session, "the session goes on");
}

#[test]
fn what_nobody_can_type_to_is_not_the_operator() {
    let project = Project::live();
    trust(&project, &json!([{"name": "tests", "cmd": "true"}]));
    for script in [
        // As programs run what they were not asked to: nothing to read, or beside the person's work.
        "ctxrelay gates run < /dev/null 2>&1 | cat; exit ${PIPESTATUS[0]}",
        "echo yes | ctxrelay gates run 2>&1 | cat; exit ${PIPESTATUS[1]}",
        "set -m; (ctxrelay gates run < /dev/tty 2>&1 | cat; exit ${PIPESTATUS[0]}) & wait $!",
        // A script whose output somebody else reads.
        "set -m; bash -c 'ctxrelay gates run 2>&1; exit $?' | cat; exit ${PIPESTATUS[0]}",
        // An agent's shell, wherever its output goes.
        "CLAUDECODE=1 ctxrelay gates run 2>&1 | cat; exit ${PIPESTATUS[0]}",
        "CODEX_SANDBOX=x ctxrelay gates run",
    ] {
        let mut line = Pty::spawn(&shell(&project, script));
        assert_eq!(line.wait_exit(), 5, "{script}: {}", line.screen());
        let screen = line.screen().to_string();
        assert!(screen.contains("only the operator"), "{script}: {screen}");
    }
    let ran = project.ledger();
    assert!(!ran.iter().any(|entry| entry["type"] == "artifact"));
}

#[test]
fn a_daemon_that_dies_during_a_run_is_said_to_have_died() {
    let project = Project::new();
    let mut daemon = project.daemon();
    trust(
        &project,
        &json!([{"name": "tests", "cmd": "touch ../begun; sleep 1000"}]),
    );
    let mut line = Pty::spawn(&project.ctxrelay(["gates", "run"]));
    let begun = project.base().join("begun");
    wait_until("the gate", timeout(), || begun.exists().then_some(()));
    daemon.crash();
    line.wait_for_text("the daemon ended while it ran the gates");
    assert_eq!(line.wait_exit(), 4, "{}", line.screen());
}
