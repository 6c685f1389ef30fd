//! What a daemon with both agents shows on the disk, as scripts around ContextRelay 3 read it.

use crate::support::hand_over::status;
use crate::support::mcp::McpClient;
use crate::support::pair::Pair;
use crate::support::published::{field, participants, present, runs};
use crate::support::wait::{timeout, wait_until};

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
