//! The harness without the agents: terminals, processes, projects, the MCP client.

use std::process::Command;

use serde_json::json;

use crate::support::child::{Child, is_alive};
use crate::support::http;
use crate::support::mcp::echo_server;
use crate::support::mcp::{McpClient, ToolResult};
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::responses_server::ResponsesServer;
use crate::support::script_file::write_program;
use crate::support::wait::{timeout, wait_until};

#[test]
fn a_terminal_answers_where_its_cursor_is() {
    let project = Project::without_git();
    // Asks for the cursor in raw mode, and prints what came back.
    let script = "stty raw -echo; printf 'ab\\033[6n'; answer=$(dd bs=1 count=6 2>/dev/null | od -An -c | tr -d ' \\n'); \
                  stty sane; printf '\\r\\nanswer %s\\r\\n' \"$answer\"";
    let mut terminal = Pty::spawn(&project.program("sh").args(["-c", script]));
    terminal.wait_for_text("answer 033[1;3R");
    assert_eq!(terminal.wait_exit(), 0);
}

#[test]
fn a_resize_reaches_the_program() {
    let project = Project::without_git();
    let script = "trap 'stty size' WINCH; echo ready; while :; do read -r _ || :; done";
    let mut terminal = Pty::spawn_sized(&project.program("sh").args(["-c", script]), 80, 24);
    terminal.wait_for_text("ready");
    terminal.resize(100, 30);
    // The shell runs a trap when the read that it waits in is over.
    terminal.press(Key::Enter);
    terminal.wait_for_text("30 100");
}

/// Descendants outside the group are found by `/proc`.
#[cfg(target_os = "linux")]
#[test]
fn letting_go_of_a_child_ends_its_descendants_too() {
    let project = Project::without_git();
    let mut child = Child::spawn(
        &project
            .program("sh")
            .args(["-c", "setsid sleep 1000 & echo $!; wait"]),
    );
    let sleeper: u32 = child.wait_for_line("the number of its child", |line| line.parse().ok());
    assert!(is_alive(sleeper));
    drop(child);
    wait_until("the grandchild's end", timeout(), || {
        (!is_alive(sleeper)).then_some(())
    });
}

#[test]
fn projects_share_neither_ports_nor_agents() {
    let (one, two) = (Project::new(), Project::new());
    assert_ne!(one.ports, two.ports);
    for agent in ["codex", "claude"] {
        let found = Command::new("sh")
            .args(["-c", &format!("command -v {agent}")])
            .env_clear()
            .envs(&one.program("sh").env)
            .output()
            .unwrap();
        assert!(
            !found.status.success(),
            "{agent} of this machine is on PATH: {found:?}"
        );
    }
    assert_eq!(one.git(&["status", "--porcelain"]), "");
}

#[test]
fn the_scripted_service_complains_about_what_nobody_scripted() {
    let server = ResponsesServer::start();
    let port = server.url().rsplit(':').next().unwrap().parse().unwrap();
    let answer = http::get(port, "/v1/nothing", &[]).unwrap();
    assert_eq!(answer.status, 404);
    assert_eq!(
        server.take_complaints(),
        ["responses does not know GET /v1/nothing"]
    );
}

#[test]
fn the_mcp_client_shakes_hands_calls_and_is_told() {
    let project = Project::without_git();
    let mut client = McpClient::spawn(&project.program("node").arg(echo_server()));
    assert_eq!(client.initialize()["serverInfo"]["name"], "echo");
    assert_eq!(client.list_tools()[0]["name"], "say");
    let result = client.call_tool("say", json!({"text": "hello"}));
    let structured = json!({"said": "echo: hello", "length": 5});
    assert_eq!(
        result,
        ToolResult {
            structured,
            text: "twin of hello".into(),
            is_error: false
        }
    );
    assert_eq!(
        client.next_notification("notifications/message")["data"],
        "hello"
    );
    assert!(client.call_tool("shout", json!({})).is_error);
    assert_eq!(client.call("no/such", json!({})).unwrap_err().code, -32601);
}

#[test]
fn a_flag_that_the_script_gives_cargo_itself_may_be_given_to_the_script_as_well() {
    let project = Project::without_git();
    let bin = project.root().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let target = project.root().join("target");
    let said = project.root().join("said");
    let program = format!(
        "#!/bin/sh\ncase $1 in\nmetadata) echo '{{\"target_directory\":\"{}\"}}' ;;\n*) echo \"$@\" >'{}' ;;\nesac\n",
        target.display(),
        said.display(),
    );
    write_program(&bin.join("cargo"), &program);
    let path = std::env::var("PATH").unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/run"));
        command.env("PATH", format!("{}:{path}", bin.display()));
        command.env("CTXRELAY_SKIP_AGENTS", "1").args(arguments);
        command.env_remove("CTXRELAY_SHOTS");
        assert!(command.output().unwrap().status.success());
        std::fs::read_to_string(&said).unwrap()
    };
    let once = "test --workspace --no-fail-fast --test it\n";
    assert_eq!(run(&["--test", "it"]), once);
    // In the order in which they come.
    let given = "test --workspace --no-fail-fast --test it x\n";
    assert_eq!(run(&["--no-fail-fast", "--test", "it", "x"]), given);
}
