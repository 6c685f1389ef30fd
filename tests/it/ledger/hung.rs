//! A disk that hangs: a sync of the record, or a read, does not come back until it is let go.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::json;

use super::ending::attach;
use crate::support::account::{Account, connect};
use crate::support::privileged;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::wait::{timeout, wait_until};

/// Longer than any test waits, in µs: it is let go before.
const FOREVER_US: u64 = 3_600_000_000;

/// For an answer that was given already to be read.
const A_MOMENT: Duration = Duration::from_millis(100);

#[test]
fn a_disk_that_hangs_holds_up_who_writes_and_nobody_else() {
    if !privileged::granted() {
        return;
    }
    let account = Account::default();
    let project = Project::without_git();
    let daemon = project.daemon();
    let mut reader = connect(&project).unwrap();
    account.note("early", &mut reader).unwrap().unwrap();
    let status = project.run(["status", "--json"]).expect_success().json();
    let path = status["ledger"]["path"].as_str().unwrap().to_owned();
    let mut writers = [connect(&project).unwrap(), connect(&project).unwrap()];
    let pid = Pid::from_raw(i32::try_from(daemon.pid()).unwrap()).unwrap();
    let inject = format!("inject=fdatasync:delay_enter={FOREVER_US}");
    let hung = ["-P", &path, "-e", "trace=fdatasync", "-e", &inject];
    let hung = attach(&project, pid, &hung);

    let texts = ["first", "second"].map(|writer| account.ask(writer));
    let mut ask = |n: usize| {
        let note = json!({"agent": "codex", "text": texts[n]});
        writers[n].begin("note/append", note)
    };
    let first = ask(0);
    wait_until("its line, which is not synced", timeout(), || {
        let text = fs::read_to_string(&path).unwrap();
        text.contains(&texts[0]).then_some(())
    });
    let second = ask(1);

    // Who reads is served, and learns nothing that may yet be lost.
    let mut deck = Pty::spawn(&project.ctxrelay([]));
    deck.wait_for_text("early writes note 1");
    for _ in 0..10 {
        let page = reader.expect("context/read", json!({"agent": "codex"}));
        let page = page.to_string();
        assert!(page.contains("early writes note 1"), "{page}");
        project.run(["status", "--json"]).expect_success();
        for text in &texts {
            assert!(!page.contains(text), "{text}");
            assert!(!deck.shows(text), "{}", deck.screen());
        }
    }
    for (writer, id) in writers.iter_mut().zip([&first, &second]) {
        writer.never("an answer", A_MOMENT, |frame| frame["id"] == *id);
    }

    // Its tracer gone, a call goes on.
    hung.signal(Signal::TERM);
    for ((writer, id), text) in writers.iter_mut().zip([first, second]).zip(&texts) {
        writer.response(&id).unwrap();
        account.acknowledge(text.clone());
        deck.wait_for_text(text);
    }
    account.settle(&project);
    drop(reader);
    daemon.stop().expect_success();
    account.settle(&project);
}

#[test]
fn a_configuration_that_takes_long_to_read_does_not_hold_the_deck() {
    if !privileged::granted() {
        return;
    }
    let project = Project::without_git();
    let config = project.write(".contextrelay/config.json", "{}");
    let daemon = project.daemon();
    let mut deck = Pty::spawn(&project.ctxrelay([]));
    deck.wait_for_text("✓ chain");
    let pid = Pid::from_raw(deck.pid().cast_signed()).unwrap();
    let inject = format!("inject=read:delay_enter={FOREVER_US}");
    let path = config.to_str().unwrap();
    let args = ["-P", path, "-e", "trace=read", "-e", &inject];
    let hung = attach(&project, pid, &args);
    // Each has the status read again, and with it what waits for trust.
    let mut claude = project.agent("claude");
    for text in ["the first plum", "the second plum"] {
        claude.expect("note/append", json!({"agent": "claude", "text": text}));
        deck.wait_for_text(text);
    }
    assert!(!deck.shows("no answer for"), "{}", deck.screen());
    hung.signal(Signal::TERM);
    drop(claude);
    deck.press_until_exit(Key::Ctrl('c'));
    daemon.stop().expect_success();
}
