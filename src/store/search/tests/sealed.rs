//! Sealed sessions: found by the index and without it, and never more than what is in their files.

use std::fs;
use std::time::Instant;

use pretty_assertions::assert_eq;
use rusqlite::Connection;

use super::support::{Bench, DEADLINE, REDACTOR, request};
use crate::search::sealed::search_sealed;
use crate::search::{SEALED_BYTES_MAX, SealedIndex, SealedRequest, Search, discard, rebuild_file};
use crate::session;
use ctxrelay_core::entry::{EntryKind, Fate, Predecessor};
use ctxrelay_core::id::SessionId;
use ctxrelay_core::wire::search::{SealedPage, SearchParams};

/// A word that is not the whole of any session: many entries with it would be one word each.
const PLUMS: &str = "plums of the lot";

/// Three sealed sessions, and the one of now.
fn bench() -> Bench {
    let mut bench = Bench::new();
    for session in 0..3 {
        for entry in 0..4 {
            bench.note(&format!("{PLUMS} {session} and {entry}"));
        }
        bench.note("pears");
        bench = bench.next_session();
    }
    bench.note("plums of now");
    bench
}

fn asked(words: &str, limit: u32, after: Option<String>) -> SealedRequest {
    let params = SearchParams {
        words: words.to_owned(),
        limit: Some(limit),
        after,
        ..SearchParams::default()
    };
    SealedRequest::of(&params).unwrap()
}

/// All pages of a search, one after the other.
fn pages(search: &Search, session: &SessionId, words: &str, limit: u32) -> Vec<SealedPage> {
    let (mut pages, mut after) = (Vec::new(), None);
    loop {
        let found = search
            .sealed()
            .find(session, &asked(words, limit, after.take()));
        let found = found.unwrap();
        after.clone_from(&found.page.cursor);
        pages.push(found);
        if after.is_none() {
            return pages;
        }
    }
}

fn places(pages: &[SealedPage]) -> Vec<String> {
    let hits = pages.iter().flat_map(|found| &found.page.hits);
    hits.map(|hit| format!("{} {}", hit.place(), hit.snippet))
        .collect()
}

/// How many sessions are in the index as a whole.
fn indexed(bench: &Bench) -> i64 {
    let db = Connection::open(bench.place.dirs.state_file("index.db")).unwrap();
    let sql = "SELECT count(*) FROM sealed WHERE is_whole";
    db.query_row(sql, [], |row| row.get(0)).unwrap_or_default()
}

/// Until so many are in.
#[track_caller]
fn wait_for(bench: &Bench, search: &Search, sessions: i64) {
    assert!(search.wait_for(bench.len(), DEADLINE));
    let begun = Instant::now();
    while indexed(bench) != sessions {
        assert!(begun.elapsed() < DEADLINE, "{}", indexed(bench));
        std::thread::yield_now();
    }
}

/// Whether a file of the state folder has a word, wherever it stands in it.
fn has_in_state(bench: &Bench, word: &str) -> bool {
    let files = fs::read_dir(&bench.place.dirs.state).unwrap();
    let mut texts = files.map(|file| fs::read(file.unwrap().path()).unwrap_or_default());
    texts.any(|text| text.windows(word.len()).any(|at| at == word.as_bytes()))
}

#[test]
fn the_index_finds_in_sealed_sessions_what_reading_finds() {
    let bench = bench();
    let search = bench.search();
    wait_for(&bench, &search, 3);
    // As before they were in it.
    let db = Connection::open(bench.place.dirs.state_file("index.db")).unwrap();
    for words in ["plums", "plums 1", "\"lot 2\"", "pe*", "nowhere", "now"] {
        for limit in [1, 3, 50] {
            db.execute("UPDATE sealed SET stamp = 'x' || stamp", [])
                .unwrap();
            let read = pages(&search, &bench.session, words, limit);
            db.execute("UPDATE sealed SET stamp = substr(stamp, 2)", [])
                .unwrap();
            let found = pages(&search, &bench.session, words, limit);
            assert_eq!(places(&found), places(&read), "{words} by {limit}");
            let totals = |pages: &[SealedPage]| pages.iter().map(|it| it.page.total).collect();
            let (found, read): (Vec<u64>, Vec<u64>) = (totals(&found), totals(&read));
            assert_eq!(found, read, "{words} by {limit}");
        }
    }
    let found = pages(&search, &bench.session, "plums", 50);
    assert_eq!((found.len(), found[0].page.total), (1, 12));
    search.close();
}

#[test]
fn a_session_too_long_to_be_read_for_an_answer_is_found_once_the_index_has_it() {
    let mut bench = Bench::new();
    // One long word each.
    let filling = "x".repeat(600_000);
    let many = SEALED_BYTES_MAX / 600_000 + 1;
    for entry in 0..many {
        bench.note(&format!("{PLUMS} {entry} {filling}"));
    }
    let mut bench = bench.next_session();
    bench.note("now");
    let search = bench.search();
    wait_for(&bench, &search, 1);
    let found = search
        .sealed()
        .find(&bench.session, &asked("plums", 5, None));
    let found = found.unwrap();
    assert_eq!((found.too_long, found.page.total), (0, many));
    // A person's own search without a daemon finds it there too.
    let session = SessionId::new("session_1795000000000_a1b2c3d4");
    let path = bench.place.dirs.sessions().join(format!("{session}.jsonl"));
    let indexed = SealedIndex::open(&bench.place.dirs).unwrap();
    let hits = indexed.find(&session, &path, &REDACTOR, &request("plums 3"));
    assert_eq!(hits.unwrap().total, 1);
    search.close();
}

#[test]
fn for_a_search_in_many_sessions_the_index_is_opened_once() {
    let bench = bench();
    let search = bench.search();
    wait_for(&bench, &search, 3);
    search.close();
    let dirs = &bench.place.dirs;
    let indexed = SealedIndex::open(dirs).unwrap();
    discard(dirs).unwrap();
    assert!(SealedIndex::open(dirs).is_none());
    let sessions = session::all(dirs).unwrap();
    assert_eq!(sessions.len(), 4);
    for (session, path) in sessions.iter().skip(1) {
        let found = indexed.find(session, path, &REDACTOR, &request("plums"));
        assert_eq!(found.unwrap().total, 4, "{session}");
    }
    // The one of now is not sealed.
    let (now, path) = &sessions[0];
    assert!(
        indexed
            .find(now, path, &REDACTOR, &request("plums"))
            .is_none()
    );
}

#[test]
fn what_an_agent_changed_since_is_read_and_a_lying_index_is_not_shown() {
    let bench = bench();
    let search = bench.search();
    wait_for(&bench, &search, 3);
    let session = SessionId::new("session_1795000000001_a1b2c3d4");
    let path = bench.place.dirs.sessions().join(format!("{session}.jsonl"));
    let total = |words: &str| {
        let found = search
            .sealed()
            .find(&bench.session, &asked(words, 50, None));
        found.unwrap().page.hits.len()
    };
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("plums", "grape")).unwrap();
    assert_eq!((total("grape"), total("plums")), (4, 8));
    fs::write(&path, text).unwrap();
    // As if each had the words of another one, and stood where it does not.
    let db = Connection::open(bench.place.dirs.state_file("index.db")).unwrap();
    db.execute_batch(
        "INSERT INTO sealed_words (rowid, text) SELECT place, ' nowhere ' FROM sealed_lines; \
         UPDATE sealed_lines SET at = at + 1;",
    )
    .unwrap();
    assert_eq!((total("nowhere"), total("plums")), (0, 12));
    // A session whose file is gone is not found.
    fs::remove_file(&path).unwrap();
    assert_eq!(total("plums"), 8);
    search.close();
}

#[test]
fn the_next_session_begins_with_what_was_sealed_before_and_of_a_deleted_one_nothing_stays() {
    let bench = bench();
    let search = bench.search();
    wait_for(&bench, &search, 3);
    search.close();
    let db = || Connection::open(bench.place.dirs.state_file("index.db")).unwrap();
    let numbers = |db: &Connection| -> Vec<i64> {
        let mut numbers = db
            .prepare("SELECT number FROM sealed ORDER BY session")
            .unwrap();
        let numbers = numbers.query_map([], |row| row.get(0)).unwrap();
        numbers.map(Result::unwrap).collect()
    };
    let before = numbers(&db());
    let mut next = bench.next_session();
    next.note("later");
    let search = next.search();
    wait_for(&next, &search, 4);
    let index = Connection::open(next.place.dirs.state_file("index.db")).unwrap();
    assert_eq!(numbers(&index)[..3], before, "nothing is read once more");
    let found = pages(&search, &next.session, "plums", 50);
    assert_eq!(found[0].page.total, 13);
    drop(index);
    search.close();
    // The one of now is deleted for good, as `ledger clear --discard` does it.
    let (session, path) = (next.session.clone(), next.ledger.path().to_path_buf());
    let mut last = next.next_session();
    last.note("at last");
    fs::remove_file(path).unwrap();
    let search = last.search();
    wait_for(&last, &search, 4);
    assert_eq!(search.state().rebuilds, 1);
    let found = pages(&search, &last.session, "later", 50);
    assert_eq!(found[0].page.total, 0, "{session}");
    search.close();
    rebuild_file(
        &last.place.dirs,
        &last.session,
        last.ledger.path(),
        u64::MAX,
        &REDACTOR,
        |_| (),
    )
    .unwrap();
    assert_eq!(indexed(&last), 4);
}

#[test]
fn a_session_that_is_being_deleted_is_neither_found_nor_taken_in() {
    let mut bench = Bench::new();
    bench.note("an apricot");
    let mut bench = bench.next_session();
    bench.note("a quince, for good");
    let doomed = bench.session.clone();
    let search = bench.search();
    wait_for(&bench, &search, 1);
    search.close();
    assert!(has_in_state(&bench, "quince"));
    let mut bench = bench.next_session();
    let mut began = bench.entry("the session before is deleted");
    began.kind = EntryKind::SessionStarted {
        predecessor: Some(Predecessor {
            session_id: doomed,
            entries: 1,
            head: "0".repeat(64),
            fate: Fate::Discarded,
            earlier: None,
        }),
    };
    bench.append(vec![began]);
    // Its file still lies there.
    let search = bench.search();
    wait_for(&bench, &search, 1);
    for (words, total) in [("apricot", 1), ("quince", 0)] {
        let found = pages(&search, &bench.session, words, 50);
        assert_eq!(found[0].page.total, total, "{words}");
        let read = search_sealed(
            None,
            &bench.place.dirs,
            &bench.session,
            &REDACTOR,
            &asked(words, 50, None),
        );
        assert_eq!(read.unwrap().page.total, total, "{words}, without an index");
    }
    assert_eq!(indexed(&bench), 1);
    search.close();
    assert!(!has_in_state(&bench, "quince"), "the index has words of it");
}

#[test]
fn no_word_stays_of_a_session_that_was_deleted_before_a_crash() {
    let mut bench = Bench::new();
    bench.note("a quince, for good");
    let deleted = bench.ledger.path().to_path_buf();
    let mut bench = bench.next_session();
    bench.note(PLUMS);
    let mut bench = bench.next_session();
    bench.note("now");
    // The index is of the next session already, and has the one that is to go as a sealed one.
    let search = bench.search();
    wait_for(&bench, &search, 2);
    fs::remove_file(&deleted).unwrap();
    search.close();

    assert!(has_in_state(&bench, "quince"));
    let search = bench.search();
    wait_for(&bench, &search, 1);
    assert_eq!(search.state().rebuilds, 1);
    let found = pages(&search, &bench.session, "plums", 50);
    assert_eq!(found[0].page.total, 1);
    search.close();
    assert!(!has_in_state(&bench, "quince"));
}
