//! Delivery: a long queue drained in order, what ten messages a second cost the daemon, and
//! whether a row of the queue costs the same among a hundred thousand.

use std::time::{Duration, Instant};

use ctxrelay::core::agent::Agent as Who;
use ctxrelay::core::delivery::{Delivery, DeliveryFact, OnBusy, Shown};
use ctxrelay::core::id::{AttemptId, EntryId, RuntimeSession, Seq};
use ctxrelay::store::dirs::ProjectDirs;
use ctxrelay::store::queue::Queue;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::agent::Agent;
use crate::appends::Disk;
use crate::figure::{Series, Table, ms};
use crate::process::cpu_ns;
use crate::support::project::Project;

/// Messages that wait for Claude.
const WAITING: usize = 1_000;

/// The most that one page can have.
const PAGE: usize = 100;

/// How often a message is sent while the daemon's CPU is watched, and for how long.
const BEAT: Duration = Duration::from_millis(100);
const WATCH: Duration = Duration::from_secs(10);

/// How many rows the queue holds when one of them is written.
const ROWS: [usize; 2] = [100, 100_000];
const WRITES: usize = 400;

/// How much slower a write may be among many rows.
const FLAT: f64 = 1.2;

/// Measures all of it.
pub fn measure(table: &mut Table) {
    drained(table);
    if cfg!(target_os = "linux") {
        ten_a_second(table);
    }
    among_many(table);
}

fn drained(table: &mut Table) {
    let project = Project::live();
    let mut codex = Agent::start(&project.ctxrelay(["codex-mcp", "server"]));
    let sent: Vec<Value> = (0..WAITING)
        .map(|n| codex.tool("send_to_claude", json!({"text": format!("number {n}")})))
        .map(|mut sent| sent["message_id"].take())
        .collect();
    let mut claude = Agent::start(&project.ctxrelay(["bridge"]));
    let mut disk = Disk::open(&project.state().join("sessions/bare.txt"));
    let (mut bare, mut pages) = <(Series, Series)>::default();
    let mut got = Vec::new();
    let start = Instant::now();
    while got.len() < WAITING {
        let ids: Vec<Value> = pages.time(|| {
            let mut page = claude.tool("get_messages", json!({"limit": PAGE}));
            let messages = page["messages"].as_array_mut().unwrap();
            let ids: Vec<Value> = messages
                .iter_mut()
                .map(|message| message["message_id"].take())
                .collect();
            claude.tool("ack_messages", json!({"ids": ids}));
            ids
        });
        assert!(!ids.is_empty(), "{} of {WAITING} came", got.len());
        got.extend(ids);
    }
    let took = start.elapsed();
    assert_eq!(got, sent, "not in the order of their sending");
    for _ in 0..PAGE {
        disk.write(&mut bare);
    }
    table.row(
        "1,000 messages fetched and acknowledged",
        &format!("{:.2} s, a page: {}", took.as_secs_f64(), pages.words()),
        &format!("a bare write {}", ms(bare.p50())),
        "none lost, in order",
        true,
    );
}

fn ten_a_second(table: &mut Table) {
    let project = Project::new();
    let daemon = project.daemon();
    let mut claude = Agent::start(&project.ctxrelay(["bridge"]));
    let mut codex = Agent::start(&project.ctxrelay(["codex-mcp", "server"]));
    let (cpu, start) = (cpu_ns(daemon.pid()), Instant::now());
    let mut messages = 0;
    while start.elapsed() < WATCH {
        messages += 1;
        codex.tool(
            "send_to_claude",
            json!({"text": format!("number {messages}")}),
        );
        let page = claude.tool("get_messages", json!({}));
        let id = &page["messages"][0]["message_id"];
        claude.tool("ack_messages", json!({"ids": [id]}));
        std::thread::sleep((BEAT * messages).saturating_sub(start.elapsed()));
    }
    let used = cpu_ns(daemon.pid()) - cpu;
    let percent = used as f64 / start.elapsed().as_nanos() as f64 * 100.0;
    table.row(
        "daemon, CPU at 10 messages a second",
        &format!("{percent:.2} % of one core"),
        &format!(
            "{} for each, sent, fetched and acknowledged",
            ms(used as f64 / 1e6 / f64::from(messages))
        ),
        "<= 2 %",
        percent <= 2.0,
    );
}

/// Both queues are written in turns: a disk has moods, and two series measured one after the other
/// compare those.
fn among_many(table: &mut Table) {
    let [mut few, mut many] = ROWS.map(Claimed::new);
    for n in 0..WRITES {
        few.claim(n);
        many.claim(n);
    }
    let [few_rows, many_rows] = ROWS;
    table.baseline(
        &format!("a claim written, {few_rows} rows in the queue"),
        &few.times.words(),
    );
    let times = many.times.p50() / few.times.p50();
    table.row(
        &format!("the same, {many_rows} rows"),
        &many.times.words(),
        &format!("{times:.2} x"),
        &format!("<= {FLAT} x"),
        times <= FLAT,
    );
}

/// A queue of which rows are claimed one by one, from the middle of it.
struct Claimed {
    _place: TempDir,
    queue: Queue,
    rows: Vec<Delivery>,
    times: Series,
}

impl Claimed {
    fn new(rows: usize) -> Self {
        let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let dirs = ProjectDirs::new(place.path().canonicalize().unwrap(), None);
        std::fs::create_dir_all(&dirs.state).unwrap();
        let queue = Queue::open(&dirs).unwrap();
        let rows: Vec<Delivery> = (0..rows).map(row).collect();
        queue.upsert(&rows, None).unwrap();
        Self {
            _place: place,
            queue,
            rows,
            times: Series::default(),
        }
    }

    fn claim(&mut self, n: usize) {
        let place = (self.rows.len() / 2 + n) % self.rows.len();
        let row = &mut self.rows[place];
        let attempt = DeliveryFact::HandedOut(AttemptId::new(format!("attempt-{n}")), Shown::Whole);
        assert!(row.apply(attempt, n as i64));
        self.times
            .time(|| self.queue.upsert(std::slice::from_ref(row), None).unwrap());
    }
}

fn row(number: usize) -> Delivery {
    Delivery::recorded(
        EntryId::new(format!("0198aa00-0000-7000-8000-{number:012}")),
        Seq(number as u64 + 1),
        Who::Claude,
        RuntimeSession::default(),
        OnBusy::Queue,
        0,
    )
}
