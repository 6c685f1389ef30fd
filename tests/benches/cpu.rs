//! What costs nothing but CPU, by divan: a line made of an entry, the fold, and `verify`.

use std::hint::black_box;
use std::sync::mpsc::channel;
use std::sync::{Arc, LazyLock};

use ctxrelay::core::agent::Party;
use ctxrelay::core::entry::{Entry, EntryKind, NoteKind};
use ctxrelay::core::fold::fold;
use ctxrelay::core::id::{EntryId, RuntimeSession, Seq, SessionId};
use ctxrelay::core::redact::Redactor;
use ctxrelay::core::snapshot::Snapshot;
use ctxrelay::store::dirs::ProjectDirs;
use ctxrelay::store::ledger::{OpenOptions, WriterEvent, open, verify};
use ctxrelay::wire::line::{GENESIS, seal, serialize};
use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use serde_json::Value;

/// Prose as agents write it, with the odd path and number.
const SENTENCE: &str = "The parser takes a token and returns the next one; see src/lexer.rs:41. ";

/// Entries of the record that is folded and verified.
const ENTRIES: usize = 20_000;

fn note(session: &SessionId, number: usize, chars: usize) -> Entry {
    Entry {
        id: EntryId::new(format!("0198aa00-0000-7000-8000-{number:012}")),
        timestamp_ms: 1_795_000_000_000 + number as i64,
        session_id: session.clone(),
        content: SENTENCE.chars().cycle().take(chars).collect(),
        runtime_session: Some(RuntimeSession::default()),
        seq: Seq(number as u64),
        ..Entry::new(Party::Human, EntryKind::note(NoteKind::Plan))
    }
}

fn session() -> SessionId {
    SessionId::new("session_1795000000000_a1b2c3d4")
}

/// Serialised, redacted and chained, as the ledger's writer does it.
#[divan::bench(args = [200, 2_000, 20_000])]
fn line_of_an_entry(bencher: Bencher, chars: usize) {
    static REDACTOR: LazyLock<Redactor> = LazyLock::new(Redactor::new);
    let entry = note(&session(), 1, chars);
    bencher.counter(BytesCount::new(chars)).bench_local(|| {
        let mut line = Value::Object(serialize(black_box(&entry)));
        REDACTOR.redact_entry(&mut line);
        let Value::Object(line) = line else {
            unreachable!("redaction keeps an object one")
        };
        seal(line, 1, GENESIS).unwrap()
    });
}

#[divan::bench]
fn fold_of_notes(bencher: Bencher) {
    let entries: Vec<Entry> = (1..=ENTRIES).map(|n| note(&session(), n, 200)).collect();
    bencher.counter(ItemsCount::new(ENTRIES)).bench_local(|| {
        let mut world = Snapshot::default();
        for entry in black_box(&entries) {
            fold(&mut world, entry);
        }
        world
    });
}

/// The target is 300 MB/s on one core.
#[divan::bench(sample_count = 10)]
fn verify_of_a_record(bencher: Bencher) {
    let folder = tempfile::tempdir().unwrap();
    let dirs = ProjectDirs::new(folder.path().canonicalize().unwrap(), None);
    dirs.create().unwrap();
    let path = dirs.ledger(&session());
    let (sender, events) = channel();
    let opened = open(
        OpenOptions {
            dirs,
            session: session(),
            prev_head: None,
            redactor: Arc::new(Redactor::new()),
            checkpoint: None,
            outside: None,
            space: None,
        },
        Box::new(move |event| drop(sender.send(event))),
    )
    .unwrap();
    let entries = (1..=ENTRIES).map(|n| note(&session(), n, 200)).collect();
    opened.ledger.append(1, entries).unwrap();
    assert!(matches!(
        events.recv().unwrap(),
        WriterEvent::Durable { .. }
    ));
    opened.ledger.close();
    let bytes = path.metadata().unwrap().len();
    bencher.counter(BytesCount::new(bytes)).bench_local(|| {
        let report = verify(&path, None).unwrap();
        assert!(report.ok && report.chained == ENTRIES as u64);
    });
}
