//! What the operator has sent again to Codex, whose history then holds both attempts under one id.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::codex_continuity::all_threads;
use crate::held_queue::{app_server, as_claude, begun, send, wait_queued, wait_settled};
use crate::pair::{verify, wait_status};
use crate::support::child::run;
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

    let _daemon = pair.daemon();
    let mut operator = Operator::connect(&pair.project);
    wait_status(&pair, "an idle Codex and what was cut off", |status| {
        let codex = &status["agents"]["codex"];
        codex["cutOff"] == 1 && codex["state"] == "idle"
    });
    // Not before: its app-server may come to the end of a turn that can go on.
    gate.open();
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

#[test]
fn a_turn_that_ends_behind_the_daemon_answers_claude_under_the_next_one_and_is_not_sent_again() {
    let Some(pair) = Pair::new() else { return };
    let mut daemon = pair.daemon();
    let mut claude = as_claude(&pair);
    begun(&pair, &mut claude);
    let gate = Gate::new("codex-works");
    pair.responses
        .when(says("count the plums"))
        .once()
        .reply(Reply::held("Counting", &gate, " and there are eleven"));
    let asked = json!({"text": "count the plums", "require_reply": true});
    let id = claude.tool("reply", asked)["message_id"].clone();
    gate.wait_arrived();
    wait_until("the proof", timeout(), || {
        (delivered_in(&pair, &id).len() == 1).then_some(())
    });
    // It hears nothing of what comes now, and Codex has its turn end.
    daemon.child().signal(Signal::STOP);
    gate.open();
    wait_until("the end of the turn in Codex's history", timeout(), || {
        let history = all_threads(&pair);
        let mut ends = history
            .lines()
            .filter(|line| line.contains("task_complete"));
        ends.any(|line| line.contains("there are eleven"))
            .then_some(())
    });
    drop(claude);
    daemon.crash();

    let _daemon = pair.daemon();
    let answers = || {
        let lines = pair.project.ledger();
        let to_it = lines.into_iter();
        to_it
            .filter(|line| line["message"]["inReplyTo"] == id)
            .collect::<Vec<_>>()
    };
    wait_until("what is answered to it", timeout(), || {
        (!answers().is_empty()).then_some(())
    });
    wait_settled(&pair);
    let answers = answers();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(answers[0]["source"], "codex");
    let said = answers[0]["content"].as_str().unwrap();
    assert!(said.contains("there are eleven"), "{said}");
    assert_eq!(crate::pair::status(&pair)["agents"]["codex"]["cutOff"], 0);
    let recovered = run(&pair.ctxrelay(["recover", "--json"])).expect_success();
    assert_eq!(recovered.json()["interruptedTurns"], json!([]));
    // Claude gets it, and Codex was asked once.
    let mut claude = as_claude(&pair);
    let page = claude.tool("get_messages", json!({}));
    assert!(page.to_string().contains("there are eleven"), "{page}");
    assert_eq!(pair.responses.times_heard("count the plums"), 1);
    verify(&pair);
}
