//! Arguments that make no sense: a clear error, and nothing lost or half done.

use serde_json::{Value, json};

use crate::support::mcp::McpClient;
use crate::support::project::Project;
use crate::support::ws::{Refused, RpcSocket};

fn claude(project: &Project) -> McpClient {
    McpClient::start(&project.ctxrelay(["bridge"]))
}

fn codex(project: &Project) -> McpClient {
    McpClient::start(&project.ctxrelay(["codex-mcp", "server"]))
}

fn recorded(project: &Project) -> usize {
    let of_agents = [
        "message",
        "handoff",
        "note",
        "artifact",
        "finality_proposal",
    ];
    project
        .ledger()
        .iter()
        .filter(|line| of_agents.contains(&line["type"].as_str().unwrap_or_default()))
        .count()
}

#[test]
fn what_makes_no_sense_is_refused_by_name_and_nothing_is_recorded() {
    let project = Project::live();
    let mut claude = claude(&project);
    let big = "x".repeat(2 * 1024 * 1024);
    let nobody = "01997b2e-0000-7000-8000-000000000000";
    let cases: Vec<(&str, Value, &str, &str)> = vec![
        ("reply", json!({"text": ""}), "invalid_arguments", "text"),
        (
            "reply",
            json!({"text": " \n\t"}),
            "invalid_arguments",
            "text",
        ),
        ("reply", json!({"text": big}), "too_large", "text"),
        ("reply", json!({"text": 7}), "invalid_arguments", "text"),
        ("reply", json!({}), "invalid_arguments", "text"),
        (
            "reply",
            json!({"text": "done", "handles_handoff_id": nobody}),
            "not_found",
            nobody,
        ),
        (
            "reply",
            json!({"text": "now", "on_busy": "shout"}),
            "invalid_arguments",
            "shout",
        ),
        (
            "handoff",
            json!({"ask": "", "reason": "r"}),
            "invalid_arguments",
            "ask",
        ),
        (
            "handoff",
            json!({"ask": "look", "reason": "r", "handles_handoff_id": nobody}),
            "not_found",
            nobody,
        ),
        (
            "append_note",
            json!({"text": "n", "kind": "note", "handles_handoff_id": nobody}),
            "not_found",
            nobody,
        ),
        (
            "propose_final",
            json!({"summary": "s", "evidence": ["e"], "handles_handoff_id": nobody}),
            "not_found",
            nobody,
        ),
        (
            "get_messages",
            json!({"limit": "many"}),
            "invalid_arguments",
            "limit",
        ),
        (
            "wait_for_messages",
            json!({"timeout_s": 51}),
            "invalid_arguments",
            "timeout_s",
        ),
        (
            "wait_for_messages",
            json!({"handoff_id": nobody, "timeout_s": 50}),
            "not_found",
            nobody,
        ),
        (
            "read_context",
            json!({"handoff_id": nobody}),
            "not_found",
            nobody,
        ),
        (
            "ack_messages",
            json!({"ids": []}),
            "invalid_arguments",
            "ids",
        ),
    ];
    for (tool, arguments, code, named) in cases {
        let what = arguments.to_string().chars().take(80).collect::<String>();
        let refused = claude.tool_refused(tool, arguments);
        assert_eq!(refused["code"], code, "{tool} {what}: {refused}");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains(named), "{tool} {what}: {message}");
        assert_ne!(refused["hint"].as_str().unwrap(), "", "{tool} {what}");
        assert!(message.len() < 400, "{tool} {what}: {message}");
    }
    assert_eq!(recorded(&project), 0);
    // It goes on.
    claude.tool("append_note", json!({"text": "n", "kind": "note"}));
    assert_eq!(recorded(&project), 1);
}

#[test]
fn nobody_acknowledges_for_somebody_else() {
    let project = Project::live();
    let (mut claude, mut codex) = (claude(&project), codex(&project));
    let to_codex = claude.tool("reply", json!({"text": "for codex"}));
    let to_claude = codex.tool("send_to_claude", json!({"text": "for claude"}));
    let (foreign, own) = (&to_codex["message_id"], &to_claude["message_id"]);
    let acked = claude.tool("ack_messages", json!({"ids": [foreign, own, "no-such-id"]}));
    assert_eq!(acked["acked"], json!([own]));
    assert_eq!(acked["ignored"], json!([foreign, "no-such-id"]));
    let queue = project
        .run(["queue", "list", "--json"])
        .expect_success()
        .json();
    let waiting: Vec<&Value> = queue["messages"].as_array().unwrap().iter().collect();
    assert_eq!(waiting.len(), 1, "{queue}");
    assert_eq!(&waiting[0]["id"], foreign);
}

/// What the daemon would refuse is refused before anybody is asked for a word.
#[test]
fn a_retry_says_at_once_what_is_sent_without_it() {
    let project = Project::live();
    let sent = codex(&project).tool("send_to_claude", json!({"text": "for claude"}));
    let id = sent["message_id"].as_str().unwrap();
    let refused = project.run(["queue", "retry", id]);
    assert_eq!(refused.code(), 3);
    let refused = refused.stderr;
    assert!(refused.contains("is queued"), "{refused}");
    let sent = claude(&project).tool("reply", json!({"text": "for codex"}));
    let id = sent["message_id"].as_str().unwrap();
    // Nobody stopped a turn of Codex's, behind which it would wait.
    let refused = project.run(["queue", "retry", id]);
    assert_eq!(refused.code(), 3);
    let refused = refused.stderr;
    assert!(refused.contains("ambiguous or cut off"), "{refused}");
}

#[test]
fn one_project_is_closed_to_the_token_of_another() {
    let (ours, theirs) = (Project::new(), Project::new());
    let _daemons = (ours.daemon(), theirs.daemon());
    let url = format!("ws://127.0.0.1:{}/ws", ours.ports.control);
    let refused = RpcSocket::open(&url, Some(&theirs.token()), &[]).unwrap_err();
    assert!(matches!(refused, Refused::Status(401, _)), "{refused:?}");
    // And what is sent there stays there.
    codex(&theirs).tool("send_to_claude", json!({"text": "theirs"}));
    let page = claude(&ours).tool("get_messages", json!({}));
    assert_eq!(page["messages"], json!([]));
}
