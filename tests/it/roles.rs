//! Each role has a token of its own: what a client may ask hangs on what it has shown, never on
//! what it says about itself.

use serde_json::{Value, json};

use crate::support::hand_over::{Tidy, another_daemon, end_daemon};
use crate::support::http;
use crate::support::mcp::{McpClient, PROTOCOL};
use crate::support::operator::Operator;
use crate::support::project::Project;
use crate::support::ws::{RpcError, RpcSocket};

/// The token files, and the roles that each lets in.
const TOKENS: [(&str, &[&str]); 3] = [
    ("claude-token", &["claude", "hook"]),
    ("codex-token", &["codex"]),
    ("token", &["deck", "cli"]),
];

const ROLES: [&str; 5] = ["claude", "codex", "hook", "deck", "cli"];

fn greet(socket: &mut RpcSocket, role: &str) -> Result<Value, RpcError> {
    // No pid of ours: this test is no agent, and what it starts does not run below one.
    socket.call(
        "hello",
        json!({"protocol": 1, "role": role, "pid": 4_000_000}),
    )
}

fn come(project: &Project, role: &str) -> RpcSocket {
    let mut socket = project.control_of(role).unwrap();
    greet(&mut socket, role).unwrap();
    socket
}

fn with_token(project: &Project, file: &str) -> RpcSocket {
    let url = format!("ws://127.0.0.1:{}/ws", project.ports.control);
    RpcSocket::open(&url, Some(&project.token_in(file)), &[]).unwrap()
}

/// Sends to an agent as its peer; the message's id.
fn send(project: &Project, from: &str) -> String {
    let mut peer = come(project, from);
    let sent = peer.expect(
        "message/send",
        json!({"from": from, "text": "for you alone"}),
    );
    sent["value"]["messageId"].as_str().unwrap().to_owned()
}

fn queue_state(project: &Project, id: &str) -> Option<String> {
    let queue = project.run(["queue", "list", "--json"]).expect_success();
    let rows = queue.json()["messages"].as_array().unwrap().clone();
    let row = rows.into_iter().find(|row| row["id"] == id)?;
    Some(row["state"].as_str().unwrap().to_owned())
}

#[test]
fn each_token_lets_its_own_roles_in_and_no_other() {
    let project = Project::live();
    for (file, admitted) in TOKENS {
        for role in ROLES {
            let said = greet(&mut with_token(&project, file), role);
            if admitted.contains(&role) {
                assert!(said.is_ok(), "{file} as {role}: {said:?}");
                continue;
            }
            let refused = said.expect_err(&format!("{file} as {role}"));
            let code = &refused.data["code"];
            assert_eq!(code, "wrong_role", "{file} as {role}: {refused:?}");
        }
    }
    assert_eq!(
        TOKENS
            .map(|(file, _)| project.token_in(file))
            .into_iter()
            .collect::<std::collections::BTreeSet<_>>()
            .len(),
        3
    );
}

#[test]
fn nobody_but_the_receivers_own_bridge_or_hook_fetches_proves_or_acknowledges_its_mail() {
    let project = Project::live();
    let to_claude = send(&project, "codex");
    let to_codex = send(&project, "claude");
    let before = [&to_claude, &to_codex].map(|id| queue_state(&project, id));
    assert!(before.iter().all(Option::is_some), "{before:?}");

    for (agent, id) in [("claude", &to_claude), ("codex", &to_codex)] {
        let ids = json!({"agent": agent, "ids": [id]});
        let commands = [
            (
                "messages/get",
                json!({"agent": agent, "ack": [id]}),
                &[agent][..],
            ),
            (
                "messages/wait",
                json!({"agent": agent, "timeoutMs": 0}),
                &[agent],
            ),
            ("messages/fetched", ids.clone(), &[agent]),
            ("messages/ack", ids.clone(), &[agent]),
            // Only Claude has hooks.
            (
                "hook/handed",
                ids,
                if agent == "claude" { &["hook"] } else { &[] },
            ),
        ];
        for role in ROLES {
            let mut socket = come(&project, role);
            for (method, params, allowed) in &commands {
                if allowed.contains(&role) {
                    continue;
                }
                let refused = socket.call(method, params.clone());
                let refused = refused.expect_err(&format!("{method} for {agent} by {role}"));
                assert_eq!(
                    refused.data["code"], "wrong_role",
                    "{method} {agent} {role}"
                );
            }
        }
    }
    let after = [&to_claude, &to_codex].map(|id| queue_state(&project, id));
    assert_eq!(after, before, "a refused proof has no effect");
    let proofs = project
        .ledger()
        .iter()
        .filter(|line| {
            let result = line["delivery"]["result"].as_str().unwrap_or_default();
            ["confirmed", "acknowledged"].contains(&result)
        })
        .count();
    assert_eq!(proofs, 0, "{:#?}", project.ledger());

    // Its own bridge does all of it.
    let mut claude = come(&project, "claude");
    let page = claude.expect("messages/get", json!({"agent": "claude"}));
    assert_eq!(page["value"]["messages"][0]["messageId"], json!(to_claude));
    let ids = json!({"agent": "claude", "ids": [to_claude]});
    claude.expect("messages/fetched", ids.clone());
    come(&project, "hook").expect("hook/handed", ids.clone());
    claude.expect("messages/ack", ids);
    assert_eq!(queue_state(&project, &to_claude), None);
}

#[test]
fn a_reader_reads_and_speaks_for_nobody() {
    let project = Project::live();
    let id = send(&project, "codex");
    for role in ["cli", "deck"] {
        let mut reader = come(&project, role);
        let before = project.ledger().len();
        for agent in ["claude", "codex"] {
            for (method, params) in [
                ("message/send", json!({"from": agent, "text": "forged"})),
                (
                    "handoff/create",
                    json!({"from": agent, "ask": "forged", "reason": "none"}),
                ),
                ("note/append", json!({"agent": agent, "text": "forged"})),
                (
                    "artifact/record",
                    json!({"agent": agent, "kind": "test", "title": "t", "summary": "forged"}),
                ),
                (
                    "finality/propose",
                    json!({"agent": agent, "summary": "forged", "evidence": ["none"]}),
                ),
                ("hook/report", json!({"event": "Stop", "claudePid": null})),
                ("doorbell/attach", json!({})),
            ] {
                let refused = reader.call(method, params).unwrap_err();
                assert_eq!(refused.data["code"], "wrong_role", "{method} by {role}");
            }
        }
        // Without a sender it would be the operator's word.
        for (method, params) in [
            ("message/send", json!({"to": "claude", "text": "forged"})),
            (
                "handoff/create",
                json!({"to": "claude", "ask": "forged", "reason": "none"}),
            ),
            ("note/append", json!({"text": "forged"})),
        ] {
            let refused = reader.call(method, params).unwrap_err();
            assert_eq!(refused.data["code"], "operator_only", "{method} by {role}");
        }
        let new = &project.ledger()[before..];
        let forged = new
            .iter()
            .filter(|line| line.to_string().contains("forged"));
        assert_eq!(forged.count(), 0, "{new:#?}");
        for (method, params) in [
            ("status/read", json!({})),
            ("snapshot/read", json!({})),
            ("context/read", json!({})),
            ("ledger/list", json!({})),
            ("ledger/show", json!({"entry": id})),
            ("queue/list", json!({})),
            ("entries/subscribe", json!({})),
        ] {
            reader.expect(method, params);
        }
    }
    // An agent does not speak for its peer either.
    let mut codex = come(&project, "codex");
    let refused = codex
        .call("note/append", json!({"agent": "claude", "text": "forged"}))
        .unwrap_err();
    assert_eq!(refused.data["code"], "wrong_role");
}

#[test]
fn codexs_tools_and_the_metrics_have_their_own_tokens_too() {
    let project = Project::live();
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": PROTOCOL, "capabilities": {},
        "clientInfo": {"name": "ctxrelay-tests", "version": "0"}}})
    .to_string();
    for (file, mcp, metrics) in [
        ("claude-token", 401, 401),
        ("codex-token", 200, 401),
        ("token", 401, 200),
        ("proxy-token", 401, 401),
    ] {
        let bearer = format!("Bearer {}", project.token_in(file));
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
        ];
        let port = project.ports.control;
        let tools = http::request(port, "POST", "/mcp", &headers, &initialize).unwrap();
        assert_eq!(tools.status, mcp, "{file} on /mcp: {tools:?}");
        let figures = http::get(port, "/metrics", &headers).unwrap();
        assert_eq!(figures.status, metrics, "{file} on /metrics");
        let health = http::get(port, "/healthz", &headers).unwrap();
        let tells = health.body.contains("instanceId");
        assert_eq!(tells, file == "token", "{file} on /healthz: {health:?}");
    }
}

#[test]
fn the_operators_socket_lets_no_agent_in() {
    let project = Project::live();
    for role in ["claude", "codex", "hook"] {
        let refused = Operator::greet_as(&project, role).unwrap_err();
        assert_eq!(refused.data["code"], "wrong_role", "{role}");
    }
}

#[test]
fn a_daemon_that_takes_over_from_one_with_a_single_token_makes_the_others() {
    let project = Project::new();
    let _tidy = Tidy(&project);
    let daemon = project.daemon();
    let mut operator = Operator::connect(&project);
    for file in ["claude-token", "codex-token"] {
        std::fs::remove_file(project.state().join("state").join(file)).unwrap();
    }
    let reader = project.token();
    operator.hand_over(env!("CARGO_BIN_EXE_ctxrelay")).unwrap();
    another_daemon(&project, daemon.pid());
    assert_eq!(project.token(), reader, "the scrape goes on");
    let mut claude = McpClient::start(&project.ctxrelay(["bridge"]));
    let mut codex = McpClient::start(&project.ctxrelay(["codex-mcp", "server"]));
    codex.tool("send_to_claude", json!({"text": "after the update"}));
    let page = claude.tool("get_messages", json!({}));
    let text = page["messages"][0]["text"].as_str().unwrap();
    assert!(text.contains("after the update"), "{text}");
    end_daemon(&project);
}
