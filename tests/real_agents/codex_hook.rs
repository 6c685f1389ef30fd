//! The packet after a compaction of the real Codex's, by our hook in its app-server.

use std::path::Path;

use serde_json::{Value, json};

use crate::held_queue::{as_claude, send_to_queue};
use crate::pair::{of_type, verify, wait_status, without_sandbox};
use crate::support::child::run;
use crate::support::codex_home::COMPOSER;
use crate::support::launch::Launch;
use crate::support::mcp::McpClient;
use crate::support::model_request::{ModelRequest, last_says, mentions, says};
use crate::support::pair::Pair;
use crate::support::pty::Pty;
use crate::support::script::{Gate, Reply};
use crate::support::wait::{timeout, wait_until};

const PACKET: &str = "your context was compacted at";

const OBJECTIVE: &str = "Sort the pears by weight";

/// A rule that only Claude's file has.
const RULE: &str = "No pear is bruised.";

/// The summary of Codex's own, which stands in each request after a compaction.
const SUMMARY: &str = "Another language model";

/// What Codex asks in its terminal when there is a hook that nobody has reviewed.
const REVIEW: &str = "Hooks need review";

/// A pair whose operator wants the hook, and a Codex that compacts when it is full.
fn pair() -> Option<Pair> {
    let pair = Pair::new()?;
    without_sandbox(&pair);
    let config = std::fs::read_to_string(pair.codex_home.config()).unwrap();
    let config = format!("model_auto_compact_token_limit = 50000\n{config}");
    std::fs::write(pair.codex_home.config(), config).unwrap();
    let keys = json!({"continuity": {"codexHook": true}}).to_string();
    pair.project.write(".contextrelay/config.json", &keys);
    // More than Codex would put into a file by itself, were it not told otherwise.
    let rules = format!("{RULE}\n\n{}", "Each basket is weighed. ".repeat(500));
    pair.project.write("CLAUDE.md", &rules);
    Some(pair)
}

/// The packets after compactions: how each was to come, and what became of it.
fn packets(pair: &Pair) -> Vec<(String, String)> {
    let events = of_type(pair, "runtime_event").into_iter();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    events
        .map(|line| line["runtimeEvent"].clone())
        .filter(|event| event["kind"] == "context_reloaded")
        .filter(|event| event["reload"]["cause"] == "compacted")
        .map(|event| (word(&event["reload"]["way"]), word(&event["status"])))
        .collect()
}

#[track_caller]
fn wait_packets(pair: &Pair, wanted: &[(&str, &str)]) {
    wait_until(&format!("the packets {wanted:?}"), timeout(), || {
        let packets = packets(pair);
        let packets = packets.iter().map(|(way, step)| (&**way, &**step));
        packets.eq(wanted.iter().copied()).then_some(())
    });
}

/// What Codex says of its work, and the operator's word for what stands in the configuration.
fn begin(pair: &Pair) {
    let mut line = Pty::spawn(&pair.ctxrelay(["trust"]));
    line.wait_for_text("Type `trust`");
    line.type_text("trust\r");
    assert_eq!(line.wait_exit(), 0, "{}", line.screen());
    let mut codex = McpClient::start(&pair.ctxrelay(["codex-mcp", "server"]));
    codex.tool("append_note", json!({"text": OBJECTIVE, "kind": "goal"}));
}

#[track_caller]
fn wait_review(pair: &Pair, wanted: &str) {
    wait_status(pair, "what Codex thinks of the hook", |status| {
        status["agents"]["codex"]["hook"] == wanted
    });
}

/// Codex in its terminal, where the person answers what it asks of the hook.
#[track_caller]
fn codex_with(pair: &Pair, answer: &str) -> Pty {
    let mut codex = pair.codex();
    codex.wait_for_text(REVIEW);
    wait_review(pair, "unreviewed");
    let said = format!("{:?}", run(&pair.ctxrelay(["doctor"])));
    assert!(said.contains("leaves out the hook"), "{said}");
    codex.type_text(answer);
    codex.wait_for_text(COMPOSER);
    codex
}

/// Codex's model fills the context with a tool's call; after the compaction it goes on once the gate
/// is open, and ends the turn.
fn fills_up(pair: &Pair) -> Gate {
    let goes_on = Gate::new("the model goes on after the compaction");
    pair.responses
        .when(says("weigh them all"))
        .once()
        .reply(Reply::shell("echo weighed-$((40 + 2))").filling(60_500));
    pair.responses
        .when(mentions(SUMMARY))
        .once()
        .reply(Reply::shell("echo counted").filling(9_000).behind(&goes_on));
    goes_on
}

/// The packet is on its way into the turn, which goes on with it: without an answer behind it nobody
/// knows whether the model has it.
#[track_caller]
fn put_in(pair: &Pair, goes_on: &Gate) {
    wait_packets(pair, &[("inject", "offered")]);
    // The line is in the file before the packet leaves. What is asked of the adapter is done in its
    // order: when Codex has this, it has the packet.
    send_to_queue(pair, &mut as_claude(pair), "then count them");
    goes_on.open();
    wait_packets(pair, &[("inject", "offered"), ("inject", "given")]);
}

#[track_caller]
fn first_after_compaction(pair: &Pair) -> ModelRequest {
    let is_it = |request: &ModelRequest| request.is_step() && request.mentions(SUMMARY);
    let what = "the first request after the compaction";
    pair.responses.wait_for_request(what, is_it)
}

#[test]
fn a_hook_that_the_person_reviews_gives_the_packet_ahead_of_the_first_request() {
    let Some(pair) = pair() else { return };
    let _daemon = pair.daemon();
    begin(&pair);
    let mut codex = codex_with(&pair, "2\r");
    fills_up(&pair).open();
    codex.submit("weigh them all");
    let request = first_after_compaction(&pair);
    for once in [PACKET, OBJECTIVE, RULE] {
        assert_eq!(request.count_of(once), 1, "{once}: {request:#?}");
    }
    let given = [("codex_hook", "offered"), ("codex_hook", "given")];
    wait_packets(&pair, &given);
    wait_review(&pair, "trusted");
    let said = format!("{:?}", run(&pair.ctxrelay(["doctor"])));
    assert!(said.contains("reviewed in Codex"), "{said}");

    // The person's own compaction: made when the next turn begins, and not before.
    codex.wait_for_text("Worked for");
    codex.submit("/compact");
    codex.wait_for_screen("the end of the compaction", |screen| {
        screen.matches("Worked for").count() == 2
    });
    wait_packets(&pair, &given);
    pair.responses
        .when(last_says("go on with them"))
        .once()
        .reply(Reply::text("On it."));
    codex.submit("go on with them");
    let what = "the next request";
    let request = pair.responses.wait_for_request(what, |request| {
        request.is_step() && request.mentions("go on with them")
    });
    assert_eq!(request.count_of(PACKET), 1, "{request:#?}");
    wait_packets(&pair, &[given, given].concat());
    verify(&pair);
}

#[test]
fn without_a_review_the_packet_is_put_into_the_thread_as_ever() {
    let Some(pair) = pair() else { return };
    let _daemon = pair.daemon();
    begin(&pair);
    let mut codex = codex_with(&pair, "3");
    let goes_on = fills_up(&pair);
    codex.submit("weigh them all");
    put_in(&pair, &goes_on);
    let had = |request: &ModelRequest| request.mentions(PACKET);
    let request = pair.responses.wait_for_request("the packet", had);
    assert_eq!(request.count_of(PACKET), 1, "{request:#?}");
    wait_review(&pair, "unreviewed");
    verify(&pair);
}

/// A daemon by a program that the test can take away.
fn launch(pair: &Pair, program: &Path) -> Launch {
    std::fs::hard_link(env!("CARGO_BIN_EXE_ctxrelay"), program).unwrap();
    let launch = pair.project.program(program).envs(pair.project.env());
    launch
        .envs(pair.codex_home.env())
        .envs(pair.claude_home.env())
        .env("CONTEXTRELAY_CODEX_BIN", crate::support::agents::codex())
        .arg("daemon")
}

#[test]
fn where_a_reviewed_hook_does_not_run_the_packet_comes_once_all_the_same() {
    let Some(pair) = pair() else { return };
    let program = pair.codex_home.path().join("ctxrelay");
    let _daemon = crate::support::daemon::Daemon::start(&launch(&pair, &program));
    begin(&pair);
    let mut codex = codex_with(&pair, "2\r");
    // What the hook runs is gone.
    std::fs::remove_file(&program).unwrap();
    let goes_on = fills_up(&pair);
    codex.submit("weigh them all");
    let request = first_after_compaction(&pair);
    assert_eq!(request.count_of(PACKET), 0, "{request:#?}");
    put_in(&pair, &goes_on);
    let had = |request: &ModelRequest| request.mentions(PACKET);
    let request = pair.responses.wait_for_request("the packet", had);
    assert_eq!(request.count_of(PACKET), 1, "{request:#?}");
    assert!(request.mentions(OBJECTIVE), "{request:#?}");
    verify(&pair);
}
