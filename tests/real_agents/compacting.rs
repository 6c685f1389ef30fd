//! What comes while the real Claude compacts its context: mail, and the end of its bridge; and the
//! commands by which a person has it say or read what it is at.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::continuity::{
    PACKET, STATED, claude_rests, decide, events, notes, request_with, wait_compactions,
};
use crate::ladder::kill_below;
use crate::pair::{attached_claude, wait_status};
use crate::support::child::run;
use crate::support::mcp::McpClient;
use crate::support::model_request::{ModelRequest, says, tool_said};
use crate::support::pair::Pair;
use crate::support::pty::Pty;
use crate::support::script::{Gate, Reply};
use crate::support::wait::{timeout, wait_until};

/// What an idle Claude may take to hear of a message, in s: after half of it the doorbell rings again.
const IDLE_S: u64 = 10;

#[test]
fn an_objective_by_command_and_the_packets_of_two_compactions_that_something_comes_into() {
    let Some(pair) = Pair::new() else { return };
    let config = json!({"delivery": {"idleSeconds": IDLE_S}}).to_string();
    pair.project.write(".contextrelay/config.json", &config);
    let _daemon = pair.daemon();
    let mut claude = attached_claude(&pair);
    a_slash_command_has_claude_note_the_objective_in_the_persons_words_or_read_it(
        &pair,
        &mut claude,
    );
    claude_rests(&pair);
    mail_that_comes_while_claude_compacts_is_read_once_and_behind_the_packet(&pair, &mut claude);
    claude_rests(&pair);
    a_bridge_that_is_killed_while_claude_compacts_costs_no_packet_and_doubles_none(
        &pair,
        &mut claude,
    );
}

fn a_slash_command_has_claude_note_the_objective_in_the_persons_words_or_read_it(
    pair: &Pair,
    claude: &mut Pty,
) {
    pair.claude_calls(
        says("in my words: Sort the plums by weight"),
        "append_note",
        json!({"text": "Sort the plums by weight", "kind": "goal"}),
    );
    pair.messages
        .when(tool_said("entry"))
        .once()
        .reply(Reply::text("Noted."));
    claude.submit("/contextrelay:objective Sort the plums by weight");
    claude.wait_for_text("Noted.");
    let noted = notes(pair);
    assert_eq!(noted[0]["content"], "Sort the plums by weight");
    assert_eq!(
        noted[0]["source"], "claude",
        "it is Claude's word, not the operator's"
    );

    pair.claude_calls(
        says("read_context` tool with view `resume`, and page it"),
        "read_context",
        json!({"view": "resume"}),
    );
    pair.messages
        .when(tool_said("Sort the plums by weight [note"))
        .once()
        .reply(Reply::text("Plums, by weight."));
    claude.submit("/contextrelay:recall");
    claude.wait_for_text("Plums, by weight.");
    pair.messages
        .when(says("Write down in the shared record"))
        .once()
        .reply(Reply::text("Nothing changed."));
    claude.submit("/contextrelay:sync");
    claude.wait_for_text("Nothing changed.");
    assert_eq!(notes(pair).len(), 1);
}

/// Codex says nothing beside it: this is the only mail.
fn mail_that_comes_while_claude_compacts_is_read_once_and_behind_the_packet(
    pair: &Pair,
    claude: &mut Pty,
) {
    const MAIL: &str = "how many crates are there?";
    let before = pair.messages.steps().len();
    let sums_up = Gate::new("the model sums up");
    pair.messages.hold_compaction(&sums_up);
    claude.submit("/compact");
    sums_up.wait_arrived();
    let mut codex = McpClient::start(&pair.ctxrelay(["codex-mcp", "server"]));
    codex.tool("send_to_claude", json!({"text": MAIL}));
    let sent = Instant::now();
    let said = run(&pair.ctxrelay(["status"])).expect_success().stdout;
    assert!(said.contains("compacting, by doorbell"), "{said}");
    let rings_again = Duration::from_secs(IDLE_S / 2 + 1);
    pair.at_rest(|| {
        wait_until("the time of another ring", timeout(), || {
            (sent.elapsed() > rings_again).then_some(())
        });
    });
    sums_up.open();
    let request = request_with(pair, MAIL);
    assert_eq!(request.count_of(PACKET), 1, "{request:#?}");
    let count = "messages for you that you have not answered for: 1\n";
    assert_eq!(request.count_of(count), 1, "{request:#?}");
    let body = request.body.to_string();
    assert!(body.find(PACKET) < body.find(MAIL), "{request:#?}");
    wait_status(pair, "no mail that waits", |status| {
        status["queue"]["claude"]["pending"] == 0 && status["queue"]["claude"]["inFlight"] == 0
    });
    assert_eq!(pair.messages.times_heard(MAIL), 1);
    // What comes next of Claude's is the turn of its person.
    claude_rests(pair);
    let next = "weigh the crates";
    let reply = Reply::text("Weighed.");
    pair.messages.when(says(next)).once().reply(reply);
    claude.submit(next);
    claude.wait_for_text("Weighed.");
    let steps = pair.messages.steps();
    let steps: Vec<_> = steps[before..].iter().map(ModelRequest::summary).collect();
    assert_eq!(steps.len(), 2, "{steps:#?}");
    assert_eq!(
        request_with(pair, next).count_of("from codex"),
        1,
        "{steps:#?}"
    );
}

fn a_bridge_that_is_killed_while_claude_compacts_costs_no_packet_and_doubles_none(
    pair: &Pair,
    claude: &mut Pty,
) {
    decide(pair);
    wait_compactions(pair, 1);
    let sums_up = Gate::new("the model sums up");
    pair.messages.hold_compaction(&sums_up);
    claude.submit("/compact");
    sums_up.wait_arrived();
    kill_below(claude, "bridge");
    wait_status(pair, "the bridge's end", |status| {
        let why = status["agents"]["claude"]["delivery"]["why"].to_string();
        why.contains("bridge died")
    });
    sums_up.open();
    wait_compactions(pair, 2);
    claude.wait_for_text("Compacted");
    for prompt in ["peel the plums", "stone the plums"] {
        pair.messages
            .when(says(prompt))
            .once()
            .reply(Reply::text("On it."));
        claude.submit(prompt);
        let request = request_with(pair, prompt);
        for words in [PACKET, STATED[0], STATED[4]] {
            assert_eq!(request.count_of(words), 1, "{words}: {request:#?}");
        }
    }
    let steps = wait_until("what became of both packets", timeout(), || {
        let steps = events(pair, "context_reloaded").into_iter();
        let steps = steps.map(|line| line["runtimeEvent"].clone());
        let steps: Vec<Value> = steps
            .filter(|event| event["reload"]["cause"] == "compacted")
            .map(|event| event["status"].clone())
            .collect();
        (steps.len() >= 4).then_some(steps)
    });
    assert_eq!(steps, ["offered", "given", "offered", "given"]);
}
