//! What the takeover tests share: an observer of the lock, and a next process of any kind.

use std::fs::{File, TryLockError};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::child::{is_alive, run};
use super::pair::Pair;
use super::panes::wait_until_attached;
use super::project::Project;
use super::pty::{Key, Pty};
use super::script_file::write_program;
use super::wait::{timeout, wait_until};

/// Between two looks at the lock: far below what a start of a daemon takes.
const LOOK: Duration = Duration::from_micros(200);

/// Looks at the project's lock all the time, as a second daemon would that is about to start.
pub struct LockWatch {
    stop: Arc<AtomicBool>,
    looking: JoinHandle<(u64, u64)>,
}

impl LockWatch {
    pub fn start(project: &Project) -> Self {
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
    pub fn expect_never_free(self) {
        self.stop.store(true, Ordering::Relaxed);
        let (looks, free) = self.looking.join().unwrap();
        assert!(looks > 10, "only {looks} looks");
        assert_eq!(free, 0, "the lock was free in {free} of {looks} looks");
    }
}

/// Ends whatever daemon the project has when the test is over, also when it failed: a detached one
/// whose Codex is in a turn would stay for ever.
pub struct Tidy<'a>(pub &'a Project);

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

pub fn status(project: &Project) -> Value {
    project.run(["status", "--json"]).expect_success().json()
}

pub fn pid(status: &Value) -> u32 {
    u32::try_from(status["pid"].as_u64().unwrap()).unwrap()
}

/// Waits until a daemon runs that is not this process, and returns its status.
#[track_caller]
pub fn another_daemon(project: &Project, before: u32) -> Value {
    wait_until("another daemon", timeout(), || {
        let now = project.run(["status", "--json"]).json();
        (now["running"] == true && pid(&now) != before).then_some(now)
    })
}

pub fn of_type(project: &Project, entry_type: &str) -> Vec<Value> {
    let mut lines = project.ledger();
    lines.retain(|line| line["type"] == entry_type);
    lines
}

#[track_caller]
pub fn expect_sound(project: &Project) {
    let verified = project.run(["ledger", "verify", "--json"]).json();
    assert_eq!(verified["ok"], true, "{verified}");
}

#[track_caller]
pub fn end_daemon(project: &Project) {
    // One that begins, or has much to do, may not answer at once.
    let pid = wait_until("a daemon that answers", timeout(), || {
        let pid = status(project)["pid"].as_u64()?;
        u32::try_from(pid).ok()
    });
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::TERM).unwrap();
    wait_until("the daemon's end", timeout(), || {
        (!is_alive(pid)).then_some(())
    });
}

/// Leaves a deck to which a Claude is attached.
#[track_caller]
pub fn leave(deck: &mut Pty) {
    stay(deck);
    assert_eq!(deck.wait_exit(), 0, "{}", deck.screen());
}

/// Says to a deck to which a Claude is attached that the daemon is to go on without it.
#[track_caller]
pub fn stay(deck: &mut Pty) {
    // It hears of agents a moment after their entries, and asks nothing without any.
    wait_until_attached(deck, "Claude");
    deck.press(Key::Char('q'));
    deck.wait_for_text("stay in the background");
    deck.press(Key::Enter);
}

/// A program of the test's own.
pub fn script(project: &Project, text: &str) -> PathBuf {
    let path = project.base().join("successor");
    write_program(&path, &format!("#!/bin/sh\n{text}\n"));
    path
}

/// A program that begins as a successor does, and then does `then`.
pub fn successor(project: &Project, greeting: &str, then: &str) -> PathBuf {
    script(project, &format!("printf '%s\\n' '{greeting}' >&0\n{then}"))
}

pub fn agents(pair: &Pair) -> Value {
    run(&pair.ctxrelay(["status", "--json"]))
        .expect_success()
        .json()["agents"]
        .take()
}
