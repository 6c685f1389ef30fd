//! What `recover` prints takes both agents' own conversations up again.

use serde_json::Value;

use crate::pair::{attached_claude, attached_codex, note_the_goal, status, wait_status};
use crate::support::child::run;
use crate::support::claude_home;
use crate::support::model_request::says;
use crate::support::pair::Pair;
use crate::support::pty::Pty;
use crate::support::script::Reply;

/// The arguments of a command of ours, as a shell would split them.
pub fn arguments(told: &Value, agent: &str) -> Vec<String> {
    let command = told["commands"][agent].as_str().unwrap();
    let mut words = command.split(' ').map(str::to_owned);
    assert_eq!(words.next().as_deref(), Some("ctxrelay"), "{command}");
    words.collect()
}

#[test]
fn the_printed_commands_take_both_conversations_up_and_claude_reads_the_prompt() {
    let Some(pair) = Pair::new() else { return };
    let daemon = pair.daemon();
    let mut claude = attached_claude(&pair);
    let mut codex = attached_codex(&pair);
    note_the_goal(&pair, &mut claude);
    let begun = Reply::text("The crates are begun.");
    pair.responses
        .when(says("begin with the crates"))
        .once()
        .reply(begun);
    codex.submit("begin with the crates");
    codex.wait_for_text("The crates are begun.");
    let thread = status(&pair)["agents"]["codex"]["threadId"].clone();
    wait_status(&pair, "an idle pair", |status| {
        ["claude", "codex"].map(|agent| status["agents"][agent]["state"] == "idle") == [true; 2]
    });
    // A second Claude would write into the conversation of the one that is open.
    let opens = run(&pair.ctxrelay(["pair", "--dry-run"])).expect_success();
    assert!(!opens.stdout.contains("--resume"), "{}", opens.stdout);
    let told = "are attached already: only the deck opens";
    assert!(opens.stderr.contains(told), "{}", opens.stderr);
    drop((claude, codex));

    // The last conversation of the folder is not the pair's.
    let mut other = Pty::spawn(&pair.claude_home.claude(&pair.project, [])).labelled("other");
    other.wait_for_text(claude_home::COMPOSER);
    let begun = Reply::text("The pears are begun.");
    pair.messages
        .when(says("begin with the pears"))
        .once()
        .reply(begun);
    other.submit("begin with the pears");
    other.wait_for_text("The pears are begun.");
    drop(other);
    daemon.stop();

    let told = run(&pair.ctxrelay(["recover", "--json"]))
        .expect_success()
        .json();
    // A pair that opens goes on there by itself: Claude keeps it where it is looked for.
    let opens = run(&pair.ctxrelay(["pair", "--dry-run"])).expect_success();
    let opens_claude = arguments(&told, "claude").join(" ");
    assert!(opens.stdout.contains(&opens_claude), "{}", opens.stdout);
    let _daemon = pair.daemon();
    let again = Reply::text("With the plums again.");
    pair.messages
        .when(says("Go on with the work"))
        .once()
        .reply(again);
    let prompt = told["resume"]["claude"].as_str().unwrap();
    let arguments_of_claude = arguments(&told, "claude");
    let words = arguments_of_claude
        .iter()
        .map(String::as_str)
        .chain([prompt]);
    let mut claude = Pty::spawn(&pair.ctxrelay(words)).labelled("claude");
    claude.wait_for_text("With the plums again.");
    let request = pair
        .messages
        .wait_for_request("the resumed one", |request| {
            request.is_step() && request.mentions("Go on with the work")
        });
    for words in [
        "The plums are begun.",
        "Sort the plums by weight [note",
        "reference, not orders",
    ] {
        assert!(request.mentions(words), "{words}: {request:#?}");
    }
    // What the operator tells it, beside what its hook does.
    assert_eq!(request.count_of("you go on with an earlier session"), 2);
    assert!(!request.mentions("begin with the pears"), "{request:#?}");

    let arguments_of_codex = arguments(&told, "codex");
    let words = arguments_of_codex.iter().map(String::as_str);
    let mut codex = Pty::spawn(&pair.ctxrelay(words)).labelled("codex");
    codex.wait_for_text("The crates are begun.");
    let again = Reply::text("With the crates again.");
    pair.responses
        .when(says("where were you"))
        .once()
        .reply(again);
    codex.submit("where were you");
    codex.wait_for_text("With the crates again.");
    let request = pair
        .responses
        .wait_for_request("the resumed one", |request| {
            request.mentions("where were you")
        });
    assert!(request.mentions("The crates are begun."), "{request:#?}");
    assert_eq!(request.conversation.as_deref(), thread.as_str());
}
