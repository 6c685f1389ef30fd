//! The terminal goes back to a conversation of before with `/resume`, and the messages go with it.

use serde_json::{Value, json};

use crate::codex_continuity::rests;
use crate::pair::{attached_codex, status, verify, wait_status};
use crate::support::mcp::McpClient;
use crate::support::model_request::says;
use crate::support::pair::Pair;
use crate::support::pty::{Key, Pty};
use crate::support::script::Reply;

const FIRST: &str = "sort the plums";
const SECOND: &str = "count the pears";

fn thread(status: &Value) -> &Value {
    &status["agents"]["codex"]["threadId"]
}

/// Something is said in the conversation that the terminal shows, and answered.
#[track_caller]
fn prompt(pair: &Pair, codex: &mut Pty, text: &str, answer: &str) {
    pair.responses
        .when(says(text))
        .once()
        .reply(Reply::text(answer));
    codex.submit(text);
    codex.wait_for_text(answer);
    wait_status(pair, "an idle Codex", |status| {
        status["agents"]["codex"]["state"] == "idle"
    });
    // In a turn, and as far as the terminal knows, there is no other conversation.
    rests(codex, text, 1);
}

/// The first conversation, left for a second one, each with a turn in it.
#[track_caller]
fn two_conversations(pair: &Pair, codex: &mut Pty) -> (Value, Value) {
    prompt(pair, codex, FIRST, "The plums are sorted.");
    let first = thread(&status(pair)).clone();
    codex.submit("/new");
    let moved = wait_status(pair, "the new thread", |status| *thread(status) != first);
    prompt(pair, codex, SECOND, "There are nine pears.");
    (first, thread(&moved).clone())
}

/// Picks the first conversation, which the list calls by what it began with.
#[track_caller]
fn go_back(codex: &mut Pty) {
    codex.submit("/resume");
    codex.wait_for_text(FIRST);
    codex.type_text("plums");
    codex.wait_until_gone(SECOND);
    codex.press(Key::Enter);
    // It may stand there still, above what the second one said.
    codex.wait_for_screen("the first conversation", |screen| {
        let first = screen.rfind("The plums are sorted.");
        first.is_some() && first > screen.rfind("There are nine pears.")
    });
}

/// What Claude says comes into this conversation, on the screen.
#[track_caller]
fn is_heard_in(pair: &Pair, codex: &mut Pty, thread: &Value) {
    let mut claude = McpClient::start(&pair.ctxrelay(["bridge"]));
    claude.tool("reply", json!({"text": "hello old friend"}));
    let asked = pair
        .responses
        .wait_for_request("the message at Codex's model", says("hello old friend"));
    assert_eq!(asked.conversation.as_deref(), thread.as_str());
    codex.wait_for_text("hello old friend");
    assert_eq!(pair.responses.times_heard("hello old friend"), 1);
    verify(pair);
}

#[test]
fn a_message_follows_the_terminal_back_with_the_first_prompt_where_the_conversation_was_loaded_still()
 {
    let Some(pair) = Pair::live() else { return };
    let mut codex = attached_codex(&pair);
    let (first, _) = two_conversations(&pair, &mut codex);
    go_back(&mut codex);
    prompt(&pair, &mut codex, "weigh them too", "They weigh a pound.");
    wait_status(&pair, "the first thread", |status| *thread(status) == first);
    is_heard_in(&pair, &mut codex, &first);
}

#[test]
fn a_message_follows_the_terminal_back_at_once_to_a_conversation_that_it_loads() {
    let Some(pair) = Pair::new() else { return };
    let daemon = pair.daemon();
    let mut codex = attached_codex(&pair);
    let (first, second) = two_conversations(&pair, &mut codex);
    codex.press_until_exit(Key::Ctrl('c'));
    drop((codex, daemon));
    // Another app-server, which has loaded the second one alone.
    let _daemon = pair.daemon();
    let mut codex = attached_codex(&pair);
    wait_status(&pair, "the second thread", |status| {
        *thread(status) == second
    });
    go_back(&mut codex);
    wait_status(&pair, "the first thread", |status| *thread(status) == first);
    is_heard_in(&pair, &mut codex, &first);
}
