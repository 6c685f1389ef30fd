//! One message's way through bridge, loop and fetch, told by the log alone, without either agent.

use serde_json::json;

use crate::support::daemon::Daemon;
use crate::support::mcp::McpClient;
use crate::support::message_way::{expect_discreet, expect_way, logging};
use crate::support::project::Project;

const TEXT: &str = "a sentence that stays out of the log";

#[test]
fn a_message_is_followed_from_the_bridge_of_its_sender_to_that_of_its_receiver() {
    let project = Project::new();
    let _daemon = Daemon::start(&logging(project.ctxrelay(["daemon"])));
    let mut codex = McpClient::start(&logging(project.ctxrelay(["codex-mcp", "server"])));
    let sent = codex.tool("send_to_claude", json!({"text": TEXT}));
    let id = sent["message_id"].as_str().unwrap();
    let mut claude = McpClient::start(&logging(project.ctxrelay(["bridge"])));
    let page = claude.tool("get_messages", json!({}));
    assert_eq!(page["messages"][0]["message_id"], id, "{page}");
    expect_way(
        &project,
        id,
        &[
            "to be recorded",
            ": recorded",
            "bridge::tools::send: sent",
            "handed out",
            "message_view: fetched",
        ],
        &["proven"],
    );
    expect_discreet(&project, TEXT);
}
