//! What lies in Codex's own queue when the turn before it ends early: only what the human stopped
//! waits for them.

use serde_json::{Value, json};

use crate::pair::{attached_codex, codex_works, of_type, status, verify, wait_status};
use crate::support::child::{is_alive, run};
use crate::support::mcp::McpClient;
use crate::support::model_request::{ModelRequest, says};
use crate::support::operator::Operator;
use crate::support::pair::Pair;
use crate::support::pty::Key;
use crate::support::script::{Gate, Reply};
use crate::support::wait::{timeout, wait_until};

pub fn as_claude(pair: &Pair) -> McpClient {
    McpClient::start(&pair.ctxrelay(["bridge"]))
}

pub fn send(claude: &mut McpClient, text: &str) -> Value {
    claude.tool("reply", json!({"text": text}))
}

#[track_caller]
pub fn wait_settled(pair: &Pair) {
    wait_status(pair, "an idle Codex and an empty queue", |status| {
        let queue = &status["queue"]["codex"];
        queue["pending"] == 0
            && queue["inFlight"] == 0
            && status["agents"]["codex"]["state"] == "idle"
    });
}

/// A turn that has ended, so that there is a conversation to go on with.
#[track_caller]
pub fn begun(pair: &Pair, claude: &mut McpClient) {
    send(claude, "hello there");
    pair.responses
        .wait_for_request("the first turn", says("hello there"));
    wait_settled(pair);
}

/// A turn of Codex that is held at the gate, begun by a message; and the id of another message in
/// Codex's own queue behind it.
#[track_caller]
pub fn behind_a_turn(pair: &Pair, claude: &mut McpClient, word: &str) -> (Value, Gate) {
    let gate = Gate::new("codex-works");
    pair.responses
        .when(says("work for long"))
        .once()
        .reply(Reply::held("Working", &gate, "never seen"));
    send(claude, "work for long");
    gate.wait_arrived();
    (send_to_queue(pair, claude, word), gate)
}

/// Sends what Codex takes into its own queue, for now.
#[track_caller]
pub fn send_to_queue(pair: &Pair, claude: &mut McpClient, word: &str) -> Value {
    let id = send(claude, word)["message_id"].clone();
    wait_queued(pair, &id);
    id
}

/// Waits until Codex has a message in its own queue.
#[track_caller]
pub fn wait_queued(pair: &Pair, id: &Value) {
    wait_until("the row of the message in Codex's queue", timeout(), || {
        (in_list(pair, id)? == "offered").then_some(())
    });
}

/// The turn that ran is told as one that nobody stopped, and the message behind it came once.
#[track_caller]
fn goes_on(pair: &Pair, word: &str) {
    pair.responses.wait_for_request("the message", says(word));
    wait_settled(pair);
    assert_eq!(pair.responses.times_heard(word), 1);
    assert_eq!(status(pair)["agents"]["codex"]["held"], false);
    let stopped = of_type(pair, "runtime_event")
        .into_iter()
        .filter(|line| line["runtimeEvent"]["stoppedBy"] != Value::Null)
        .collect::<Vec<_>>();
    assert_eq!(stopped, Vec::<Value>::new());
    verify(pair);
}

pub fn app_server(pair: &Pair) -> Value {
    status(pair)["agents"]["codex"]["appServer"]["pid"].clone()
}

/// Waits until the app-server of a killed daemon is gone. Until then it may come to the end of its
/// turn, begin the next one and be cut off in it.
#[track_caller]
pub fn wait_gone(app_server: &Value) {
    let pid = u32::try_from(app_server.as_u64().unwrap()).unwrap();
    wait_until("the end of the app-server", timeout(), || {
        (!is_alive(pid)).then_some(())
    });
}

#[test]
fn what_waits_behind_a_turn_goes_on_after_the_app_server_was_killed() {
    let Some(pair) = Pair::live() else { return };
    let _codex = attached_codex(&pair);
    let mut claude = as_claude(&pair);
    begun(&pair, &mut claude);
    let (_, gate) = behind_a_turn(&pair, &mut claude, "the word is killed");
    let before = app_server(&pair);
    let pid = i32::try_from(before.as_i64().unwrap()).unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    wait_until("another app-server", timeout(), || {
        let now = app_server(&pair);
        (now.is_u64() && now != before).then_some(())
    });
    gate.open();
    goes_on(&pair, "the word is killed");
}

#[test]
fn what_waits_behind_a_turn_goes_on_after_the_daemon_was_stopped() {
    let Some(pair) = Pair::new() else { return };
    let daemon = pair.daemon();
    let mut claude = as_claude(&pair);
    begun(&pair, &mut claude);
    let (_, gate) = behind_a_turn(&pair, &mut claude, "the word is stopped");
    // No bridge that could start the next one.
    drop(claude);
    daemon.stop();
    gate.open();
    let _daemon = pair.daemon();
    goes_on(&pair, "the word is stopped");
}

#[test]
fn what_waits_behind_a_turn_goes_on_after_the_daemon_was_killed() {
    let Some(pair) = Pair::new() else { return };
    let mut daemon = pair.daemon();
    let mut claude = as_claude(&pair);
    begun(&pair, &mut claude);
    let (_, gate) = behind_a_turn(&pair, &mut claude, "the word is crashed");
    drop(claude);
    let before = app_server(&pair);
    daemon.crash();
    wait_gone(&before);
    gate.open();
    let _daemon = pair.daemon();
    goes_on(&pair, "the word is crashed");
}

/// Has an app-server without a daemon end in a turn as one does that is asked to end: it writes of
/// that turn what it writes of one that the human stopped.
fn end_politely_in_a_turn(pair: &Pair, thread: &Value) {
    let gate = Gate::new("codex-works");
    pair.responses
        .when(says("work for nobody"))
        .once()
        .reply(Reply::held("Working", &gate, "never seen"));
    let launch = pair
        .codex_home
        .codex(&pair.project, ["app-server", "--listen", "stdio://"]);
    let mut codex = McpClient::spawn(&launch);
    let client = json!({"clientInfo": {"name": "test", "title": "test", "version": "0"}});
    codex.call("initialize", client).unwrap();
    codex.notify("initialized", json!({}));
    codex
        .call("thread/resume", json!({"threadId": thread}))
        .unwrap();
    let input = json!([{"type": "text", "text": "work for nobody"}]);
    codex
        .call("turn/start", json!({"threadId": thread, "input": input}))
        .unwrap();
    gate.wait_arrived();
    codex.child().close_stdin();
    wait_until("the end of the app-server", timeout(), || {
        codex.child().try_exit()
    });
    gate.open();
}

/// A thread whose last turn Codex takes for stopped by the human, and that no daemon runs.
#[track_caller]
fn held_by_nobody(pair: &Pair) {
    let daemon = pair.daemon();
    let mut claude = as_claude(pair);
    begun(pair, &mut claude);
    let thread = status(pair)["agents"]["codex"]["threadId"].clone();
    drop(claude);
    daemon.stop();
    end_politely_in_a_turn(pair, &thread);
}

#[test]
fn what_an_app_server_that_was_asked_to_end_holds_goes_on_by_itself() {
    let Some(pair) = Pair::new() else { return };
    held_by_nobody(&pair);
    let _daemon = pair.daemon();
    send(&mut as_claude(&pair), "the word is released");
    goes_on(&pair, "the word is released");
}

#[test]
fn what_it_holds_goes_on_by_itself_when_another_daemon_finds_it() {
    let Some(pair) = Pair::new() else { return };
    held_by_nobody(&pair);
    let mut daemon = pair.daemon();
    let mut claude = as_claude(&pair);
    let id = send(&mut claude, "the word is recovered")["message_id"].clone();
    // It goes on by itself in a while, which on a slow machine is over before anybody looks.
    wait_until("the message in Codex's queue or out", timeout(), || {
        let is_heard = pair.responses.times_heard("the word is recovered") > 0;
        let is_queued = || in_list(&pair, &id).is_some_and(|state| state == "offered");
        (is_heard || is_queued()).then_some(())
    });
    if pair.responses.times_heard("the word is recovered") > 0 {
        eprintln!("it went on before another daemon could find it");
    }
    drop(claude);
    daemon.crash();
    let _daemon = pair.daemon();
    goes_on(&pair, "the word is recovered");
}

#[test]
fn what_the_human_stopped_is_theirs_also_after_the_daemon_was_killed() {
    let Some(pair) = Pair::new() else { return };
    let mut daemon = pair.daemon();
    let mut codex = attached_codex(&pair);
    let gate = codex_works(&pair, &mut codex);
    codex.press(Key::Escape);
    wait_status(&pair, "a lane that is held", |status| {
        status["agents"]["codex"]["held"] == true
    });
    // The lane rests at once, a moment before the record says why: a kill in between is taken for the
    // end of the turn, as Codex writes both alike.
    wait_until("the stop in the record", timeout(), || {
        let turns = of_type(&pair, "runtime_event");
        let stopped = |line: &Value| line["runtimeEvent"]["stoppedBy"] == "human";
        turns.iter().any(stopped).then_some(())
    });
    daemon.crash();
    let _daemon = pair.daemon();
    codex.wait_until_gone("Reconnecting");
    let mut operator = Operator::connect(&pair.project);
    wait_status(&pair, "a lane that is held still", |status| {
        let codex = &status["agents"]["codex"];
        codex["held"] == true && codex["state"] == "idle"
    });
    let sent = send(&mut as_claude(&pair), "the word is held");
    let note = sent["note"].as_str().unwrap_or_default();
    assert!(
        note.contains("your operator stopped Codex's turn"),
        "{sent}"
    );
    assert_eq!(pair.responses.times_heard("the word is held"), 0);
    let retry = json!({"id": sent["message_id"], "change": "retry"});
    operator.call("queue/change", retry).unwrap();
    pair.responses
        .wait_for_request("the message", says("the word is held"));
    wait_settled(&pair);
    assert_eq!(pair.responses.times_heard("the word is held"), 1);
    gate.open();
    verify(&pair);
}

/// How the message stands in the queue.
fn in_list(pair: &Pair, id: &Value) -> Option<Value> {
    let queue = run(&pair.ctxrelay(["queue", "list", "--json"])).expect_success();
    let rows = queue.json()["messages"].as_array().unwrap().clone();
    let row = rows.into_iter().find(|row| row["id"] == *id)?;
    Some(row["state"].clone())
}

#[test]
fn what_the_person_takes_out_of_codexs_queue_or_gives_up_there_begins_no_turn() {
    let Some(pair) = Pair::live() else { return };
    let _codex = attached_codex(&pair);
    let mut operator = Operator::connect(&pair.project);
    let mut claude = as_claude(&pair);
    begun(&pair, &mut claude);
    for (word, is_rebuilt) in [("drop the plum", false), ("drop the pear", true)] {
        let (id, gate) = behind_a_turn(&pair, &mut claude, word);
        if is_rebuilt {
            operator.call("queue/rebuild", json!({})).unwrap();
            assert_eq!(in_list(&pair, &id), Some(json!("ambiguous")));
        } else {
            let dry = pair.ctxrelay(["queue", "remove", id.as_str().unwrap()]);
            let dry = run(&dry).expect_success().stdout;
            assert!(dry.contains("is taken out of Codex's own queue"), "{dry}");
        }
        let remove = json!({"id": id, "change": "remove"});
        operator.call("queue/change", remove).unwrap();
        wait_until("the end of the message", timeout(), || {
            in_list(&pair, &id).is_none().then_some(())
        });
        gate.open();
        wait_settled(&pair);
        // The next turn has what comes next.
        let next = format!("next, behind {word}");
        send(&mut claude, &next);
        pair.responses
            .wait_for_request("the next turn", says(next.as_str()));
        wait_settled(&pair);
        let told = pair.responses.requests();
        let told = told.iter().map(ModelRequest::user_text);
        let of_it = told.filter(|text| text.contains(&format!("\n{word}")));
        assert_eq!(of_it.count(), 0, "{word}");
        let ends = of_type(&pair, "runtime_event").into_iter();
        let ends = ends.filter(|line| line["runtimeEvent"]["messageId"] == id);
        let ends: Vec<Value> = ends.collect();
        let last = &ends.last().unwrap()["runtimeEvent"];
        assert_eq!(last["status"], "cancelled", "{ends:#?}");
        // Of what came back out of the queue it is known that nobody had it.
        assert!(is_rebuilt || last["attemptId"].is_null(), "{ends:#?}");
    }
    verify(&pair);
}

#[test]
fn what_the_person_took_out_of_codexs_queue_begins_no_turn_after_the_daemon_was_killed() {
    let Some(pair) = Pair::new() else { return };
    let mut daemon = pair.daemon();
    let mut operator = Operator::connect(&pair.project);
    let mut claude = as_claude(&pair);
    begun(&pair, &mut claude);
    let (id, gate) = behind_a_turn(&pair, &mut claude, "drop the fig");
    // No bridge that could start the next one.
    drop(claude);
    // It does not give it back before the daemon is gone.
    let before = app_server(&pair);
    let pid = i32::try_from(before.as_i64().unwrap()).unwrap();
    let signal = |signal| {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        let _ = rustix::process::kill_process(pid, signal);
    };
    signal(rustix::process::Signal::STOP);
    let remove = json!({"id": id, "change": "remove"});
    operator.call("queue/change", remove).unwrap();
    daemon.crash();
    signal(rustix::process::Signal::CONT);
    wait_gone(&before);
    gate.open();
    let _daemon = pair.daemon();
    let mut claude = as_claude(&pair);
    send(&mut claude, "next, behind the fig");
    pair.responses
        .wait_for_request("the next turn", says("next, behind the fig"));
    wait_settled(&pair);
    assert_eq!(pair.responses.times_heard("drop the fig"), 0);
    assert_eq!(in_list(&pair, &id), None);
    let ends = of_type(&pair, "runtime_event").into_iter();
    let ends = ends.filter(|line| line["runtimeEvent"]["messageId"] == id);
    let ends: Vec<Value> = ends.collect();
    let last = &ends.last().unwrap()["runtimeEvent"];
    assert_eq!(last["status"], "cancelled", "{ends:#?}");
    verify(&pair);
}
