//! A turn of the real Codex, over the change of processes.

use std::process::Command;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::pair::{attached_codex, wait_attached};
use crate::support::child::{is_alive, run};
use crate::support::claude_home;
use crate::support::codex_home;
use crate::support::hand_over::{
    LockWatch, Tidy, agents, another_daemon, end_daemon, expect_sound, leave, of_type, pid, status,
    stay, successor,
};
use crate::support::mcp::McpClient;
use crate::support::model_request::{hears, says, tool_said};
use crate::support::operator::Operator;
use crate::support::pair::Pair;
use crate::support::panes::wait_for_state;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::script::{Gate, Reply};
use crate::support::wait::{timeout, wait_until};

/// How long an agent may be without its daemon: a small part of what a test waits for anything.
fn back_ms() -> i64 {
    i64::try_from(timeout().as_millis() / 9).unwrap()
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
            "Half of the answer,\n\n",
            &gate,
            "the other half.",
        ));
    pair.codex_calls(
        hears("the second question"),
        "append_note",
        json!({"text": "a note of the next turn"}),
    );
    let first = claude.tool("reply", json!({"text": "the first question"}));
    gate.wait_arrived();
    // A terminal that was subscribed behind the first half shows the text at its end; one that
    // shows it takes the status line off the screen.
    codex.wait_for_screen("the turn", |screen| {
        screen.contains("esc to interrupt") || screen.contains("Half of the answer")
    });
    let second = claude.tool("reply", json!({"text": "the second question"}));
    wait_until("the second in Codex's queue", timeout(), || {
        let status = run(&pair.ctxrelay(["status", "--json"])).json();
        let queue = &status["queue"]["codex"];
        // Not the first one, of whose turn the daemon has not heard yet.
        let is_second = queue["inFlight"] == 1 && queue["pending"] == 0;
        (is_second && status["agents"]["codex"]["state"] == "busy").then_some(())
    });
    let waiting = claude.begin_tool("wait_for_messages", json!({"timeout_s": 50}));
    let before = agents(pair);
    let hosted = pid(&status(project));
    let watch = LockWatch::start(project);

    let begun = Instant::now();
    hand_over();

    another_daemon(project, hosted);
    watch.expect_never_free();
    let now = wait_until("Codex and Claude back", timeout(), || {
        let now = agents(pair);
        let back = now["codex"]["state"] == "busy"
            && now["codex"]["tui"] == true
            && now["claude"]["state"] != "offline";
        back.then_some(now)
    });
    eprintln!(
        "both agents were seen back {} ms after the key or command",
        begun.elapsed().as_millis()
    );
    assert_eq!(
        now["codex"]["appServer"]["pid"],
        before["codex"]["appServer"]["pid"]
    );
    assert_eq!(now["codex"]["turnId"], before["codex"]["turnId"]);
    assert_eq!(now["codex"]["threadId"], before["codex"]["threadId"]);
    expect_back_soon(project);
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
fn expect_back_soon(project: &Project) {
    let at = |what: &str, after: i64| {
        wait_until(&format!("{what:?} in the record"), timeout(), || {
            let ledger = project.ledger().into_iter();
            ledger
                .filter(|line| line["content"] == what)
                .filter_map(|line| line["timestamp"].as_i64())
                .find(|at| *at >= after)
        })
    };
    let left = at("the daemon hands over to another process", 0);
    let away = at("Claude attached", left) - left;
    eprintln!("the bridge was away for {away} ms");
    assert!(away < back_ms(), "the bridge was away for {away} ms");
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
    deck.wait_for_text("● daemon");
    codex_goes_on(&pair, || leave(&mut deck));
}

/// A turn that no terminal of Codex's shows, and for which no Claude waits any more.
fn codex_goes_on_alone(leave: impl FnOnce(&mut Pty)) {
    let Some(pair) = Pair::new() else { return };
    let _tidy = Tidy(&pair.project);
    let project = &pair.project;
    let mut deck = pair.deck();
    deck.wait_for_text("● daemon");
    let gate = Gate::new("codex-works");
    pair.responses
        .when(hears("the first question"))
        .once()
        .reply(Reply::held("Half, ", &gate, "the other half."));
    let mut claude = McpClient::start(&pair.ctxrelay(["bridge"]));
    claude.tool("reply", json!({"text": "the first question"}));
    drop(claude);
    gate.wait_arrived();
    let before = wait_until("a Codex that works alone", timeout(), || {
        let now = agents(&pair);
        let (claude, codex) = (&now["claude"], &now["codex"]);
        let is_alone = claude["state"] == "offline" && codex["tui"] == false;
        (is_alone && codex["state"] == "busy").then_some(now)
    });
    wait_for_state(&mut deck, "Claude", "offline");
    wait_for_state(&mut deck, "Codex", "busy");
    let hosted = pid(&status(project));
    let watch = LockWatch::start(project);

    leave(&mut deck);

    deck.wait_exit();
    another_daemon(project, hosted);
    watch.expect_never_free();
    let now = wait_until("Codex back in its turn", timeout(), || {
        let now = agents(&pair);
        (now["codex"]["state"] == "busy").then_some(now)
    });
    for what in ["turnId", "threadId"] {
        assert_eq!(now["codex"][what], before["codex"][what]);
    }
    gate.open();
    wait_until("the whole answer in the record", timeout(), || {
        let mut ledger = project.ledger().into_iter();
        ledger
            .any(|line| line.to_string().contains("the other half."))
            .then_some(())
    });
    assert_eq!(pair.responses.times_heard("the first question"), 1);
    expect_sound(project);
    end_daemon(project);
}

#[test]
fn a_turn_of_codex_alone_goes_on_when_the_deck_is_left() {
    codex_goes_on_alone(|deck| {
        deck.press(Key::Char('q'));
        deck.wait_for_text("Codex is in the middle of a turn, which ends with the daemon.");
        deck.press(Key::Enter);
    });
}

#[test]
fn a_turn_of_codex_alone_goes_on_when_the_terminal_of_the_deck_is_closed() {
    codex_goes_on_alone(|deck| deck.signal(Signal::HUP));
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

/// Claude tells nothing while its command runs: what the process before knew has to go along.
#[test]
fn a_claude_in_a_command_is_at_work_for_the_process_that_goes_on_too() {
    let Some(pair) = Pair::new() else { return };
    let _tidy = Tidy(&pair.project);
    let project = &pair.project;
    let settings = json!({"permissions": {"allow": ["Bash"]}});
    std::fs::write(pair.claude_home.settings(), settings.to_string()).unwrap();
    let mut daemon = pair.daemon();
    let mut operator = Operator::connect(project);
    let waits = "touch began.txt; while [ ! -e go.txt ]; do sleep 0.05; done; echo went on";
    pair.messages
        .when(says("wait for the file"))
        .once()
        .reply(Reply::shell(waits));
    pair.messages
        .when(tool_said("went on"))
        .once()
        .reply(Reply::text("It went on."));
    let launch = pair.ctxrelay(["claude", "--permission-mode", "default"]);
    let mut claude = Pty::spawn(&launch).labelled("claude");
    claude.wait_for_text(claude_home::COMPOSER);
    wait_attached(&pair);
    claude.submit("wait for the file");
    let began = project.root().join("began.txt");
    wait_until("the command to begin", timeout(), || {
        began.exists().then_some(())
    });
    assert_eq!(agents(&pair)["claude"]["state"], "busy");
    let before = pid(&status(project));

    operator.hand_over(env!("CARGO_BIN_EXE_ctxrelay")).unwrap();

    wait_until("the end of the process before", timeout(), || {
        daemon.child().try_exit()
    });
    another_daemon(project, before);
    expect_back_soon(project);
    assert_eq!(agents(&pair)["claude"]["state"], "busy");
    std::fs::write(project.root().join("go.txt"), "").unwrap();
    claude.wait_for_text("It went on.");
    pair.wait_status("an idle Claude", |status| {
        status["agents"]["claude"]["state"] == "idle"
    });
    expect_sound(project);
    drop(claude);
    end_daemon(project);
}

#[test]
fn a_turn_of_codex_goes_on_when_nobody_could_take_over() {
    let Some(pair) = Pair::new() else { return };
    let _tidy = Tidy(&pair.project);
    let daemon = pair.daemon();
    let project = &pair.project;
    let mut operator = Operator::connect(project);
    let mut codex = attached_codex(&pair);
    let mut claude = McpClient::start(&pair.ctxrelay(["bridge"]));
    let gate = Gate::new("codex-works");
    pair.responses
        .when(hears("the first question"))
        .once()
        .reply(Reply::held(
            "Half of the answer,\n\n",
            &gate,
            "the other half.",
        ));
    claude.tool("reply", json!({"text": "the first question"}));
    gate.wait_arrived();
    let before = agents(&pair);
    let taken = project.base().join("taken");
    let then = format!("head -c 64 >{} && kill -9 $$", taken.display());
    let program = successor(project, r#"{"format":2,"version":"x"}"#, &then);
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
    let answer = claude.tool("wait_for_messages", json!({"timeout_s": 50}));
    assert!(answer.to_string().contains("the other half."), "{answer}");
    let screen = String::from_utf8_lossy(&codex.transcript()).into_owned();
    assert!(!screen.contains("Reconnecting"), "the terminal was cut off");
    expect_sound(project);
}

#[test]
fn the_deck_comes_back_when_nobody_can_take_over_while_codex_works() {
    let Some(pair) = Pair::new() else { return };
    let _tidy = Tidy(&pair.project);
    // A program of its own, which is replaced while it runs, as an update does.
    let installed = pair.project.base().join("ctxrelay");
    let program = env!("CARGO_BIN_EXE_ctxrelay");
    if std::fs::hard_link(program, &installed).is_err() {
        // By another process: see `write_program`.
        let copied = Command::new("cp").arg(program).arg(&installed).status();
        assert!(copied.unwrap().success());
    }
    let mut launch = pair.ctxrelay([]);
    launch.program.clone_from(&installed);
    let mut deck = Pty::spawn(&launch).labelled("deck");
    deck.wait_for_text("● daemon");
    let mut claude = McpClient::start(&pair.ctxrelay(["bridge"]));
    let gate = Gate::new("codex-works");
    pair.responses
        .when(hears("the first question"))
        .once()
        .reply(Reply::held("Half, ", &gate, "the other half."));
    claude.tool("reply", json!({"text": "the first question"}));
    gate.wait_arrived();
    let before = wait_until("a busy Codex", timeout(), || {
        let now = agents(&pair);
        (now["codex"]["state"] == "busy").then_some(now)
    });
    let hosted = pid(&status(&pair.project));
    let newer = successor(
        &pair.project,
        r#"{"format":999,"version":"9.0.0"}"#,
        "cat >/dev/null",
    );
    std::fs::rename(newer, &installed).unwrap();

    stay(&mut deck);
    deck.wait_for_text("cannot take over");
    deck.wait_for_text("Timeline");
    // The reader of the deck before could take the answer to a second question away.
    let written = String::from_utf8_lossy(&deck.transcript()).into_owned();
    assert_eq!(written.matches("\x1b]11;?").count(), 1);
    assert_eq!(pid(&status(&pair.project)), hosted);
    let now = agents(&pair);
    assert_eq!(now["codex"]["turnId"], before["codex"]["turnId"]);
    gate.open();
    let answer = claude.tool("wait_for_messages", json!({"timeout_s": 50}));
    assert!(answer.to_string().contains("the other half."), "{answer}");
    expect_sound(&pair.project);
}

#[test]
fn an_app_server_that_dies_on_the_way_is_missed_and_nothing_is_sent_twice() {
    let Some(pair) = Pair::new() else { return };
    let _tidy = Tidy(&pair.project);
    let project = &pair.project;
    let _daemon = pair.daemon();
    let mut operator = Operator::connect(project);
    let mut claude = McpClient::start(&pair.ctxrelay(["bridge"]));
    let gate = Gate::new("codex-works");
    pair.responses
        .when(hears("the first question"))
        .once()
        .reply(Reply::held("Half, ", &gate, "the other half."));
    let first = claude.tool("reply", json!({"text": "the first question"}));
    gate.wait_arrived();
    let before = agents(&pair)["codex"]["appServer"]["pid"].as_u64().unwrap();
    // A successor that has the takeover and fails once the app-server is dead: whoever goes on gets
    // what a successor gets.
    let (taken, go) = (project.base().join("taken"), project.base().join("go"));
    let then = format!(
        "head -c 64 >{}\nwhile [ ! -e {} ]; do sleep 0.01; done\nkill -9 $$",
        taken.display(),
        go.display()
    );
    let program = successor(project, r#"{"format":2,"version":"x"}"#, &then);
    operator.hand_over(program).unwrap();
    wait_until("the successor to have the takeover", timeout(), || {
        taken.exists().then_some(())
    });
    let before_it = i32::try_from(before).unwrap();
    kill_process(Pid::from_raw(before_it).unwrap(), Signal::KILL).unwrap();
    std::fs::write(&go, "").unwrap();

    pair.responses
        .when(hears("the second question"))
        .once()
        .reply(Reply::text("The second answer."));
    let second = claude.tool("reply", json!({"text": "the second question"}));
    let mut heard = String::new();
    wait_until("the second answer", timeout(), || {
        let page = claude.tool("wait_for_messages", json!({"timeout_s": 5}));
        heard.push_str(&page.to_string());
        heard.contains("The second answer.").then_some(())
    });
    // The turn of the first question is lost, and Claude is told so.
    assert!(heard.contains("died with its app-server"), "{heard}");
    let after = agents(&pair)["codex"]["appServer"]["pid"].as_u64().unwrap();
    assert_ne!(after, before);
    let ledger = project.ledger();
    let says = |words: &[&str]| {
        let lines = ledger.iter().map(Value::to_string);
        lines
            .filter(|line| words.iter().all(|word| line.contains(word)))
            .count()
    };
    assert_eq!(says(&["the codex app-server is gone"]), 1, "{ledger:#?}");
    for sent in [&first, &second] {
        let id = sent["message_id"].as_str().unwrap();
        assert_eq!(says(&[id, "\"confirmed\""]), 1, "{ledger:#?}");
    }
    // The model sees the whole conversation: each stands in it once.
    let steps = pair.responses.steps();
    let last = steps.last().unwrap();
    for words in ["the first question", "the second question"] {
        assert_eq!(last.count_of(words), 1, "{words}");
    }
    expect_sound(project);
}
