//! Whatever is done to a closed ledger is found, at the right entry.

use std::fs;
use std::sync::LazyLock;

use proptest::prelude::*;
use tempfile::TempDir;

use super::support::Project;
use crate::head::{Head, Kept};
use crate::ledger::{ChainFault, OutsideHead, Reason, VerifyReport, verify};
use ctxrelay_core::agent::Party;
use ctxrelay_core::entry::{EntryKind, NoteKind};
use ctxrelay_core::id::SessionId;
use ctxrelay_core::wire::line::{parse, seal, serialize};

const COUNT: usize = 6;

static LINES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| Project::with_notes(COUNT).lines());

fn head() -> Head {
    let link = parse(LINES.last().unwrap()).unwrap().link.unwrap();
    Head {
        seq: link.seq,
        hash: link.hash,
        session_id: SessionId::new("session_1795000000000_a1b2c3d4"),
    }
}

fn check(bytes: &[u8], outside: Option<&Head>) -> VerifyReport {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("session_1795000000000_a1b2c3d4.jsonl");
    fs::write(&path, bytes).unwrap();
    let kept = outside.cloned().map(Kept::new);
    verify(&path, kept.as_ref()).unwrap()
}

fn fault(lines: &[Vec<u8>]) -> (u64, Reason) {
    let report = check(&lines.concat(), None);
    assert!(!report.ok);
    let ChainFault { seq, reason, .. } = report.first_bad.unwrap();
    (seq, reason)
}

#[test]
fn an_untouched_ledger_is_fine() {
    let report = check(&LINES.concat(), None);
    assert!(report.ok);
    assert_eq!(
        (report.entries, report.bad_lines, report.torn_bytes),
        (6, 0, 0)
    );
    assert_eq!(report.outside_head, OutsideHead::None);
}

#[test]
fn an_edited_entry_is_named() {
    for n in 0..COUNT {
        let mut lines = LINES.clone();
        let text = String::from_utf8(lines[n].clone()).unwrap();
        lines[n] = text.replace("text", "lies").into_bytes();
        assert_eq!(fault(&lines), (n as u64 + 1, Reason::Edited));
    }
}

#[test]
fn an_entry_rewritten_with_its_hash_is_named_by_the_one_after_it() {
    let mut lines = LINES.clone();
    let parsed = parse(&lines[2]).unwrap();
    let (mut entry, link) = (parsed.entry, parsed.link.unwrap());
    entry.content = "lies".to_owned();
    entry.kind = EntryKind::note(NoteKind::Decision);
    lines[2] = seal(serialize(&entry), link.seq, &link.prev)
        .unwrap()
        .line
        .into_bytes();
    lines[2].push(b'\n');
    assert_eq!(fault(&lines), (4, Reason::Unlinked));
}

#[test]
fn deleted_entries_are_named() {
    for from in 0..COUNT - 1 {
        for to in from + 1..COUNT {
            let mut lines = LINES.clone();
            lines.drain(from..to);
            assert_eq!(
                fault(&lines),
                (from as u64 + 1, Reason::Missing),
                "{from}..{to}"
            );
        }
    }
}

#[test]
fn inserted_lines_are_named() {
    for at in 1..=COUNT {
        let mut lines = LINES.clone();
        lines.insert(at, LINES[at - 1].clone());
        assert_eq!(fault(&lines), (at as u64 + 1, Reason::Inserted), "{at}");
        let mut lines = LINES.clone();
        lines.insert(at, b"{\"id\":\"x\",\"type\":\"note\"}\n".to_vec());
        assert_eq!(fault(&lines), (at as u64 + 1, Reason::Inserted), "{at}");
        let mut lines = LINES.clone();
        lines.insert(at, b"null\n".to_vec());
        assert_eq!(fault(&lines), (at as u64 + 1, Reason::NotAnEntry), "{at}");
    }
    // Before the first entry: an older ledger, from which the chain would have to grow.
    let mut lines = LINES.clone();
    lines.insert(0, b"{\"id\":\"x\",\"type\":\"note\"}\n".to_vec());
    assert_eq!(fault(&lines), (1, Reason::PrefixChanged));
}

#[test]
fn swapped_entries_are_named() {
    for first in 0..COUNT {
        for second in first + 1..COUNT {
            let mut lines = LINES.clone();
            lines.swap(first, second);
            let (seq, reason) = fault(&lines);
            assert_eq!(seq, first as u64 + 1, "{first} {second}");
            assert_eq!(reason, Reason::Swapped, "{first} {second}");
        }
    }
}

#[test]
fn a_cut_end_is_found_by_the_head_outside() {
    for kept in 0..COUNT {
        let bytes = LINES[..kept].concat();
        assert!(check(&bytes, None).ok, "nothing in the file shows it");
        let report = check(&bytes, Some(&head()));
        assert_eq!(report.outside_head, OutsideHead::Differs);
        let found = report.first_bad.unwrap();
        assert_eq!(
            (found.seq, found.reason),
            (kept as u64 + 1, Reason::Truncated)
        );
    }
    assert_eq!(
        check(&LINES.concat(), Some(&head())).outside_head,
        OutsideHead::Match
    );
}

#[test]
fn an_older_head_outside_is_behind_and_another_sessions_is_none() {
    for (at, line) in LINES[..COUNT - 1].iter().enumerate() {
        let link = parse(line).unwrap().link.unwrap();
        // The operator's word is never behind it.
        let speaks = LINES[at + 1..].iter().any(|line| {
            let entry = parse(line).unwrap().entry;
            entry.is_of_operator() || matches!(entry.source, Party::Other(_))
        });
        let outside = Head {
            seq: link.seq,
            hash: link.hash,
            ..head()
        };
        let report = check(&LINES.concat(), Some(&outside));
        assert_eq!(report.ok, !speaks, "{report:?}");
        assert_eq!(report.has_foreign_lines(), speaks);
        assert!(speaks || report.outside_head == OutsideHead::Behind);
        assert_ne!(report.outside_head, OutsideHead::Differs);
    }
    let other = Head {
        session_id: SessionId::new("session_1795000000000_ffffffff"),
        ..head()
    };
    assert_eq!(
        check(&LINES.concat(), Some(&other)).outside_head,
        OutsideHead::None
    );
}

#[test]
fn a_ledger_rewritten_from_some_entry_on_is_found_by_the_head_outside() {
    let mut lines = LINES[..3].to_vec();
    let mut prev = parse(&lines[2]).unwrap().link.unwrap().hash;
    for line in &LINES[3..] {
        let mut entry = parse(line).unwrap().entry;
        entry.content = "lies".to_owned();
        let sealed = seal(serialize(&entry), entry.seq.0, &prev).unwrap();
        prev = sealed.hash;
        lines.push(format!("{}\n", sealed.line).into_bytes());
    }
    assert!(
        check(&lines.concat(), None).ok,
        "the chain alone cannot show it"
    );
    let report = check(&lines.concat(), Some(&head()));
    assert_eq!(
        (report.ok, report.outside_head),
        (false, OutsideHead::Differs)
    );
    assert_eq!(report.first_bad.unwrap().reason, Reason::Unlinked);
}

#[test]
fn a_torn_end_is_no_tampering() {
    let bytes = LINES.concat();
    let last = LINES[COUNT - 1].len();
    for cut in bytes.len() - last + 1..bytes.len() - 1 {
        let report = check(&bytes[..cut], None);
        assert!(report.ok);
        assert_eq!(report.torn_bytes as usize, cut - (bytes.len() - last));
        assert_eq!(report.entries, 5);
    }
    let report = check(&bytes[..bytes.len() - 1], Some(&head()));
    assert_eq!((report.ok, report.entries, report.torn_bytes), (true, 6, 0));
}

#[test]
fn a_changed_prefix_is_found() {
    let project = Project::new();
    project.write(
        b"{\"id\":\"a\",\"type\":\"note\",\"content\":\"old\"}\n{\"id\":\"b\",\"type\":\"note\"}\n",
    );
    let mut open = project.open();
    open.append(vec![project.note("n", "x"), project.note("m", "y")])
        .unwrap();
    open.close();
    let lines = project.lines();
    assert!(check(&lines.concat(), None).ok);
    let edit = |n: usize, from: &str, to: &str| {
        let mut lines = lines.clone();
        lines[n] = String::from_utf8(lines[n].clone())
            .unwrap()
            .replace(from, to)
            .into_bytes();
        fault(&lines)
    };
    assert_eq!(edit(0, "old", "new"), (1, Reason::PrefixChanged));
    assert_eq!(edit(1, "{", "!"), (2, Reason::NotAnEntry));
    assert_eq!(edit(2, "\"x\"", "\"z\""), (3, Reason::Edited));
    assert_eq!(fault(&lines[1..]), (2, Reason::Missing));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_changed_byte_is_found_at_its_entry(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = LINES.concat();
        let at = at.index(bytes.len());
        prop_assume!(bytes[at] != byte);
        bytes[at] = byte;
        let entry = LINES
            .iter()
            .scan(0, |end, line| {
                *end += line.len();
                Some(*end)
            })
            .position(|end| at < end)
            .unwrap() as u64 + 1;
        let report = check(&bytes, Some(&head()));
        let found = report.first_bad.clone().map(|fault| fault.seq);
        prop_assert!(!report.ok || report.torn_bytes > 0, "{:?}", report);
        prop_assert_eq!(found, Some(entry), "{:?}", report);
    }
}
