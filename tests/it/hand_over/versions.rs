//! A daemon of another version, or of another build of this one.

use serde_json::{Value, json};

use crate::support::child::run;
use crate::support::daemon::Daemon;
use crate::support::hand_over::{Tidy, another_daemon, end_daemon, pid, status};
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::wait::{timeout, wait_until};

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
    deck.press_until(Key::Char('C'), "the choice", |screen| {
        screen.contains("delete for good")
    });
    deck.press_until(Key::Enter, "the question", |screen| {
        screen.contains("Type clear to do it")
    });
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

    // A question that goes into a file is not asked, and so no key answers it.
    let shell = project.program("bash").envs(project.env());
    let shell = shell.args(["-c", "\"$0\" 2> ../asked"]);
    let shell = shell.arg(env!("CARGO_BIN_EXE_ctxrelay"));
    let mut deck = Pty::spawn(&shell).labelled("deck");
    deck.wait_for_text("read-only until it is restarted");
    drop(deck);
    let asked = std::fs::read_to_string(project.base().join("asked")).unwrap();
    assert!(!asked.contains("Restart it now"), "{asked}");
    assert_eq!(pid(&status(&project)), daemon.pid());

    let mut deck = Pty::spawn(&project.ctxrelay([])).labelled("deck");
    deck.wait_for_text("the daemon is version 0.0.9");
    deck.press(Key::Enter);
    deck.wait_for_text("Timeline");
    another_daemon(&project, daemon.pid());
    let code = wait_until("the end of the process before", timeout(), || {
        daemon.child().try_exit()
    });
    assert!(code.success());
    drop(deck);
    end_daemon(&project);
}

#[test]
fn a_daemon_of_another_build_is_told_of_and_a_deck_offers_a_restart_and_works_without() {
    let project = Project::new();
    let _tidy = Tidy(&project);
    let program = project.base().join("program/ctxrelay");
    std::fs::create_dir(program.parent().unwrap()).unwrap();
    // By processes of their own: what one of us writes, no child that another thread begins
    // meanwhile may run.
    let shell = |script: &str| {
        let shell = project.program("sh").args(["-c", script]);
        let shell = shell.arg(env!("CARGO_BIN_EXE_ctxrelay")).arg(&program);
        run(&shell).expect_success();
    };
    let launch = |args: &[&str]| project.program(&program).envs(project.env()).args(args);
    let said = || {
        let notices = status(&project)["notices"].to_string();
        let doctor = run(&launch(&["doctor", "--json"])).json();
        let mut checks = doctor["checks"].as_array().unwrap().iter();
        let check = checks.find(|check| check["id"] == "daemon").unwrap();
        [notices, check.to_string()]
    };
    let told = |said: &String| {
        said.contains("another build") && said.contains("`ctxrelay daemon --replace`")
    };

    // A copy is the same program.
    shell("cp \"$0\" \"$1\"");
    let daemon = Daemon::start(&launch(&["daemon"]));
    let found = said();
    assert!(
        !found.iter().any(|said| said.contains("another build")),
        "{found:?}"
    );
    daemon.stop().expect_success();

    // An update while the daemon runs: another file takes the place of its program.
    shell("printf x >> \"$1\"");
    let mut daemon = Daemon::start(&launch(&["daemon"]));
    shell("cp \"$0\" \"$1.new\" && mv \"$1.new\" \"$1\"");
    let found = said();
    assert!(found.iter().all(told), "{found:?}");

    let mut deck = Pty::spawn(&launch(&[])).labelled("deck");
    deck.wait_for_text("the daemon is another build of version");
    deck.type_text("n");
    deck.press(Key::Enter);
    deck.wait_for_text("the daemon started");
    assert!(!deck.shows("read-only"), "{}", deck.screen());
    drop(deck);
    assert_eq!(pid(&status(&project)), daemon.pid());

    let mut deck = Pty::spawn(&launch(&[])).labelled("deck");
    deck.wait_for_text("the daemon is another build of version");
    deck.press(Key::Enter);
    deck.wait_for_text("Timeline");
    another_daemon(&project, daemon.pid());
    let code = wait_until("the end of the process before", timeout(), || {
        daemon.child().try_exit()
    });
    assert!(code.success());
    let found = said();
    assert!(
        !found.iter().any(|said| said.contains("another build")),
        "{found:?}"
    );
    drop(deck);
    end_daemon(&project);
}
