//! A message from one agent's tools to the other's, over the real daemon and the real bridge
//! processes, without either agent.

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use rustix::pipe::fcntl_setpipe_size;
use serde_json::{Value, json};

use crate::support::http;
use crate::support::mcp::{McpClient, PROTOCOL};
use crate::support::operator::Operator;
use crate::support::project::Project;
use crate::support::wait::{timeout, wait_until};

fn claude(project: &Project) -> McpClient {
    McpClient::start(&project.ctxrelay(["bridge"]))
}

fn codex(project: &Project) -> McpClient {
    McpClient::start(&project.ctxrelay(["codex-mcp", "server"]))
}

/// The `type` of each line, runtime events by their kind.
fn kinds(project: &Project) -> Vec<String> {
    project
        .ledger()
        .iter()
        .map(|line| line["type"].as_str().unwrap().to_owned())
        .collect()
}

fn of_type<'a>(ledger: &'a [Value], entry_type: &str) -> Vec<&'a Value> {
    ledger
        .iter()
        .filter(|line| line["type"] == entry_type)
        .collect()
}

#[test]
fn what_codex_sends_reaches_claudes_channel_after_it_is_on_disk() {
    let project = Project::live();
    let mut claude = claude(&project);
    let mut codex = codex(&project);
    // The bridge connects lazily: its first call is what makes it the receiver.
    claude.tool("session_info", json!({}));

    let sent = codex.tool("send_to_claude", json!({"text": "two races in refresh.rs"}));
    let pushed = claude.next_notification("notifications/claude/channel");
    let id = sent["message_id"].as_str().unwrap();
    assert_eq!(sent["outcome"], "queued_for_next_turn");
    assert_eq!(pushed["meta"]["message_id"], id);
    assert_eq!(pushed["meta"]["from"], "codex");
    let content = pushed["content"].as_str().unwrap();
    assert!(content.contains("two races in refresh.rs"), "{content}");
    assert!(content.contains("not from your operator"), "{content}");
    let ledger = project.ledger();
    let messages = of_type(&ledger, "message");
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0]["id"], id);

    // Reading is no acknowledging: it comes again, marked, until it is acknowledged.
    let first = claude.tool("get_messages", json!({}));
    assert_eq!(first["messages"][0]["message_id"], id);
    let again = claude.tool("get_messages", json!({}));
    assert_eq!(again["messages"][0]["repeat"], true);
    claude.tool("ack_messages", json!({"ids": [id]}));
    let empty = claude.tool("get_messages", json!({}));
    assert_eq!(empty["messages"], json!([]));
    assert_eq!(empty["unread"], 0);
}

#[test]
fn a_message_for_an_absent_claude_waits_and_survives_a_kill() {
    let project = Project::new();
    let mut daemon = project.daemon();
    let mut codex = codex(&project);
    let ids: Vec<String> = (0..5)
        .map(|n| {
            let sent = codex.tool("send_to_claude", json!({"text": format!("message {n}")}));
            sent["message_id"].as_str().unwrap().to_owned()
        })
        .collect();
    daemon.crash();
    drop(daemon);

    // Codex's bridge may have started the next one already; if not, this one does.
    let mut claude = claude(&project);
    let page = claude.tool("get_messages", json!({}));
    let got: Vec<&str> = page["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["message_id"].as_str().unwrap())
        .collect();
    assert_eq!(got, ids);
    // The same client goes on after the daemon's death.
    codex.tool("append_note", json!({"text": "still here", "kind": "note"}));
    let verified = project.run(["ledger", "verify", "--json"]).expect_success();
    assert_eq!(verified.json()["ok"], true);
    // They would start another one.
    drop((claude, codex));
    project.end_daemon();
}

#[test]
fn a_waiting_claude_gets_the_message_at_once() {
    let project = Project::live();
    let mut claude = claude(&project);
    let mut codex = codex(&project);
    let waiting = claude.begin_tool("wait_for_messages", json!({"timeout_s": 30}));
    codex.tool("send_to_claude", json!({"text": "now"}));
    let page = claude.tool_result(&waiting).structured;
    assert_eq!(page["messages"].as_array().unwrap().len(), 1);
}

/// How many calls wait at the daemon.
fn calls_waiting(project: &Project) -> Option<u64> {
    let bearer = format!("Bearer {}", project.token());
    let authorization = [("authorization", bearer.as_str())];
    let answer = http::get(project.ports.control, "/metrics", &authorization).ok()?;
    let mut lines = answer.body.lines();
    let figure = lines.find_map(|line| line.strip_prefix("ctxrelay_calls_waiting "))?;
    figure.parse().ok()
}

fn wait_for_calls(project: &Project, wanted: u64) {
    let what = format!("{wanted} calls that wait");
    wait_until(&what, timeout(), || {
        (calls_waiting(project)? == wanted).then_some(())
    });
}

#[test]
fn a_wait_that_was_cancelled_or_whose_agent_was_killed_takes_nothing() {
    let project = Project::live();
    let mut codex = codex(&project);
    let mut first = claude(&project);
    let waits = first.begin_tool("wait_for_messages", json!({"timeout_s": 50}));
    wait_for_calls(&project, 1);
    first.notify("notifications/cancelled", json!({"requestId": waits}));
    wait_for_calls(&project, 0);
    codex.tool("send_to_claude", json!({"text": "after the Esc"}));
    let page = first.tool("get_messages", json!({}));
    let text = |page: &Value| page["messages"][0]["text"].as_str().unwrap().to_owned();
    assert!(text(&page).contains("after the Esc"), "{page}");
    assert_eq!(page["messages"][0]["repeat"], false, "nobody had it");
    first.tool(
        "ack_messages",
        json!({"ids": [page["messages"][0]["message_id"]]}),
    );

    first.begin_tool("wait_for_messages", json!({"timeout_s": 50}));
    wait_for_calls(&project, 1);
    first.child().crash();
    wait_for_calls(&project, 0);
    codex.tool("send_to_claude", json!({"text": "after the kill"}));
    let page = claude(&project).tool("get_messages", json!({}));
    assert!(text(&page).contains("after the kill"), "{page}");
    assert_eq!(page["messages"][0]["repeat"], false, "nobody had it");
}

#[test]
fn a_client_with_all_its_calls_in_work_can_take_them_back_and_go_on() {
    let project = Project::live();
    let mut socket = project.agent("claude");
    let wait = json!({"agent": "claude", "timeoutMs": 50_000});
    let waits: Vec<Value> = (0..64)
        .map(|_| socket.begin("messages/wait", wait.clone()))
        .collect();
    wait_for_calls(&project, 64);
    // More wait for a place, one of them for nobody.
    let parked = socket.begin("messages/wait", wait);
    let next = socket.begin("messages/get", json!({"agent": "claude"}));
    for id in [parked].into_iter().chain(waits) {
        socket.notify("$/cancelRequest", json!({"id": id}));
    }
    wait_for_calls(&project, 0);
    let page = socket.response(&next).unwrap();
    assert_eq!(page["value"]["messages"], json!([]));
}

#[test]
fn a_handoff_is_open_until_it_is_answered_by_id() {
    let project = Project::live();
    let (mut claude, mut codex) = (claude(&project), codex(&project));
    let handoff = codex.tool(
        "handoff_to_claude",
        json!({"ask": "choose the lock", "reason": "two candidates"}),
    );
    let id = handoff["handoff_id"].as_str().unwrap();
    // Asked again in other spacing within five minutes it is the same one.
    let same = codex.tool(
        "handoff_to_claude",
        json!({"ask": "Choose  the lock", "reason": "again"}),
    );
    assert_eq!(same["handoff_id"], id);

    let context = claude.tool("read_context", json!({}));
    assert_eq!(context["open_handoffs"].as_array().unwrap().len(), 1);
    claude.tool("append_note", json!({"text": "thinking about it"}));
    // Its text says who wrote what, as its structured half does.
    let told = claude.call_tool("read_context", json!({})).text;
    let is_note = |line: &str| {
        let from = line.starts_with('#') && line.contains(" claude");
        from && line.ends_with("]: thinking about it")
    };
    assert!(told.lines().any(is_note), "{told}");
    assert_eq!(
        claude.tool("read_context", json!({}))["open_handoffs"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    claude.tool(
        "reply",
        json!({"text": "parking_lot", "handles_handoff_id": id}),
    );
    assert_eq!(
        claude.tool("read_context", json!({}))["open_handoffs"],
        json!([])
    );
}

#[test]
fn what_codex_closes_itself_before_claude_is_there_is_not_given_to_claude() {
    let project = Project::live();
    let mut codex = codex(&project);
    let ask = json!({"ask": "delete the branch", "reason": "it is merged"});
    let handoff = codex.tool("handoff_to_claude", ask);
    let question = json!({"text": "may I delete it?", "require_reply": true});
    let question = codex.tool("send_to_claude", question);
    let news = codex.tool("send_to_claude", json!({"text": "it is merged"}));
    for id in [&handoff["handoff_id"], &question["message_id"]] {
        let settled = json!({"text": "I did it", "handles_handoff_id": id});
        codex.tool("append_note", settled);
    }
    wait_until("both taken back", timeout(), || {
        let queue = project.run(["queue", "list", "--json"]).json();
        (queue["messages"].as_array()?.len() == 1).then_some(())
    });
    let ledger = project.ledger();
    let back = ledger
        .iter()
        .filter(|line| line["content"] == "Codex, who sent it, closed it: Claude does not get it");
    assert_eq!(back.count(), 2);
    let mut claude = claude(&project);
    let page = claude.tool("get_messages", json!({}));
    let given = page["messages"].as_array().unwrap().iter();
    let given: Vec<&Value> = given.map(|message| &message["message_id"]).collect();
    assert_eq!(given, [&news["message_id"]]);
}

#[test]
fn a_long_message_hides_no_open_handoff_and_is_read_whole() {
    let project = Project::live();
    let (mut claude, mut codex) = (claude(&project), codex(&project));
    let handoff = codex.tool(
        "handoff_to_claude",
        json!({"ask": "choose the lock", "reason": "it hangs"}),
    );
    let text = format!("{}is the last.", "plum ".repeat(4_800));
    codex.tool("send_to_claude", json!({"text": text}));

    let page = claude.tool("read_context", json!({}));
    assert_eq!(page["open_handoffs_total"], 1);
    assert_eq!(page["open_handoffs"][0]["id"], handoff["handoff_id"]);
    let entries = page["entries"].as_array().unwrap();
    let of_handoff = |entry: &Value| entry["id"] == handoff["handoff_id"];
    assert!(entries.iter().any(of_handoff), "{page}");
    let message = entries.iter().find(|entry| entry["type"] == "message");
    let mut cursor = message.unwrap()["read_context_cursor"].clone();
    let mut whole = String::new();
    while !cursor.is_null() {
        let part = claude.tool("read_context", json!({"cursor": cursor}));
        whole.push_str(part["part"]["json"].as_str().unwrap());
        cursor = part["cursor"].clone();
    }
    assert!(whole.contains(&text), "{whole}");
}

#[test]
fn a_pair_is_shown_its_own_board_and_that_of_all_when_it_asks() {
    let project = Project::live();
    // Nobody is asked for what was taken back, and no agent is told of it.
    let mut operator = Operator::connect(&project);
    let handoff = json!({"from": "claude", "ask": "weigh the lock", "reason": "it is heavy"});
    let handed = project.agent("claude").expect("handoff/create", handoff);
    let remove = json!({"id": handed["value"]["messageId"], "change": "remove"});
    operator.when_quiet("queue/change", remove).unwrap();
    let mut first = claude(&project);
    let bridge = project.ctxrelay(["bridge"]);
    // The longest name.
    let beta = "b".repeat(100);
    let beta = McpClient::start(&bridge.env("CONTEXTRELAY_RUNTIME_SESSION", &beta));
    first.tool(
        "handoff",
        json!({"ask": "choose the lock", "reason": "it hangs"}),
    );
    first.tool(
        "record_artifact",
        json!({"kind": "test_run", "title": "the lock's tests", "summary": "x"}),
    );
    let mut agents = [first, beta, codex(&project)];
    for (who, arguments, shown) in [
        (0, json!({}), 1),
        (1, json!({}), 0),
        (1, json!({"scope": "all"}), 1),
        (2, json!({}), 1),
    ] {
        let agent = &mut agents[who];
        let board = agent.tool("task_state", arguments.clone());
        for list in ["open_handoffs", "artifacts"] {
            let count = board[list].as_array().unwrap().len();
            assert_eq!(count, shown, "{list} with {arguments}");
        }
        assert_eq!(board["open_handoffs_total"], shown, "{arguments}");
        assert_eq!(board["lanes"]["open"], shown, "{arguments}");
        // Sign-off is the project's.
        let blockers = board["finality"]["blockers"].to_string();
        assert!(blockers.contains("choose the lock"), "{blockers}");
        let info = agent.tool("session_info", arguments.clone());
        assert_eq!(info["handoffs"]["open"], shown, "{arguments}");
        assert_eq!(info["tasks"]["open"], shown, "{arguments}");
        let page = agent.tool("read_context", arguments);
        assert_eq!(page["open_handoffs_total"], shown);
    }
}

#[test]
fn a_secret_reaches_neither_disk_nor_peer() {
    let project = Project::live();
    let (mut claude, mut codex) = (claude(&project), codex(&project));
    claude.tool("session_info", json!({}));
    let secret = format!("sk-ant-api03-{}", "Ab1_".repeat(23));
    codex.tool(
        "record_artifact",
        json!({"kind": "command_log", "title": "env", "summary": "x",
               "status": "passed", "evidence": [format!("ANTHROPIC_API_KEY={secret}")]}),
    );
    codex.tool(
        "send_to_claude",
        json!({"text": format!("use {secret} please")}),
    );
    let pushed = claude.next_notification("notifications/claude/channel");
    assert!(!pushed.to_string().contains(&secret));
    let page = claude.tool("get_messages", json!({}));
    assert!(!page.to_string().contains(&secret));
    for folder in ["sessions", "state"] {
        for file in std::fs::read_dir(project.state().join(folder)).unwrap() {
            let path = file.unwrap().path();
            // What is being written gets its name at the end.
            let Ok(bytes) = std::fs::read(&path) else {
                continue;
            };
            let found = bytes
                .windows(secret.len())
                .any(|window| window == secret.as_bytes());
            assert!(!found, "the secret is in {}", path.display());
        }
    }
}

#[test]
fn a_bridge_starts_a_daemon_when_none_runs() {
    let project = Project::new();
    project.begin();
    let mut claude = claude(&project);
    let info = claude.tool("session_info", json!({}));
    assert!(info.is_object(), "{info}");
    let status = project.run(["status", "--json"]).expect_success().json();
    assert_eq!(status["running"], true);
    // A detached daemon ends by itself; do not wait half a minute for it.
    drop(claude);
    project.end_daemon();
}

#[test]
fn a_second_bridge_has_all_tools_and_gets_no_deliveries() {
    let project = Project::live();
    // One after the other: the receiver is who came first.
    let mut first = claude(&project);
    first.tool("session_info", json!({}));
    let mut second = claude(&project);
    second.tool("session_info", json!({}));
    let mut codex = codex(&project);
    codex.tool("send_to_claude", json!({"text": "to the receiver"}));
    first.next_notification("notifications/claude/channel");
    let span = Duration::from_millis(300);
    crate::support::wait::never_within("a push to the second bridge", span, || {
        second
            .waiting_frames()
            .iter()
            .find(|frame| frame["method"] == "notifications/claude/channel")
            .cloned()
    });
    // The first one leaves: the second inherits.
    drop(first);
    second.next_notification("notifications/claude/channel");
}

#[test]
fn a_proposal_waits_for_the_operator_and_no_agent_can_decide_it() {
    let project = Project::live();
    let mut claude = claude(&project);
    let proposed = claude.tool(
        "propose_final",
        json!({"summary": "refresh is done", "evidence": ["118 tests pass"]}),
    );
    let id = proposed["proposal_id"].as_str().unwrap();
    let mut control = project.control().unwrap();
    control.expect(
        "hello",
        json!({"protocol": 1, "role": "deck", "pid": std::process::id()}),
    );
    let refused = control
        .call(
            "finality/decide",
            json!({"proposalId": id, "approve": true}),
        )
        .unwrap_err();
    assert_eq!(refused.data["code"], "operator_only");
    // Without a terminal the command line refuses too, and says so.
    let finished = project.run(["finality", "approve", id, "--json"]);
    assert_eq!(finished.code(), 5);
    assert!(finished.json()["error"]["hint"].is_string());
    let list = project.run(["finality", "list", "--json"]).expect_success();
    assert_eq!(list.json()["proposals"][0]["id"], id);
    assert!(!kinds(&project).contains(&"finality_decision".to_owned()));
}

/// The first one's pipe is full, so that the page that it was given cannot leave its bridge.
#[test]
fn what_an_agent_asked_for_and_never_got_comes_again() {
    let project = Project::live();
    let sent = claude(&project).tool("reply", json!({"text": "two races in refresh.rs"}));
    let id = sent["message_id"].as_str().unwrap();

    let mut bridge = project.ctxrelay(["codex-mcp", "server"]).command();
    let mut deaf = bridge
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    fcntl_setpipe_size(deaf.stdout.as_ref().unwrap(), 4096).unwrap();
    let requests = [
        json!({"id": 1, "method": "initialize", "params": {"protocolVersion": PROTOCOL,
            "capabilities": {}, "clientInfo": {"name": "deaf", "version": "0"}}}),
        json!({"method": "notifications/initialized"}),
        json!({"id": 2, "method": "tools/list"}),
        json!({"id": 3, "method": "tools/call",
            "params": {"name": "wait_for_claude", "arguments": {"timeout_s": 20}}}),
    ];
    for mut request in requests {
        request["jsonrpc"] = json!("2.0");
        writeln!(deaf.stdin.as_mut().unwrap(), "{request}").unwrap();
    }
    wait_until("the page in the bridge", timeout(), || {
        let queue = project.run(["queue", "list", "--json"]).json().to_string();
        (queue.contains(id) && queue.contains("attempted")).then_some(())
    });
    deaf.kill().unwrap();
    deaf.wait().unwrap();

    // Nobody said that it arrived, and the daemon stops believing that somebody will.
    let again = codex(&project).tool("wait_for_claude", json!({"timeout_s": 50}));
    assert_eq!(again["messages"][0]["message_id"], id, "{again}");
    assert_eq!(again["messages"][0]["repeat"], true);
}
