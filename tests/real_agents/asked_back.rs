//! An answer that lies in Codex's own queue, behind the very turn that waits for it.

use serde_json::json;

use crate::held_queue::{as_claude, begun, send, wait_queued, wait_settled};
use crate::pair::verify;

use crate::support::model_request::{ModelRequest, says, tool_said};
use crate::support::pair::Pair;
use crate::support::script::{Gate, Reply};

/// The question for which a call says that it still waits.
fn waits_on(request: &ModelRequest) -> String {
    let said = request.tool_text();
    let (_, behind) = said.split_once("wait_on").unwrap();
    let id = behind.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let is_over = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    id.split(is_over).next().unwrap().to_owned()
}

#[test]
fn a_turn_of_codex_gets_the_answer_that_came_while_it_did_not_wait() {
    let Some(pair) = Pair::live() else { return };
    let mut claude = as_claude(&pair);
    begun(&pair, &mut claude);
    let gate = Gate::new("codex-goes-on");
    pair.codex_calls(
        says("settle the fruit"),
        "deliberate_with_claude",
        json!({"question": "plum or pear?", "timeout_s": 0}),
    );
    // It goes on, and waits for the answer when that has come.
    let held = gate.clone();
    pair.responses
        .when(tool_said("still_waiting"))
        .once()
        .reply_with(move |request| {
            let wait = json!({"handoff_id": waits_on(request), "timeout_s": 50});
            Reply::mcp("ctxrelay", "wait_for_claude", wait).behind(&held)
        });
    let answered = pair.responses.when(tool_said("the answer is plum-4711"));
    answered.once().reply(Reply::text("Settled: plum."));
    send(&mut claude, "settle the fruit");
    gate.wait_arrived();
    let asked = pair.project.ledger_naming("plum or pear?");
    let id = &asked.first().expect("the question")["id"];
    let answer = json!({"text": "the answer is plum-4711", "in_reply_to": id});
    let answer = claude.tool("reply", answer)["message_id"].clone();
    wait_queued(&pair, &answer);
    gate.open();

    let got = pair
        .responses
        .wait_for_request("the answer in that turn", tool_said("plum-4711"));
    assert!(got.mentions("settle the fruit"));
    wait_settled(&pair);
    // As the result of that call, and as no turn.
    let turn = |request: &ModelRequest| request.user_text().contains("plum-4711");
    assert!(!pair.responses.requests().iter().any(turn));
    let ledger = pair.project.ledger();
    let events = ledger.iter().map(|line| &line["runtimeEvent"]);
    let of_answer: Vec<_> = events
        .filter(|event| event["messageId"] == answer)
        .map(|event| (event["status"].as_str(), event["rung"].as_str()))
        .collect();
    assert_eq!(of_answer, [(Some("confirmed"), Some("pull"))]);
    verify(&pair);
}
