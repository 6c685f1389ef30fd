//! Getting about in a long record, at the screen of the real deck: from a key to what it brings. A
//! hundred thousand entries, and a million with `CTXRELAY_BENCH_MILLION=1`.

use std::time::{Duration, Instant};

use ctxrelay::store::dirs::ProjectDirs;

use crate::figure::{Series, Table, mib};
use crate::process::field;
use crate::record::Record;
use crate::support::project::Project;
use crate::support::pty::{Key, Pty};

/// How often each is done.
const ROUNDS: usize = 5;

/// Rows that a held key passes.
const HELD: usize = 1_000;

/// A million entries that are read for the first time take a while, as does their search index.
const PATIENCE: Duration = Duration::from_secs(300);

/// Measures all of it.
pub fn measure(table: &mut Table) {
    of(100_000, 50.0, table);
    if std::env::var("CTXRELAY_BENCH_MILLION").is_ok_and(|wish| wish == "1") {
        of(1_000_000, 200.0, table);
    }
}

fn deck(project: &Project) -> Pty {
    Pty::spawn_sized(&project.ctxrelay([]), 120, 33)
}

/// Waits without the pauses of a test: they would be what is measured.
pub fn until(deck: &Pty, what: &str, is_there: impl Fn(&str) -> bool) {
    let start = Instant::now();
    while !is_there(&deck.screen()) {
        assert!(start.elapsed() < PATIENCE, "{what}: {}", deck.screen());
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// How many hits there are, by the title of the search.
fn total(screen: &str) -> Option<String> {
    let mut lines = screen.lines();
    let title = lines
        .find_map(|line| line.split_once(" in the whole record"))?
        .0;
    let (_, total) = title.rsplit_once(" of ")?;
    (total != "0").then(|| total.to_owned())
}

/// As [`total`], once it has stayed the same for a while: each key that was typed has an answer.
fn settled_total(deck: &Pty) -> Option<String> {
    loop {
        until(deck, "hits", |screen| total(screen).is_some());
        let before = total(&deck.screen());
        std::thread::sleep(Duration::from_secs(1));
        if total(&deck.screen()) == before {
            return before;
        }
    }
}

/// Holds a key that goes from the oldest entry to newer ones: each time it is pressed once the frame
/// of the one before stands. From key to frame.
fn hold(deck: &mut Pty) -> Series {
    let mut frames = Series::default();
    for _ in 0..HELD {
        let before = deck.frames();
        frames.time(|| {
            deck.send(b"k");
            let start = Instant::now();
            while deck.frames() == before {
                assert!(start.elapsed() < PATIENCE, "no frame: {}", deck.screen());
                std::thread::sleep(Duration::from_micros(100));
            }
        });
    }
    frames
}

fn of(entries: usize, search_ms: f64, table: &mut Table) {
    let project = Project::new();
    let dirs = ProjectDirs::new(project.root().to_owned(), None);
    Record::of(entries).lay_into(&dirs);
    let name = |what: &str| format!("{entries}: {what}");

    // The first start makes checkpoint and index.
    let mut first = deck(&project);
    until(&first, "the rows", |screen| screen.contains("following"));
    first.type_text("/refresh");
    until(&first, "the index", |screen| {
        screen.contains("in the whole record") && !screen.contains("not searched yet")
    });
    first.press(Key::Escape);
    // Keys that come in one read with an escape are another key.
    until(&first, "no search", |screen| {
        !screen.contains("in the whole record")
    });
    first.press_until_exit(Key::Char('q'));

    let mut rows = Series::default();
    let mut last: Option<Pty> = None;
    for _ in 0..ROUNDS {
        if let Some(mut before) = last.take() {
            before.press_until_exit(Key::Char('q'));
        }
        let start = Instant::now();
        let deck = deck(&project);
        // The first frame stands before the record is read, and has none.
        until(&deck, "the rows", |screen| {
            screen.contains("The refresh takes the lock first")
        });
        rows.push(start.elapsed());
        last = Some(deck);
    }
    let mut deck = last.unwrap();
    table.row(
        &name("first rows, with checkpoint"),
        &rows.words(),
        "",
        "<= 400 ms, the worst",
        rows.p99() <= 400.0,
    );

    deck.type_text("2");
    let rss = field(deck.pid(), "VmRSS:");
    let (mut oldest, mut newest) = (Series::default(), Series::default());
    let mut held: Vec<Series> = Vec::new();
    for _ in 0..ROUNDS {
        oldest.time(|| {
            deck.send(b"G");
            until(&deck, "the oldest", |screen| !screen.contains("following"));
        });
        held.push(hold(&mut deck));
        newest.time(|| {
            deck.send(b"g");
            until(&deck, "the newest", |screen| screen.contains("following"));
        });
    }
    let more = field(deck.pid(), "VmRSS:").saturating_sub(rss);
    for (what, times) in [
        ("G, the oldest entry", &oldest),
        ("then g, the newest", &newest),
    ] {
        table.row(
            &name(what),
            &times.words(),
            "",
            "<= 150 ms",
            times.p99() <= 150.0,
        );
    }
    let worst = held
        .iter()
        .max_by(|one, other| one.p99().total_cmp(&other.p99()));
    let worst = worst.unwrap();
    table.row(
        &name("a frame of a held key"),
        &worst.words(),
        &format!("the worst of {ROUNDS} times from the oldest"),
        "p99 <= 8 ms",
        worst.p99() <= 8.0,
    );
    let bound = 10 * 1024 * 1024;
    table.row(
        &name("RSS after that"),
        &format!("+{}", mib(more)),
        &format!("{} before", mib(rss)),
        "<= +10 MiB",
        more <= bound,
    );

    let mut hits = Series::default();
    // Numbers of entries, which begin their texts: with each further digit there are fewer.
    for number in ["4217", "7733", "2951", "6408", "1186"] {
        deck.type_text(&format!("/{}", &number[..number.len() - 1]));
        let before = settled_total(&deck);
        hits.time(|| {
            deck.send(&number.as_bytes()[number.len() - 1..]);
            // The hits of the digits before stand there until the answer.
            until(&deck, "hits", |screen| {
                let now = total(screen);
                now.is_some() && now != before
            });
        });
        deck.press(Key::Escape);
        until(&deck, "no search", |screen| {
            !screen.contains("in the whole record")
        });
    }
    table.row(
        &name("search, last key to hits"),
        &hits.words(),
        "numbers of entries, digit by digit",
        &format!("<= {search_ms} ms"),
        hits.p99() <= search_ms,
    );
    deck.press_until_exit(Key::Char('q'));
}
