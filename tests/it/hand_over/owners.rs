//! The lock, the listeners and the bridges, without Codex.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::child::run;
use crate::support::hand_over::{
    LockWatch, Tidy, another_daemon, end_daemon, expect_sound, leave, of_type, pid, status, stay,
    successor,
};
use crate::support::mcp::McpClient;
use crate::support::operator::Operator;
use crate::support::panes::{wait_for_state, wait_until_attached};
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::wait::{timeout, wait_until};

#[test]
fn staying_passes_the_lock_on_and_a_bridge_goes_on() {
    let project = Project::new();
    let _tidy = Tidy(&project);
    let mut deck = Pty::spawn(&project.ctxrelay([])).labelled("deck");
    deck.wait_for_text("● daemon");
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
fn a_deck_that_hosts_asks_before_it_takes_the_daemon_from_another_deck() {
    let project = Project::new();
    let _tidy = Tidy(&project);
    let mut host = Pty::spawn(&project.ctxrelay([])).labelled("host");
    host.wait_for_text("● daemon");
    let mut guest = Pty::spawn(&project.ctxrelay([])).labelled("guest");
    guest.wait_for_text("attached");
    let hosted = status(&project);
    assert_eq!(hosted["decks"], 2);
    // What tells the host of an agent that came later tells it of the guest.
    let claude = McpClient::start(&project.ctxrelay(["bridge"]));
    wait_until_attached(&mut host, "Claude");
    drop(claude);
    wait_for_state(&mut host, "Claude", "offline");
    host.press(Key::Char('q'));
    host.wait_for_text("Another deck is open on this daemon.");
    assert!(!host.shows("is attached."), "{}", host.screen());
    host.press(Key::Enter);
    assert_eq!(host.wait_exit(), 0, "{}", host.screen());
    let now = another_daemon(&project, pid(&hosted));
    assert_eq!(now["answers"], true);
    let mut codex = McpClient::start(&project.ctxrelay(["codex-mcp", "server"]));
    codex.tool("append_note", json!({"text": "the guest goes on"}));
    guest.wait_for_text("the guest goes on");
    end_daemon(&project);
}

#[test]
fn a_closed_pane_passes_the_daemon_on_while_another_deck_is_open() {
    let project = Project::new();
    let _tidy = Tidy(&project);
    let mut host = Pty::spawn(&project.ctxrelay([])).labelled("host");
    host.wait_for_text("● daemon");
    let mut guest = Pty::spawn(&project.ctxrelay([])).labelled("guest");
    guest.wait_for_text("attached");
    let hosted = pid(&status(&project));
    let watch = LockWatch::start(&project);
    host.signal(Signal::HUP);
    host.wait_exit();
    another_daemon(&project, hosted);
    watch.expect_never_free();
    let mut codex = McpClient::start(&project.ctxrelay(["codex-mcp", "server"]));
    codex.tool("append_note", json!({"text": "the guest goes on"}));
    guest.wait_for_text("the guest goes on");
    end_daemon(&project);
}

#[test]
fn a_deck_whose_program_is_gone_names_it_and_goes_on() {
    let project = Project::new();
    let program = project.base().join("program/ctxrelay");
    std::fs::create_dir(program.parent().unwrap()).unwrap();
    // By a process of its own: what one of us writes, no child that another thread begins meanwhile
    // may run.
    let copy = [env!("CARGO_BIN_EXE_ctxrelay"), program.to_str().unwrap()];
    assert_eq!(run(&project.program("cp").args(copy)).code(), 0);
    let launch = project.program(&program).envs(project.env());
    let mut deck = Pty::spawn_sized(&launch, 240, 50).labelled("deck");
    deck.wait_for_text("● daemon");
    let _claude = McpClient::start(&project.ctxrelay(["bridge"]));
    std::fs::remove_file(&program).unwrap();
    stay(&mut deck);
    deck.wait_for_text(&program.display().to_string());
    deck.wait_for_text("put the program back");
    assert_eq!(status(&project)["answers"], true);
}

#[test]
fn a_closed_pane_passes_the_daemon_on_while_an_agent_is_attached() {
    let project = Project::new();
    let _tidy = Tidy(&project);
    let mut deck = Pty::spawn(&project.ctxrelay([])).labelled("deck");
    deck.wait_for_text("● daemon");
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

/// Nothing can be written to such a terminal any more, by nobody: a library that complains of it must
/// not end the process.
#[test]
fn a_terminal_that_is_gone_passes_the_daemon_on_while_an_agent_is_attached() {
    let project = Project::new();
    let _tidy = Tidy(&project);
    let socket = project.base().join("tmux.sock");
    let tmux = |args: &[&str]| {
        let tmux = project.program("tmux").envs(project.env());
        let tmux = tmux.arg("-f").arg("/dev/null").arg("-S").arg(&socket);
        run(&tmux.args(args)).expect_success().stdout
    };
    let deck = env!("CARGO_BIN_EXE_ctxrelay");
    tmux(&["new-session", "-d", "-x", "100", "-y", "30", deck]);
    wait_until("a deck that hosts", timeout(), || {
        let screen = tmux(&["capture-pane", "-p"]);
        screen.contains(" daemon ").then_some(())
    });
    let mut claude = McpClient::start(&project.ctxrelay(["bridge"]));
    claude.tool("append_note", json!({"text": "before"}));
    let hosted = pid(&status(&project));
    let watch = LockWatch::start(&project);
    tmux(&["kill-server"]);
    another_daemon(&project, hosted);
    claude.tool("append_note", json!({"text": "after"}));
    watch.expect_never_free();
    expect_sound(&project);
    end_daemon(&project);
}

#[test]
fn a_successor_that_is_killed_with_the_takeover_in_hand_costs_nothing() {
    let project = Project::new();
    let _tidy = Tidy(&project);
    let daemon = project.daemon();
    let mut operator = Operator::connect(&project);
    let mut claude = McpClient::start(&project.ctxrelay(["bridge"]));
    claude.tool("append_note", json!({"text": "before"}));
    let watch = LockWatch::start(&project);
    // It takes it in and dies of it.
    let taken = project.base().join("taken");
    let then = format!("head -c 64 >{} && kill -9 $$", taken.display());
    let program = successor(&project, r#"{"format":2,"version":"x"}"#, &then);
    operator.hand_over(program).unwrap();
    wait_until("the successor to have the takeover", timeout(), || {
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
