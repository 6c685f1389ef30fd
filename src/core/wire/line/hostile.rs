//! Malformed lines, for the tests of everything that reads them: a corpus, and mutations of it;
//! [`check`]: what holds of any of them.
#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use serde_json::Value;

use super::{BadLine, CARRIED, GENESIS, RUNTIME_SESSION, hash_line, parse, parse_link, serialize};
use crate::entry::{Entry, EntryKind};
use crate::fold::fold;
use crate::plain_value::PlainValue;
use crate::snapshot::Snapshot;

const CHAINED: &[u8] =
    include_bytes!("../../../../tests/data/formats/v1/session_1795000000000_a1b2c3d4.jsonl");
const PREFIXED: &[u8] =
    include_bytes!("../../../../tests/data/formats/v1/session_1794000000000_0badcafe.jsonl");

/// Deeper than any reader goes; twice the usual stack for one that recurses.
const DEEP: usize = 100_000;

/// What breaks readers of JSON, as members of an object or as whole lines.
const PIECES: [&[u8]; 38] = [
    b"",
    b"null",
    b"[]",
    b"{}",
    b"7",
    b"\"text\"",
    b"{\"id\":\"a\",\"type\":\"note\"}",
    b"{\"id\":\"a\",\"id\":\"b\",\"type\":\"note\",\"type\":\"handoff\"}",
    b"{\"id\":null,\"type\":[]}",
    b"{\"id\":\"a\",\"type\":\"handoff\",\"handoff\":7,\"meta\":[]}",
    b"{\"id\":\"a\",\"type\":\"message\",\"message\":{\"onBusy\":{}},\"content\":{\"x\":[1]}}",
    b"{\"id\":\"a\",\"type\":\"note\",\"seq\":18446744073709551616,\"timestamp\":-9223372036854775809}",
    b"{\"id\":\"a\",\"type\":\"note\",\"seq\":-1,\"timestamp\":1e308}",
    b"{\"id\":\"a\",\"type\":\"runtime_event\",\"runtimeEvent\":{\"kind\":\"turn\",\"status\":7}}",
    b"1e999999999",
    b"-0.0000000000000000000000000000000000001e-999999999",
    b"123456789012345678901234567890123456789012345678901234567890",
    b"\"\\ud800\"",
    b"\"\\udc00\\ud800\"",
    b"\"\\uD83D\\uDE00\"",
    b"\"\\u0000\"",
    b"\"\\x\"",
    b"\x00",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\r",
    b"\x1b[2J",
    b",",
    b":",
    b"\\",
    b"\"",
    b"}",
    b",\"hash\":\"",
    b",\"prev\":\"0000000000000000000000000000000000000000000000000000000000000000\"",
    b",\"seq\":1",
];

fn piece() -> impl Strategy<Value = Vec<u8>> {
    let deep = |open: &'static [u8]| Just(open.repeat(DEEP));
    prop_oneof![
        20 => prop::sample::select(PIECES.to_vec()).prop_map(<[u8]>::to_vec),
        2 => prop::collection::vec(any::<u8>(), 0..40),
        1 => deep(b"["),
        1 => deep(b"{\"a\":"),
        1 => (1..400usize).prop_map(|depth| {
            [b"[".repeat(depth), b"]".repeat(depth)].concat()
        }),
        1 => Just(b"9".repeat(DEEP)),
    ]
}

/// A line that a writer of ours or of ContextRelay wrote.
fn written() -> impl Strategy<Value = Vec<u8>> {
    let lines = CHAINED.split(|byte| *byte == b'\n');
    let lines: Vec<Vec<u8>> = lines
        .chain(PREFIXED.split(|byte| *byte == b'\n'))
        .filter(|line| !line.is_empty())
        .map(<[u8]>::to_vec)
        .collect();
    prop::sample::select(lines)
}

/// What is done to a line.
#[derive(Debug, Clone)]
enum Change {
    Flip(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
    Delete(prop::sample::Index, usize),
    Repeat(prop::sample::Index, usize),
    Cut(prop::sample::Index),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        3 => (at(), 1..=u8::MAX).prop_map(|(at, mask)| Change::Flip(at, mask)),
        4 => (at(), piece()).prop_map(|(at, piece)| Change::Insert(at, piece)),
        2 => (at(), 1..60usize).prop_map(|(at, len)| Change::Delete(at, len)),
        1 => (at(), 1..60usize).prop_map(|(at, len)| Change::Repeat(at, len)),
        1 => at().prop_map(Change::Cut),
    ]
}

fn apply(line: &mut Vec<u8>, change: Change) {
    let len = line.len();
    let place = |at: prop::sample::Index| at.index(len + 1);
    match change {
        Change::Flip(at, mask) => {
            if let Some(byte) = line.get_mut(place(at)) {
                *byte ^= mask;
            }
        }
        Change::Insert(at, piece) => {
            line.splice(place(at)..place(at), piece);
        }
        Change::Delete(at, count) => {
            line.drain(place(at)..len.min(place(at) + count));
        }
        Change::Repeat(at, count) => {
            let part = line[place(at)..len.min(place(at) + count)].to_vec();
            line.splice(place(at)..place(at), part);
        }
        Change::Cut(at) => line.truncate(place(at)),
    }
}

/// Bytes that may be a line or many.
pub fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let origin = prop_oneof![3 => written(), 2 => piece()];
    (origin, prop::collection::vec(change(), 0..5)).prop_map(|(mut line, changes)| {
        for change in changes {
            apply(&mut line, change);
        }
        line
    })
}

/// How much longer an entry may be when it is written again: a number of three characters, `1e9`,
/// becomes one of thirteen, and defaults are written out.
const GROWTH: usize = 8;
const DEFAULTS: usize = 2_000;

/// Reads the lines of a file as [`check`] does and folds their entries: the world is the same one when
/// it is read from a checkpoint.
///
/// # Panics
///
/// When something does not hold.
pub fn check_file(bytes: &[u8]) {
    let mut world = Snapshot::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        if let Some(entry) = check(line) {
            fold(&mut world, &entry);
        }
    }
    let checkpoint = serde_json::to_string(&world).unwrap();
    assert_eq!(
        serde_json::from_str::<Snapshot>(&checkpoint).unwrap(),
        world
    );
}

/// Reads a line: both readers say the same of it, and what is read can be written, is the same entry
/// again, and has the members that nobody here knows. The entry, of a line that is one.
///
/// # Panics
///
/// When something does not hold.
pub fn check(line: &[u8]) -> Option<Entry> {
    drop(hash_line(line, GENESIS));
    let thorough = parse(line);
    let quick = parse_link(line);
    // The one difference that is documented.
    let too_large = matches!(&thorough, Err(BadLine::NotJson(why)) if why.contains("out of range"));
    if !too_large {
        let link = thorough.as_ref().map(|parsed| parsed.link.clone());
        assert_eq!(quick.is_ok(), link.is_ok(), "{quick:?} {link:?}");
        assert_eq!(quick.ok(), link.ok());
    }
    let entry = thorough.ok()?.entry;
    let again = Value::Object(serialize(&entry)).to_string();
    assert!(again.len() <= line.len() * GROWTH + DEFAULTS);
    assert_eq!(parse(again.as_bytes()).unwrap().entry, entry);
    let read = serde_json::from_slice::<PlainValue>(line).unwrap().0;
    let written = PlainValue::of(&again).unwrap();
    let meta = |line: &Value| line.get("meta").and_then(Value::as_object).cloned();
    let mut kept = meta(&read).unwrap_or_default();
    kept.retain(|key, _| key != RUNTIME_SESSION && key != CARRIED);
    let there = meta(&written).unwrap_or_default();
    for (key, value) in &kept {
        assert_eq!(there.get(key), Some(value), "meta.{key}");
    }
    if let EntryKind::Other { detail, .. } = &entry.kind {
        for key in detail.keys() {
            assert_eq!(written.get(key), read.get(key), "{key}");
        }
    }
    Some(entry)
}
