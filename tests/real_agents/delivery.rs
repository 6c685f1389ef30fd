//! What becomes of messages at the real agents: in every state of the receiver, in both
//! directions, and many of them.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::approvals::rests;
use crate::pair::{
    attached_claude, attached_codex, codex_works, of_type, status, verify, wait_status,
};
use crate::support::chance::Chance;
use crate::support::child::run;
use crate::support::mcp::McpClient;
use crate::support::model_request::{ModelRequest, says};
use crate::support::operator::Operator;
use crate::support::pair::Pair;
use crate::support::pty::{Key, Pty};
use crate::support::script::{Gate, Reply, ToolCall};
use crate::support::wait::{timeout, wait_until};

/// Messages each way.
const MANY: usize = 200;

/// Somebody with Claude's tools. It is no receiver beside a Claude that is attached.
fn as_claude(pair: &Pair) -> McpClient {
    McpClient::start(&pair.ctxrelay(["bridge"]))
}

fn as_codex(pair: &Pair) -> McpClient {
    McpClient::start(&pair.ctxrelay(["codex-mcp", "server"]))
}

fn send(sender: &mut McpClient, tool: &str, text: &str, on_busy: &str) -> Value {
    sender.tool(tool, json!({"text": text, "on_busy": on_busy}))
}

/// The sender's model reads no more than it has to know.
#[track_caller]
fn expect_short(sent: &Value) {
    assert!(sent.get("note").is_none(), "{sent}");
    assert!(sent.to_string().len() <= 180, "{sent}");
}

#[track_caller]
fn wait_settled(pair: &Pair, agent: &str) {
    wait_status(pair, "an idle agent and an empty queue", |status| {
        let queue = &status["queue"][agent];
        queue["pending"] == 0
            && queue["inFlight"] == 0
            && status["agents"][agent]["state"] == "idle"
    });
}

#[test]
fn every_kind_of_message_reaches_an_idle_and_a_busy_codex() {
    let Some(pair) = Pair::live() else { return };
    let mut codex = attached_codex(&pair);
    let mut claude = as_claude(&pair);
    an_idle_codex_gets_every_kind_as_a_turn_of_its_own(&pair, &mut claude);
    rests(&pair, &mut codex);
    a_busy_codex_is_steered_waited_for_or_left_alone(&pair, &mut codex, &mut claude);
    verify(&pair);
}

fn an_idle_codex_gets_every_kind_as_a_turn_of_its_own(pair: &Pair, claude: &mut McpClient) {
    for on_busy in ["queue", "steer", "reject"] {
        wait_settled(pair, "codex");
        let text = format!("the idle word is {on_busy}");
        let sent = send(claude, "reply", &text, on_busy);
        expect_short(&sent);
        pair.responses.wait_for_request("the message", says(&text));
        wait_settled(pair, "codex");
        assert_eq!(pair.responses.times_heard(&text), 1, "{on_busy}");
        // On a slow machine the answer comes before the proof does.
        let outcome = sent["outcome"].as_str().unwrap();
        assert!(
            ["started_new_turn", "queued_for_next_turn"].contains(&outcome),
            "{on_busy}: {outcome}"
        );
    }
}

fn a_busy_codex_is_steered_waited_for_or_left_alone(
    pair: &Pair,
    codex: &mut Pty,
    claude: &mut McpClient,
) {
    let gate = Gate::new("codex-works");
    pair.responses
        .when(says("work for long"))
        .once()
        .reply(Reply::held("Working", &gate, "…").then_call(ToolCall::shell("true")));
    codex.submit("work for long");
    gate.wait_arrived();
    wait_status(pair, "a busy Codex", |status| {
        status["agents"]["codex"]["state"] == "busy"
    });

    let rejected = send(claude, "reply", "the word is reject", "reject");
    assert_eq!(rejected["outcome"], "rejected");
    let queued = send(claude, "reply", "the word is queue", "queue");
    assert_eq!(queued["outcome"], "queued_for_next_turn");
    for sent in [&rejected, &queued] {
        expect_short(sent);
    }
    // It overtakes the one that waits for the next turn.
    send(claude, "reply", "the word is steer", "steer");
    gate.open();
    pair.responses
        .wait_for_request("the queued one", says("the word is queue"));
    wait_settled(pair, "codex");

    let steps = pair.responses.steps();
    let heard = |word: &str| steps.iter().position(|step| says(word)(step));
    assert!(heard("the word is steer") < heard("the word is queue"));
    for (word, times) in [("steer", 1), ("queue", 1), ("reject", 0)] {
        let text = format!("the word is {word}");
        assert_eq!(pair.responses.times_heard(&text), times, "{word}");
    }
    let steered = of_type(pair, "message")
        .into_iter()
        .find(|line| line["content"] == "the word is steer")
        .unwrap();
    let result = |id: &Value| {
        pair.project
            .ledger()
            .into_iter()
            .map(|line| line["runtimeEvent"].clone())
            .filter(|event| event["messageId"] == *id)
            .map(|event| event["status"].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(result(&steered["id"]), ["confirmed"]);
    assert_eq!(result(&rejected["message_id"]), ["rejected"]);
}

/// The app-server holds its queue after the human has stopped a turn, whatever is added to it.
#[test]
fn what_waits_behind_a_turn_that_the_human_stopped_goes_on_when_the_operator_says_so() {
    let Some(pair) = Pair::live() else { return };
    let mut operator = Operator::connect(&pair.project);
    let mut codex = attached_codex(&pair);
    let mut claude = as_claude(&pair);
    let gate = codex_works(&pair, &mut codex);
    let sent = send(&mut claude, "reply", "the word is held", "queue");
    codex.press(Key::Escape);
    wait_status(&pair, "an idle Codex whose lane is held", |status| {
        let codex = &status["agents"]["codex"];
        let why = codex["why"].as_str();
        codex["state"] == "idle" && why.is_some_and(|why| why.contains("you stopped a turn"))
    });
    assert_eq!(pair.responses.times_heard("the word is held"), 0);
    let retry = json!({"id": sent["message_id"], "change": "retry"});
    operator.call("queue/change", retry).unwrap();
    pair.responses
        .wait_for_request("the message", says("the word is held"));
    wait_settled(&pair, "codex");
    assert_eq!(pair.responses.times_heard("the word is held"), 1);
    gate.open();
    verify(&pair);
}

/// What comes of a handoff of these words, once Codex's turn on it is over.
fn handed_over(pair: &Pair, claude: &mut McpClient, ask: &str, times: usize) -> Value {
    let work = json!({"ask": ask, "reason": "it was changed"});
    // The end of the one before is on disk a moment before it counts. Until then nothing is sent.
    let id = wait_until("a handoff that is another one", timeout(), || {
        let sent = claude.tool("handoff", work.clone());
        (sent["duplicate"] == false).then(|| sent["handoff_id"].clone())
    });
    wait_until(
        "what is said of it when its turn is over",
        timeout(),
        || {
            let said = of_type(pair, "message").into_iter();
            let mut said = said.map(|line| line["message"]["inReplyTo"].clone());
            said.any(|answered| answered == id).then_some(())
        },
    );
    wait_settled(pair, "codex");
    assert_eq!(pair.responses.times_heard(ask), times);
    id
}

#[test]
fn what_is_handed_over_again_after_an_answer_or_a_failed_turn_reaches_codex_again() {
    let Some(pair) = Pair::live() else { return };
    let mut claude = as_claude(&pair);
    send(&mut claude, "reply", "hello there", "queue");
    pair.responses
        .wait_for_request("the first turn", says("hello there"));
    wait_settled(&pair, "codex");

    // Two at once, answered in the same words: each has its answer.
    const SAID: &str = "Done. All tests pass.";
    let gate = Gate::new("codex-works");
    let asks = ["review my changes", "review my tests"];
    for ask in asks {
        let reply = Reply::text(SAID).behind(&gate);
        pair.responses.when(says(ask)).once().reply(reply);
    }
    let ids = asks.map(|ask| {
        let work = json!({"ask": ask, "reason": "it was changed"});
        claude.tool("handoff", work.clone())["handoff_id"].clone()
    });
    gate.wait_arrived();
    let again = json!({"ask": asks[0], "reason": "it was changed"});
    let again = claude.tool("handoff", again);
    assert_eq!(again["duplicate"], true, "{again}");
    let note = again["note"].as_str().unwrap();
    assert!(note.contains("nothing was sent"), "{again}");
    gate.open();
    let answered = wait_until("both answers", timeout(), || {
        let answers = of_type(&pair, "message").into_iter();
        let answers = answers.filter(|line| line["content"] == SAID);
        let answered: Vec<_> = answers
            .map(|line| line["message"]["inReplyTo"].clone())
            .collect();
        (answered.len() == 2).then_some(answered)
    });
    assert_eq!(answered, ids);
    // A line is on disk a moment before the daemon gives it.
    wait_until("both answers in the mail", timeout(), || {
        let mail = claude.tool("get_messages", json!({}));
        (mail.to_string().matches(SAID).count() == 2).then_some(())
    });
    wait_settled(&pair, "codex");

    // It fails this time.
    let failed = Reply::error(400, "the model broke");
    pair.responses.when(says(asks[0])).once().reply(failed);
    let second = handed_over(&pair, &mut claude, asks[0], 2);
    let third = handed_over(&pair, &mut claude, asks[0], 3);
    assert!(ids[0] != second && second != third);
    verify(&pair);
}

/// Everybody who can do something about it is told: the sender, `status`, and the operator in the
/// deck, also when another Codex terminal has come meanwhile.
#[test]
fn what_is_held_is_said_to_all_and_released_by_its_row_in_the_inbox() {
    let Some(pair) = Pair::live() else { return };
    let mut codex = attached_codex(&pair);
    // Before the bridge: whose parent starts a bridge is an agent, and no deck below it decides.
    let mut deck = pair.deck();
    deck.wait_for_text("attached");
    let mut claude = as_claude(&pair);
    let gate = codex_works(&pair, &mut codex);
    codex.press(Key::Escape);
    wait_status(&pair, "a lane that is held", |status| {
        status["agents"]["codex"]["held"] == true
    });
    let sent = send(&mut claude, "reply", "the word is held", "queue");
    let note = sent["note"].as_str().unwrap_or_default();
    assert!(
        note.contains("your operator stopped Codex's turn"),
        "{sent}"
    );
    let said = run(&pair.ctxrelay(["status"])).expect_success().stdout;
    assert!(said.contains("you stopped a turn in Codex"), "{said}");

    drop(codex);
    wait_status(&pair, "no Codex terminal", |status| {
        status["agents"]["codex"]["tui"] == false
    });
    let _codex = attached_codex(&pair);
    let status = status(&pair);
    assert_eq!(status["agents"]["codex"]["held"], true);
    assert_eq!(pair.responses.times_heard("the word is held"), 0);
    deck.wait_for_text("◇ You stopped a turn");
    deck.press(Key::Char('3'));
    deck.press(Key::Char('r'));
    deck.wait_for_text("Look at this");
    deck.press(Key::Char('r'));
    deck.wait_for_text("Release 1 message to Codex now?");
    deck.press(Key::Enter);
    pair.responses
        .wait_for_request("the message", says("the word is held"));
    wait_settled(&pair, "codex");
    deck.wait_until_gone("◇ You stopped a turn");
    assert_eq!(pair.responses.times_heard("the word is held"), 1);
    gate.open();
    verify(&pair);
}

#[test]
fn a_busy_claude_is_left_alone_or_joined_as_the_sender_wants() {
    let Some(pair) = Pair::live() else { return };
    let mut claude = attached_claude(&pair);
    let mut codex = as_codex(&pair);
    a_busy_claude_is_left_alone_when_the_sender_wants_no_waiting(&pair, &mut claude, &mut codex);
    wait_settled(&pair, "claude");
    what_is_to_join_a_running_turn_of_claude_comes_with_its_next_tool_call(
        &pair,
        &mut claude,
        &mut codex,
    );
    verify(&pair);
}

fn a_busy_claude_is_left_alone_when_the_sender_wants_no_waiting(
    pair: &Pair,
    claude: &mut Pty,
    codex: &mut McpClient,
) {
    let gate = Gate::new("claude-works");
    pair.messages
        .when(says("think for long"))
        .once()
        .reply(Reply::held("Thinking", &gate, "done thinking."));
    claude.submit("think for long");
    gate.wait_arrived();
    wait_status(pair, "a busy Claude", |status| {
        status["agents"]["claude"]["state"] == "busy"
    });
    let rejected = send(codex, "send_to_claude", "the word is reject", "reject");
    assert_eq!(rejected["outcome"], "rejected");
    let queued = send(codex, "send_to_claude", "the word is queue", "queue");
    assert_eq!(queued["outcome"], "queued_for_next_turn");
    gate.open();
    pair.messages.wait_for_request("the queued one", |request| {
        request.mentions("the word is queue")
    });
    assert_eq!(pair.messages.times_heard("the word is reject"), 0);
}

fn what_is_to_join_a_running_turn_of_claude_comes_with_its_next_tool_call(
    pair: &Pair,
    claude: &mut Pty,
    codex: &mut McpClient,
) {
    let (thinking, talking) = (Gate::new("thinking"), Gate::new("talking"));
    let step = ToolCall::mcp("contextrelay", "append_note", json!({"text": "a step"}));
    pair.messages
        .when(says("work for a while"))
        .once()
        .reply(Reply::held("Working.", &thinking, "").then_call(step));
    pair.messages
        .when(|request| request.tool_text().contains("entry_id"))
        .once()
        .reply(Reply::held("Nearly", &talking, " done."));
    claude.submit("work for a while");
    thinking.wait_arrived();
    send(codex, "send_to_claude", "the word is steer", "steer");
    thinking.open();
    talking.wait_arrived();
    // The turn still runs, and its model has it.
    assert_eq!(pair.messages.times_heard("the word is steer"), 1);
    talking.open();
    wait_settled(pair, "claude");
    let steps = pair.messages.steps();
    let times = steps.iter().map(|step| step.count_of("the word is steer"));
    assert_eq!(times.max(), Some(1));
}

/// What an agent does that follows its instructions: it acknowledges what it was given, and
/// fetches what it was told of.
fn obedient(request: &ModelRequest) -> Reply {
    let fresh = format!(
        "{}\n{}\n{}",
        request.system_text(),
        request.user_text(),
        request.tool_text()
    );
    let ids = given(&fresh);
    if !ids.is_empty() {
        return Reply::mcp("contextrelay", "ack_messages", json!({"ids": ids}));
    }
    if fresh.contains("get_messages") {
        return Reply::mcp("contextrelay", "get_messages", json!({"limit": 50}));
    }
    Reply::text("ok")
}

/// The ids of the messages whose bodies stand in a text.
fn given(text: &str) -> Vec<String> {
    let ids: BTreeSet<String> = text
        .split("[ctxrelay message ")
        .skip(1)
        .filter_map(|rest| rest.split_whitespace().next())
        .map(str::to_owned)
        .collect();
    ids.into_iter().collect()
}

/// How often each number was shown, and in which order first.
fn shown(requests: &[ModelRequest], of: &str) -> Vec<usize> {
    let mut order = Vec::new();
    for request in requests {
        // As they stand there: a hook may add to what a tool gave.
        let texts = request.fresh.iter().map(|input| input.text.as_str());
        let fresh = texts.collect::<Vec<_>>().join("\n");
        let mut rest = fresh.as_str();
        while let Some((_, after)) = rest.split_once(of) {
            let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
            order.extend(digits.parse::<usize>());
            rest = after;
        }
    }
    order
}

#[test]
fn two_hundred_messages_each_way_are_each_shown_once_and_in_order() {
    let Some(pair) = Pair::new() else { return };
    pair.without_person();
    let _daemon = pair.daemon();
    pair.messages.otherwise(obedient);
    let _claude = attached_claude(&pair);
    let _codex = attached_codex(&pair);
    let (mut to_codex, mut to_claude) = (as_claude(&pair), as_codex(&pair));
    for n in 0..MANY {
        // Both at once: what one agent gets must not hold the other's up.
        let text = json!({"text": format!("codex number {n}.")});
        let first = to_codex.begin_tool("reply", text);
        let text = json!({"text": format!("claude number {n}.")});
        let second = to_claude.begin_tool("send_to_claude", text);
        assert!(!to_codex.tool_result(&first).is_error);
        assert!(!to_claude.tool_result(&second).is_error);
    }
    wait_until("all of them settled", timeout() * 5, || {
        let queue = &status(&pair)["queue"];
        ["claude", "codex"]
            .iter()
            .all(|agent| queue[agent]["pending"] == 0 && queue[agent]["inFlight"] == 0)
            .then_some(())
    });
    let all: Vec<usize> = (0..MANY).collect();
    // A proof comes before the request to the model that it is of.
    wait_until("the last of them at its model", timeout(), || {
        let codex = shown(&pair.responses.steps(), "codex number ");
        let claude = shown(&pair.messages.steps(), "claude number ");
        (codex.len() >= MANY && claude.len() >= MANY).then_some(())
    });
    wait_settled(&pair, "codex");
    wait_settled(&pair, "claude");
    assert_eq!(shown(&pair.responses.steps(), "codex number "), all);
    assert_eq!(shown(&pair.messages.steps(), "claude number "), all);
    verify(&pair);
}

/// How often something is killed in one run.
const KILLS: usize = 6;

pub fn kill(pid: &Value) {
    // There is none while the one that was killed before has no successor yet.
    let Some(pid) = pid.as_i64() else { return };
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    // It may have ended by itself, because the other one was killed.
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
}

#[test]
fn whatever_is_killed_at_any_moment_no_acknowledged_message_is_lost_or_doubled() {
    let Some(pair) = Pair::new() else { return };
    pair.without_person();
    let mut chance = Chance::begin();
    run(&pair.ctxrelay(["daemon", "--detach"])).expect_success();
    let mut codex = attached_codex(&pair);
    codex.submit("hello there");
    pair.responses
        .wait_for_request("the first turn", says("hello there"));
    wait_settled(&pair, "codex");
    let mut claude = as_claude(&pair);
    let mut acknowledged = Vec::new();
    let mut number = 0;
    for _ in 0..KILLS {
        let before = status(&pair);
        for _ in 0..3 {
            number += 1;
            let text = format!("survivor {number}.");
            let result = claude.call_tool("reply", json!({"text": text}));
            if !result.is_error {
                acknowledged.push((number, result.structured["message_id"].clone()));
            }
        }
        // From the row in the queue to the turn that has it: every step has its turn to be hit.
        std::thread::sleep(Duration::from_millis(chance.below(400)));
        match chance.below(3) {
            0 => kill(&before["pid"]),
            1 => kill(&before["agents"]["codex"]["appServer"]["pid"]),
            _ => {
                claude.child().crash();
                claude = as_claude(&pair);
            }
        }
        // The next call of a bridge starts a daemon where none is.
        let _ = claude.call_tool("session_info", json!({}));
        wait_status(&pair, "Codex again", |status| {
            let codex = &status["agents"]["codex"];
            codex["tui"] == true && codex["state"] == "idle"
        });
    }
    wait_settled(&pair, "codex");

    let queue = run(&pair.ctxrelay(["queue", "list", "--json"]))
        .expect_success()
        .json();
    let waiting = queue["messages"].as_array().unwrap();
    // How often it stands in the conversation. That the model is asked again after a killed turn,
    // with the same conversation, is no second delivery.
    let steps = pair.responses.steps();
    let times = |number: usize| {
        let text = format!("survivor {number}.");
        steps.iter().map(|step| step.count_of(&text)).max()
    };
    let mut lost = Vec::new();
    for (number, id) in &acknowledged {
        let row = waiting.iter().find(|row| row["id"] == *id);
        match times(*number).unwrap_or_default() {
            1 => {}
            // In sight of the operator, and sent again by nobody else.
            0 if row.is_some_and(|row| row["state"] == "ambiguous") => {}
            // Its turn was killed before the model was asked: Codex has it in its conversation.
            0 if is_confirmed(&pair, id) => {}
            times => lost.push((*number, times, row.cloned())),
        }
    }
    assert_eq!(lost, [], "{}", pair.responses.log());
    assert!(!acknowledged.is_empty());
    verify(&pair);
    // A detached daemon ends by itself; not waiting half a minute for it.
    kill(&status(&pair)["pid"]);
}

fn is_confirmed(pair: &Pair, id: &Value) -> bool {
    let id_text = id.as_str().unwrap_or_default();
    pair.project
        .ledger_naming(id_text)
        .iter()
        .map(|line| &line["runtimeEvent"])
        .any(|event| event["messageId"] == *id && event["status"] == "confirmed")
}
