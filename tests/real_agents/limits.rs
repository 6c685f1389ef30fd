//! Usage limits and silence with the real agents: what is held, what is shown, what goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::pair::{attached_claude, status, verify, wait_status};
use crate::support::mcp::McpClient;
use crate::support::model_request::{says, tool_said};
use crate::support::pair::Pair;
use crate::support::pty::{Key, Pty};
use crate::support::script::{Gate, Reply};

/// From the limit to its end, s: long enough to see that nothing is delivered meanwhile, also on a
/// slow machine.
const LIMIT_S: u64 = 20;

fn now_s() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

/// Claude's tools, without a Claude.
fn bridge(pair: &Pair) -> McpClient {
    McpClient::start(&pair.ctxrelay(["bridge"]))
}

/// Codex at a limit that ends at the returned time, with a first piece of work that died of it.
#[track_caller]
fn limited_codex(pair: &Pair, claude: &mut McpClient) -> u64 {
    // It begins when it is hit.
    let ends = Arc::new(AtomicU64::new(0));
    let hit = Arc::clone(&ends);
    pair.responses
        .when(says("the first piece"))
        .once()
        .reply_with(move |_| {
            let ends = now_s() + LIMIT_S;
            hit.store(ends, Ordering::Relaxed);
            Reply::usage_limit(ends)
        });
    claude.tool("reply", json!({"text": "do the first piece"}));
    let limited = wait_status(pair, "the limit", |status| {
        let codex = &status["agents"]["codex"];
        // The end of the turn is on record a moment later.
        codex["state"] == "limited" && codex["cutOff"] == 1
    });
    let codex = &limited["agents"]["codex"];
    let ends = ends.load(Ordering::Relaxed);
    assert_eq!(codex["limit"]["resetsAt"], ends * 1_000, "{codex}");
    ends
}

#[test]
fn what_is_for_a_limited_codex_waits_and_goes_on_when_the_limit_is_over() {
    let Some(pair) = Pair::live() else { return };
    let mut claude = bridge(&pair);
    limited_codex(&pair, &mut claude);
    pair.responses
        .when(says("the second piece"))
        .once()
        .reply(Reply::text("The second piece is done."));
    let sent = claude.tool("reply", json!({"text": "do the second piece"}));
    assert_eq!(sent["outcome"], "queued_for_next_turn");
    let held = status(&pair);
    let codex = &held["agents"]["codex"];
    assert_eq!(codex["state"], "limited", "{codex}");
    assert_eq!(codex["limit"]["mode"], "notify");
    assert_eq!(held["queue"]["codex"]["pending"], 1);
    assert_eq!(pair.responses.times_heard("the second piece"), 0);

    let second = pair.at_rest(|| {
        pair.responses
            .wait_for_request("the second piece", |request| {
                request.mentions("the second piece")
            })
    });
    // What died stands in the conversation, and is not sent again unless somebody wants that.
    assert_eq!(second.count_of("do the first piece"), 1);
    let over = wait_status(&pair, "the end of the limit", |status| {
        status["agents"]["codex"]["state"] == "idle" && status["queue"]["codex"]["pending"] == 0
    });
    let codex = &over["agents"]["codex"];
    assert_eq!(codex["limit"], Value::Null);
    assert_eq!(codex["cutOff"], 1);
    verify(&pair);
}

#[test]
fn what_died_of_a_limit_is_sent_again_once_where_that_is_wanted() {
    let Some(pair) = Pair::new() else { return };
    let mode = json!({"rateLimitResume": {"mode": "resume"}});
    pair.project
        .write(".contextrelay/config.json", &mode.to_string());
    let _daemon = pair.daemon();
    let mut claude = bridge(&pair);
    limited_codex(&pair, &mut claude);
    assert_eq!(status(&pair)["agents"]["codex"]["limit"]["again"], 1);
    pair.responses
        .when(says("the first piece"))
        .once()
        .reply(Reply::text("The first piece is done."));
    pair.at_rest(|| {
        pair.responses
            .wait_for_request("the first piece, again", |request| {
                says("shown before")(request) && says("the first piece")(request)
            })
    });
    wait_status(&pair, "the end of the limit", |status| {
        let codex = &status["agents"]["codex"];
        codex["state"] == "idle" && codex["limit"].is_null() && codex["cutOff"] == 0
    });
    // Its answer came, and nothing else of it is to come.
    let answer = claude.tool("wait_for_messages", json!({"timeout_s": 50}));
    let answer = answer["messages"][0].to_string();
    assert!(answer.contains("The first piece is done."), "{answer}");
    assert_eq!(status(&pair)["queue"]["codex"]["pending"], 0);
    verify(&pair);
}

#[test]
fn a_claude_at_its_limit_and_one_that_was_stopped_with_esc_are_heard_again() {
    let Some(pair) = Pair::new() else { return };
    // The shortest there is: a turn that nothing is heard of is stuck after twice as long.
    let short = json!({"watchdog": {"claudeSilenceSeconds": 10}});
    pair.project
        .write(".contextrelay/config.json", &short.to_string());
    let _daemon = pair.daemon();
    let mut claude = attached_claude(&pair);
    what_is_for_a_limited_claude_waits_until_a_turn_of_it_works(&pair, &mut claude);
    // What is typed before the turn has ended may come in another order.
    wait_status(&pair, "a Claude at rest", |status| {
        let queue = &status["queue"]["claude"];
        status["agents"]["claude"]["state"] == "idle"
            && queue["pending"] == 0
            && queue["inFlight"] == 0
    });
    one_that_was_stopped_with_esc_is_called_stale_after_a_while_and_is_heard_again(
        &pair,
        &mut claude,
    );
}

fn what_is_for_a_limited_claude_waits_until_a_turn_of_it_works(pair: &Pair, claude: &mut Pty) {
    let mut codex = McpClient::start(&pair.ctxrelay(["codex-mcp", "server"]));
    pair.messages
        .when(says("work hard"))
        .once()
        .reply(Reply::usage_limit(now_s() + 3_600));
    claude.submit("work hard");
    let limited = wait_status(pair, "the limit", |status| {
        status["agents"]["claude"]["state"] == "limited"
    });
    let limit = &limited["agents"]["claude"]["limit"];
    // Claude's hook does not say when it ends.
    assert_eq!(limit["resetsAt"], Value::Null, "{limit}");
    assert_eq!(limit["mode"], "notify");

    codex.tool("send_to_claude", json!({"text": "the word is plum-5001"}));
    let held = status(pair);
    assert_eq!(held["queue"]["claude"]["pending"], 1, "{held}");
    assert_eq!(held["agents"]["claude"]["state"], "limited");

    pair.messages
        .when(says("once more"))
        .once()
        .reply(Reply::text("It works again."));
    claude.submit("once more");
    pair.messages
        .wait_for_request("the message at Claude's model", |request| {
            request.mentions("plum-5001")
        });
    wait_status(pair, "the end of the limit", |status| {
        status["agents"]["claude"]["limit"].is_null()
    });
    // The turn that was to show whether the limit holds did not carry it.
    let asked = pair.messages.steps();
    let test = asked.iter().find(|request| says("once more")(request));
    assert!(!test.unwrap().mentions("plum-5001"));
    assert_eq!(pair.messages.times_heard("the word is plum-5001"), 1);
    verify(pair);
}

fn one_that_was_stopped_with_esc_is_called_stale_after_a_while_and_is_heard_again(
    pair: &Pair,
    claude: &mut Pty,
) {
    let gate = Gate::new("claude-works");
    // Behind a call: before the first word Claude takes esc for taking the prompt back.
    let note = json!({"text": "a long thought"});
    pair.claude_calls(says("think for long"), "append_note", note);
    pair.messages
        .when(tool_said("entry_id"))
        .once()
        .reply(Reply::held("Thinking", &gate, "never seen"));
    claude.submit("think for long");
    gate.wait_arrived();
    wait_status(pair, "a busy Claude", |status| {
        status["agents"]["claude"]["state"] == "busy"
    });
    claude.press(Key::Escape);
    claude.wait_for_text("Interrupted");
    let stale = pair.at_rest(|| {
        wait_status(pair, "a stale Claude", |status| {
            status["agents"]["claude"]["state"] == "stale"
        })
    });
    let claude_status = &stale["agents"]["claude"];
    assert_eq!(claude_status["silence"]["level"], "stuck");
    let why = claude_status["why"].as_str().unwrap();
    assert!(why.contains("it may be idle"), "{why}");
    pair.messages
        .when(says("still there"))
        .once()
        .reply(Reply::text("I am."));
    claude.submit("still there");
    wait_status(pair, "an idle Claude", |status| {
        let claude = &status["agents"]["claude"];
        claude["state"] == "idle" && claude["silence"].is_null()
    });
    gate.open();
}
