//! The daemon goes from one process to another: nobody else can take the project in between, the
//! agents are back at once, and what Codex does goes on.

use std::fs::{File, TryLockError};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::child::{is_alive, run};
use crate::support::codex_home;
use crate::support::mcp::McpClient;
use crate::support::model_request::hears;
use crate::support::operator::Operator;
use crate::support::pair::Pair;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::script::{Gate, Reply};
use crate::support::wait::{timeout, wait_until};

/// Between two looks at the lock: far below what a start of a daemon takes.
const LOOK: Duration = Duration::from_micros(200);

/// How long an agent may be without its daemon, in ms.
const BACK_MS: i64 = 2000;

/// Looks at the project's lock all the time, as a second daemon would that is about to start.
struct LockWatch {
    stop: Arc<AtomicBool>,
    looking: JoinHandle<(u64, u64)>,
}

impl LockWatch {
    fn start(project: &Project) -> Self {
        let path = project.state().join("state/daemon.lock");
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let looking = std::thread::spawn(move || {
            let (mut looks, mut free) = (0, 0);
            while !told.load(Ordering::Relaxed) {
                looks += 1;
                match File::open(&path).unwrap().try_lock() {
                    Ok(()) => free += 1,
                    Err(TryLockError::WouldBlock) => {}
                    Err(TryLockError::Error(error)) => panic!("{error}"),
                }
                std::thread::sleep(LOOK);
            }
            (looks, free)
        });
        Self { stop, looking }
    }

    #[track_caller]
    fn expect_never_free(self) {
        self.stop.store(true, Ordering::Relaxed);
        let (looks, free) = self.looking.join().unwrap();
        assert!(looks > 10, "only {looks} looks");
        assert_eq!(free, 0, "the lock was free in {free} of {looks} looks");
    }
}

/// Ends whatever daemon the project has when the test is over, also when it failed: a detached one
/// whose Codex is in a turn would stay for ever.
struct Tidy<'a>(&'a Project);

impl Drop for Tidy<'_> {
    fn drop(&mut self) {
        let published = std::fs::read(self.0.state().join("state/ports.json"));
        let published: Option<Value> = published
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let pid = published
            .and_then(|published| published["pid"].as_i64())
            .and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        if let Some(pid) = pid {
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}

fn status(project: &Project) -> Value {
    project.run(["status", "--json"]).expect_success().json()
}

fn pid(status: &Value) -> u32 {
    u32::try_from(status["pid"].as_u64().unwrap()).unwrap()
}

/// Waits until a daemon runs that is not this process, and returns its status.
#[track_caller]
fn another_daemon(project: &Project, before: u32) -> Value {
    wait_until("another daemon", timeout(), || {
        let now = project.run(["status", "--json"]).json();
        (now["running"] == true && pid(&now) != before).then_some(now)
    })
}

fn of_type(project: &Project, entry_type: &str) -> Vec<Value> {
    let mut lines = project.ledger();
    lines.retain(|line| line["type"] == entry_type);
    lines
}

#[track_caller]
fn expect_sound(project: &Project) {
    let verified = project.run(["ledger", "verify", "--json"]).json();
    assert_eq!(verified["ok"], true, "{verified}");
}

#[track_caller]
fn end_daemon(project: &Project) {
    let pid = pid(&status(project));
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::TERM).unwrap();
    wait_until("the daemon's end", timeout(), || {
        (!is_alive(pid)).then_some(())
    });
}

#[track_caller]
fn leave(deck: &mut Pty) {
    deck.press(Key::Char('q'));
    deck.wait_for_text("stay in the background");
    deck.press(Key::Enter);
    assert_eq!(deck.wait_exit(), 0, "{}", deck.screen());
}

#[test]
fn staying_passes_the_lock_on_and_a_bridge_goes_on() {
    let project = Project::new();
    let _tidy = Tidy(&project);
    let mut deck = Pty::spawn(&project.ctxrelay([])).labelled("deck");
    deck.wait_for_text("Timeline");
    let mut claude = McpClient::start(&project.ctxrelay(["bridge"]));
    claude.tool("append_note", json!({"text": "before"}));
    deck.wait_for_text("before");
    let hosted = pid(&status(&project));
    let watch = LockWatch::start(&project);
    leave(&mut deck);
    let now = status(&project);
    assert_eq!(now["running"], true);
    assert_ne!(pid(&now), hosted);
    claude.tool("append_note", json!({"text": "after"}));
    let second = run(&project.ctxrelay(["--json", "daemon"]));
    assert_eq!(second.json()["error"]["code"], "already_running");
    watch.expect_never_free();
    let notes = of_type(&project, "note");
    assert_eq!(notes.len(), 2, "{notes:#?}");
    expect_sound(&project);
    assert!(!deck.with_screen(|screen| screen.alternate_screen()));
    end_daemon(&project);
}

#[test]
fn a_closed_pane_passes_the_daemon_on_while_an_agent_is_attached() {
    let project = Project::new();
    let _tidy = Tidy(&project);
    let mut deck = Pty::spawn(&project.ctxrelay([])).labelled("deck");
    deck.wait_for_text("Timeline");
    let mut claude = McpClient::start(&project.ctxrelay(["bridge"]));
    claude.tool("append_note", json!({"text": "before"}));
    let hosted = pid(&status(&project));
    let watch = LockWatch::start(&project);
    deck.signal(Signal::HUP);
    deck.wait_exit();
    another_daemon(&project, hosted);
    claude.tool("append_note", json!({"text": "after"}));
    watch.expect_never_free();
    expect_sound(&project);
    end_daemon(&project);
}

/// A program that begins as a successor does, and then does `then`.
fn successor(project: &Project, greeting: &str, then: &str) -> PathBuf {
    let path = project.base().join("successor");
    let script = format!("#!/bin/sh\nprintf '%s\\n' '{greeting}' >&0\n{then}\n");
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn a_successor_that_is_killed_with_the_estate_in_hand_costs_nothing() {
    let project = Project::new();
    let _tidy = Tidy(&project);
    let daemon = project.daemon();
    let mut operator = Operator::connect(&project);
    let mut claude = McpClient::start(&project.ctxrelay(["bridge"]));
    claude.tool("append_note", json!({"text": "before"}));
    let watch = LockWatch::start(&project);
    // It takes the estate in and dies of it.
    let taken = project.base().join("taken");
    let then = format!("head -c 64 >{} && kill -9 $$", taken.display());
    let program = successor(&project, r#"{"format":1,"version":"x"}"#, &then);
    operator.hand_over(program).unwrap();
    wait_until("the successor to have the estate", timeout(), || {
        std::fs::metadata(&taken)
            .is_ok_and(|found| found.len() == 64)
            .then_some(())
    });
    claude.tool("append_note", json!({"text": "after"}));
    assert_eq!(pid(&status(&project)), daemon.pid());
    watch.expect_never_free();
    assert_eq!(of_type(&project, "note").len(), 2);
    expect_sound(&project);
}

#[test]
fn a_program_of_another_kind_is_refused_before_anything_stops() {
    let project = Project::new();
    let _tidy = Tidy(&project);
    let daemon = project.daemon();
    let mut operator = Operator::connect(&project);
    let mut claude = McpClient::start(&project.ctxrelay(["bridge"]));
    let later = successor(
        &project,
        r#"{"format":999,"version":"9.0.0"}"#,
        "cat >/dev/null",
    );
    let programs = [
        later.as_path(),
        "/bin/false".as_ref(),
        "/no/such/program".as_ref(),
    ];
    for program in programs {
        let refused = operator.hand_over(program);
        let refused = refused.unwrap_err();
        let code = if program.exists() {
            "cannot_take_over"
        } else {
            "internal"
        };
        assert_eq!(refused.data["code"], code, "{refused:?}");
    }
    let events = of_type(&project, "runtime_event");
    let handed = |line: &Value| line.to_string().contains("daemon_handed_over");
    assert!(!events.iter().any(handed), "{events:#?}");
    claude.tool("append_note", json!({"text": "undisturbed"}));
    assert_eq!(pid(&status(&project)), daemon.pid());
}

#[test]
fn the_operator_replaces_a_running_daemon_and_an_agent_cannot() {
    let project = Project::new();
    let _tidy = Tidy(&project);
    let mut daemon = project.daemon();
    let before = daemon.pid();
    let mut operator = Operator::connect(&project);
    let mut claude = McpClient::start(&project.ctxrelay(["bridge"]));
    claude.tool("append_note", json!({"text": "before"}));
    let program = env!("CARGO_BIN_EXE_ctxrelay");
    let mut agent = project.control().unwrap();
    agent.expect(
        "hello",
        json!({"protocol": 1, "role": "cli", "pid": std::process::id()}),
    );
    let refused = agent
        .call("daemon/handOver", json!({"program": program}))
        .unwrap_err();
    assert_eq!(refused.data["code"], "operator_only");
    let watch = LockWatch::start(&project);
    operator.hand_over(program).unwrap();
    let code = wait_until("the end of the process before", timeout(), || {
        daemon.child().try_exit()
    });
    assert!(code.success());
    claude.tool("append_note", json!({"text": "after"}));
    assert_ne!(pid(&status(&project)), before);
    watch.expect_never_free();
    expect_sound(&project);
    end_daemon(&project);
}

fn agents(pair: &Pair) -> Value {
    run(&pair.ctxrelay(["status", "--json"]))
        .expect_success()
        .json()["agents"]
        .take()
}

/// A turn of the real Codex, begun by a message of Claude's and held by its model; a second
/// message behind it; and `hand_over` in the middle.
fn codex_goes_on(pair: &Pair, hand_over: impl FnOnce()) {
    let project = &pair.project;
    let mut claude = McpClient::start(&pair.ctxrelay(["bridge"]));
    let mut codex = pair.codex();
    codex.wait_for_text(codex_home::COMPOSER);
    wait_until("Codex's terminal", timeout(), || {
        let codex = &agents(pair)["codex"];
        (codex["tui"] == true && codex["state"] == "idle").then_some(())
    });
    let gate = Gate::new("codex-works");
    pair.responses
        .when(hears("the first question"))
        .once()
        .reply(Reply::held(
            "Half of the answer, ",
            &gate,
            "the other half.",
        ));
    pair.responses
        .when(hears("the second question"))
        .once()
        .reply(Reply::mcp(
            "ctxrelay",
            "append_note",
            json!({"text": "a note of the next turn"}),
        ));
    let first = claude.tool("reply", json!({"text": "the first question"}));
    gate.wait_arrived();
    codex.wait_for_text("Half of the answer");
    let second = claude.tool("reply", json!({"text": "the second question"}));
    wait_until("the second in Codex's queue", timeout(), || {
        let status = run(&pair.ctxrelay(["status", "--json"])).json();
        (status["queue"]["codex"]["inFlight"] == 1).then_some(())
    });
    let waiting = claude.begin_tool("wait_for_messages", json!({"timeout_s": 50}));
    let before = agents(pair);
    let hosted = pid(&status(project));
    let watch = LockWatch::start(project);

    hand_over();

    another_daemon(project, hosted);
    watch.expect_never_free();
    let now = wait_until("Codex and Claude back", timeout(), || {
        let now = agents(pair);
        let back = now["codex"]["state"] == "busy" && now["claude"]["state"] != "offline";
        back.then_some(now)
    });
    assert_eq!(
        now["codex"]["appServer"]["pid"],
        before["codex"]["appServer"]["pid"]
    );
    assert_eq!(now["codex"]["turnId"], before["codex"]["turnId"]);
    assert_eq!(now["codex"]["threadId"], before["codex"]["threadId"]);
    assert_eq!(now["codex"]["tui"], true);
    expect_back_soon(&project.ledger());
    gate.open();
    codex.wait_for_text("the other half.");
    // The answer to Claude's message, though the process that brought it is gone; asked for before
    // the hand-over.
    let answer = claude.tool_result(&waiting);
    assert!(!answer.is_error, "{answer:?}");
    assert!(answer.text.contains("the other half."), "{answer:?}");
    // The next turn, and a tool call of Codex at the new process.
    wait_until("the note of the next turn", timeout(), || {
        (!of_type(project, "note").is_empty()).then_some(())
    });
    wait_until("both messages to be proven", timeout(), || {
        let ledger = project.ledger();
        [&first, &second]
            .iter()
            .all(|sent| confirmations(&ledger, sent) > 0)
            .then_some(())
    });
    let ledger = project.ledger();
    for sent in [&first, &second] {
        assert_eq!(confirmations(&ledger, sent), 1, "{ledger:#?}");
    }
    for words in ["the first question", "the second question"] {
        assert_eq!(pair.responses.times_heard(words), 1, "{words}");
    }
    let turn = before["codex"]["turnId"].as_str().unwrap();
    let ended = ledger
        .iter()
        .filter(|line| {
            let text = line.to_string();
            text.contains(turn) && text.contains("\"completed\"")
        })
        .count();
    assert_eq!(ended, 1, "{ledger:#?}");
    let screen = String::from_utf8_lossy(&codex.transcript()).into_owned();
    assert!(!screen.contains("Reconnecting"), "the terminal was cut off");
    expect_sound(project);
    drop(codex);
    end_daemon(project);
    let app_server = before["codex"]["appServer"]["pid"].as_u64().unwrap();
    let app_server = u32::try_from(app_server).unwrap();
    wait_until("the end of the app-server", timeout(), || {
        (!is_alive(app_server)).then_some(())
    });
}

/// The bridge came back to the next process within the promised time.
#[track_caller]
fn expect_back_soon(ledger: &[Value]) {
    let at = |what: &str, after: i64| {
        ledger
            .iter()
            .filter(|line| line["content"] == what)
            .filter_map(|line| line["timestamp"].as_i64())
            .find(|at| *at >= after)
            .unwrap_or_else(|| panic!("no {what:?} in {ledger:#?}"))
    };
    let left = at("the daemon hands over to another process", 0);
    let away = at("Claude attached", left) - left;
    assert!(away < BACK_MS, "the bridge was away for {away} ms");
}

/// How often the record says that a message was confirmed.
fn confirmations(ledger: &[Value], sent: &Value) -> usize {
    let id = sent["message_id"]
        .as_str()
        .unwrap_or_else(|| panic!("{sent}"));
    ledger
        .iter()
        .filter(|line| line["type"] == "runtime_event")
        .map(Value::to_string)
        .filter(|text| text.contains(id) && text.contains("\"confirmed\""))
        .count()
}

#[test]
fn a_turn_of_codex_goes_on_when_the_deck_is_left() {
    let Some(pair) = Pair::new() else { return };
    let _tidy = Tidy(&pair.project);
    let mut deck = pair.deck();
    deck.wait_for_text("Timeline");
    codex_goes_on(&pair, || leave(&mut deck));
}

#[test]
fn a_turn_of_codex_goes_on_when_the_daemon_is_replaced() {
    let Some(pair) = Pair::new() else { return };
    let _tidy = Tidy(&pair.project);
    let mut daemon = pair.daemon();
    let mut operator = Operator::connect(&pair.project);
    codex_goes_on(&pair, || {
        let program = env!("CARGO_BIN_EXE_ctxrelay");
        operator.hand_over(program).unwrap();
        wait_until("the end of the process before", timeout(), || {
            daemon.child().try_exit()
        });
    });
}

#[test]
fn a_turn_of_codex_goes_on_when_nobody_could_take_over() {
    let Some(pair) = Pair::new() else { return };
    let _tidy = Tidy(&pair.project);
    let daemon = pair.daemon();
    let project = &pair.project;
    let mut operator = Operator::connect(project);
    let mut codex = pair.codex();
    codex.wait_for_text(codex_home::COMPOSER);
    let mut claude = McpClient::start(&pair.ctxrelay(["bridge"]));
    let gate = Gate::new("codex-works");
    pair.responses
        .when(hears("the first question"))
        .once()
        .reply(Reply::held(
            "Half of the answer, ",
            &gate,
            "the other half.",
        ));
    claude.tool("reply", json!({"text": "the first question"}));
    gate.wait_arrived();
    let before = agents(&pair);
    let taken = project.base().join("taken");
    let then = format!("head -c 64 >{} && kill -9 $$", taken.display());
    let program = successor(project, r#"{"format":1,"version":"x"}"#, &then);
    operator.hand_over(program).unwrap();
    let now = wait_until("Codex in its turn again", timeout(), || {
        let now = run(&pair.ctxrelay(["status", "--json"])).json()["agents"].take();
        (taken.exists() && now["codex"]["state"] == "busy").then_some(now)
    });
    assert_eq!(
        now["codex"]["appServer"]["pid"],
        before["codex"]["appServer"]["pid"]
    );
    assert_eq!(pid(&status(project)), daemon.pid());
    gate.open();
    codex.wait_for_text("the other half.");
    let answer = claude.tool("wait_for_messages", json!({"timeout_s": 30}));
    assert!(answer.to_string().contains("the other half."), "{answer}");
    let screen = String::from_utf8_lossy(&codex.transcript()).into_owned();
    assert!(!screen.contains("Reconnecting"), "the terminal was cut off");
    expect_sound(project);
}

#[test]
fn a_deck_of_another_version_offers_a_restart_and_reads_only_until_then() {
    let project = Project::new();
    let _tidy = Tidy(&project);
    let mut daemon = project.daemon();
    let published = project.state().join("state/ports.json");
    let text = std::fs::read_to_string(&published).unwrap();
    let mut older: Value = serde_json::from_str(&text).unwrap();
    older["version"] = json!("0.0.9");
    std::fs::write(&published, older.to_string()).unwrap();

    let mut deck = Pty::spawn(&project.ctxrelay([])).labelled("deck");
    deck.wait_for_text("the daemon is version 0.0.9");
    deck.type_text("n");
    deck.press(Key::Enter);
    deck.wait_for_text("read-only until it is restarted");
    deck.wait_for_text("the daemon started");
    deck.press(Key::Char('C'));
    deck.wait_for_text("clear");
    deck.type_text("clear");
    deck.press(Key::Enter);
    wait_until("the refusal", timeout(), || {
        project
            .ledger()
            .iter()
            .any(|line| line.to_string().contains("operator_only"))
            .then_some(())
    });
    drop(deck);
    assert_eq!(pid(&status(&project)), daemon.pid());

    let mut deck = Pty::spawn(&project.ctxrelay([])).labelled("deck");
    deck.wait_for_text("the daemon is version 0.0.9");
    deck.press(Key::Enter);
    deck.wait_for_text("Timeline");
    assert_ne!(pid(&status(&project)), daemon.pid());
    let code = wait_until("the end of the process before", timeout(), || {
        daemon.child().try_exit()
    });
    assert!(code.success());
    drop(deck);
    end_daemon(&project);
}

#[test]
fn the_deck_comes_back_when_nobody_can_take_over_while_codex_works() {
    let Some(pair) = Pair::new() else { return };
    let _tidy = Tidy(&pair.project);
    // A program of its own, which is replaced while it runs, as an update does.
    let installed = pair.project.base().join("ctxrelay");
    std::fs::hard_link(env!("CARGO_BIN_EXE_ctxrelay"), &installed)
        .or_else(|_| std::fs::copy(env!("CARGO_BIN_EXE_ctxrelay"), &installed).map(drop))
        .unwrap();
    let mut launch = pair.ctxrelay([]);
    launch.program.clone_from(&installed);
    let mut deck = Pty::spawn(&launch).labelled("deck");
    deck.wait_for_text("Timeline");
    let mut claude = McpClient::start(&pair.ctxrelay(["bridge"]));
    let gate = Gate::new("codex-works");
    pair.responses
        .when(hears("the first question"))
        .once()
        .reply(Reply::held("Half, ", &gate, "the other half."));
    claude.tool("reply", json!({"text": "the first question"}));
    gate.wait_arrived();
    let before = agents(&pair);
    let hosted = pid(&status(&pair.project));
    let newer = successor(
        &pair.project,
        r#"{"format":999,"version":"9.0.0"}"#,
        "cat >/dev/null",
    );
    std::fs::rename(newer, &installed).unwrap();

    deck.press(Key::Char('q'));
    deck.wait_for_text("stay in the background");
    deck.press(Key::Enter);
    deck.wait_for_text("cannot take over");
    deck.wait_for_text("Timeline");
    assert_eq!(pid(&status(&pair.project)), hosted);
    let now = agents(&pair);
    assert_eq!(now["codex"]["turnId"], before["codex"]["turnId"]);
    gate.open();
    let answer = claude.tool("wait_for_messages", json!({"timeout_s": 30}));
    assert!(answer.to_string().contains("the other half."), "{answer}");
    expect_sound(&pair.project);
}
