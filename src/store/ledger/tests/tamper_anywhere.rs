//! Any ledger, changed anywhere in any way: it is found, and at the right entry.

use std::fs;
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use tempfile::TempDir;

use super::support::Project;
use crate::head::{Head, Kept};
use crate::ledger::{OutsideHead, VerifyReport, verify};
use ctxrelay_core::wire::line::{arbitrary, parse};

/// Lines of an older ledger, one of them no entry.
const OLDER: [&str; 3] = [
    "{\"schema\":\"v1\",\"id\":\"p1\",\"type\":\"session_started\",\"source\":\"system\"}\n",
    "not an entry\n",
    "{\"schema\":\"v1\",\"id\":\"p3\",\"type\":\"note\",\"content\":\"older\",\"meta\":{}}\n",
];

/// How many older lines, and how many entries in the chain.
const SHAPES: [(usize, usize); 6] = [(0, 1), (0, 2), (0, 12), (1, 5), (3, 1), (3, 8)];

struct Original {
    bytes: Vec<u8>,
    /// Lines before the chain.
    older: usize,
    head: Head,
}

static ORIGINALS: LazyLock<Vec<Original>> = LazyLock::new(|| {
    let mut runner = TestRunner::deterministic();
    let original = |(older, count): (usize, usize)| {
        let project = Project::new();
        project.write(OLDER[..older].concat().as_bytes());
        let mut open = project.open();
        for _ in 0..count {
            let mut entry = arbitrary::entry().new_tree(&mut runner).unwrap().current();
            // It would name a long text that nobody ever kept, which is a fault of its own.
            entry.whole = None;
            open.append(vec![entry]).unwrap();
        }
        let (seq, hash) = open.ledger.stats().head.unwrap();
        open.close();
        Original {
            bytes: project.bytes(),
            older,
            head: Head {
                seq,
                hash,
                session_id: project.session.clone(),
            },
        }
    };
    SHAPES.into_iter().map(original).collect()
});

/// What somebody does to a file.
#[derive(Debug, Clone)]
enum Tampering {
    Flip(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
    Delete(prop::sample::Index, usize),
    /// Two pieces of this length change places.
    Swap(prop::sample::Index, prop::sample::Index, usize),
    SwapLines(prop::sample::Index, prop::sample::Index),
    DeleteLines(prop::sample::Index, usize),
    /// A copy of a line, before another one.
    CopyLine(prop::sample::Index, prop::sample::Index),
    Truncate(prop::sample::Index),
}

fn tampering() -> impl Strategy<Value = Tampering> {
    let at = any::<prop::sample::Index>;
    let bytes = prop_oneof![
        prop::collection::vec(any::<u8>(), 1..20),
        Just(b"\n".to_vec()),
        Just(b" ".to_vec()),
        Just(b"null\n".to_vec()),
        Just(b"{\"id\":\"x\",\"type\":\"note\"}\n".to_vec()),
    ];
    prop_oneof![
        (at(), 1..=u8::MAX).prop_map(|(at, mask)| Tampering::Flip(at, mask)),
        (at(), bytes).prop_map(|(at, bytes)| Tampering::Insert(at, bytes)),
        (at(), 1..2_000usize).prop_map(|(at, len)| Tampering::Delete(at, len)),
        (at(), at(), 1..600usize).prop_map(|(a, b, len)| Tampering::Swap(a, b, len)),
        (at(), at()).prop_map(|(a, b)| Tampering::SwapLines(a, b)),
        (at(), 1..4usize).prop_map(|(at, count)| Tampering::DeleteLines(at, count)),
        (at(), at()).prop_map(|(from, to)| Tampering::CopyLine(from, to)),
        at().prop_map(Tampering::Truncate),
    ]
}

fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines.map(<[u8]>::to_vec).collect()
}

fn tamper(original: &[u8], tampering: Tampering) -> Vec<u8> {
    let mut bytes = original.to_vec();
    let len = bytes.len();
    let mut by_line = lines(original);
    let count = by_line.len();
    match tampering {
        Tampering::Flip(at, mask) => bytes[at.index(len)] ^= mask,
        Tampering::Insert(at, piece) => {
            let at = at.index(len + 1);
            bytes.splice(at..at, piece);
        }
        Tampering::Delete(at, span) => {
            let at = at.index(len);
            bytes.drain(at..len.min(at + span));
        }
        Tampering::Swap(one, other, span) => {
            let (one, other) = (one.index(len), other.index(len));
            let (first, second) = (one.min(other), one.max(other));
            let span = span.min(second - first).min(len - second);
            let (before, after) = bytes.split_at_mut(second);
            before[first..first + span].swap_with_slice(&mut after[..span]);
        }
        Tampering::SwapLines(one, other) => {
            by_line.swap(one.index(count), other.index(count));
            bytes = by_line.concat();
        }
        Tampering::DeleteLines(at, gone) => {
            let at = at.index(count);
            by_line.drain(at..count.min(at + gone));
            bytes = by_line.concat();
        }
        Tampering::CopyLine(from, to) => {
            let copy = by_line[from.index(count)].clone();
            by_line.insert(to.index(count + 1), copy);
            bytes = by_line.concat();
        }
        Tampering::Truncate(at) => bytes.truncate(at.index(len)),
    }
    bytes
}

fn check(bytes: &[u8], outside: &Head) -> VerifyReport {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(format!("{}.jsonl", outside.session_id));
    fs::write(&path, bytes).unwrap();
    verify(&path, Some(&Kept::new(outside.clone()))).unwrap()
}

/// The number of the first line that is not as it was, counted from 1.
fn first_changed(original: &[u8], bytes: &[u8]) -> u64 {
    let same = original
        .iter()
        .zip(bytes)
        .take_while(|(a, b)| a == b)
        .count();
    // A last line that lacks nothing but its newline is as it was.
    let only_its_end = same == bytes.len() && original.get(same) == Some(&b'\n');
    let before = &original[..original.len().min(same + usize::from(only_its_end))];
    before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_done_to_a_ledger_is_found_at_the_first_entry_that_is_not_as_it_was(
        which in 0..SHAPES.len(),
        tampering in prop::collection::vec(tampering(), 1..3),
    ) {
        let original = &ORIGINALS[which];
        let bytes = tampering
            .into_iter()
            .fold(original.bytes.clone(), |bytes, next| {
                if bytes.is_empty() { bytes } else { tamper(&bytes, next) }
            });
        prop_assume!(bytes != original.bytes);
        let report = check(&bytes, &original.head);
        let changed = first_changed(&original.bytes, &bytes);
        let found = report.first_bad.as_ref().map(|fault| fault.seq);
        let last_newline_only = original.bytes.strip_suffix(b"\n") == Some(&bytes[..]);
        if last_newline_only {
            // Nothing of any entry is gone; opening puts it back.
            prop_assert!(report.ok && report.outside_head == OutsideHead::Match, "{:?}", report);
        } else if changed > original.head.seq && !bytes.ends_with(b"\n")
            && bytes[original.bytes.len()..].iter().all(|byte| *byte != b'\n')
        {
            // A line that was begun after the last one: as a crash leaves it.
            prop_assert!(report.ok && report.torn_bytes > 0, "{:?}", report);
        } else if changed <= original.older as u64 + 1 || report.head.is_none() {
            // The older lines are proved as one piece by the first entry of the chain: that they
            // were changed is certain, which of them is not. Nor is where the chain began, when
            // not one line of it is left.
            prop_assert!(!report.ok && found <= Some(report.prefix + 1), "{:?}", report);
        } else {
            prop_assert_eq!(found, Some(changed), "{:?}", report);
        }
    }
}

#[test]
fn the_originals_are_what_they_are_called() {
    for (original, (older, count)) in ORIGINALS.iter().zip(SHAPES) {
        let report = check(&original.bytes, &original.head);
        assert!(report.ok, "{report:?}");
        assert_eq!(
            (report.prefix, report.chained),
            (older as u64, count as u64)
        );
        assert_eq!(report.outside_head, OutsideHead::Match);
        let last = lines(&original.bytes).pop().unwrap();
        assert_eq!(parse(&last).unwrap().link.unwrap().seq, original.head.seq);
    }
}
