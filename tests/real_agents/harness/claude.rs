//! The scripted Messages service and our terminals, proved with the real Claude Code.

use std::io::Write;
use std::path::PathBuf;

use serde_json::json;

use crate::support::agents;
use crate::support::child::run;
use crate::support::claude_home::{self, ClaudeHome};
use crate::support::mcp::echo_server;
use crate::support::messages_server::MessagesServer;
use crate::support::model_request::{Side, hears, says, tool_said};
use crate::support::pipe::NamedPipe;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::script::{Gate, Reply, ToolCall};

#[test]
fn a_compaction_of_claude_is_no_step() {
    let Some(_slot) = agents::slot() else { return };
    let project = Project::new();
    let server = MessagesServer::start();
    let home = ClaudeHome::new(&server, &project);
    server
        .when(says("remember the word plum"))
        .once()
        .reply(Reply::text("Plum it is."));
    let mut tui = Pty::spawn(&home.claude(&project, []));
    tui.wait_for_text(claude_home::COMPOSER);
    tui.submit("remember the word plum");
    tui.wait_for_text("Plum it is.");
    tui.submit("/compact");
    server.wait_for_request("the compaction", |request| {
        request.side == Some(Side::Compaction)
    });
    tui.wait_for_text("Compacted");
    assert_eq!(server.steps().len(), 1, "{}", server.log());
    assert_eq!(tui.press_until_exit(Key::Ctrl('c')), 0);
}

#[test]
fn claude_print_takes_the_scripted_service_for_real() {
    let Some(_slot) = agents::slot() else { return };
    let project = Project::new();
    project.write("data.txt", "the answer is 42\n");
    let server = MessagesServer::start();
    let home = ClaudeHome::new(&server, &project);
    let file = project.root().join("data.txt");
    server
        .when(says("what is the answer"))
        .reply(Reply::call(ToolCall::named(
            "Read",
            json!({"file_path": file}),
        )));
    server
        .when(tool_said("the answer is 42"))
        .reply(Reply::text("It is 42."));

    let done = run(&home.claude(
        &project,
        ["-p", "what is the answer", "--output-format", "json"],
    ))
    .expect_success();

    let result = done.json();
    assert_eq!(result["result"], "It is 42.", "{}", server.log());
    assert_eq!(result["is_error"], false);
    assert_eq!(server.steps().len(), 2, "{}", server.log());
    assert_eq!(
        server.steps()[0].conversation.as_deref(),
        result["session_id"].as_str()
    );
}

#[test]
fn claude_reports_a_scripted_usage_limit() {
    let Some(_slot) = agents::slot() else { return };
    let project = Project::new();
    let server = MessagesServer::start();
    let home = ClaudeHome::new(&server, &project);
    server
        .when(says("anything"))
        .reply(Reply::usage_limit(4_000_000_000));

    let done = run(&home.claude(&project, ["-p", "anything", "--output-format", "json"]));

    assert_ne!(done.code(), 0);
    assert_eq!(done.json()["api_error_status"], 429, "{done:#?}");
}

/// A plugin whose monitor prints every line that the test writes into a pipe.
fn ringing_plugin(project: &Project) -> (PathBuf, NamedPipe) {
    let plugin = project.base().join("plug in");
    let pipe = NamedPipe::new(project.base().join("ring"));
    std::fs::create_dir_all(plugin.join(".claude-plugin")).unwrap();
    std::fs::create_dir_all(plugin.join("monitors")).unwrap();
    let about = json!({"name": "bell", "version": "0.1.0", "description": "rings for a test", "author": {"name": "tests"}});
    std::fs::write(plugin.join(".claude-plugin/plugin.json"), about.to_string()).unwrap();
    let command = format!("while :; do {}; done", pipe.reading_command());
    let monitors = json!([{"name": "bell", "description": "test bell", "command": command}]);
    std::fs::write(plugin.join("monitors/monitors.json"), monitors.to_string()).unwrap();
    (plugin, pipe)
}

#[test]
fn the_claude_tui_does_a_human_turn_and_hears_a_monitor() {
    let Some(_slot) = agents::slot() else { return };
    let project = Project::new();
    let server = MessagesServer::start();
    let home = ClaudeHome::new(&server, &project);
    let (plugin, pipe) = ringing_plugin(&project);
    let gate = Gate::new("the middle of the answer");
    server
        .when(says("say something long"))
        .once()
        .reply(Reply::held(
            "The first half ",
            &gate,
            "and the second half.",
        ));
    server
        .when(hears("the bell rings 17 times"))
        .reply(Reply::text("I heard the bell."));

    let mut tui = Pty::spawn(&home.claude(&project, ["--plugin-dir", plugin.to_str().unwrap()]));
    tui.wait_for_text("1 monitor");
    tui.submit("say something long");
    gate.wait_arrived();
    gate.open();
    tui.wait_for_text("The first half and the second half.");
    pipe.write("the bell rings 17 times\n");
    let rung = server.wait_for_request("the bell's own turn", hears("the bell rings 17 times"));
    assert!(rung.user_text().contains("NOT USER INPUT"), "{rung:#?}");
    tui.wait_for_text("I heard the bell.");
    assert_eq!(server.times_heard("the bell rings 17 times"), 1);
    assert_eq!(server.times_heard("say something long"), 1);
    assert_eq!(
        server
            .requests()
            .iter()
            .filter(|request| !request.is_step())
            .count(),
        0
    );
}

#[test]
fn a_bell_in_the_middle_of_a_claude_turn_joins_that_turn() {
    let Some(_slot) = agents::slot() else { return };
    let project = Project::new();
    let server = MessagesServer::start();
    let home = ClaudeHome::new(&server, &project);
    let (plugin, pipe) = ringing_plugin(&project);
    let running = NamedPipe::new(project.root().join("running"));
    let command = running.reading_command();
    server
        .when(says("work for a while"))
        .once()
        .reply(Reply::text("Working.").then_call(ToolCall::shell(&command)));
    server
        .when(hears("the bell rings 18 times"))
        .reply(Reply::text("I heard it while at work."));

    let arguments = [
        "--plugin-dir",
        plugin.to_str().unwrap(),
        "--allowedTools=Bash(cat:*)",
        "--permission-mode",
        "default",
    ];
    let mut tui = Pty::spawn(&home.claude(&project, arguments));
    tui.wait_for_text("1 monitor");
    tui.submit("work for a while");
    let mut command = running.wait_for_reader();
    pipe.write("the bell rings 18 times\n");
    command.write_all(b"tool output 99\n").unwrap();
    drop(command);
    let rung = server.wait_for_request("the bell", hears("the bell rings 18 times"));
    tui.wait_for_text("I heard it while at work.");
    assert!(
        rung.tool_text().contains("tool output 99") || rung.user_text().contains("the bell"),
        "{rung:#?}"
    );
}

/// Claude Code calls a tool of an MCP server that it knows by `arguments`.
fn claude_calls_a_tool(project: &Project, arguments: &[&str], name: &str) {
    let server = MessagesServer::start();
    let home = ClaudeHome::new(&server, project);
    server.when(says("say it")).reply(Reply::mcp(
        "echo",
        "say",
        json!({"text": "round and round"}),
    ));
    server
        .when(tool_said("echo: round and round"))
        .reply(Reply::text("It came back."));
    let prompt = ["-p", "say it", "--output-format", "json"];
    let launch = home.claude(project, prompt.into_iter().chain(arguments.iter().copied()));
    let done = run(&launch.arg(format!("--allowedTools={name}"))).expect_success();
    assert_eq!(done.json()["result"], "It came back.", "{}", server.log());
    assert!(server.steps()[1].mentions(name), "{}", server.log());
    assert_eq!(
        server.times_heard("twin of round and round"),
        0,
        "the model reads the structured content alone"
    );
}

#[test]
fn claude_calls_mcp_of_a_configuration() {
    let Some(_slot) = agents::slot() else { return };
    let project = Project::new();
    let servers = json!({"mcpServers": {"echo": {"command": "node", "args": [echo_server()], "alwaysLoad": true}}});
    claude_calls_a_tool(
        &project,
        &["--mcp-config", &servers.to_string()],
        "mcp__echo__say",
    );
}

#[test]
fn claude_calls_mcp_of_a_plugin() {
    let Some(_slot) = agents::slot() else { return };
    let project = Project::new();
    let (plugin, _pipe) = ringing_plugin(&project);
    let servers = json!({"mcpServers": {"echo": {"command": "node", "args": [echo_server()], "alwaysLoad": true}}});
    std::fs::write(plugin.join(".mcp.json"), servers.to_string()).unwrap();
    claude_calls_a_tool(
        &project,
        &["--plugin-dir", plugin.to_str().unwrap()],
        "mcp__plugin_bell_echo__say",
    );
}

#[test]
fn a_human_approves_a_claude_command_in_its_tui() {
    let Some(_slot) = agents::slot() else { return };
    let project = Project::new();
    let server = MessagesServer::start();
    let home = ClaudeHome::new(&server, &project);
    server
        .when(says("make the file"))
        .reply(Reply::shell("touch made.txt && echo done-$((40+2))"));
    server
        .when(tool_said("done-42"))
        .reply(Reply::text("Made it."));
    let mut tui = Pty::spawn(&home.claude(&project, ["--permission-mode", "default"]));
    tui.wait_for_text(claude_home::COMPOSER);
    tui.submit("make the file");
    tui.wait_for_text("Do you want to proceed?");
    assert!(!project.root().join("made.txt").exists());
    tui.enter_until_gone("Do you want to proceed?");
    tui.wait_for_text("Made it.");
    assert!(project.root().join("made.txt").exists());
}
