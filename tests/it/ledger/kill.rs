//! SIGKILL at random moments while many write.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, sleep};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::account::{Account, REDIAL, connect};
use crate::support::chance::Chance;
use crate::support::child::is_alive;
use crate::support::mcp::McpClient;
use crate::support::project::Project;
use crate::support::wait::{timeout, wait_until};

/// How often the daemon is killed by hand, and how often where its clients start it again: they
/// take up to five seconds for that.
const KILLS: usize = 12;
const KILLS_OF_DETACHED: usize = 4;

const WRITERS: [&str; 4] = ["first", "second", "third", "fourth"];

/// After so many entries at most the next kill comes, at some moment of the next milliseconds:
/// about as long as an entry takes from the socket to the disk and back.
const ENTRIES_BETWEEN: u64 = 10;
const MOMENT_US: u64 = 20_000;

/// Ends the writers' threads, on a failed assertion too: a scope waits for its threads.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_daemon_killed_at_any_moment_loses_and_doubles_nothing_that_it_acknowledged() {
    let mut chance = Chance::begin();
    let project = Project::without_git();
    let account = Account::default();
    let over = AtomicBool::new(false);
    let mut daemon = project.daemon();
    std::thread::scope(|scope| {
        let _ends = Ends(&over);
        for writer in WRITERS {
            write_over_sockets(scope, writer, &project, &account, &over);
        }
        for _ in 0..KILLS {
            wait_for_more(&account, 1 + chance.below(ENTRIES_BETWEEN));
            sleep(Duration::from_micros(chance.below(MOMENT_US)));
            daemon.crash();
            daemon = project.daemon();
        }
        for writer in WRITERS {
            wait_for_more_of(&account, writer);
        }
    });
    account.settle(&project);
    daemon.stop().expect_success();
    account.settle(&project);
}

#[test]
fn clients_start_a_killed_daemon_again_and_their_record_is_whole() {
    let mut chance = Chance::begin();
    let project = Project::without_git();
    project.begin();
    let account = Account::default();
    let over = AtomicBool::new(false);
    let detached = Detached(&project);
    std::thread::scope(|scope| {
        let _ends = Ends(&over);
        let claude = McpClient::start(&project.ctxrelay(["bridge"]));
        let codex = McpClient::start(&project.ctxrelay(["codex-mcp", "server"]));
        write_over_mcp(scope, "claude", claude, &account, &over);
        write_over_mcp(scope, "codex", codex, &account, &over);
        for _ in 0..KILLS_OF_DETACHED {
            wait_for_more_of(&account, "claude");
            wait_for_more_of(&account, "codex");
            sleep(Duration::from_micros(chance.below(MOMENT_US)));
            // What was on its way is answered after the kill, and the next one may just be starting.
            let pid = wait_until("a published daemon", timeout(), || detached.pid());
            kill(pid, Signal::KILL);
        }
        wait_for_more_of(&account, "claude");
        wait_for_more_of(&account, "codex");
    });
    account.settle(&project);
}

fn write_over_sockets<'scope>(
    scope: &'scope Scope<'scope, '_>,
    writer: &'static str,
    project: &'scope Project,
    account: &'scope Account,
    over: &'scope AtomicBool,
) {
    scope.spawn(move || {
        let mut socket = None;
        while !over.load(Ordering::Relaxed) {
            let Some(open) = &mut socket else {
                socket = connect(project);
                if socket.is_none() {
                    sleep(REDIAL);
                }
                continue;
            };
            match account.note(writer, open) {
                Some(recorded) => recorded.unwrap(),
                None => socket = None,
            }
        }
    });
}

fn write_over_mcp<'scope>(
    scope: &'scope Scope<'scope, '_>,
    writer: &'static str,
    mut client: McpClient,
    account: &'scope Account,
    over: &'scope AtomicBool,
) {
    scope.spawn(move || {
        while !over.load(Ordering::Relaxed) {
            let text = account.ask(writer);
            // A refusal says that the daemon is away, or that nobody knows what became of it.
            if !client
                .call_tool("append_note", json!({"text": text}))
                .is_error
            {
                account.acknowledge(text);
            }
        }
    });
}

#[track_caller]
fn wait_for_more(account: &Account, more: u64) {
    let goal = account.acknowledged() + usize::try_from(more).unwrap();
    wait_until("acknowledged notes", timeout(), || {
        (account.acknowledged() >= goal).then_some(())
    });
}

#[track_caller]
fn wait_for_more_of(account: &Account, writer: &str) {
    let had = account.acknowledged_of(writer);
    wait_until(&format!("a note of {writer}"), timeout(), || {
        (account.acknowledged_of(writer) > had).then_some(())
    });
}

/// The daemon that clients started. It is nobody's child, so it is ended by its own number.
struct Detached<'a>(&'a Project);

impl Detached<'_> {
    fn pid(&self) -> Option<u32> {
        let path = self.0.state().join("state/ports.json");
        let published: Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        u32::try_from(published["pid"].as_u64()?).ok()
    }
}

impl Drop for Detached<'_> {
    fn drop(&mut self) {
        if let Some(pid) = self.pid() {
            kill(pid, Signal::TERM);
            wait_until("the end of the detached daemon", timeout(), || {
                (!is_alive(pid)).then_some(())
            });
        }
    }
}

fn kill(pid: u32, signal: Signal) {
    // One that is gone already is what is wanted.
    let _ = kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal);
}
