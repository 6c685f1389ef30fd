//! What both agents' models read when they ask for their own work.

use serde_json::json;

use crate::pair::{attached_claude, attached_codex, wait_status};
use crate::support::child::run;
use crate::support::model_request::{says, tool_said};
use crate::support::pair::Pair;
use crate::support::pty::Pty;
use crate::support::script::Reply;

/// The last rule of Codex's file.
const LAST: &str = "No crate leaves without its number.";

#[test]
fn both_models_read_their_own_work_and_claudes_the_rules_that_had_no_room_at_its_start() {
    let Some(pair) = Pair::new() else { return };
    pair.project
        .write("CLAUDE.md", "Plums are sorted by weight.\n");
    let long = |number| format!("Crate {number}: {}\n\n", "weighed twice. ".repeat(60));
    let rules: String = (0..12).map(long).collect();
    pair.project.write("AGENTS.md", &format!("{rules}{LAST}\n"));
    let _daemon = pair.daemon();
    let mut claude = attached_claude(&pair);
    let mut codex = attached_codex(&pair);
    both_models_read_their_own_work_whole_and_what_was_decided(&pair, &mut claude, &mut codex);
    // What is typed before the turn has ended may come in another order.
    wait_status(&pair, "an idle Claude", |status| {
        status["agents"]["claude"]["state"] == "idle"
    });
    claudes_model_reads_the_rules_that_had_no_room_at_its_start(&pair, &mut claude);
}

fn both_models_read_their_own_work_whole_and_what_was_decided(
    pair: &Pair,
    claude: &mut Pty,
    codex: &mut Pty,
) {
    let resume = || json!({"view": "resume"});

    let goal = json!({"text": "sort the plums by weight", "kind": "goal"});
    pair.claude_calls(says("begin with the plums"), "append_note", goal);
    let noted = pair.messages.when(tool_said("entry_id")).once();
    noted.reply(Reply::text("The plums are begun."));
    claude.submit("begin with the plums");
    claude.wait_for_text("The plums are begun.");

    let decision = json!({"text": "crates hold twenty", "kind": "decision"});
    pair.codex_calls(says("decide on the crates"), "append_note", decision);
    let noted = pair.responses.when(tool_said("entry_id")).once();
    noted.reply(Reply::text("The crates are decided."));
    codex.submit("decide on the crates");
    codex.wait_for_text("The crates are decided.");

    pair.claude_calls(says("where were you"), "read_context", resume());
    let read = pair.messages.when(tool_said("sort the plums")).once();
    read.reply(Reply::text("With the plums."));
    claude.submit("where were you");
    claude.wait_for_text("With the plums.");
    let request = pair.messages.wait_for_request("Claude's work", |request| {
        request.tool_text().contains("reference, not orders")
    });
    for words in ["sort the plums by weight", "crates hold twenty"] {
        assert!(request.tool_text().contains(words), "{request:#?}");
    }

    pair.codex_calls(says("and where were you"), "read_context", resume());
    let read = pair.responses.when(tool_said("crates hold")).once();
    read.reply(Reply::text("With the crates."));
    codex.submit("and where were you");
    codex.wait_for_text("With the crates.");
    let request = pair.responses.wait_for_request("Codex's work", |request| {
        request.tool_text().contains("reference, not orders")
    });
    let read = request.tool_text();
    assert!(read.contains("crates hold twenty"), "{read}");
    // The peer's objective is told as the peer's.
    assert!(
        read.contains("Claude's objective: sort the plums"),
        "{read}"
    );

    let shown = run(&pair.ctxrelay(["continuity", "show", "claude", "--json"]));
    let shown = shown.expect_success().json();
    assert_eq!(
        shown["fields"]["objective"][0]["text"],
        "sort the plums by weight"
    );
    assert!(shown["turns"].as_u64() >= Some(2), "{shown}");
}

/// At its start Claude is given the beginning of them.
fn claudes_model_reads_the_rules_that_had_no_room_at_its_start(pair: &Pair, claude: &mut Pty) {
    let instructions = json!({"view": "instructions"});
    pair.claude_calls(says("read the rules"), "read_context", instructions);
    let read = pair.messages.when(tool_said(LAST)).once();
    read.reply(Reply::text("Numbers, then."));
    claude.submit("read the rules");
    claude.wait_for_text("Numbers, then.");
    let first = pair.messages.wait_for_request("its prompt", |request| {
        request.user_text().contains("read the rules")
    });
    assert!(
        first.mentions("Crate 0:") && !first.mentions(LAST),
        "{first:#?}"
    );
    let way = "read_context {\"view\":\"instructions\"} has all of it]";
    assert!(first.mentions(way), "{first:#?}");
}
