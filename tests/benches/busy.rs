//! How long the daemon's loop is busy with one event, for so long everybody else waits: while ten
//! messages a second run, one client pages through a long record, and the session is cleared; the
//! same while it is deleted for good, with many long texts; and while it is compacted.
//!
//! From the daemon's own `/metrics`: each time is at most the bound that is told here.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::agent::Agent;
use crate::figure::{Series, Table, ms};
use crate::ledger::{longest_record, short};
use crate::record::Record;
use crate::support::operator::Operator;
use crate::support::project::Project;
use crate::support::ws::RpcSocket;
use crate::support::{http, wait};
use ctxrelay::store::dirs::ProjectDirs;

/// How often a message is sent, and how many.
const BEAT: Duration = Duration::from_millis(100);
const MESSAGES: u32 = 300;

/// How a session ends, and behind which message.
type End = (u32, &'static str, Value);

/// How many long texts a session has that is deleted for good, and how long each is, in bytes.
const LONG_TEXTS: usize = 2_000;
const LONG_TEXT_BYTES: usize = 25_000;

/// Entries a page: the most that there can be.
const PAGE: u32 = 1_000;

/// The process that the paging client says it is: none that runs.
const NOBODY: u32 = 4_000_000;

const TARGET_MS: f64 = 5.0;

/// Of the longest event, in ms: with it the answer to a key is still there within 100 ms.
const LONGEST_MS: f64 = 50.0;

/// How many kinds of events are told beside the longest.
const TOLD: usize = 3;

/// Measures it.
pub fn measure(table: &mut Table) {
    let record = Record::of(longest_record());
    let clear = |discard| (200, "ledger/clear", json!({"discard": discard}));
    let compaction = (200, "ledger/compact", json!({}));
    run(table, &record, "a clear", 0, &clear(false));
    run(table, &record, "a deletion", LONG_TEXTS, &clear(true));
    run(table, &record, "a compaction", 0, &compaction);
}

/// Long texts beside the record, under names as they have them. No line speaks of them, as of some
/// that a crash leaves: they go with the session.
fn lay_long_texts(dirs: &ProjectDirs, count: usize) {
    let folder = dirs.relay.join("blobs");
    fs::create_dir_all(&folder).unwrap();
    for number in 0..count {
        let text = "x".repeat(LONG_TEXT_BYTES);
        fs::write(folder.join(format!("{number:064x}")), text).unwrap();
    }
}

/// One run with a daemon of its own, of the whole record until it ends.
fn run(table: &mut Table, record: &Record, what: &str, long_texts: usize, the_end: &End) {
    let project = Project::new();
    let dirs = ProjectDirs::new(project.root().to_owned(), None);
    record.lay_into(&dirs);
    lay_long_texts(&dirs, long_texts);
    let _daemon = project.daemon();
    // Before an agent comes: nobody below one is the operator.
    let mut operator = Operator::connect(&project);
    let mut reader = project.control().unwrap();
    reader.expect(
        "hello",
        json!({"protocol": 1, "role": "cli", "pid": NOBODY}),
    );
    let mut claude = Agent::start(&project.ctxrelay(["bridge"]));
    let mut codex = Agent::start(&project.ctxrelay(["codex-mcp", "server"]));
    let before = Busy::read(&project);
    let (mut sends, mut ended) = <(Series, Series)>::default();
    let done = AtomicBool::new(false);
    let pages = std::thread::scope(|scope| {
        let paging = scope.spawn(|| page_through(&mut reader, &done));
        let paging_ends = SetOnDrop(&done);
        let start = Instant::now();
        for number in 1..=MESSAGES {
            let text = format!("number {number}");
            sends.time(|| codex.tool("send_to_claude", json!({"text": text})));
            let page = claude.tool("get_messages", json!({}));
            let id = &page["messages"][0]["message_id"];
            claude.tool("ack_messages", json!({"ids": [id]}));
            let (at, method, params) = the_end;
            if *at == number {
                end(&mut operator, method, params, &mut ended);
            }
            std::thread::sleep((BEAT * number).saturating_sub(start.elapsed()));
        }
        drop(paging_ends);
        paging.join().unwrap()
    });
    let after = Busy::read(&project);
    let (p50, p99) = (after.quantile(&before, 0.50), after.quantile(&before, 0.99));
    let events = after.count() - before.count();
    let entries = short(record.entries);
    table.row(
        &format!("the loop, {what}, {entries} entries"),
        &format!("one event p50 <= {}, p99 <= {}", ms(p50), ms(p99)),
        &format!("n {events}"),
        &format!("p99 <= {TARGET_MS} ms"),
        p99 <= TARGET_MS,
    );
    let longest = after.longest_since(&before);
    let (kind, took) = longest[0];
    let told = |(kind, took): &(&str, f64)| format!("{kind} {}", ms(*took));
    let others: Vec<_> = longest[1..].iter().take(TOLD).map(told).collect();
    table.row(
        &format!("its longest event, {what}"),
        &told(&(kind, took)),
        &others.join(", "),
        &format!("<= {LONGEST_MS} ms"),
        took <= LONGEST_MS,
    );
    table.baseline("  a message sent meanwhile", &sends.words());
    table.baseline(&format!("  {what} meanwhile"), &ended.words());
    table.baseline("  pages read meanwhile", &pages.to_string());
}

/// Sets it also when something panics: the scope would wait for its threads for ever.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Reads the record from its begin to its end, again and again; how many pages.
fn page_through(reader: &mut RpcSocket, done: &AtomicBool) -> u32 {
    let (mut pages, mut after) = (0, Value::Null);
    while !done.load(Ordering::Relaxed) {
        let params = json!({"after": after, "ascending": true, "limit": PAGE});
        let mut page = reader.expect("ledger/list", params);
        after = page["value"]["cursor"].take();
        pages += 1;
        // As an agent that looks back does.
        reader.expect("context/read", json!({"limit": 200, "view": "summary"}));
    }
    pages
}

/// Until no message is on its way, as the person would.
fn end(operator: &mut Operator, method: &str, params: &Value, into: &mut Series) {
    wait::wait_until("the session ends", wait::timeout(), || {
        let start = Instant::now();
        match operator.call(method, params.clone()) {
            Ok(_) => {
                into.push(start.elapsed());
                Some(())
            }
            Err(refused) => {
                assert_eq!(refused.data["code"], "in_flight", "{refused:?}");
                None
            }
        }
    });
}

/// What `/metrics` says of the loop.
pub struct Busy {
    /// Upper bounds in s, and how many events took no longer.
    buckets: Vec<(f64, u64)>,
    /// All events together, in s.
    sum: f64,
    longest: BTreeMap<String, f64>,
}

impl Busy {
    pub fn read(project: &Project) -> Self {
        let bearer = format!("Bearer {}", project.token());
        let headers = [("authorization", bearer.as_str())];
        let body = http::get(project.ports.control, "/metrics", &headers)
            .unwrap()
            .body;
        let mut busy = Self {
            buckets: Vec::new(),
            sum: 0.0,
            longest: BTreeMap::new(),
        };
        for line in body.lines() {
            let labelled = |name: &str| {
                let (label, figure) = line.strip_prefix(name)?.split_once("\"} ")?;
                Some((label.to_owned(), figure.to_owned()))
            };
            if let Some((bound, count)) = labelled("ctxrelay_loop_busy_seconds_bucket{le=\"") {
                let bound = bound.parse().unwrap_or(f64::INFINITY);
                busy.buckets.push((bound, count.parse().unwrap()));
            }
            if let Some(sum) = line.strip_prefix("ctxrelay_loop_busy_seconds_sum ") {
                busy.sum = sum.parse().unwrap();
            }
            if let Some((kind, took)) = labelled("ctxrelay_loop_busy_longest_seconds{event=\"") {
                busy.longest.insert(kind, took.parse().unwrap());
            }
        }
        assert!(!busy.buckets.is_empty(), "{body}");
        busy
    }

    fn count(&self) -> u64 {
        self.buckets.last().unwrap().1
    }

    /// In ms, of one event since then.
    pub fn mean(&self, before: &Self) -> f64 {
        (self.sum - before.sum) / (self.count() - before.count()) as f64 * 1e3
    }

    /// In ms; the bound that so many events since then did not pass.
    fn quantile(&self, before: &Self, part: f64) -> f64 {
        let wanted = (self.count() - before.count()) as f64 * part;
        let since = self.buckets.iter().zip(&before.buckets);
        let mut bounds = since.map(|(now, then)| (now.0, now.1 - then.1));
        let found = bounds.find(|(_, count)| *count as f64 >= wanted).unwrap();
        found.0 * 1e3
    }

    /// By the kind of event, in ms, the longest first. Of what took no longer than before nothing is
    /// known.
    fn longest_since(&self, before: &Self) -> Vec<(&str, f64)> {
        let is_longer = |(kind, took): &(&String, &f64)| before.longest.get(*kind) != Some(*took);
        let longer = self.longest.iter().filter(is_longer);
        let mut kinds: Vec<_> = longer.map(|(kind, took)| (&**kind, took * 1e3)).collect();
        kinds.sort_by(|one, other| other.1.total_cmp(&one.1));
        kinds
    }
}
