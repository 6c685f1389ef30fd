//! Search in a long record: building the index, and searches of every sort; beside reading the
//! file for the same words. A hundred thousand entries, and a million with
//! `CTXRELAY_BENCH_MILLION=1`.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use ctxrelay::core::agent::Party;
use ctxrelay::core::entry::{Entry, EntryKind, NoteKind};
use ctxrelay::core::id::{EntryId, SessionId};
use ctxrelay::core::redact::Redactor;
use ctxrelay::store::dirs::ProjectDirs;
use ctxrelay::store::ledger::{self, Ledger, OpenOptions, WriterEvent};
use ctxrelay::store::search::{
    Query, SealedRequest, Search, SearchRequest, rebuild_file, search_file,
};
use ctxrelay::wire::search::SearchParams;

use crate::figure::{Series, Table, mib, ms};

/// How often each search is made.
const ROUNDS: usize = 200;

/// Entries of one append.
const TOGETHER: u64 = 500;

/// Different words of the texts; the first are frequent, as in a language.
const WORDS: u64 = 50_000;

/// Building a million entries' index takes a minute or two.
const PATIENCE: Duration = Duration::from_secs(900);

/// The searches: what a person types, and what that is.
const SEARCHES: [(&str, &str); 8] = [
    ("everywhere ", "a word of every entry"),
    ("w3 ", "a frequent word"),
    ("w40321 ", "a rare word"),
    ("w3 w17 ", "two frequent words"),
    ("everywhere w40321", "a frequent and a rare one"),
    ("\"everywhere at once\"", "a phrase of every entry"),
    ("w4", "a beginning of many words"),
    ("nowhere ", "no entry"),
];

/// Measures all of it.
pub fn measure(table: &mut Table) {
    of(100_000, table);
    if std::env::var("CTXRELAY_BENCH_MILLION").is_ok_and(|wish| wish == "1") {
        of(1_000_000, table);
    }
}

fn of(entries: u64, table: &mut Table) {
    let dir = tempfile::tempdir().unwrap();
    let dirs = ProjectDirs::new(dir.path().canonicalize().unwrap(), None);
    dirs.create().unwrap();
    let session = SessionId::new("session_1795000000000_a1b2c3d4");
    let redactor = Arc::new(Redactor::new());
    let (ledger, events) = open(&dirs, &session, &redactor);
    fill(&ledger, &events, &session, entries);

    let start = Instant::now();
    rebuild_file(&dirs, &session, ledger.path(), u64::MAX, &redactor, |_| {}).unwrap();
    let took = start.elapsed().as_secs_f64();
    let size = dirs.state_file("index.db").metadata().unwrap().len();
    table.baseline(
        &format!("index of {entries} entries"),
        &format!(
            "{:.0} entries/s, {:.1} s, {} ({} the record)",
            entries as f64 / took,
            took,
            mib(size),
            mib(ledger.stats().bytes)
        ),
    );

    let search = Search::start(
        &dirs,
        Arc::clone(&redactor),
        ledger.clone(),
        session.clone(),
        false,
    )
    .unwrap();
    assert!(search.wait_for(entries, PATIENCE));
    for (typed, what) in SEARCHES {
        let request = SearchRequest::new(Query::parse(typed).unwrap(), 50);
        let mut times = Series::default();
        let mut total = 0;
        for _ in 0..ROUNDS {
            let (sender, answer) = channel();
            let request = request.clone();
            let found = times.time(|| {
                search.find(request, move |found| drop(sender.send(found)));
                answer.recv_timeout(PATIENCE).unwrap().unwrap()
            });
            assert_eq!(found.behind, 0);
            total = found.total;
        }
        let mut read = Series::default();
        read.time(|| {
            search_file(&dirs, None, ledger.path(), u64::MAX, &redactor, &request).unwrap()
        });
        table.row(
            &format!("{entries}: {what} ({total} hits)"),
            &times.words(),
            &format!("reading the file: {}", ms(read.p50())),
            "p99 <= 50 ms",
            times.p99() <= 50.0,
        );
    }
    search.close();
    ledger.close();
    sealed(&dirs, &redactor, entries, table);
}

/// The same searches in that session once it is sealed, for an agent, which is answered from the
/// index alone: it is longer than what is read for an answer.
fn sealed(dirs: &ProjectDirs, redactor: &Arc<Redactor>, entries: u64, table: &mut Table) {
    let session = SessionId::new("session_1795000000001_a1b2c3d4");
    let (ledger, events) = open(dirs, &session, redactor);
    fill(&ledger, &events, &session, TOGETHER);
    let (dirs, redactor) = (dirs.clone(), Arc::clone(redactor));
    let search = Search::start(&dirs, redactor, ledger.clone(), session.clone(), false).unwrap();
    assert!(search.wait_for(TOGETHER, PATIENCE));
    let look = |typed: &str| {
        let params = SearchParams {
            words: typed.to_owned(),
            limit: Some(50),
            ..SearchParams::default()
        };
        let request = SealedRequest::of(&params).unwrap();
        search.sealed().find(&session, &request).unwrap()
    };
    let start = Instant::now();
    while look("everywhere").page.hits.is_empty() {
        assert!(
            start.elapsed() < PATIENCE,
            "the sealed session is not indexed"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    table.baseline(
        &format!("{entries} entries of a sealed session into the index"),
        &format!("{:.1} s, in the background", start.elapsed().as_secs_f64()),
    );
    for (typed, what) in SEARCHES {
        let mut times = Series::default();
        let mut total = 0;
        for _ in 0..ROUNDS {
            let found = times.time(|| look(typed));
            assert_eq!((found.too_long, found.unread), (0, 0));
            total = found.page.total;
        }
        table.row(
            &format!("{entries}, sealed: {what} ({total} hits)"),
            &times.words(),
            "its file is read by nobody",
            "p99 <= 50 ms",
            times.p99() <= 50.0,
        );
    }
    search.close();
    ledger.close();
}

fn open(
    dirs: &ProjectDirs,
    session: &SessionId,
    redactor: &Arc<Redactor>,
) -> (Ledger, Receiver<WriterEvent>) {
    let (sender, events) = channel();
    let options = OpenOptions {
        dirs: dirs.clone(),
        session: session.clone(),
        prev_head: None,
        redactor: Arc::clone(redactor),
        checkpoint: None,
        outside: None,
        space: None,
    };
    let on_event = Box::new(move |event| drop(sender.send(event)));
    (ledger::open(options, on_event).unwrap().ledger, events)
}

fn fill(ledger: &Ledger, events: &Receiver<WriterEvent>, session: &SessionId, entries: u64) {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for token in 0..entries / TOGETHER {
        let together = (0..TOGETHER)
            .map(|at| entry(session, token * TOGETHER + at, &mut random))
            .collect();
        ledger.append(token, together).unwrap();
        let event = events.recv_timeout(PATIENCE).unwrap();
        assert!(matches!(event, WriterEvent::Durable { .. }), "{event:?}");
    }
}

/// Forty words, about as many as a message of an agent has.
fn entry(session: &SessionId, number: u64, random: &mut u64) -> Entry {
    let mut content = String::from("everywhere at once");
    for _ in 0..40 {
        // xorshift; squared, so that low words are frequent.
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        let part = (*random >> 11) as f64 / (1_u64 << 53) as f64;
        let word = (part * part * part * WORDS as f64) as u64;
        content.push_str(&format!(" w{word}"));
    }
    Entry {
        id: EntryId::new(format!("entry-{number}")),
        timestamp_ms: 1_795_000_000_000,
        session_id: session.clone(),
        content,
        ..Entry::new(Party::Human, EntryKind::note(NoteKind::Note))
    }
}
