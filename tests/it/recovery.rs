//! The daemon is killed at a moment of its own choosing: what was acknowledged is there, once.

use serde_json::{Value, json};

use crate::support::project::Project;
use crate::support::ws::RpcSocket;

fn come_in(project: &Project, role: &str) -> RpcSocket {
    let mut socket = project.control_of(role).unwrap();
    let hello = json!({"protocol": 1, "role": role, "pid": std::process::id()});
    socket.expect("hello", hello);
    socket
}

fn waiting(socket: &mut RpcSocket) -> Vec<Value> {
    let page = socket.expect("messages/get", json!({"agent": "claude"}));
    page["value"]["messages"].as_array().unwrap().clone()
}

#[test]
fn what_was_acknowledged_before_a_kill_is_there_once_and_what_was_read_does_not_come_again() {
    let project = Project::new();
    let mut daemon = project.daemon();
    let mut codex = come_in(&project, "codex");
    let mut sent = Vec::new();
    for number in 0..5 {
        let send = json!({"from": "codex", "text": format!("message {number}")});
        let receipt = codex.expect("message/send", send);
        sent.push(receipt["value"]["messageId"].as_str().unwrap().to_owned());
    }
    let mut claude = come_in(&project, "claude");
    assert_eq!(waiting(&mut claude).len(), 5);
    let read = json!({"agent": "claude", "ids": [sent[0], sent[1]]});
    claude.expect("messages/ack", read);
    daemon.crash();

    let _daemon = project.daemon();
    let mut claude = come_in(&project, "claude");
    let ids: Vec<_> = waiting(&mut claude)
        .iter()
        .map(|message| message["messageId"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids, sent[2..]);
    project.run(["ledger", "verify"]).expect_success();
}

#[test]
fn a_client_whose_calls_all_wait_is_still_told_what_happens() {
    let project = Project::live();
    let mut busy = come_in(&project, "codex");
    busy.expect("entries/subscribe", json!({}));
    let never = json!({"agent": "codex", "timeoutMs": 50_000});
    // One more than there are places.
    for _ in 0..65 {
        busy.begin("messages/wait", never.clone());
    }
    let mut other = come_in(&project, "codex");
    other.expect("note/append", json!({"agent": "codex", "text": "a sign"}));
    busy.next_where("entry/appended", |entry| {
        entry.to_string().contains("a sign")
    });
}
