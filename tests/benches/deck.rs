//! The deck beside large states: its first frame before anything is read, a key while entries come
//! in, rows that count seconds, and what it holds in memory. The worst of five starts is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ctxrelay::core::agent::Agent;
use ctxrelay::store::dirs::ProjectDirs;
use serde_json::json;

use crate::figure::{Series, Table};
use crate::ledger::{longest_record, short};
use crate::process::{cpu_ns, held, memory_row, settle};
use crate::record::{Record, RecordEnd};
use crate::support::child::Child;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};
use crate::support::wait::{timeout, wait_until};
use crate::timeline::until;

/// Starts of each first frame.
const STARTS: usize = 5;

/// Open handoffs, or messages that never arrived.
const CROWD: usize = 50_000;

/// Keys that are timed.
const KEYS: usize = 300;

/// Entries a second while they are, and who writes them: one waits for its own entry.
const LOAD: usize = 500;
const WRITERS: usize = 8;

/// Rows that count seconds, and for how long they are watched.
const COUNTING: usize = 20;
const WATCH: Duration = Duration::from_secs(10);

/// The process that a writer says it is: none that runs.
const NOBODY: u32 = 4_000_000;

/// Measures all of it.
pub fn measure(table: &mut Table) {
    let long = Record::of(longest_record());
    first_frames(table, &long);
    counting(table);
    crowded(table, &long);
}

fn dirs(project: &Project) -> ProjectDirs {
    ProjectDirs::new(project.root().to_owned(), None)
}

fn deck(project: &Project) -> Pty {
    Pty::spawn_sized(&project.ctxrelay([]), 120, 40)
}

/// From the start of a deck to its first frame.
fn start(project: &Project, into: &mut Series) -> Pty {
    into.time(|| {
        let deck = deck(project);
        until(&deck, "the first frame", |screen| {
            screen.contains("1 Agents")
        });
        deck
    })
}

fn leave(mut deck: Pty) {
    until(&deck, "the daemon", |screen| {
        screen.contains("\u{25cf} daemon") || screen.contains("\u{25cf} attached")
    });
    deck.press_until_exit(Key::Ctrl('c'));
}

fn row(table: &mut Table, what: &str, frames: &Series) {
    let worst = frames.p99();
    table.row(
        &format!("first frame, {what}"),
        &frames.words(),
        "",
        "<= 50 ms, the worst",
        worst <= 50.0,
    );
}

/// Before anything is read, however much there is to be read.
fn first_frames(table: &mut Table, long: &Record) {
    let mut frames = Series::default();
    for _ in 0..STARTS {
        leave(start(&Project::new(), &mut frames));
    }
    row(table, "empty", &frames);
    attached(table, "empty", &Project::new());

    // A copy for each start: the one before leaves a checkpoint.
    let mut frames = Series::default();
    for _ in 0..STARTS {
        let project = Project::new();
        long.lay_into(&dirs(&project));
        leave(start(&project, &mut frames));
    }
    let name = short(long.entries);
    row(table, &format!("{name} without checkpoint"), &frames);

    // The daemon reads all of it meanwhile: nobody answers yet.
    let mut frames = Series::default();
    for _ in 0..STARTS {
        let project = Project::new();
        long.lay_into(&dirs(&project));
        let mut daemon = Child::spawn(&project.ctxrelay(["daemon"]));
        let lock = project.state().join("state/daemon.lock");
        wait_until("a daemon that has the project", timeout(), || {
            lock.exists().then_some(())
        });
        leave(start(&project, &mut frames));
        daemon.crash();
    }
    let what = format!("{name} without checkpoint, attached");
    row(table, &what, &frames);

    let project = Project::new();
    long.lay_into(&dirs(&project));
    leave(deck(&project));
    let mut frames = Series::default();
    for _ in 0..STARTS {
        leave(start(&project, &mut frames));
    }
    row(table, &format!("{name} with checkpoint"), &frames);
    let hosting = || {
        let hosting = deck(&project);
        until(&hosting, "the daemon", |screen| {
            screen.contains("\u{25cf} daemon")
        });
        hosting
    };
    worst_memory(
        table,
        &format!("memory hosting, {name} entries"),
        60,
        hosting,
    );
    attached(table, &name, &project);

    let undelivered = || crowd(|end, n| drop(end.message(Agent::Claude, &format!("question {n}"))));
    let mut frames = Series::default();
    for _ in 0..STARTS {
        leave(start(&undelivered(), &mut frames));
    }
    let what = format!("{} undelivered", short(CROWD));
    row(table, &what, &frames);
    attached(table, &what, &undelivered());
}

/// The first frame beside a daemon that runs.
fn attached(table: &mut Table, what: &str, project: &Project) {
    let _daemon = project.daemon();
    let mut frames = Series::default();
    for _ in 0..STARTS {
        leave(start(project, &mut frames));
    }
    row(table, &format!("{what}, attached"), &frames);
}

/// What a deck holds in memory that has come to rest: the most of as many as are started one after
/// the other.
fn worst_memory(table: &mut Table, what: &str, at_most_mib: u64, start: impl Fn() -> Pty) {
    let held = (0..STARTS).map(|_| {
        let deck = start();
        settle(deck.pid());
        let held = held(deck.pid());
        leave(deck);
        held
    });
    let worst = held.max().unwrap_or_default();
    memory_row(table, what, worst, at_most_mib);
}

/// A project with so much of one thing at the end of a short record.
fn crowd(add: impl Fn(&mut RecordEnd, usize)) -> Project {
    let project = Project::new();
    crowd_into(&project, &Record::of(16), add);
    project
}

fn crowd_into(project: &Project, record: &Record, add: impl Fn(&mut RecordEnd, usize)) {
    // A second an entry, two of them at most for each: all of it is past, most of it long past.
    let span = Duration::from_secs(2 * CROWD as u64 + 1_000);
    let begun = SystemTime::now() - span;
    let since = begun.duration_since(UNIX_EPOCH).unwrap();
    let mut end = RecordEnd::of(record, since.as_millis() as i64);
    end.settle(record);
    (0..CROWD).for_each(|n| add(&mut end, n));
    record.lay_with(&dirs(project), end);
}

/// Twenty rows that count seconds are one redraw a second.
fn counting(table: &mut Table) {
    let project = Project::new();
    let deck = deck(&project);
    until(&deck, "the daemon", |screen| {
        screen.contains("\u{25cf} daemon")
    });
    settle(deck.pid());
    let mut codex = writer(&project);
    for n in 0..COUNTING {
        let text = format!("question {n}");
        codex.expect("message/send", json!({"from": "codex", "text": text}));
    }
    let last = format!("question {}", COUNTING - 1);
    until(&deck, "the last of them", |screen| screen.contains(&last));
    // What the last of them left to do is not counting.
    thread::sleep(Duration::from_secs(1));
    let (cpu, before) = (cpu_ns(deck.pid()), deck.frames());
    thread::sleep(WATCH);
    let (cpu, drawn) = (cpu_ns(deck.pid()) - cpu, deck.frames() - before);
    let percent = cpu as f64 / WATCH.as_nanos() as f64 * 100.0;
    let most = WATCH.as_secs() as usize + 1;
    table.row(
        &format!("{COUNTING} rows counting seconds, CPU"),
        &format!("{percent:.3} %"),
        &format!("{drawn} frames in {} s", WATCH.as_secs()),
        "<= 0.5 %, 1 frame a second",
        percent <= 0.5 && drawn <= most,
    );
    leave(deck);
}

fn writer(project: &Project) -> crate::support::ws::RpcSocket {
    let mut socket = project.control_of("codex").unwrap();
    socket.expect(
        "hello",
        json!({"protocol": 1, "role": "codex", "pid": NOBODY}),
    );
    socket
}

/// Memory, and keys while entries come in.
fn crowded(table: &mut Table, long: &Record) {
    let project = Project::new();
    crowd_into(&project, long, |end, n| {
        drop(end.handoff(Agent::Claude, &format!("work {n}: look at the lock")));
    });
    let open = format!("{} open", ctxrelay_ui::text::grouped(CROWD as u64));
    let of = format!("{} entries, {open}", short(long.entries));
    let hosting = || {
        let deck = deck(&project);
        until(&deck, "the handoffs", |screen| screen.contains(&open));
        deck
    };
    worst_memory(table, &format!("memory hosting, {of}"), 80, hosting);

    let mut deck = hosting();
    settle(deck.pid());
    deck.type_text("5");
    until(&deck, "the cursor", |screen| cursor(screen).is_some());
    let is_over = Arc::new(AtomicBool::new(false));
    let written = Arc::new(AtomicUsize::new(0));
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let mut socket = writer(&project);
            let (is_over, written) = (Arc::clone(&is_over), Arc::clone(&written));
            thread::spawn(move || {
                let beat = Duration::from_secs(1) * WRITERS as u32 / LOAD as u32;
                let mut next = Instant::now();
                while !is_over.load(Ordering::Relaxed) {
                    let note = json!({"agent": "codex", "text": "one more"});
                    socket.expect("note/append", note);
                    written.fetch_add(1, Ordering::Relaxed);
                    next += beat;
                    thread::sleep(next.saturating_duration_since(Instant::now()));
                }
            })
        })
        .collect();
    let begun = Instant::now();
    let mut runs = Vec::new();
    for _ in 0..STARTS {
        let mut keys = Series::default();
        for n in 0..KEYS {
            let key: &[u8] = if n % 20 < 10 { b"j" } else { b"k" };
            let before = cursor(&deck.screen());
            keys.time(|| {
                deck.send(key);
                until(&deck, "the next row", |screen| cursor(screen) != before);
            });
            // A held key is another figure.
            thread::sleep(Duration::from_millis(20));
        }
        runs.push(keys);
    }
    let rate = written.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64();
    is_over.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.join().unwrap();
    }
    let worst = |figure: fn(&Series) -> f64| runs.iter().map(figure).fold(0.0, f64::max);
    let (p50, p99) = (worst(Series::p50), worst(Series::p99));
    table.row(
        &format!("key to frame, {of}"),
        &format!("p50 {p50:.2} ms, p99 {p99:.2} ms"),
        &format!("the worst of {STARTS}, at {rate:.0} entries/s"),
        "<= 3 ms, p99 <= 16 ms",
        p50 <= 3.0 && p99 <= 16.0,
    );
    leave(deck);
}

/// The row with the cursor.
fn cursor(screen: &str) -> Option<String> {
    let row = screen.lines().find(|line| line.starts_with("│\u{25b8}"))?;
    Some(row.chars().take(42).collect())
}
