//! The scripted Responses service and our terminals, proved with the real Codex.

use serde_json::{Value, json};

use crate::support::agents;
use crate::support::child::{Child, run};
use crate::support::codex_home::{CODE_MODE_MODEL, COMPOSER, CodexHome, DIRECT_MODEL};
use crate::support::http;
use crate::support::mcp::echo_server;
use crate::support::model_request::{Side, Speaker, says, tool_said};
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::responses_server::{ResponsesServer, TITLE};
use crate::support::script::{Gate, Reply, ToolCall};
use crate::support::wait::{timeout, wait_until};
use crate::support::ws::RpcSocket;

#[test]
fn codex_exec_takes_the_scripted_service_for_real() {
    let Some(_slot) = agents::slot() else { return };
    let project = Project::new();
    let server = ResponsesServer::start();
    let home = CodexHome::new(&server, &project);
    server
        .when(says("list the files"))
        .reply(Reply::shell("echo shell-said-$((40+2))"));
    server
        .when(tool_said("shell-said-42"))
        .reply(Reply::text("Seen it."));

    let done = run(&home.codex(&project, ["exec", "--json", "list the files"])).expect_success();

    let events: Vec<Value> = done
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let command = events
        .iter()
        .find(|event| event["item"]["type"] == "command_execution")
        .unwrap();
    assert!(
        command.to_string().contains("shell-said-42") || command["type"] == "item.started",
        "{command}"
    );
    let said: Vec<&Value> = events
        .iter()
        .filter(|event| event["item"]["type"] == "agent_message")
        .collect();
    assert_eq!(said.len(), 1, "{events:#?}");
    assert_eq!(said[0]["item"]["text"], "Seen it.");
    let steps = server.steps();
    assert_eq!(steps.len(), 2, "{}", server.log());
    assert!(steps[0].conversation.is_some() && steps[0].conversation == steps[1].conversation);
    assert_eq!(steps[1].fresh.last().unwrap().from, Speaker::Tool);
}

#[test]
fn codex_in_code_mode_runs_a_scripted_command() {
    let Some(_slot) = agents::slot() else { return };
    let project = Project::new();
    let server = ResponsesServer::start();
    let home = CodexHome::with_model(&server, &project, CODE_MODE_MODEL);
    server
        .when(says("list the files"))
        .reply(Reply::shell("echo shell-said-$((40+2))"));
    server
        .when(tool_said("shell-said-42"))
        .reply(Reply::text("Seen it."));

    let done = run(&home.codex(&project, ["exec", "--json", "list the files"])).expect_success();

    assert!(
        done.stdout.contains("Seen it."),
        "{done:#?}\n{}",
        server.log()
    );
    assert!(server.steps()[0].tools.contains(&"exec".to_owned()));
}

#[test]
fn codex_reports_a_scripted_usage_limit() {
    let Some(_slot) = agents::slot() else { return };
    let project = Project::new();
    let server = ResponsesServer::start();
    let home = CodexHome::new(&server, &project);
    let gate = Gate::new("the refusal");
    server
        .when(says("anything"))
        .reply(Reply::usage_limit(4_000_000_000).behind(&gate));

    let mut codex = Child::spawn(&home.codex(&project, ["exec", "--json", "anything"]));
    codex.close_stdin();
    gate.wait_arrived();
    assert!(codex.try_exit().is_none());
    gate.open();
    let done = codex.wait();

    assert_ne!(done.code(), 0);
    assert!(done.stdout.contains("usage limit"), "{done:#?}");
}

/// An app-server of Codex, and a client that has introduced itself.
fn app_server(project: &Project, home: &CodexHome) -> (Child, RpcSocket) {
    let url = format!("ws://127.0.0.1:{}", project.ports.app_server);
    let arguments = [
        "app-server",
        "--listen",
        &url,
        "--disable",
        "instant_interrupt",
    ];
    let child = Child::spawn(&home.codex(project, arguments));
    wait_until("the app-server to be ready", timeout(), || {
        http::get(project.ports.app_server, "/readyz", &[])
            .ok()
            .filter(|answer| answer.status == 200)
    });
    let mut client = RpcSocket::open(&url, None, &[]).unwrap();
    let about = json!({"clientInfo": {"name": "tests", "version": "0"}, "capabilities": {"experimentalApi": true}});
    client.expect("initialize", about);
    client.notify("initialized", json!({}));
    (child, client)
}

#[test]
fn a_compaction_of_codex_is_no_step() {
    let Some(_slot) = agents::slot() else { return };
    let project = Project::new();
    let server = ResponsesServer::start();
    let home = CodexHome::new(&server, &project);
    let (_app_server, mut client) = app_server(&project, &home);
    let started = client.expect("thread/start", json!({"cwd": project.root()}));
    let thread = &started["thread"]["id"];
    let input = json!([{"type": "text", "text": "remember the word plum"}]);
    client.expect("turn/start", json!({"threadId": thread, "input": input}));
    client.next_where("turn/completed", |params| params["threadId"] == *thread);
    client.expect("thread/compact/start", json!({"threadId": thread}));
    let done = client.next_where("turn/completed", |params| params["threadId"] == *thread);
    assert_eq!(done["turn"]["status"], "completed", "{done}");
    let sides: Vec<_> = server
        .requests()
        .iter()
        .map(|request| request.side)
        .collect();
    assert_eq!(sides, [None, Some(Side::Compaction)], "{}", server.log());
    assert_eq!(server.times_heard("remember the word plum"), 1);
}

#[test]
fn the_codex_tui_does_a_human_turn_on_an_app_server() {
    let Some(_slot) = agents::slot() else { return };
    let project = Project::new();
    let server = ResponsesServer::start();
    let home = CodexHome::new(&server, &project);
    let gate = Gate::new("the middle of the answer");
    server.when(says("say something long")).reply(Reply::held(
        "The first half ",
        &gate,
        "and the second half.",
    ));
    let (_app_server, mut second) = app_server(&project, &home);
    let url = format!("ws://127.0.0.1:{}", project.ports.app_server);
    let root = project.root().display().to_string();

    let mut tui = Pty::spawn(&home.codex(&project, ["--remote", &url, "-C", &root]));
    let thread = second.next_where("thread/started", |params| {
        params["thread"]["ephemeral"] == false
    });
    tui.wait_for_text(COMPOSER);
    tui.submit("say something long");
    gate.wait_arrived();
    tui.wait_for_text("The first half");
    assert!(!tui.shows("second half"));
    gate.open();
    tui.wait_for_text("The first half and the second half.");

    let asked = server.wait_for_request("the human's turn", says("say something long"));
    assert_eq!(
        asked.conversation.as_deref(),
        thread["thread"]["id"].as_str()
    );
    // The helper thread got a title that it could use, so the thread has it now.
    let titled = server.wait_for_request("a request for a title", |request| {
        request.side == Some(Side::Title)
    });
    assert_ne!(titled.conversation, asked.conversation);
    let named = second.next_notification("thread/name/updated");
    assert!(named.to_string().contains(TITLE), "{named}");
    // The text stands on the screen before the turn is over; a Ctrl-C in between would interrupt it.
    for state in ["active", "idle"] {
        second.next_where("thread/status/changed", |params| {
            params["threadId"] == thread["thread"]["id"] && params["status"]["type"] == state
        });
    }
    assert_eq!(tui.press_until_exit(Key::Ctrl('c')), 0);
}

#[test]
fn npm_shim_of_codex_runs_the_native_program() {
    let Some(_slot) = agents::slot() else { return };
    let project = Project::new();
    let server = ResponsesServer::start();
    let home = CodexHome::new(&server, &project);
    let native = run(&home.codex(&project, ["--version"])).expect_success();
    let shim = run(&home.codex_shim(&project, ["--version"])).expect_success();
    assert_eq!(native.stdout, "codex-cli 0.169.0\n");
    assert_eq!(shim.stdout, native.stdout);
}

/// Codex calls a tool of an MCP server, as its kind of model does.
fn codex_calls_a_tool(model: &str) {
    let project = Project::new();
    let server = ResponsesServer::start();
    let home = CodexHome::with_model(&server, &project, model);
    let node = project.program("node").program;
    home.add_config(&format!(
        "\n[mcp_servers.echo]\ncommand = {node:?}\nargs = [{:?}]\n",
        echo_server()
    ));
    server.when(says("say it")).reply(Reply::mcp(
        "echo",
        "say",
        json!({"text": "round and round"}),
    ));
    server
        .when(tool_said("echo: round and round"))
        .reply(Reply::text("It came back."));
    let done = run(&home.codex(&project, ["exec", "--json", "say it"])).expect_success();
    assert!(
        done.stdout.contains("It came back."),
        "{done:#?}\n{}",
        server.log()
    );
    assert!(done.stdout.contains("mcp_tool_call"), "{done:#?}");
    // Where tools are called directly, the model reads the structured content and not its twin.
    let reads_twin = server.times_heard("twin of round and round") > 0;
    assert_eq!(reads_twin, model == CODE_MODE_MODEL, "{}", server.log());
}

#[test]
fn codex_with_direct_tools_calls_mcp() {
    let Some(_slot) = agents::slot() else { return };
    codex_calls_a_tool(DIRECT_MODEL);
}

#[test]
fn codex_in_code_mode_calls_mcp() {
    let Some(_slot) = agents::slot() else { return };
    codex_calls_a_tool(CODE_MODE_MODEL);
}

#[test]
fn a_human_approves_a_codex_command_in_its_tui() {
    let Some(_slot) = agents::slot() else { return };
    let project = Project::new();
    let server = ResponsesServer::start();
    let home = CodexHome::new(&server, &project);
    let command = ToolCall::escalated("touch made.txt", "a file is needed");
    server
        .when(says("make the file"))
        .reply(Reply::call(command));
    server
        .when(tool_said("exited with code 0"))
        .reply(Reply::text("Made it."));
    let mut tui = Pty::spawn(&home.codex(&project, ["--no-daemon"]));
    tui.wait_for_text(COMPOSER);
    tui.submit("make the file");
    tui.wait_for_text("a file is needed");
    assert!(!project.root().join("made.txt").exists());
    tui.press_until(Key::Char('y'), "the dialog to go", |screen| {
        !screen.contains("Would you like to run")
    });
    tui.wait_for_text("Made it.");
    assert!(project.root().join("made.txt").exists());
}
