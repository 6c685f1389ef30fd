//! Getting about in a long record, at the screen of the real deck: from a key to what it brings. A
//! hundred thousand entries, and a million with `CTXRELAY_BENCH_MILLION=1`.

use std::time::{Duration, Instant};

use ctxrelay::store::dirs::ProjectDirs;

use crate::figure::{Series, Table, mib, ms};
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
    let mut deck = {
        let start = Instant::now();
        let deck = deck(&project);
        // The first frame stands before the record is read, and has none.
        until(&deck, "the rows", |screen| {
            screen.contains("The refresh takes the lock first")
        });
        rows.push(start.elapsed());
        deck
    };
    let took = rows.p50();
    table.row(
        &name("first rows, with checkpoint"),
        &ms(took),
        "",
        "<= 400 ms",
        took <= 400.0,
    );

    deck.type_text("2");
    let rss = field(deck.pid(), "VmRSS:");
    let (mut oldest, mut newest) = (Series::default(), Series::default());
    for _ in 0..ROUNDS {
        oldest.time(|| {
            deck.send(b"G");
            until(&deck, "the oldest", |screen| !screen.contains("following"));
        });
        newest.time(|| {
            deck.send(b"g");
            until(&deck, "the newest", |screen| screen.contains("following"));
        });
    }
    let far = Instant::now();
    deck.send(b"G");
    until(&deck, "the oldest", |screen| !screen.contains("following"));
    // Back by the keys, row by row, as far as a held key goes.
    for _ in 0..HELD {
        deck.send(b"k");
    }
    deck.send(b"g");
    until(&deck, "the newest", |screen| screen.contains("following"));
    let held = far.elapsed().as_secs_f64() * 1e3 / HELD as f64;
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
    table.row(
        &name("a row of a held key"),
        &ms(held),
        &format!("{HELD} rows from the oldest"),
        "<= 8 ms",
        held <= 8.0,
    );
    let bound = 10 * 1024 * 1024;
    table.row(
        &name("RSS after that"),
        &format!("+{}", mib(more)),
        "",
        "<= +10 MiB",
        more <= bound,
    );

    let mut hits = Series::default();
    for word in ["token", "lock", "callers", "refresh", "once"] {
        deck.type_text(&format!("/{}", &word[..word.len() - 1]));
        until(&deck, "hits", |screen| {
            screen.contains("in the whole record")
        });
        let before = deck.screen();
        hits.time(|| {
            deck.send(&word.as_bytes()[word.len() - 1..]);
            until(&deck, "hits", |screen| {
                screen != before && screen.contains("in the whole record")
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
        "words of every entry",
        &format!("<= {search_ms} ms"),
        hits.p99() <= search_ms,
    );
    deck.press_until_exit(Key::Char('q'));
}
