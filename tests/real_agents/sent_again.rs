//! What the operator has sent again to Codex, whose history then holds both attempts under one id.

use serde_json::{Value, json};

use crate::held_queue::{app_server, as_claude, begun, send, wait_queued, wait_settled};
use crate::pair::{verify, wait_status};
use crate::support::model_request::says;
use crate::support::operator::Operator;
use crate::support::pair::Pair;
use crate::support::script::{Gate, Reply};
use crate::support::wait::{timeout, wait_until};

/// The turns by which the record says that a message was delivered, in their order.
fn delivered_in(pair: &Pair, id: &Value) -> Vec<String> {
    let lines = pair.project.ledger();
    let events = lines.iter().map(|line| &line["runtimeEvent"]);
    events
        .filter(|event| event["messageId"] == *id && event["status"] == "confirmed")
        .map(|event| event["turnId"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn what_is_sent_again_is_delivered_by_another_turn_also_when_the_app_server_dies_over_it() {
    let Some(pair) = Pair::new() else { return };
    let mut daemon = pair.daemon();
    let mut claude = as_claude(&pair);
    begun(&pair, &mut claude);
    let gate = Gate::new("codex-works");
    pair.responses
        .when(says("sort the plums"))
        .once()
        .reply(Reply::held("Working", &gate, "never seen"));
    let id = send(&mut claude, "sort the plums")["message_id"].clone();
    gate.wait_arrived();
    wait_until("the first proof", timeout(), || {
        (delivered_in(&pair, &id).len() == 1).then_some(())
    });
    drop(claude);
    daemon.crash();
    gate.open();

    let _daemon = pair.daemon();
    let mut operator = Operator::connect(&pair.project);
    wait_status(&pair, "an idle Codex and what was cut off", |status| {
        let codex = &status["agents"]["codex"];
        codex["cutOff"] == 1
    });
    let mut claude = as_claude(&pair);
    let gate = Gate::new("codex-works-on");
    pair.responses
        .when(says("sort the pears"))
        .once()
        .reply(Reply::held("Working", &gate, "never seen"));
    send(&mut claude, "sort the pears");
    gate.wait_arrived();
    let again = json!({"agent": "codex", "act": "requeue"});
    operator.call("agent/attend", again).unwrap();
    wait_queued(&pair, &id);
    let before = app_server(&pair);
    crate::delivery::kill(&before);
    wait_until("another app-server", timeout(), || {
        let now = app_server(&pair);
        (now.is_u64() && now != before).then_some(())
    });
    gate.open();
    pair.responses
        .wait_for_request("the message, again", |request| {
            says("shown before")(request) && says("sort the plums")(request)
        });
    wait_settled(&pair);
    let turns = delivered_in(&pair, &id);
    assert_eq!(turns.len(), 2, "{turns:?}");
    assert_ne!(turns[0], turns[1]);
    // Nothing follows it.
    send(&mut claude, "hello once more");
    pair.responses
        .wait_for_request("the last turn", says("hello once more"));
    wait_settled(&pair);
    assert_eq!(delivered_in(&pair, &id), turns);
    verify(&pair);
}
