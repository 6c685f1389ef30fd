//! What the length of the record costs: appending, opening, reading and verifying at 100 entries
//! and at up to a million.
//!
//! 100,000 entries by default; `CTXRELAY_BENCH_MILLION=1` adds a million. The records are made once
//! and kept below the build directory.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use ctxrelay::core::fold::fold;
use ctxrelay::core::redact::Redactor;
use ctxrelay::store::dirs::{ProjectDirs, UserDirs};
use ctxrelay::store::ledger::{
    Checkpoint, CheckpointKeeper, EntryFilter, Ledger, OpenOptions, OpenedLedger, WriterEvent,
    open, read_checkpoint, verify,
};
use serde_json::json;
use tempfile::TempDir;

use crate::agent::Agent;
use crate::appends::{BOUND, Disk, bare_row};
use crate::figure::{Series, Table, mib, ms};
use crate::process::{field, held, memory_row, settle_within};
use crate::record::{Record, note};
use crate::support::project::Project;

const LENGTHS: [usize; 3] = [100, 10_000, 100_000];
const MILLION: usize = 1_000_000;

/// The variable that adds the million.
const MILLION_VARIABLE: &str = "CTXRELAY_BENCH_MILLION";

/// How often an entry is appended to each record.
const APPENDS: usize = 400;

/// How much slower an append may be at the end of a long record than at the end of a short one.
const FLAT: f64 = 1.1;

const CROWDS: [usize; 2] = [8, 64];
const PER_WRITER: usize = 100;

/// How often a record is opened; the quickest counts, for the first one warms the disk's cache.
const OPENS: usize = 3;

/// What opening a record from its checkpoint may take, a million entries too.
const OPEN_MS: f64 = 150.0;

/// What reading the first time may take for each million entries.
const FIRST_READING_MS: f64 = 2_000.0;

const PAGES: usize = 500;
const PAGE: usize = 50;

/// A page has to be there within one frame of the deck.
const PAGE_MS: f64 = 8.0;

const CALLS: usize = 200;

/// How long an append may take before something is broken.
const PATIENCE: Duration = Duration::from_secs(30);

/// Measures all of it.
pub fn measure(table: &mut Table) {
    let records: Vec<Record> = lengths().into_iter().map(Record::of).collect();
    appends(table, &records);
    for record in &records {
        opening(table, record);
        opening_again(table, record);
    }
    let longest = records.last().unwrap();
    crowds(table, longest);
    pages(table, longest);
    verifying(table, longest);
    for record in &records {
        daemon(table, record);
    }
}

fn lengths() -> Vec<usize> {
    let mut lengths = LENGTHS.to_vec();
    if std::env::var_os(MILLION_VARIABLE).is_some_and(|value| value == "1") {
        lengths.push(MILLION);
    }
    lengths
}

/// The entries of the longest record that is measured.
pub fn longest_record() -> usize {
    lengths().into_iter().max().unwrap_or_default()
}

/// `100k`.
pub fn short(count: usize) -> String {
    match count {
        n if n >= 1_000_000 => format!("{}M", n / 1_000_000),
        n if n >= 1_000 => format!("{}k", n / 1_000),
        n => n.to_string(),
    }
}

/// One record in a folder of its own, open.
struct Bench {
    ledger: Ledger,
    events: Receiver<WriterEvent>,
    numbers: std::ops::RangeFrom<usize>,
    _folder: TempDir,
}

impl Bench {
    fn open(record: &Record) -> Self {
        let (folder, dirs) = laid(record);
        let (sender, events) = channel();
        let opened = open_at(&dirs, move |event| drop(sender.send(event)));
        assert_eq!(opened.report.entries as usize, record.entries);
        Self {
            ledger: opened.ledger,
            events,
            numbers: record.entries + 1..,
            _folder: folder,
        }
    }

    /// One durable append.
    fn append(&mut self, into: &mut Series) {
        let number = self.numbers.next().unwrap();
        let entry = note(number);
        into.time(|| {
            self.ledger.append(number as u64, vec![entry]).unwrap();
            let event = self.events.recv_timeout(PATIENCE).unwrap();
            assert!(matches!(event, WriterEvent::Durable { .. }), "{event:?}");
        });
    }
}

fn laid(record: &Record) -> (TempDir, ProjectDirs) {
    let folder = tempfile::tempdir().unwrap();
    let dirs = ProjectDirs::new(folder.path().canonicalize().unwrap(), None);
    record.lay_into(&dirs);
    (folder, dirs)
}

fn open_at(dirs: &ProjectDirs, on_event: impl Fn(WriterEvent) + Send + 'static) -> OpenedLedger {
    open_with(dirs, None, on_event)
}

fn open_with(
    dirs: &ProjectDirs,
    checkpoint: Option<Checkpoint>,
    on_event: impl Fn(WriterEvent) + Send + 'static,
) -> OpenedLedger {
    let options = OpenOptions {
        dirs: dirs.clone(),
        session: Record::session(),
        prev_head: None,
        redactor: Arc::new(Redactor::new()),
        checkpoint,
        outside: None,
        space: None,
    };
    open(options, Box::new(on_event)).unwrap()
}

/// All records take turns, entry by entry, beside bare writes: the disk is in the same mood for
/// each of them.
fn appends(table: &mut Table, records: &[Record]) {
    let mut benches: Vec<Bench> = records.iter().map(Bench::open).collect();
    let mut series: Vec<Series> = records.iter().map(|_| Series::default()).collect();
    let mut bare = Series::default();
    let folder = tempfile::tempdir().unwrap();
    let mut disk = Disk::open(&folder.path().join("bare.txt"));
    for _ in 0..APPENDS {
        disk.write(&mut bare);
        for (bench, series) in benches.iter_mut().zip(&mut series) {
            bench.append(series);
        }
    }
    bare_row(table, &bare);
    let shortest = &series[0];
    let what = |record: &Record| format!("append at {} entries", short(record.entries));
    table.row_over(&what(&records[0]), shortest, &bare, BOUND);
    for (record, series) in records.iter().zip(&series).skip(1) {
        let times = series.p50() / shortest.p50();
        table.row(
            &what(record),
            &series.words(),
            &format!("{times:.2} x at {}", short(records[0].entries)),
            &format!("<= {FLAT} x"),
            times <= FLAT,
        );
    }
}

fn opening(table: &mut Table, record: &Record) {
    let (_folder, dirs) = laid(record);
    let mut times = Vec::new();
    for _ in 0..OPENS {
        let start = Instant::now();
        let opened = open_at(&dirs, |_| {});
        times.push(start.elapsed());
        opened.ledger.close();
    }
    let best = times.iter().min().unwrap().as_secs_f64();
    let bytes = record.path().metadata().unwrap().len();
    let measured = format!("{}, {:.0} MB/s", ms(best * 1e3), bytes as f64 / best / 1e6);
    let most_ms = FIRST_READING_MS * (record.entries as f64 / MILLION as f64).max(0.01);
    table.row(
        &format!("open at {} entries, no checkpoint", short(record.entries)),
        &measured,
        "",
        &format!("<= {most_ms} ms"),
        best * 1e3 <= most_ms,
    );
}

/// The same from a checkpoint, as a daemon leaves it.
fn opening_again(table: &mut Table, record: &Record) {
    let (folder, dirs) = laid(record);
    let user = UserDirs {
        registry: folder.path().join("registry"),
        data: folder.path().join("data"),
        runtime: None,
    };
    let (sender, events) = channel();
    let opened = open_at(&dirs, move |event| drop(sender.send(event)));
    let keeper = CheckpointKeeper::start(&dirs, &user, opened.snapshot.seq.0).unwrap();
    let mut world = opened.snapshot;
    let number = record.entries + 1;
    opened.ledger.append(0, vec![note(number)]).unwrap();
    let WriterEvent::Durable { entries, .. } = events.recv_timeout(PATIENCE).unwrap() else {
        panic!("the append failed")
    };
    fold(&mut world, &entries[0].entry);
    let hash = entries[0].hash.clone();
    opened.ledger.clone().close();
    keeper.close(opened.ledger, Record::session(), Arc::new(world), hash);

    let mut times = Vec::new();
    for _ in 0..OPENS {
        let start = Instant::now();
        let checkpoint = read_checkpoint(&dirs, &user);
        assert!(checkpoint.is_some(), "there is no checkpoint");
        let opened = open_with(&dirs, checkpoint, |_| {});
        times.push(start.elapsed());
        assert_eq!(opened.report.entries as usize, number);
        opened.ledger.close();
    }
    let best = times.iter().min().unwrap().as_secs_f64() * 1e3;
    table.row(
        &format!("open at {} entries, checkpoint", short(record.entries)),
        &ms(best),
        "",
        &format!("<= {OPEN_MS} ms"),
        best <= OPEN_MS,
    );
}

/// Many at once, each waiting for its own entry before it writes the next one.
fn crowds(table: &mut Table, record: &Record) {
    let mut alone = Series::default();
    let mut bench = Bench::open(record);
    for _ in 0..APPENDS {
        bench.append(&mut alone);
    }
    bench.ledger.close();
    for writers in CROWDS {
        let (rate, per_write) = crowd(record, writers);
        let beside = match per_write {
            Some(per_write) => format!("{per_write:.1} entries a sync"),
            None => "syncs are counted on Linux alone".to_owned(),
        };
        let times = rate / alone.rate();
        table.row(
            &format!("{writers} writers at {} entries", short(record.entries)),
            &format!("{rate:.0}/s, {times:.2} x one ({:.0}/s)", alone.rate()),
            &beside,
            ">= 5 x one writer",
            times >= 5.0,
        );
    }
}

/// Entries a second, and entries a write.
fn crowd(record: &Record, writers: usize) -> (f64, Option<f64>) {
    let (_folder, dirs) = laid(record);
    let (senders, answers): (Vec<_>, Vec<_>) = (0..writers).map(|_| channel()).unzip();
    let opened = open_at(&dirs, move |event| match event {
        WriterEvent::Durable { token, .. } => {
            let writer = usize::try_from(token).unwrap() % writers;
            senders[writer].send(()).unwrap();
        }
        event => panic!("{event:?}"),
    });
    let ledger = opened.ledger;
    let before = writes_of_the_writer();
    let start = Instant::now();
    std::thread::scope(|scope| {
        for (writer, answer) in answers.into_iter().enumerate() {
            let ledger = &ledger;
            scope.spawn(move || {
                for n in 0..PER_WRITER {
                    let token = n * writers + writer;
                    let entry = note(record.entries + 1 + token);
                    ledger.append(token as u64, vec![entry]).unwrap();
                    answer.recv_timeout(PATIENCE).unwrap();
                }
            });
        }
    });
    let took = start.elapsed().as_secs_f64();
    let writes = before.and_then(|before| Some(writes_of_the_writer()? - before));
    ledger.close();
    let all = (writers * PER_WRITER) as f64;
    (all / took, writes.map(|writes| all / writes as f64))
}

/// How often the ledger's thread has called `write`: once for each group, and each group is
/// synced once.
fn writes_of_the_writer() -> Option<u64> {
    let task = fs::read_dir("/proc/self/task")
        .ok()?
        .filter_map(|task| Some(task.ok()?.path()))
        .find(|task| is_writer(task))?;
    let io = fs::read_to_string(task.join("io")).ok()?;
    let line = io.lines().find_map(|line| line.strip_prefix("syscw:"))?;
    line.trim().parse().ok()
}

fn is_writer(task: &Path) -> bool {
    fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim() == "ledger-writer")
}

fn pages(table: &mut Table, record: &Record) {
    let bench = Bench::open(record);
    let mut times = Series::default();
    let span = record.entries - PAGE;
    let mut place = 1;
    for _ in 0..PAGES {
        // Steps of a large prime: everywhere, in no order that a cache could guess.
        place = (place + 7_368_787) % span;
        let page = times.time(|| {
            let from = Some(place as u64);
            bench.ledger.page(&EntryFilter::default(), from, true, PAGE)
        });
        assert_eq!(page.unwrap().entries.len(), PAGE);
    }
    table.row(
        &format!("page of {PAGE} anywhere in {}", short(record.entries)),
        &times.words(),
        "",
        &format!("p99 <= {PAGE_MS} ms"),
        times.p99() <= PAGE_MS,
    );
    bench.ledger.close();
}

fn verifying(table: &mut Table, record: &Record) {
    let bytes = record.path().metadata().unwrap().len();
    let mut times = Series::default();
    for _ in 0..OPENS {
        let report = times.time(|| verify(record.path(), None)).unwrap();
        assert!(report.ok && report.chained == record.entries as u64);
    }
    let rate = bytes as f64 / times.p50() / 1e3;
    table.row(
        &format!("verify of {} entries", short(record.entries)),
        &format!("{rate:.0} MB/s"),
        &format!("{} in {}", mib(bytes), ms(times.p50())),
        ">= 500 MB/s",
        rate >= 500.0,
    );
}

/// A daemon of its own process on the record: its start, its memory, what agents ask most.
fn daemon(table: &mut Table, record: &Record) {
    let project = Project::new();
    let dirs = ProjectDirs::new(project.root().to_owned(), None);
    record.lay_into(&dirs);
    let start = Instant::now();
    let daemon = project.daemon();
    let entries = short(record.entries);
    let what = format!("daemon start at {entries} entries, no checkpoint");
    table.baseline(&what, &ms(start.elapsed().as_secs_f64() * 1e3));
    let mut bridge = Agent::start(&project.ctxrelay(["bridge"]));
    if cfg!(target_os = "linux") {
        settle_within(daemon.pid(), PATIENCE);
        let what = format!("memory, daemon after reading {entries} entries");
        memory_row(table, &what, held(daemon.pid()), 80);
    }
    for tool in ["read_context", "task_state"] {
        let mut times = Series::default();
        for _ in 0..CALLS {
            times.time(|| bridge.tool(tool, json!({})));
        }
        table.row(
            &format!("{tool} at {entries} entries"),
            &times.words(),
            "",
            "<= 1 ms",
            times.p50() <= 1.0,
        );
    }
    if cfg!(target_os = "linux") {
        let peak = field(daemon.pid(), "VmHWM:");
        table.baseline("its peak, all that was resident", &mib(peak));
        drop(bridge);
        daemon.stop().expect_success();
        // From the checkpoint that it left.
        let daemon = project.daemon();
        settle_within(daemon.pid(), PATIENCE);
        let what = format!("memory, daemon started at {entries} entries");
        memory_row(table, &what, held(daemon.pid()), 40);
    }
}
