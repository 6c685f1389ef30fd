//! One message's way through all processes, told by the log alone, from its id.

use serde_json::json;

use crate::delivery::kill;
use crate::held_queue::{app_server, begun, behind_a_turn};
use crate::pair::{attached_codex, wait_attached};
use crate::support::claude_home;
use crate::support::daemon::Daemon;
use crate::support::launch::Launch;
use crate::support::mcp::McpClient;
use crate::support::message_way::{self, expect_discreet, expect_way, way};
use crate::support::pair::Pair;
use crate::support::pty::Pty;
use crate::support::wait::{timeout, wait_until};

const TEXT: &str = "a sentence that stays out of the log";

fn logging(pair: &Pair, args: &[&str]) -> Launch {
    message_way::logging(pair.ctxrelay(args.iter().copied()))
}

#[test]
fn a_message_to_codex_is_followed_from_the_bridge_to_its_end() {
    let Some(pair) = Pair::new() else { return };
    let _daemon = Daemon::start(&logging(&pair, &["daemon"]));
    let _codex = attached_codex(&pair);
    let mut claude = McpClient::start(&logging(&pair, &["bridge"]));
    let sent = claude.tool("reply", json!({"text": TEXT}));
    let id = sent["message_id"].as_str().unwrap();
    expect_way(
        &pair.project,
        id,
        &["to be recorded", ": recorded"],
        &[
            "handed to the Codex adapter",
            "offered to codex",
            "shown by codex",
            ": settled",
        ],
    );
    wait_until("what the bridge heard", timeout(), || {
        let told = way(&pair.project, id);
        told.iter()
            .any(|line| line.contains("bridge::tools::send: sent"))
            .then_some(())
    });
    expect_discreet(&pair.project, TEXT);
}

#[test]
fn a_message_to_claude_is_followed_through_its_hook() {
    let Some(pair) = Pair::new() else { return };
    let _daemon = Daemon::start(&logging(&pair, &["daemon"]));
    let mut claude = Pty::spawn(&logging(&pair, &["claude"])).labelled("claude");
    claude.wait_for_text(claude_home::COMPOSER);
    wait_attached(&pair);
    let mut codex = McpClient::start(&logging(&pair, &["codex-mcp", "server"]));
    let sent = codex.tool("send_to_claude", json!({"text": TEXT}));
    let id = sent["message_id"].as_str().unwrap();
    expect_way(
        &pair.project,
        id,
        &["to be recorded", ": recorded", "announced by the doorbell"],
        &["handed out", "proven", ": settled"],
    );
    expect_way(
        &pair.project,
        id,
        &["rung for claude", "handed out", "printed for claude"],
        &["proven", ": settled"],
    );
    expect_discreet(&pair.project, TEXT);
}

#[test]
fn a_message_that_claude_fetches_is_followed_to_its_bridge() {
    let Some(pair) = Pair::new() else { return };
    let _daemon = Daemon::start(&logging(&pair, &["daemon"]));
    let mut codex = McpClient::start(&logging(&pair, &["codex-mcp", "server"]));
    let sent = codex.tool("send_to_claude", json!({"text": TEXT}));
    let id = sent["message_id"].as_str().unwrap();
    let mut claude = McpClient::start(&logging(&pair, &["bridge"]));
    let page = claude.tool("get_messages", json!({}));
    assert_eq!(page["messages"][0]["message_id"], id, "{page}");
    expect_way(
        &pair.project,
        id,
        &[": recorded", "handed out", "message_view: fetched"],
        &["proven"],
    );
    expect_discreet(&pair.project, TEXT);
}

#[test]
fn a_message_is_followed_through_its_recovery_after_a_crash_of_the_app_server() {
    let Some(pair) = Pair::new() else { return };
    let _daemon = Daemon::start(&logging(&pair, &["daemon"]));
    let mut claude = McpClient::start(&logging(&pair, &["bridge"]));
    begun(&pair, &mut claude);
    let (id, gate) = behind_a_turn(&pair, &mut claude, TEXT);
    let before = app_server(&pair);
    kill(&before);
    wait_until("another app-server", timeout(), || {
        let now = app_server(&pair);
        (now.is_u64() && now != before).then_some(())
    });
    gate.open();
    expect_way(
        &pair.project,
        id.as_str().unwrap(),
        &[
            ": recorded",
            "offered to codex",
            "answered by the Codex adapter",
            "waits in codex's own queue",
        ],
        &["shown by codex", ": settled"],
    );
    expect_discreet(&pair.project, TEXT);
}
