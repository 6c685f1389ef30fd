//! The real Claude Code and the real Codex around one project, with scripted models.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::approvals::rests;
use crate::support::child::{is_alive, run};
use crate::support::claude_home;
use crate::support::codex_home;
use crate::support::model_request::{hears, says, tool_said};
use crate::support::pair::Pair;
use crate::support::panes::wait_for_waiting;
use crate::support::pty::{Key, Pty};
use crate::support::script::{Gate, Reply};
use crate::support::wait::{timeout, wait_until};

pub fn status(pair: &Pair) -> Value {
    pair.status()
}

#[track_caller]
pub fn wait_status(pair: &Pair, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    pair.wait_status(what, wanted)
}

/// Waits for Claude's bridge and doorbell: two processes that it starts by themselves.
#[track_caller]
pub fn wait_attached(pair: &Pair) {
    wait_status(pair, "Claude's bridge and doorbell", |status| {
        let delivery = &status["agents"]["claude"]["delivery"];
        let why = delivery["why"].as_str().unwrap();
        delivery["rung"] == "doorbell" && !why.contains("bridge died")
    });
}

/// Claude in its terminal, its bridge and doorbell attached.
#[track_caller]
pub fn attached_claude(pair: &Pair) -> Pty {
    let mut claude = pair.claude();
    claude.wait_for_text(claude_home::COMPOSER);
    wait_attached(pair);
    claude
}

/// Claude says what it is at, and the turn ends.
#[track_caller]
pub fn note_the_goal(pair: &Pair, claude: &mut Pty) {
    let goal = json!({"text": "Sort the plums by weight", "kind": "goal"});
    pair.claude_calls(says("begin with the plums"), "append_note", goal);
    let noted = pair.messages.when(tool_said("entry_id")).once();
    noted.reply(Reply::text("The plums are begun."));
    claude.submit("begin with the plums");
    claude.wait_for_text("The plums are begun.");
    // What is typed before the turn has ended is queued, and may come in another order.
    claude.wait_for_text("· done ");
}

/// Codex in its terminal, on the daemon's thread.
#[track_caller]
pub fn attached_codex(pair: &Pair) -> Pty {
    let mut codex = pair.codex();
    codex.wait_for_text(codex_home::COMPOSER);
    // Until it has read the conversation it has none to come back to: it exits with "Failed to
    // resume session" where its app-server dies, and does not try again as it does later.
    codex.wait_until_gone("Resuming session");
    wait_status(pair, "Codex's terminal", |status| {
        status["agents"]["codex"]["tui"] == true && status["agents"]["codex"]["state"] == "idle"
    });
    codex
}

/// A turn of the human's in Codex's terminal, which shows it, held by its model until the gate
/// opens. Before it shows the turn, the terminal may not know of one that it could stop.
#[track_caller]
pub fn codex_works(pair: &Pair, codex: &mut Pty) -> Gate {
    let gate = Gate::new("codex-works");
    pair.responses
        .when(says("work for long"))
        .once()
        .reply(Reply::held("Working", &gate, "never seen"));
    codex.submit("work for long");
    gate.wait_arrived();
    codex.wait_for_text("Working");
    gate
}

/// Codex runs its commands without a sandbox and without asking, from its next start.
pub fn without_sandbox(pair: &Pair) {
    let config = pair.codex_home.config();
    let text = std::fs::read_to_string(&config).unwrap();
    let text = text
        .replace("\"on-request\"", "\"never\"")
        .replace("\"read-only\"", "\"danger-full-access\"");
    std::fs::write(&config, text).unwrap();
}

pub fn of_type(pair: &Pair, entry_type: &str) -> Vec<Value> {
    pair.project
        .ledger()
        .into_iter()
        .filter(|line| line["type"] == entry_type)
        .collect()
}

#[track_caller]
pub fn verify(pair: &Pair) {
    let verified = run(&pair.ctxrelay(["ledger", "verify", "--json"])).json();
    assert_eq!(verified["ok"], true, "{verified}");
}

/// Position of the first line that a condition holds for.
#[track_caller]
fn position(ledger: &[Value], what: &str, wanted: impl Fn(&Value) -> bool) -> usize {
    ledger
        .iter()
        .position(wanted)
        .unwrap_or_else(|| panic!("no {what} in {ledger:#?}"))
}

/// What Codex finds.
const ANSWER: &str = "refresh is not single-flight";

/// What Claude makes of it.
fn proposal(handoff_id: &str) -> Reply {
    Reply::mcp(
        "contextrelay",
        "propose_final",
        json!({"summary": "the races are known", "evidence": ["Codex reviewed it"],
               "handles_handoff_id": handoff_id}),
    )
}

#[test]
fn a_handoff_goes_round_to_a_finality_that_the_operator_approves_by_key() {
    let Some(pair) = Pair::new() else { return };
    let mut deck = pair.deck();
    deck.wait_for_text("✓ chain");
    let mut claude = attached_claude(&pair);
    let mut codex = attached_codex(&pair);
    let handoff_id = Arc::new(Mutex::new(String::new()));
    pair.claude_calls(
        says("ask codex for a review"),
        "handoff",
        json!({"ask": "review refresh.rs for races", "reason": "it was changed"}),
    );
    let seen = Arc::clone(&handoff_id);
    pair.messages
        .when(tool_said("handoff_id"))
        .once()
        .reply_with(move |request| {
            let text = request.tool_text();
            let id = text.split("\"handoff_id\":\"").nth(1).unwrap();
            let id = id.split('"').next().unwrap().to_owned();
            *seen.lock().unwrap() = id.clone();
            // Codex can be faster than the next step of this turn.
            match hears(ANSWER)(request) {
                true => proposal(&id),
                false => Reply::text("Codex is on it."),
            }
        });
    pair.responses
        .when(says("review refresh.rs for races"))
        .once()
        .reply(Reply::text(&format!("Two races: {ANSWER}.")));
    let known = Arc::clone(&handoff_id);
    pair.messages
        .when(hears(ANSWER))
        .once()
        .reply_with(move |_| proposal(&known.lock().unwrap()));

    claude.submit("ask codex for a review");
    codex.wait_for_text("review refresh.rs for races");
    codex.wait_for_text(ANSWER);
    wait_for_waiting(&mut deck);
    // Nothing is done until the operator presses the key.
    assert!(of_type(&pair, "finality_decision").is_empty());
    deck.press(Key::Char('3'));
    deck.press_until(Key::Enter, "the card", |screen| {
        screen.contains("approve as the operator")
    });
    deck.press(Key::Char('a'));
    deck.press(Key::Enter);
    wait_until("the decision", timeout(), || {
        (!of_type(&pair, "finality_decision").is_empty()).then_some(())
    });

    let ledger = pair.project.ledger();
    let id = handoff_id.lock().unwrap().clone();
    let handoff = position(&ledger, "handoff", |line| line["id"] == id.as_str());
    let answer = position(&ledger, "answer", |line| {
        line["type"] == "message" && line["source"] == "codex"
    });
    let proposal = position(&ledger, "proposal", |line| {
        line["type"] == "finality_proposal"
    });
    let decision = position(&ledger, "decision", |line| {
        line["type"] == "finality_decision"
    });
    assert!(handoff < answer && answer < proposal && proposal < decision);
    assert_eq!(ledger[decision]["source"], "human");
    let answers = of_type(&pair, "message")
        .into_iter()
        .filter(|line| line["source"] == "codex");
    assert_eq!(answers.count(), 1, "the answer came once");
    // The line is in the file before the disk has it, and counts from then on.
    wait_status(&pair, "no open handoff", |status| {
        status["handoffs"]["open"] == 0
    });
    verify(&pair);
}

/// Waits until neither agent works, and nothing is on its way to one.
#[track_caller]
fn wait_both_rest(pair: &Pair) {
    wait_status(pair, "two idle agents and empty queues", |status| {
        ["claude", "codex"].iter().all(|agent| {
            let queue = &status["queue"][agent];
            let is_empty = queue["pending"] == 0 && queue["inFlight"] == 0;
            is_empty && status["agents"][agent]["state"] == "idle"
        })
    });
}

#[test]
fn each_reaches_the_other_idle_and_busy_without_anybodys_help() {
    let Some(pair) = Pair::live() else { return };
    let mut claude = attached_claude(&pair);
    let mut codex = attached_codex(&pair);
    codex_reaches_an_idle_claude_without_anybodys_help(&pair, &mut codex);
    wait_both_rest(&pair);
    rests(&pair, &mut codex);
    codex_reaches_a_busy_claude_without_anybodys_help(&pair, &mut claude, &mut codex);
    wait_both_rest(&pair);
    claude_reaches_codex_idle_and_busy_each_message_once(&pair, &mut claude, &mut codex);
    verify(&pair);
}

/// The first turn of either.
fn codex_reaches_an_idle_claude_without_anybodys_help(pair: &Pair, codex: &mut Pty) {
    pair.codex_calls(
        says("tell claude about plum"),
        "send_to_claude",
        json!({"text": "the word is plum-4711"}),
    );
    codex.submit("tell claude about plum");
    let heard = pair
        .messages
        .wait_for_request("the message at Claude's model", |request| {
            request.mentions("plum-4711")
        });
    assert!(heard.mentions("not from your operator"));
    // Proven by the hook, and offered once.
    wait_until("the proof", timeout(), || {
        pair.project
            .ledger()
            .iter()
            .find(|line| line.to_string().contains("\"confirmed\"") && line["target"] == "claude")
            .map(|_| ())
    });
    assert_eq!(pair.messages.times_heard("the word is plum-4711"), 1);
    // The line is in the file before the disk has it, and counts from then on.
    wait_status(pair, "a proven delivery", |status| {
        status["agents"]["claude"]["delivery"]["proven"] == true
    });
}

fn codex_reaches_a_busy_claude_without_anybodys_help(
    pair: &Pair,
    claude: &mut Pty,
    codex: &mut Pty,
) {
    let before = of_type(pair, "message").len();
    let gate = Gate::new("claude-works");
    pair.messages
        .when(says("think for long"))
        .once()
        .reply(Reply::held("Thinking", &gate, "done thinking."));
    pair.codex_calls(
        says("tell claude about the pear"),
        "send_to_claude",
        json!({"text": "the word is pear-4712"}),
    );
    claude.submit("think for long");
    gate.wait_arrived();
    codex.submit("tell claude about the pear");
    wait_until("the record of the message", timeout(), || {
        of_type(pair, "message").get(before).cloned()
    });
    gate.open();
    pair.messages
        .wait_for_request("the message at Claude's model", |request| {
            request.mentions("pear-4712")
        });
    let sent = of_type(pair, "message").split_off(before);
    assert_eq!(sent.len(), 1, "{sent:#?}");
    assert!(sent[0].to_string().contains("pear-4712"), "{sent:#?}");
}

fn claude_reaches_codex_idle_and_busy_each_message_once(
    pair: &Pair,
    claude: &mut Pty,
    codex: &mut Pty,
) {
    for word in ["plum-1", "plum-2"] {
        pair.claude_calls(
            says(&format!("send {word}")),
            "reply",
            json!({"text": format!("the word is {word}")}),
        );
    }
    claude.submit("send plum-1");
    codex.wait_for_text("the word is plum-1");

    let gate = Gate::new("codex-works");
    pair.responses
        .when(says("work for long"))
        .once()
        .reply(Reply::held("Working", &gate, "done working."));
    // It is in flight until the daemon has heard of its turn; and what is typed in a turn joins it.
    wait_both_rest(pair);
    rests(pair, codex);
    codex.submit("work for long");
    gate.wait_arrived();
    claude.submit("send plum-2");
    wait_until("the record of the second", timeout(), || {
        of_type(pair, "message")
            .iter()
            .find(|line| line.to_string().contains("plum-2"))
            .map(|_| ())
    });
    // Busy: it waits for the next turn, and the running one is not disturbed.
    wait_status(pair, "a message that waits", |status| {
        let queue = &status["queue"]["codex"];
        queue["pending"] == 1 || queue["inFlight"] == 1
    });
    assert_eq!(pair.responses.times_heard("the word is plum-2"), 0);
    gate.open();
    codex.wait_for_text("done working.");
    codex.wait_for_text("the word is plum-2");
    // The proof comes before Codex asks its model, the end of the turn after it.
    wait_status(pair, "an empty queue and an idle Codex", |status| {
        status["queue"]["codex"]["pending"] == 0
            && status["queue"]["codex"]["inFlight"] == 0
            && status["agents"]["codex"]["state"] == "idle"
    });
    // Codex shows a message before it asks its model about it.
    pair.responses
        .wait_for_request("the second message at Codex's model", |request| {
            request.mentions("the word is plum-2")
        });
    for word in ["plum-1", "plum-2"] {
        assert_eq!(
            pair.responses.times_heard(&format!("the word is {word}")),
            1
        );
    }
}

#[test]
fn a_killed_daemon_costs_nothing_and_both_sides_talk_again() {
    let Some(pair) = Pair::new() else { return };
    let mut daemon = pair.daemon();
    let mut claude = attached_claude(&pair);
    let mut codex = attached_codex(&pair);
    let app_server = status(&pair)["agents"]["codex"]["appServer"]["pid"]
        .as_u64()
        .unwrap();
    pair.claude_calls(
        says("send before"),
        "reply",
        json!({"text": "before the kill"}),
    );
    claude.submit("send before");
    codex.wait_for_text("before the kill");

    daemon.crash();
    drop(daemon);
    // The app-server dies with its owner: nothing is left that could hold a port.
    let app_server = u32::try_from(app_server).unwrap();
    wait_until("the end of the app-server", timeout(), || {
        (!is_alive(app_server)).then_some(())
    });
    // Claude's bridge may be quicker and start one itself; then this finds it there.
    run(&pair.ctxrelay(["daemon", "--detach"])).expect_success();
    wait_attached(&pair);
    wait_status(&pair, "Codex's side again", |status| {
        let codex = &status["agents"]["codex"];
        codex["tui"] == true && codex["state"] == "idle"
    });

    pair.claude_calls(
        says("send after"),
        "reply",
        json!({"text": "after the kill"}),
    );
    pair.responses
        .when(says("after the kill"))
        .once()
        .reply(Reply::text("Good to be back."));
    claude.submit("send after");
    codex.wait_for_text("after the kill");
    pair.messages
        .wait_for_request("the answer at Claude's model", |request| {
            request.mentions("Good to be back.")
        });
    // Not by what is new to the model: Codex shows an answer before its thread keeps it, and a
    // kill between the two leaves the first message without one, so that it counts as new again.
    let last = pair.responses.steps().pop().unwrap();
    for text in ["before the kill", "after the kill"] {
        assert_eq!(last.count_of(text), 1, "{text}: {}", last.summary());
    }
    verify(&pair);
    // The detached one would wait half a minute for somebody to come back.
    let pid = i32::try_from(status(&pair)["pid"].as_i64().unwrap()).unwrap();
    drop((claude, codex));
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).unwrap(),
        rustix::process::Signal::TERM,
    )
    .unwrap();
    wait_until("the daemon's end", timeout(), || {
        (!is_alive(u32::try_from(pid).unwrap())).then_some(())
    });
}

#[test]
fn a_message_sent_while_codexs_terminal_is_closed_is_there_when_it_returns() {
    let Some(pair) = Pair::live() else { return };
    let mut claude = attached_claude(&pair);
    let mut codex = attached_codex(&pair);
    codex.press_until_exit(Key::Ctrl('c'));
    drop(codex);
    wait_status(&pair, "the terminal's leave", |status| {
        status["agents"]["codex"]["tui"] == false
    });
    pair.claude_calls(
        says("send to the closed one"),
        "reply",
        json!({"text": "for when you return"}),
    );
    claude.submit("send to the closed one");
    pair.responses
        .wait_for_request("the message at Codex's model", |request| {
            request.mentions("for when you return")
        });
    let mut codex = pair.codex();
    codex.wait_for_text("for when you return");
    assert_eq!(pair.responses.times_heard("for when you return"), 1);
}

#[test]
fn a_message_follows_the_terminal_into_a_new_conversation() {
    let Some(pair) = Pair::live() else { return };
    let mut claude = attached_claude(&pair);
    let mut codex = attached_codex(&pair);
    let first = status(&pair)["agents"]["codex"]["threadId"].clone();
    codex.submit("hello there");
    pair.responses
        .wait_for_request("the human's turn", |request| {
            request.mentions("hello there")
        });
    wait_status(&pair, "an idle Codex", |status| {
        status["agents"]["codex"]["state"] == "idle"
    });
    // In a turn, and as far as the terminal knows, there is no new conversation.
    codex.wait_for_text("Worked for");
    codex.submit("/new");
    let second = wait_status(&pair, "the new thread", |status| {
        status["agents"]["codex"]["threadId"] != first
    });
    codex.submit("a new beginning");
    pair.claude_calls(
        says("send to the new one"),
        "reply",
        json!({"text": "hello new thread"}),
    );
    claude.submit("send to the new one");
    codex.wait_for_text("hello new thread");
    let thread = second["agents"]["codex"]["threadId"].as_str().unwrap();
    let request = pair
        .responses
        .wait_for_request("the message at Codex's model", |request| {
            request.mentions("hello new thread")
        });
    assert_eq!(request.conversation.as_deref(), Some(thread));
}

#[test]
fn a_killed_app_server_comes_back_with_its_thread() {
    let Some(pair) = Pair::live() else { return };
    let mut claude = attached_claude(&pair);
    let mut codex = attached_codex(&pair);
    // A terminal that is still taking its thread up gives up when the server goes away.
    pair.responses
        .when(says("hello there"))
        .once()
        .reply(Reply::text("Hello yourself."));
    codex.submit("hello there");
    codex.wait_for_text("Hello yourself.");
    let before = wait_status(&pair, "an idle Codex", |status| {
        status["agents"]["codex"]["state"] == "idle"
    });
    let pid = before["agents"]["codex"]["appServer"]["pid"]
        .as_i64()
        .unwrap();
    let thread = before["agents"]["codex"]["threadId"].clone();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    wait_status(&pair, "another app-server", |status| {
        let codex = &status["agents"]["codex"];
        codex["appServer"]["pid"]
            .as_i64()
            .is_some_and(|new| new != pid)
            && codex["threadId"] == thread
            && codex["tui"] == true
    });
    pair.claude_calls(
        says("send after the crash"),
        "reply",
        json!({"text": "are you there"}),
    );
    claude.submit("send after the crash");
    codex.wait_for_text("are you there");
    pair.responses
        .wait_for_request("the message at Codex's model", |request| {
            request.mentions("are you there")
        });
    assert_eq!(pair.responses.times_heard("are you there"), 1);
}

#[test]
fn no_secret_of_ours_reaches_the_commands_that_codex_runs() {
    let Some(pair) = Pair::live() else { return };
    let mut codex = attached_codex(&pair);
    pair.responses
        .when(says("show your environment"))
        .once()
        .reply(Reply::shell("env | sort; echo end-of-env"));
    codex.submit("show your environment");
    let request = pair
        .responses
        .wait_for_request("the environment", |request| {
            request.tool_text().contains("end-of-env")
        });
    let env = request.tool_text();
    assert!(env.contains("PATH="), "{env}");
    for line in env.split("\\n").flat_map(str::lines) {
        if let Some((name, value)) = line.split_once('=')
            && name.contains("CONTEXTRELAY")
            && (name.contains("TOKEN") || name.contains("MARK") || name.contains("HOLD"))
        {
            assert!(value.is_empty(), "{name} is visible");
        }
    }
    for file in ["token", "claude-token", "codex-token", "proxy-token"] {
        assert!(!env.contains(&pair.project.token_in(file)), "{file}");
    }
}

#[test]
fn a_codex_on_its_sign_in_screen_is_not_idle() {
    let Some(pair) = Pair::new() else { return };
    let config = pair.codex_home.config();
    let text = std::fs::read_to_string(&config).unwrap();
    let text = text
        .replace(
            "requires_openai_auth = false",
            "requires_openai_auth = true",
        )
        .replace("env_key = \"SCRIPTED_KEY\"\n", "");
    std::fs::write(&config, text).unwrap();
    let _daemon = pair.daemon();
    let mut codex = pair.codex();
    codex.wait_for_text("Sign in with ChatGPT");
    let status = wait_status(&pair, "a Codex that waits", |status| {
        status["agents"]["codex"]["state"] == "waiting"
    });
    let why = status["agents"]["codex"]["delivery"]["why"].as_str();
    assert!(why.unwrap().contains("sign in"), "{status}");
    let text = pair.project.run(["status"]).expect_success().stdout;
    assert!(text.contains("waits for you to sign in"), "{text}");
}
