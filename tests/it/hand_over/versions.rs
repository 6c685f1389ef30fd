//! A daemon of another version.

use serde_json::{Value, json};

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
