//! What the real agents' models read of the operator's decisions and of answers to questions.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::approvals::rests as codex_rests;
use crate::held_queue::{app_server, wait_gone};
use crate::pair::{
    attached_claude, attached_codex, of_type, status, verify, wait_attached, wait_status,
};
use crate::support::child::{is_alive, run};
use crate::support::model_request::{ModelRequest, hears, says};
use crate::support::pair::Pair;
use crate::support::panes::{to_row, wait_for_waiting};
use crate::support::pty::{Key, Pty};
use crate::support::script::{Gate, Reply};
use crate::support::wait::{timeout, wait_until};

fn proposes(summary: &str) -> Reply {
    Reply::mcp(
        "contextrelay",
        "propose_final",
        json!({"summary": summary, "evidence": ["the tests ran"]}),
    )
}

/// Opens the card of the proposal that waits.
#[track_caller]
fn open_card(deck: &mut Pty) {
    wait_for_waiting(deck);
    deck.press(Key::Char('3'));
    deck.press_until(Key::Enter, "the card", |screen| {
        screen.contains("approve as the operator")
    });
}

#[track_caller]
fn reject(deck: &mut Pty, reason: &str) {
    open_card(deck);
    deck.press(Key::Char('x'));
    deck.type_text(reason);
    deck.wait_for_text(reason);
    deck.press(Key::Enter);
}

#[track_caller]
fn approve(deck: &mut Pty) {
    open_card(deck);
    deck.press(Key::Char('a'));
    deck.press(Key::Enter);
}

/// The latest of so many decisions.
#[track_caller]
fn decision(pair: &Pair, number: usize) -> Value {
    wait_until("the decision", timeout(), || {
        of_type(pair, "finality_decision").get(number - 1).cloned()
    })
}

/// The messages about a decision: to Claude, and to Codex.
fn told(pair: &Pair, decision: &Value) -> Vec<Value> {
    let mut told: Vec<Value> = of_type(pair, "message")
        .into_iter()
        .filter(|line| line["message"]["decision"] == decision["id"])
        .collect();
    told.sort_by_key(|line| line["target"].to_string());
    told
}

/// Waits for the proof that both agents have what they are told of a decision.
#[track_caller]
fn proven(pair: &Pair, decision: &Value) {
    let told = told(pair, decision);
    assert_eq!(told.len(), 2, "{told:#?}");
    for (message, to) in told.iter().zip(["claude", "codex"]) {
        assert_eq!(message["source"], "human");
        assert_eq!(message["target"], to);
        wait_until("the proof", timeout(), || {
            pair.project
                .ledger()
                .iter()
                .find(|line| {
                    let event = &line["runtimeEvent"];
                    event["messageId"] == message["id"] && event["status"] == "confirmed"
                })
                .map(|_| ())
        });
    }
}

/// The text stands in the next request of both models, as the operator's word, and once in all.
#[track_caller]
fn both_hear_once(pair: &Pair, needle: &str, also: &str) {
    let hears = |request: &ModelRequest| request.mentions(needle);
    let at_claude = pair
        .messages
        .wait_for_request("it at Claude's model", hears);
    let at_codex = pair
        .responses
        .wait_for_request("it at Codex's model", hears);
    for request in [at_claude, at_codex] {
        assert!(request.mentions(also), "{}", request.summary());
        assert!(request.mentions("from your operator, through ctxrelay"));
    }
    assert_eq!(
        pair.messages.times_heard(needle),
        1,
        "{}",
        pair.messages.log()
    );
    assert_eq!(
        pair.responses.times_heard(needle),
        1,
        "{}",
        pair.responses.log()
    );
}

#[test]
fn a_rejection_and_an_approval_by_key_reach_both_models_once() {
    let Some(pair) = Pair::new() else { return };
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    let mut claude = attached_claude(&pair);
    let _codex = attached_codex(&pair);
    pair.messages
        .when(says("are we done?"))
        .once()
        .reply(proposes("the first attempt"));
    pair.messages
        .when(hears("The operator rejected"))
        .once()
        .reply(proposes("the second attempt"));

    claude.submit("are we done?");
    reject(&mut deck, "the load test is missing");
    let no = decision(&pair, 1);
    let first = no["finality"]["proposalId"].as_str().unwrap();
    let rejected = format!("The operator rejected proposal {first}.");
    both_hear_once(&pair, &rejected, "Reason: the load test is missing");

    wait_until("the second proposal", timeout(), || {
        (of_type(&pair, "finality_proposal").len() == 2).then_some(())
    });
    // The card that is decided stays for a moment, and what is selected with it.
    deck.wait_until_gone("answered");
    to_row(&mut deck, &["finality", "the second"]);
    approve(&mut deck);
    let yes = decision(&pair, 2);
    let second = yes["finality"]["proposalId"].as_str().unwrap();
    let approved = format!("The operator approved proposal {second}.");
    both_hear_once(&pair, &approved, "It is final");

    for decision in [&no, &yes] {
        proven(&pair, decision);
    }
    assert_eq!(pair.messages.times_heard(&rejected), 1);
    assert_eq!(pair.responses.times_heard(&rejected), 1);
    let decided = &status(&pair)["finality"]["decided"];
    assert_eq!(decided[0]["proposalId"], second);
    assert_eq!(decided[0]["verdict"], "approved");
    assert_eq!(decided[1]["reason"], "the load test is missing");
    verify(&pair);
}

#[test]
fn a_decision_outlives_a_kill_before_either_model_has_it() {
    let Some(pair) = Pair::new() else { return };
    let mut daemon = pair.daemon();
    let mut claude = attached_claude(&pair);
    let mut codex = attached_codex(&pair);
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    let (claude_works, codex_works) = (Gate::new("claude-works"), Gate::new("codex-works"));
    pair.messages
        .when(says("are we done?"))
        .once()
        .reply(proposes("the first attempt"));
    pair.messages
        .when(says("think for long"))
        .once()
        .reply(Reply::held("Thinking", &claude_works, "done thinking."));
    pair.responses
        .when(says("work for long"))
        .once()
        .reply(Reply::held("Working", &codex_works, "done working."));
    claude.submit("are we done?");
    wait_until("the proposal", timeout(), || {
        of_type(&pair, "finality_proposal").pop()
    });
    wait_status(&pair, "an idle Claude", |status| {
        status["agents"]["claude"]["state"] == "idle"
    });
    claude.submit("think for long");
    claude_works.wait_arrived();
    codex.submit("work for long");
    codex_works.wait_arrived();

    reject(&mut deck, "the load test is missing");
    let no = decision(&pair, 1);
    let first = no["finality"]["proposalId"].as_str().unwrap();
    let rejected = format!("The operator rejected proposal {first}.");
    assert_eq!(pair.messages.times_heard(&rejected), 0);
    assert_eq!(pair.responses.times_heard(&rejected), 0);
    // On the disk it is before it is acknowledged, and only then believed after a crash.
    wait_status(&pair, "the acknowledged decision", |status| {
        status["finality"]["decided"][0]["proposalId"] == no["finality"]["proposalId"]
    });
    let before = app_server(&pair);
    daemon.crash();
    drop(daemon);
    wait_gone(&before);
    run(&pair.ctxrelay(["daemon", "--detach"])).expect_success();
    claude_works.open();
    codex_works.open();
    wait_attached(&pair);
    wait_status(&pair, "Codex's side again", |status| {
        status["agents"]["codex"]["tui"] == true
    });
    both_hear_once(&pair, &rejected, "Reason: the load test is missing");
    proven(&pair, &no);
    assert_eq!(pair.messages.times_heard(&rejected), 1);
    assert_eq!(pair.responses.times_heard(&rejected), 1);
    verify(&pair);
    // The detached one would wait half a minute for somebody to come back.
    let pid = i32::try_from(status(&pair)["pid"].as_i64().unwrap()).unwrap();
    drop((claude, codex, deck));
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).unwrap(),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    wait_until("the daemon's end", timeout(), || {
        (!is_alive(u32::try_from(pid).unwrap())).then_some(())
    });
}

/// The id in the envelope around a text, as a model reads it.
fn id_in_envelope(request: &ModelRequest, text: &str) -> String {
    let heard: Vec<&str> = request
        .fresh
        .iter()
        .map(|input| input.text.as_str())
        .collect();
    let heard = heard.join("\n");
    let before = &heard[..heard.find(text).unwrap()];
    let head = &before[before.rfind("[ctxrelay ").unwrap()..];
    assert!(
        head.contains("reply with in_reply_to set to this id"),
        "{head}"
    );
    head.split(' ').nth(2).unwrap().to_owned()
}

/// The message with this text.
#[track_caller]
fn message(pair: &Pair, text: &str) -> Value {
    wait_until("the message", timeout(), || {
        let mut messages = of_type(pair, "message").into_iter();
        messages.find(|line| line["content"] == text)
    })
}

/// Which questions have no answer, by the record.
fn open_questions(pair: &Pair) -> Vec<String> {
    let told = run(&pair.ctxrelay(["recover", "--json"]))
        .expect_success()
        .json();
    let open = told["openQuestions"].as_array().unwrap().iter();
    open.map(|question| question["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn each_agent_gets_the_answer_to_its_question_and_nothing_else_for_it() {
    let Some(pair) = Pair::live() else { return };
    let mut claude = attached_claude(&pair);
    let mut codex = attached_codex(&pair);
    claude_gets_the_final_answer_of_the_very_turn_that_its_question_started(&pair, &mut claude);
    // What is typed before the turn has ended may come in another order.
    wait_status(&pair, "an idle pair", |status| {
        ["claude", "codex"].into_iter().all(|agent| {
            let queue = &status["queue"][agent];
            status["agents"][agent]["state"] == "idle"
                && queue["pending"] == 0
                && queue["inFlight"] == 0
        })
    });
    codex_rests(&pair, &mut codex);
    codex_gets_the_answer_that_names_its_question(&pair, &mut claude, &mut codex);
    verify(&pair);
}

fn claude_gets_the_final_answer_of_the_very_turn_that_its_question_started(
    pair: &Pair,
    claude: &mut Pty,
) {
    pair.claude_calls(
        says("settle it"),
        "deliberate_with_codex",
        json!({"question": "may I drop the table?"}),
    );
    pair.codex_calls(
        says("may I drop the table?"),
        "send_to_claude",
        json!({"text": "looking at its rows"}),
    );
    pair.responses
        .when(hears("outcome"))
        .once()
        .reply(Reply::text("NO: it has rows."));
    claude.submit("settle it");
    let answered = pair
        .messages
        .wait_for_request("the answer as the tool's result", |request| {
            request.tool_text().contains("NO: it has rows.")
        });
    assert!(answered.tool_text().contains("answered"));
    assert!(!answered.tool_text().contains("looking at its rows"));
    assert!(open_questions(pair).is_empty());
}

fn codex_gets_the_answer_that_names_its_question(pair: &Pair, claude: &mut Pty, codex: &mut Pty) {
    let gate = Gate::new("claude-works");
    let read = Gate::new("claude-has-read");
    pair.messages
        .when(says("tell codex the news"))
        .once()
        .reply(
            Reply::mcp(
                "contextrelay",
                "reply",
                json!({"text": "the tests are green"}),
            )
            .behind(&gate),
        );
    let asked = Arc::new(Mutex::new(String::new()));
    let heard = Arc::clone(&asked);
    let held = read.clone();
    pair.messages
        .when(hears("May I drop the table?"))
        .once()
        .reply_with(move |request| {
            let id = id_in_envelope(request, "May I drop the table?");
            heard.lock().unwrap().clone_from(&id);
            Reply::mcp(
                "contextrelay",
                "reply",
                json!({"text": "NO, move its rows first", "in_reply_to": id}),
            )
            .behind(&held)
        });
    pair.codex_calls(
        says("ask claude"),
        "send_to_claude",
        json!({"text": "May I drop the table?", "require_reply": true}),
    );

    claude.submit("tell codex the news");
    gate.wait_arrived();
    codex.submit("ask claude");
    let question = message(pair, "May I drop the table?");
    // Claude says something that it had in mind before.
    gate.open();
    read.wait_arrived();
    let news = message(pair, "the tests are green");
    assert_eq!(news["source"], "claude");
    assert!(news["message"].get("inReplyTo").is_none(), "{news}");
    let id = question["id"].as_str().unwrap();
    assert_eq!(open_questions(pair), [id]);
    assert_eq!(*asked.lock().unwrap(), id);
    read.open();
    let told = pair
        .responses
        .wait_for_request("the answer at Codex's model", |request| {
            request.mentions("NO, move its rows first")
        });
    assert!(told.mentions("[ctxrelay reply "), "{}", told.summary());
    let answer = message(pair, "NO, move its rows first");
    assert_eq!(answer["message"]["inReplyTo"], id);
    assert!(open_questions(pair).is_empty());
}
