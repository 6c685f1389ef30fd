//! Two agents that answer each other: what goes beyond the limit waits for the person.

use serde_json::json;

use crate::pair::{attached_claude, attached_codex, verify, wait_status};
use crate::support::model_request::{hears, says};
use crate::support::pair::Pair;
use crate::support::script::Reply;

#[test]
fn agents_that_thank_each_other_stop_until_their_person_writes_to_one_of_them() {
    let Some(pair) = Pair::new() else { return };
    let config = json!({"relay": {"loopTurns": 2}}).to_string();
    pair.project.write(".contextrelay/config.json", &config);
    let _daemon = pair.daemon();
    pair.messages.otherwise(|_| Reply::text("I see."));
    let mut claude = attached_claude(&pair);
    let _codex = attached_codex(&pair);
    for (heard, text) in [
        ("question zero", "answer one."),
        ("thanks two", "welcome three."),
    ] {
        let asked = pair.responses.when(hears(heard)).once();
        asked.reply(Reply::text(text));
    }
    let thanks = json!({"text": "thanks two."});
    pair.claude_calls(hears("answer one."), "reply", thanks);
    let question = json!({"text": "question zero."});
    pair.claude_calls(says("ask Codex"), "reply", question);
    claude.submit("ask Codex");

    let status = wait_status(&pair, "a message that waits for the person", |status| {
        status["exchanges"][0]["held"] == 1
    });
    assert_eq!(status["exchanges"][0]["to"], "claude");
    wait_status(&pair, "idle agents", |status| {
        ["claude", "codex"].map(|agent| status["agents"][agent]["state"] == "idle") == [true; 2]
    });
    let known = |text: &str| pair.messages.requests().iter().any(|it| it.mentions(text));
    assert!(known("answer one.") && !known("welcome three."));

    claude.submit("what did it say");
    pair.messages
        .wait_for_request("what waited", |request| request.mentions("welcome three."));
    wait_status(&pair, "nothing that waits for the person", |status| {
        status["exchanges"].as_array().is_none_or(Vec::is_empty)
    });
    verify(&pair);
}
