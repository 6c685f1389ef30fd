//! The way of a message: from Codex's tool call into one process to Claude's channel notification
//! out of another, the durable append inside.

use std::time::Instant;

use serde_json::json;

use crate::agent::Agent;
use crate::figure::{Series, Table};
use crate::support::project::Project;

const MESSAGES: usize = 200;

/// Measures it.
pub fn measure(table: &mut Table) {
    let project = Project::new();
    let _daemon = project.daemon();
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
    table.row(
        "message, Codex's call to Claude's notification",
        &way.words(),
        &format!("the call itself {:.2} ms", call.p50()),
        "<= 5 ms",
        way.p50() <= 5.0,
    );
}
