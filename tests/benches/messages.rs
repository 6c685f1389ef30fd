//! The way of a message: from Codex's tool call into one process to Claude's channel notification
//! out of another, the durable append inside.

use std::time::Instant;

use serde_json::json;

use crate::agent::Agent;
use crate::figure::{Series, Table};
use crate::support::operator::Operator;
use crate::support::project::Project;
use crate::support::pty::Pty;

const MESSAGES: usize = 200;

/// Measures it, and the same while a gate of the project runs and prints.
pub fn measure(table: &mut Table) {
    let project = Project::live();
    let (way, call) = ways(&project);
    row(
        table,
        "message, Codex's call to Claude's notification",
        &way,
        &call,
    );

    let project = Project::live();
    let gate = json!({"name": "busy", "cmd": "while :; do echo a line; sleep 0.01; done"});
    let config = json!({"gates": [gate]}).to_string();
    project.write(".contextrelay/config.json", &config);
    let mut trust = Pty::spawn(&project.ctxrelay(["trust"]));
    trust.wait_for_text("Type `trust`");
    trust.type_text("trust\r");
    assert_eq!(trust.wait_exit(), 0, "{}", trust.screen());
    // Before the agents, of which this process is the parent.
    let mut operator = Operator::connect(&project);
    operator.call("gates/run", json!({})).unwrap();
    let (way, call) = ways(&project);
    row(table, "the same while a gate runs", &way, &call);
}

/// The ways of messages, and the calls that sent them.
fn ways(project: &Project) -> (Series, Series) {
    let mut claude = Agent::start(&project.ctxrelay(["bridge"]));
    let mut codex = Agent::start(&project.ctxrelay(["codex-mcp", "server"]));
    let (mut way, mut call) = (Series::default(), Series::default());
    for n in 0..MESSAGES {
        let start = Instant::now();
        let id = codex.begin_tool(
            "send_to_claude",
            json!({"text": format!("number {n}: two races in refresh.rs")}),
        );
        way.push(claude.notified("notifications/claude/channel") - start);
        codex.answer(id);
        call.push(start.elapsed());
        // Read and acknowledged, as an agent would, so that nothing piles up.
        let page = claude.tool("get_messages", json!({}));
        let ids = page["messages"][0]["message_id"].clone();
        claude.tool("ack_messages", json!({"ids": [ids]}));
    }
    (way, call)
}

fn row(table: &mut Table, what: &str, way: &Series, call: &Series) {
    table.row(
        what,
        &way.words(),
        &format!("the call itself {:.2} ms", call.p50()),
        "<= 0.5 ms, p99 <= 2 ms",
        way.p50() <= 0.5 && way.p99() <= 2.0,
    );
}
