//! Facts keep their order where one of them fails.

use std::fs;
use std::sync::mpsc::channel;

use rustix::io::Errno;

use super::faulty_file::FaultyFile;
use super::support::{DEADLINE, Open, Project};
use crate::blobs::Blobs;
use crate::ledger::{LedgerError, WriterEvent, verify};
use ctxrelay_core::entry::{Entry, EntryKind, FindingRecord, FindingStep};
use ctxrelay_core::id::FindingId;

/// What became of the next so many appends, in words.
fn answers(open: &Open, count: usize) -> Vec<String> {
    let mut told = Vec::new();
    while told.len() < count {
        match open.events.recv_timeout(DEADLINE).unwrap() {
            WriterEvent::Durable { token, .. } => told.push(format!("durable {token}")),
            WriterEvent::Failed { token, .. } => told.push(format!("failed {token}")),
            WriterEvent::Recovered => {}
            event => panic!("{event:?}"),
        }
    }
    told
}

#[track_caller]
fn has_in_order(project: &Project, ids: &[&str]) {
    assert!(verify(&project.path(), None).unwrap().ok);
    let open = project.open();
    assert_eq!(open.found(), ids);
    open.close();
}

#[test]
fn a_fact_is_not_recorded_before_one_that_the_disk_refused() {
    let project = Project::new();
    let (file, plan) = FaultyFile::open(&project);
    let open = project.open_on(file);
    let fact = |token, round, id: &str| {
        let entry = project.note(id, "x");
        open.ledger.append_fact(token, round, vec![entry]).unwrap();
    };
    plan.lock()
        .unwrap()
        .append
        .push_back(Some((Errno::NOSPC, 0)));
    fact(1, 0, "a");
    assert_eq!(answers(&open, 1), ["failed 1"]);
    // The disk takes everything again, and the sender has heard of nothing yet.
    fact(2, 0, "b");
    let asked = vec![project.note("asked", "x")];
    open.ledger.append(3, asked).unwrap();
    let last = vec![project.note("last", "x")];
    let waited = open.ledger.append_and_wait(4, 0, last, DEADLINE);
    assert!(matches!(waited, Err(LedgerError::NoSpace { .. })));
    assert_eq!(answers(&open, 2), ["failed 2", "durable 3"]);
    fact(5, 1, "a");
    fact(6, 1, "b");
    assert_eq!(answers(&open, 2), ["durable 5", "durable 6"]);
    open.close();
    has_in_order(&project, &["asked", "a", "b"]);
}

#[test]
fn a_fact_is_not_recorded_before_one_of_its_batch_whose_text_cannot_be_kept() {
    let project = Project::new();
    let (mut file, _plan) = FaultyFile::open(&project);
    let (open_gate, gate) = channel();
    file.gate = Some(gate);
    let open = project.open_on(file);
    let dir = Blobs::of_ledger(&project.path()).dir().to_owned();
    fs::remove_dir(&dir).unwrap();
    fs::write(&dir, "in the way").unwrap();
    let kind = EntryKind::Finding(FindingRecord {
        finding: FindingId::new("gh:rc:1"),
        step: FindingStep::Resolved,
        facts: None,
        suggestions: Vec::new(),
        raw: Some("a comment".to_owned()),
    });
    let unkept = Entry {
        kind,
        ..project.note("a", "x")
    };
    let give = |token, round, entry: &Entry| {
        let entries = vec![entry.clone()];
        open.ledger.append_fact(token, round, entries).unwrap();
    };
    // While this one is written, those behind it gather.
    give(0, 0, &project.note("first", "x"));
    give(1, 0, &unkept);
    give(2, 0, &project.note("b", "x"));
    open_gate.send(()).unwrap();
    assert_eq!(answers(&open, 3), ["durable 0", "failed 1", "failed 2"]);
    fs::remove_file(&dir).unwrap();
    give(3, 1, &unkept);
    give(4, 1, &project.note("b", "x"));
    open_gate.send(()).unwrap();
    open_gate.send(()).unwrap();
    assert_eq!(answers(&open, 2), ["durable 3", "durable 4"]);
    open.close();
    has_in_order(&project, &["first", "a", "b"]);
}
