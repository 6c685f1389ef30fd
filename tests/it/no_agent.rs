//! The program where neither agent is installed.

use serde_json::json;

use crate::support::mcp::McpClient;
use crate::support::project::Project;

#[test]
fn without_either_agent_everything_else_works_and_says_so() {
    let project = Project::live();
    for (verb, words) in [("claude", "`claude`"), ("codex", "`codex`")] {
        let finished = project.run([verb]);
        assert_eq!(finished.code(), 4, "{verb}: {}", finished.stderr);
        assert!(finished.stderr.contains(words), "{}", finished.stderr);
    }
    let mut codex = McpClient::start(&project.ctxrelay(["codex-mcp", "server"]));
    codex.tool(
        "append_note",
        json!({"text": "no agent is needed for this"}),
    );
    let mut claude = McpClient::start(&project.ctxrelay(["bridge"]));
    let sent = claude.tool("reply", json!({"text": "for a Codex that is not there"}));
    assert_eq!(sent["outcome"], "queued_for_next_turn");
    let handed = claude.tool(
        "handoff",
        json!({"ask": "review it", "reason": "you know it"}),
    );
    assert_eq!(handed["outcome"], "queued_for_next_turn");
    assert_eq!(handed["receiver_installed"], false);
    for told in [&sent, &handed] {
        let note = told["note"].as_str().unwrap();
        assert!(note.contains("Codex is not installed"), "{note}");
    }
    let status = project.run(["status", "--json"]).expect_success().json();
    assert_eq!(status["agents"]["codex"]["state"], "offline");
    assert_eq!(status["queue"]["codex"]["pending"], 2);
}
