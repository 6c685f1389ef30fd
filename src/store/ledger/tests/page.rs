//! The ledger in pieces.

use std::collections::BTreeSet;

use super::support::{Open, Project};
use crate::ledger::{EntryFilter, Page};
use ctxrelay_core::agent::{Agent, Party};
use ctxrelay_core::id::RuntimeSession;
use ctxrelay_core::wire::window::{RowQuery, WindowParams, WindowPlace, WindowRow};

/// Entries 1 to 600; every third from Claude, every fifth of another pair, every seventh of none.
fn ledger() -> (Project, Open) {
    let project = Project::new();
    let mut open = project.open();
    let entries = (1..=600)
        .map(|n| {
            let mut entry = project.note(&format!("n{n}"), "x");
            if n % 3 == 0 {
                entry.source = Party::Agent(Agent::Claude);
                entry.target = Some(Party::Agent(Agent::Codex));
            }
            if n % 5 == 0 {
                entry.runtime_session = Some(RuntimeSession::new("pair-2"));
            }
            if n % 7 == 0 {
                entry.runtime_session = None;
            }
            entry
        })
        .collect();
    open.append(entries).unwrap();
    (project, open)
}

fn seqs(page: &Page) -> Vec<u64> {
    page.entries
        .iter()
        .map(|stored| stored.entry.seq.0)
        .collect()
}

/// All pages, one after the other.
fn walk(open: &Open, filter: &EntryFilter, ascending: bool, limit: usize) -> Vec<u64> {
    let mut all = Vec::new();
    let mut cursor = None;
    loop {
        let page = open.ledger.page(filter, cursor, ascending, limit).unwrap();
        assert!(page.entries.len() <= limit);
        all.extend(seqs(&page));
        cursor = page.next;
        if cursor.is_none() {
            return all;
        }
    }
}

#[test]
fn pages_follow_each_other_without_gap_or_repetition() {
    let (_project, open) = ledger();
    let all: Vec<u64> = (1..=600).collect();
    let back: Vec<u64> = all.iter().rev().copied().collect();
    for limit in [1, 7, 100, 256, 599, 600, 601, 10_000] {
        assert_eq!(
            walk(&open, &EntryFilter::default(), true, limit),
            all,
            "{limit}"
        );
        assert_eq!(
            walk(&open, &EntryFilter::default(), false, limit),
            back,
            "{limit}"
        );
    }
    let last = open
        .ledger
        .page(&EntryFilter::default(), None, true, 600)
        .unwrap();
    assert_eq!(last.next, None);
    let middle = open
        .ledger
        .page(&EntryFilter::default(), Some(300), true, 2)
        .unwrap();
    assert_eq!((seqs(&middle), middle.next), (vec![301, 302], Some(302)));
    let middle = open
        .ledger
        .page(&EntryFilter::default(), Some(300), false, 2)
        .unwrap();
    assert_eq!((seqs(&middle), middle.next), (vec![299, 298], Some(298)));
    let end = open
        .ledger
        .page(&EntryFilter::default(), Some(600), true, 2)
        .unwrap();
    assert_eq!(end, Page::default());
    let start = open
        .ledger
        .page(&EntryFilter::default(), Some(1), false, 2)
        .unwrap();
    assert_eq!(start, Page::default());
    open.close();
}

#[test]
fn filters_take_what_they_say() {
    let (_project, open) = ledger();
    let count = |filter: EntryFilter| walk(&open, &filter, true, 50).len();
    let with = |change: fn(&mut EntryFilter)| {
        let mut filter = EntryFilter::default();
        change(&mut filter);
        count(filter)
    };
    assert_eq!(
        with(|filter| filter.source = Some(Party::Agent(Agent::Claude))),
        200
    );
    assert_eq!(
        with(|filter| filter.target = Some(Party::Agent(Agent::Codex))),
        200
    );
    assert_eq!(with(|filter| filter.target = Some(Party::Human)), 0);
    assert_eq!(
        with(|filter| filter.entry_type = Some("note".to_owned())),
        600
    );
    assert_eq!(
        with(|filter| filter.entry_type = Some("message".to_owned())),
        0
    );
    // What belongs to no pair belongs to all of them.
    let shared = (1..=600).filter(|n| n % 5 == 0 || n % 7 == 0).count();
    let session =
        |filter: &mut EntryFilter| filter.runtime_session = Some(RuntimeSession::new("pair-2"));
    assert_eq!(with(session), shared);
    open.close();
}

#[test]
fn an_empty_ledger_has_an_empty_page() {
    let project = Project::new();
    let open = project.open();
    for ascending in [true, false] {
        let page = open
            .ledger
            .page(&EntryFilter::default(), None, ascending, 10)
            .unwrap();
        assert_eq!(page, Page::default());
    }
    open.close();
}

#[test]
fn a_line_that_was_changed_underneath_is_an_error_and_no_entry() {
    let (project, open) = ledger();
    let mut bytes = project.bytes();
    bytes[3] = b'\\';
    // Written in place: the ledger's descriptor sees it.
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(project.path())
        .unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &bytes, 0).unwrap();
    let error = open.ledger.read(ctxrelay_core::id::Seq(1)).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
    assert!(
        open.ledger
            .read(ctxrelay_core::id::Seq(2))
            .unwrap()
            .is_some()
    );
    open.close();
}

/// Somebody's editor goes over one line, in place.
fn spoil(project: &Project, line: usize) {
    let lines = project.lines();
    let at = lines[..line - 1].concat().len() as u64;
    let file = std::fs::OpenOptions::new().write(true).open(project.path());
    let junk = vec![b'x'; lines[line - 1].len() - 1];
    std::os::unix::fs::FileExt::write_all_at(&file.unwrap(), &junk, at).unwrap();
}

#[test]
fn a_line_that_was_spoilt_hides_none_of_the_others() {
    let (project, open) = ledger();
    for line in [1, 300, 301, 600] {
        spoil(&project, line);
    }
    let left: Vec<u64> = (1..=600)
        .filter(|seq| ![1, 300, 301, 600].contains(seq))
        .collect();
    let back: Vec<u64> = left.iter().rev().copied().collect();
    for limit in [1, 7, 599, 10_000] {
        assert_eq!(walk(&open, &EntryFilter::default(), true, limit), left);
        assert_eq!(walk(&open, &EntryFilter::default(), false, limit), back);
    }
    // How many there are is told, on the page where they would stand.
    let lines = |from, limit| {
        let all = EntryFilter::default();
        let page = open.ledger.page(&all, from, true, limit).unwrap();
        page.unread_lines().to_vec()
    };
    assert_eq!(lines(None, 600), [1, 300, 301, 600]);
    assert_eq!(lines(None, 100), [1]);
    assert_eq!(lines(Some(101), 300), [300, 301]);
    // Where lines that are no entries are asked for, they are rows.
    let rows = |place: WindowPlace, query: &RowQuery| {
        let params = WindowParams {
            place,
            limit: 10,
            query: query.clone(),
            ..WindowParams::default()
        };
        let page = open.ledger.window(&params, &BTreeSet::new()).unwrap();
        let spans = page.rows.iter().map(|row| {
            let is_bad = matches!(row, WindowRow::Bad { .. });
            (row.first(), row.last(), is_bad)
        });
        spans.collect::<Vec<_>>()
    };
    let all = RowQuery::default();
    let newest = rows(WindowPlace::Newest, &all);
    assert_eq!((newest.len(), newest[9]), (10, (600, 600, true)));
    assert_eq!(newest[0], (591, 591, false));
    assert_eq!(rows(WindowPlace::Oldest, &all)[0], (1, 1, true));
    for place in [WindowPlace::Before(305), WindowPlace::After(297)] {
        let found = rows(place, &all);
        assert!(found.contains(&(300, 301, true)), "{place:?}: {found:?}");
    }
    let claude = RowQuery {
        parties: vec![Party::Agent(Agent::Claude)],
        ..RowQuery::default()
    };
    let found = rows(WindowPlace::Newest, &claude);
    assert_eq!(found.last(), Some(&(597, 597, false)));
    open.close();
}
