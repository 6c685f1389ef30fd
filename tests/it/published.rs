//! What a daemon shows on the disk, as scripts around ContextRelay 3 read it.

use serde_json::Value;

use crate::hand_over::scene::{Tidy, another_daemon, end_daemon, pid, status};
use crate::support::child::run;
use crate::support::mcp::McpClient;
use crate::support::operator::Operator;
use crate::support::pair::Pair;
use crate::support::project::Project;
use crate::support::wait::{timeout, wait_until};

const SHOWN: [&str; 5] = [
    "state/ports.json",
    "state/daemon.pid",
    "state/status.json",
    "state/sessions.json",
    "sessions.json",
];

/// What a script prints that stands in the project.
fn script(project: &Project, text: &str) -> (i32, String) {
    let done = run(&project.program("sh").args(["-c", text]));
    (done.code(), done.stdout.trim().to_owned())
}

/// Whether the process that the file names is there.
fn runs(project: &Project) -> bool {
    let asks = "kill -0 \"$(cat .contextrelay/state/daemon.pid)\" 2>/dev/null";
    script(project, asks).0 == 0
}

fn field(project: &Project, name: &str) -> String {
    let text = format!(
        "sed -n 's/.*\"{name}\":\\(\"[^\"]*\"\\|[^,}}]*\\).*/\\1/p' .contextrelay/state/status.json"
    );
    script(project, &text).1.trim_matches('"').to_owned()
}

fn participants(project: &Project) -> Vec<String> {
    let text = project.read(".contextrelay/sessions.json");
    let sessions: Value = serde_json::from_str(&text).unwrap();
    let active = sessions["activeSessionId"].as_str().unwrap();
    let there = sessions["sessions"][active]["participants"].as_array();
    let there = there.unwrap().iter();
    there
        .map(|one| one["agentId"].as_str().unwrap().to_owned())
        .collect()
}

fn present(project: &Project) -> Vec<&'static str> {
    let is_there = |name: &&str| project.state().join(name).symlink_metadata().is_ok();
    SHOWN.into_iter().filter(is_there).collect()
}

#[test]
fn a_script_finds_the_daemon_the_app_server_and_who_is_there() {
    let Some(pair) = Pair::new() else {
        return;
    };
    let project = &pair.project;
    let daemon = pair.daemon();
    assert!(runs(project));
    assert_eq!(field(project, "pid"), daemon.pid().to_string());
    assert_eq!(
        field(project, "controlPort"),
        project.ports.control.to_string()
    );
    let claude = McpClient::start(&pair.ctxrelay(["bridge"]));
    let codex = pair.codex();
    wait_until("both agents in sessions.json", timeout(), || {
        (participants(project) == ["claude", "codex"]).then_some(())
    });
    let port = status(project)["codexPort"].as_u64().unwrap();
    let url = format!("ws://127.0.0.1:{port}");
    wait_until("the app-server in status.json", timeout(), || {
        (field(project, "appServerUrl") == url).then_some(())
    });
    drop((claude, codex));
    wait_until("Claude gone", timeout(), || {
        (!participants(project).contains(&"claude".to_owned())).then_some(())
    });
    daemon.stop().expect_success();
    assert_eq!(present(project), [""; 0]);
    assert!(!runs(project));
}

#[test]
fn what_a_killed_daemon_left_is_the_next_ones_before_it_is_ready() {
    let project = Project::new();
    let mut daemon = project.daemon();
    assert_eq!(present(&project), SHOWN);
    daemon.crash();
    assert_eq!(present(&project), SHOWN, "a killed process removes nothing");
    assert!(!runs(&project));
    let daemon = project.daemon();
    assert!(runs(&project));
    let shown = project.read(".contextrelay/state/daemon.pid");
    assert_eq!(shown, format!("{}\n", daemon.pid()));
    daemon.stop().expect_success();
    assert_eq!(present(&project), [""; 0]);
    // Who works alone clears what is left, too, and leaves nothing.
    let mut daemon = project.daemon();
    daemon.crash();
    run(&project.ctxrelay(["ledger", "rebuild"])).expect_success();
    assert_eq!(present(&project), [""; 0]);
}

#[test]
fn the_process_that_goes_on_shows_itself() {
    let project = Project::new();
    let _tidy = Tidy(&project);
    let mut daemon = project.daemon();
    let before = daemon.pid();
    let mut operator = Operator::connect(&project);
    operator.hand_over(env!("CARGO_BIN_EXE_ctxrelay")).unwrap();
    let now = another_daemon(&project, before);
    wait_until("the end of the process before", timeout(), || {
        daemon.child().try_exit()
    });
    assert_eq!(present(&project), SHOWN);
    let shown = project.read(".contextrelay/state/daemon.pid");
    assert_eq!(shown.trim(), pid(&now).to_string());
    assert_eq!(field(&project, "pid"), pid(&now).to_string());
    end_daemon(&project);
    assert_eq!(present(&project), [""; 0]);
}

#[test]
fn a_folder_that_was_taken_away_gets_nothing_back() {
    let project = Project::new();
    let mut daemon = project.daemon();
    let away = project.root().join("away");
    std::fs::rename(project.state(), &away).unwrap();
    std::fs::create_dir_all(project.state().join("state")).unwrap();
    wait_until("the daemon's end", timeout(), || daemon.child().try_exit());
    assert_eq!(present(&project), [""; 0]);
}
