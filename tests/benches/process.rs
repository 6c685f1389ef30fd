//! What a running process costs: memory of daemon, bridge and deck, and the deck's idle CPU. From
//! `/proc`, so on Linux alone.

use std::fs;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::json;

use crate::agent::Agent;
use crate::figure::{Series, Table, mib, ms};
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::wait::wait_until;

/// Over how long an idle deck is watched: more than the minute at which its clock goes on.
const WATCH: Duration = Duration::from_secs(65);

/// How often the deck is started for its first paint.
const PAINTS: usize = 5;

const FIRST_PAINT_WAIT: Duration = Duration::from_secs(10);

/// Entries in the record that the processes have read or written.
const ENTRIES: usize = 100;

/// Measures all of it.
pub fn measure(table: &mut Table) {
    if !cfg!(target_os = "linux") {
        return;
    }
    let binary = fs::metadata(env!("CARGO_BIN_EXE_ctxrelay")).unwrap().len();
    table.row(
        "the binary",
        &mib(binary),
        "",
        "<= 15 MB",
        binary <= 15_000_000,
    );
    let project = Project::new();
    let mut daemon = project.daemon();
    let mut bridge = Agent::start(&project.ctxrelay(["bridge"]));
    for n in 0..ENTRIES {
        bridge.tool("append_note", json!({"text": format!("note {n}")}));
    }
    memory(table, "memory, daemon", daemon.pid(), 3);
    memory(table, "memory, bridge", bridge.pid(), 2);
    drop(bridge);
    daemon.crash();
    drop(daemon);
    deck(table, &project);
}

/// What a process holds in memory: all of it, and the part that is anonymous; bytes.
pub type Held = (u64, u64);

pub fn held(pid: u32) -> Held {
    (field(pid, "VmRSS:"), field(pid, "RssAnon:"))
}

fn memory(table: &mut Table, what: &str, pid: u32, at_most_mib: u64) {
    memory_row(table, what, held(pid), at_most_mib);
}

pub fn memory_row(table: &mut Table, what: &str, (all, own): Held, at_most_mib: u64) {
    table.row(
        what,
        &format!("{} anonymous", mib(own)),
        &format!("resident {}", mib(all)),
        &format!("<= {at_most_mib} MiB"),
        own <= at_most_mib * 1024 * 1024,
    );
}

/// A deck that hosts the daemon.
fn deck(table: &mut Table, project: &Project) {
    let mut paints = Series::default();
    let mut worst = Held::default();
    let launch = project.ctxrelay([]);
    let mut deck = None;
    for n in 0..PAINTS {
        let start = Instant::now();
        let mut pty = Pty::spawn(&launch);
        while !pty.screen().contains("Timeline") {
            assert!(start.elapsed() < FIRST_PAINT_WAIT, "{}", pty.screen());
            std::thread::sleep(Duration::from_millis(1));
        }
        paints.push(start.elapsed());
        pty.wait_for_text(&format!("note {}", ENTRIES - 1));
        // What the start left to do is not idling.
        settle(pty.pid());
        worst = worst.max(held(pty.pid()));
        if n + 1 < PAINTS {
            pty.press_until_exit(Key::Char('q'));
        } else {
            deck = Some(pty);
        }
    }
    table.row(
        "deck, spawn to first paint",
        &paints.words(),
        "",
        "<= 50 ms",
        paints.p50() <= 50.0,
    );
    let mut deck = deck.unwrap();
    let pid = deck.pid();
    let (cpu, frames, minute) = (cpu_ns(pid), deck.frames(), minutes());
    std::thread::sleep(WATCH);
    let (cpu, frames) = (cpu_ns(pid) - cpu, deck.frames() - frames);
    let minutes = minutes() - minute;
    let percent = cpu as f64 / WATCH.as_nanos() as f64 * 100.0;
    table.row(
        &format!("deck, idle CPU over {} s", WATCH.as_secs()),
        &format!("{percent:.3} %, {}", ms(cpu as f64 / 1e6)),
        &format!("{frames} frames, {minutes} times another minute"),
        "<= 0.1 %, 1 frame a minute",
        percent <= 0.1 && frames as u64 <= minutes,
    );
    memory_row(table, "memory, deck with its daemon", worst, 30);
    deck.press_until_exit(Key::Char('q'));
}

/// Whole minutes of the clock.
fn minutes() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since.as_secs() / 60
}

/// Waits until a second passes with less than 10 ms of work.
pub fn settle(pid: u32) {
    settle_within(pid, FIRST_PAINT_WAIT * 3);
}

/// As [`settle`], of what may have so long to do.
pub fn settle_within(pid: u32, wait: Duration) {
    wait_until("a quiet process", wait, || {
        let before = cpu_ns(pid);
        std::thread::sleep(Duration::from_secs(1));
        (cpu_ns(pid) - before < 10_000_000).then_some(())
    });
}

/// A field of `/proc/<pid>/status`, in bytes.
pub fn field(pid: u32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}

/// User and system time of all threads that live, in ns. `/proc/<pid>/stat` counts in ticks of
/// 10 ms, which is a third of the target.
pub fn cpu_ns(pid: u32) -> u64 {
    fs::read_dir(format!("/proc/{pid}/task"))
        .unwrap()
        .filter_map(|task| fs::read_to_string(task.ok()?.path().join("schedstat")).ok())
        .filter_map(|text| text.split_whitespace().next()?.parse::<u64>().ok())
        .sum()
}
