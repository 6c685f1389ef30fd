//! Appending, closing, opening again.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::thread;

use proptest::prelude::*;

use super::support::{DEADLINE, Project};
use crate::ledger::{LedgerError, Reason, WriterEvent, open, seal, verify};
use ctxrelay_core::entry::{EntryKind, Fate, Predecessor};
use ctxrelay_core::id::{EntryId, Seq, SessionId};
use ctxrelay_core::wire::line::{GENESIS, LINE_MAX, arbitrary, parse};

#[test]
fn what_was_acknowledged_is_in_the_file_and_found_again() {
    let project = Project::new();
    let mut open = project.open();
    for n in 1..=5 {
        let text = format!("text {n}");
        let stored = open
            .append(vec![project.note(&format!("n{n}"), &text)])
            .unwrap();
        assert_eq!(stored[0].entry.seq, Seq(n));
        assert_eq!(stored[0].entry.content, text);
        assert_eq!(
            project.lines().last().unwrap(),
            &[stored[0].line.as_bytes(), b"\n"].concat()
        );
    }
    let found = open.ledger.read(Seq(3)).unwrap().unwrap();
    assert_eq!(found.entry.id, EntryId::new("n3"));
    assert_eq!(open.ledger.read(Seq(6)).unwrap(), None);
    assert_eq!(open.ledger.read(Seq(u64::MAX)).unwrap(), None);
    assert_eq!(
        open.ledger.seq_of(&EntryId::new("n4")).unwrap(),
        Some(Seq(4))
    );
    assert_eq!(open.ledger.seq_of(&EntryId::new("n9")).unwrap(), None);
    let stats = open.ledger.stats();
    let live = open.live.clone();
    open.close();

    let report = verify(&project.path(), None).unwrap();
    assert!(report.ok, "{report:?}");
    assert_eq!((report.entries, report.chained), (5, 5));
    assert_eq!(report.head, stats.head);
    assert_eq!(
        parse(&project.lines()[0]).unwrap().link.unwrap().prev,
        GENESIS
    );
    assert_eq!(crate::testing::mode(&project.path()), 0o600);

    let mut open = project.open();
    assert_eq!(open.ledger.stats(), stats);
    assert_eq!(open.live, live);
    assert!(open.report.chain_ok);
    assert_eq!(open.report.recent.len(), 5);
    assert_eq!(open.report.recent[2].as_ref(), &found);
    open.append(vec![project.note("n6", "six")]).unwrap();
    open.close();
    assert!(verify(&project.path(), None).unwrap().ok);
}

#[test]
fn what_is_shown_and_delivered_is_what_was_redacted() {
    let project = Project::new();
    let mut open = project.open();
    let mut note = project.note("n1", "password=hunter2 and more");
    note.meta
        .insert("summary".to_owned(), "password=hunter2".into());
    let stored = open.append(vec![note]).unwrap();
    assert_eq!(
        stored[0].entry.content,
        "password=[REDACTED_PASSWORD] and more"
    );
    assert_eq!(stored[0].entry.meta["redacted"], true);
    assert_eq!(open.ledger.read(Seq(1)).unwrap().unwrap(), *stored[0]);
    open.close();
    let text = String::from_utf8(project.bytes()).unwrap();
    assert!(!text.contains("hunter2"), "{text}");
    assert!(verify(&project.path(), None).unwrap().ok);
}

#[test]
fn the_entries_of_one_append_are_recorded_together_or_not_at_all() {
    let project = Project::new();
    let mut open = project.open();
    open.append(vec![project.note("a", "1"), project.note("b", "2")])
        .unwrap();
    let huge = "x".repeat(LINE_MAX + 1);
    let refused = open.append(vec![project.note("c", "3"), project.note("d", &huge)]);
    assert!(
        matches!(refused, Err(LedgerError::Refused(_))),
        "{refused:?}"
    );
    let stored = open.append(vec![project.note("e", "4")]).unwrap();
    assert_eq!(stored[0].entry.seq, Seq(3));
    open.close();
    let report = verify(&project.path(), None).unwrap();
    assert_eq!((report.ok, report.entries), (true, 3));
}

#[test]
fn a_new_ledger_follows_the_head_of_the_sealed_one() {
    let project = Project::new();
    let mut first = project.open();
    first.append(vec![project.note("a", "1")]).unwrap();
    let (_, head) = first.ledger.stats().head.unwrap();
    first.close();
    let archive = seal(&project.dirs, &project.session).unwrap();
    assert!(verify(&archive, None).unwrap().ok);
    assert!(!project.path().exists());
    assert!(seal(&project.dirs, &project.session).is_err());

    let begin = |named: &str, given: Option<String>| {
        let mut next = Project::new();
        next.session = SessionId::new("session_1795000000001_00000002");
        let mut entry = next.note("s", "started");
        entry.kind = EntryKind::SessionStarted {
            predecessor: Some(Predecessor {
                session_id: project.session.clone(),
                entries: 1,
                head: named.to_owned(),
                fate: Fate::Archived,
                earlier: None,
            }),
        };
        let mut options = next.options();
        options.prev_head = given;
        let mut open = next.open_with(options);
        open.append(vec![entry]).unwrap();
        open.append(vec![next.note("b", "2")]).unwrap();
        open.close();
        let link = parse(&next.lines()[0]).unwrap().link.unwrap();
        (link.prev, verify(&next.path(), None).unwrap().ok)
    };
    assert_eq!(begin(&head, Some(head.clone())), (head.clone(), true));
    // A crash between making the file and its first entry forgets what the caller was told.
    assert_eq!(begin(&head, None), (head.clone(), true));
    // Following something else than the first entry says is not in order.
    assert_eq!(begin(GENESIS, Some(head.clone())), (head, false));
}

#[test]
fn closing_records_what_waits_and_refuses_what_comes_later() {
    let project = Project::new();
    let events = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&events);
    let opened = open(
        project.options(),
        Box::new(move |event| sink.lock().unwrap().push(event)),
    );
    let ledger = opened.unwrap().ledger;
    let late = ledger.clone();
    for n in 0..500 {
        ledger
            .append(n, vec![project.note(&format!("n{n}"), "x")])
            .unwrap();
    }
    ledger.close();
    assert_eq!(
        late.append(1, vec![project.note("late", "x")]),
        Err(super::super::NotTaken::WriterGone)
    );
    late.close();
    assert_eq!(events.lock().unwrap().len(), 500);
    assert_eq!(verify(&project.path(), None).unwrap().entries, 500);
}

#[test]
fn dropping_every_handle_records_what_waits() {
    let project = Project::new();
    let (done, wait) = std::sync::mpsc::channel();
    let opened = open(
        project.options(),
        Box::new(move |event| drop(done.send(event))),
    );
    let ledger = opened.unwrap().ledger;
    for n in 0..10 {
        ledger
            .append(n, vec![project.note(&format!("n{n}"), "x")])
            .unwrap();
    }
    drop(ledger);
    // The channel closes when the writer has ended.
    let events: Vec<_> = std::iter::from_fn(|| wait.recv_timeout(DEADLINE).ok()).collect();
    assert_eq!(events.len(), 10);
    assert_eq!(verify(&project.path(), None).unwrap().entries, 10);
}

#[test]
fn eight_at_once_are_each_acknowledged_once_in_their_order() {
    const WRITERS: u64 = 8;
    const EACH: u64 = 200;
    let project = Project::new();
    let durable = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&durable);
    let opened = open(
        project.options(),
        Box::new(move |event| match event {
            WriterEvent::Durable { token, entries } => {
                sink.lock().unwrap().push((token, entries[0].entry.seq));
            }
            event => panic!("{event:?}"),
        }),
    );
    let ledger = opened.unwrap().ledger;
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (ledger, project) = (&ledger, &project);
            scope.spawn(move || {
                for n in 0..EACH {
                    let token = writer * EACH + n;
                    let entry = project.note(&format!("n{token}"), "x");
                    while ledger.append(token, vec![entry.clone()]).is_err() {
                        thread::yield_now();
                    }
                }
            });
        }
    });
    ledger.close();
    let durable = durable.lock().unwrap();
    let tokens: BTreeSet<_> = durable.iter().map(|(token, _)| *token).collect();
    assert_eq!(durable.len() as u64, WRITERS * EACH);
    assert_eq!(tokens, (0..WRITERS * EACH).collect());
    assert!(durable.is_sorted_by_key(|(_, seq)| *seq));
    for writer in 0..WRITERS {
        let mine = durable.iter().filter(|(token, _)| token / EACH == writer);
        assert!(mine.is_sorted_by_key(|(token, _)| *token));
    }
    let report = verify(&project.path(), None).unwrap();
    assert_eq!((report.ok, report.chained), (true, WRITERS * EACH));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_fold_of_the_file_is_the_live_state(
        appends in prop::collection::vec(prop::collection::vec(arbitrary::entry(), 1..4), 0..12),
        reopen_at in 0..12usize,
    ) {
        let project = Project::new();
        let mut open = project.open();
        for (n, entries) in appends.into_iter().enumerate() {
            if n == reopen_at {
                let live = open.live.clone();
                open.close();
                open = project.open();
                prop_assert_eq!(&open.live, &live);
            }
            open.append(entries).unwrap();
        }
        let (live, stats) = (open.live.clone(), open.ledger.stats());
        open.close();
        let open = project.open();
        prop_assert_eq!(&open.live, &live);
        prop_assert_eq!(open.ledger.stats(), stats);
        prop_assert!(open.report.chain_ok);
        let fault = verify(&project.path(), None).unwrap().first_bad;
        // Some of these entries name long texts that nobody ever kept.
        prop_assert!(fault.is_none_or(|fault| fault.reason == Reason::BlobMissing));
    }
}
