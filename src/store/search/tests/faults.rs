//! What happens to the index costs nothing: it is thrown away and built anew.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::Instant;

use super::super::find::find;
use super::support::{Bench, DEADLINE, REDACTOR, ask, request, seqs};
use crate::ledger::Reading;
use crate::search::{Search, discard, rebuild_file};
use crate::testing::{NotGiven, mode};
use ctxrelay_core::id::SessionId;

fn full(count: usize) -> Bench {
    let mut bench = Bench::new();
    for n in 1..=count {
        bench.note(&format!("note {n} of the lot"));
    }
    bench
}

/// Starts a search, waits until the index is complete, and says how often it was made anew.
fn rebuilds(bench: &Bench) -> u64 {
    let search = bench.search();
    assert!(search.wait_for(bench.len(), DEADLINE));
    let found = ask(&search, request("lot "));
    assert_eq!(found.total, bench.len());
    assert_eq!((found.indexed_to, found.behind), (bench.len(), 0));
    let state = search.state();
    assert_eq!(state.fault, None);
    search.close();
    state.rebuilds
}

#[test]
fn it_goes_on_where_it_stopped() {
    let mut bench = full(20);
    assert_eq!(rebuilds(&bench), 0, "there was none");
    assert_eq!(mode(&bench.place.dirs.state_file("index.db")), 0o600);
    bench.note("one more of the lot");
    let bench = bench.reopened();
    assert_eq!(rebuilds(&bench), 0);
}

#[test]
fn dropped_in_the_middle_it_is_whole_after_the_next_start() {
    let mut bench = Bench::new();
    for _ in 0..12 {
        let entries = (0..1_000).map(|_| bench.entry("of the lot")).collect();
        bench.append(entries);
    }
    let search = bench.search();
    // As soon as a part is in; the threads are not waited for.
    assert!(search.wait_for(1, DEADLINE));
    drop(search);
    let search = bench.search();
    assert!(search.wait_for(bench.len(), DEADLINE));
    let found = bench.search_file(&request("lot"), true);
    assert_eq!(found.indexed_to, bench.len());
    assert_eq!(found.total, super::super::TOTAL_MAX);
    search.close();
}

#[test]
fn a_damaged_foreign_or_newer_file_is_made_anew() {
    let bench = full(20);
    assert_eq!(rebuilds(&bench), 0);
    let path = bench.place.dirs.state_file("index.db");
    let good = std::fs::read(&path).unwrap();

    std::fs::write(&path, "this is no database at all, and never was one").unwrap();
    assert_eq!(rebuilds(&bench), 1);

    let mut torn = good.clone();
    torn.truncate(good.len() / 2);
    std::fs::write(&path, &torn).unwrap();
    assert!(rebuilds(&bench) >= 1);

    std::fs::write(&path, &good).unwrap();
    let db = rusqlite::Connection::open(&path).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    drop(db);
    assert_eq!(rebuilds(&bench), 1);

    std::fs::write(&path, &good).unwrap();
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch("DROP TABLE words").unwrap();
    drop(db);
    assert_eq!(rebuilds(&bench), 1);

    std::fs::write(&path, &good).unwrap();
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch("UPDATE bound SET hash = 'another'")
        .unwrap();
    drop(db);
    assert_eq!(rebuilds(&bench), 1);
    assert_eq!(rebuilds(&bench), 0, "and is good for the next start");
}

#[test]
fn an_index_ahead_of_its_ledger_is_made_anew() {
    let bench = full(20);
    assert_eq!(rebuilds(&bench), 0);
    let path = bench.ledger.path().to_path_buf();
    let text = std::fs::read_to_string(&path).unwrap();
    let bench = {
        let kept: String = text.split_inclusive('\n').take(10).collect();
        std::fs::write(&path, kept).unwrap();
        bench.reopened()
    };
    assert_eq!(bench.len(), 10);
    assert_eq!(rebuilds(&bench), 1);
}

#[test]
fn a_file_damaged_while_it_is_used_is_noticed_by_a_search() {
    let bench = full(200);
    let search = bench.search();
    assert!(search.wait_for(bench.len(), DEADLINE));
    let path = bench.place.dirs.state_file("index.db");
    let len = path.metadata().unwrap().len() as usize;
    // The log goes too, or SQLite would read the good pages from there.
    for beside in ["index.db-wal", "index.db-shm"] {
        let _ = std::fs::remove_file(bench.place.dirs.state_file(beside));
    }
    std::fs::write(&path, vec![0x5a; len]).unwrap();
    // The look through the file answers, and the index is made anew.
    assert_eq!(ask(&search, request("lot ")).total, 200);
    assert!(search.wait_for(bench.len(), DEADLINE));
    assert!(search.state().rebuilds >= 1);
    assert_eq!(ask(&search, request("lot ")).indexed_to, 200);
}

#[test]
fn links_are_not_followed() {
    for name in ["index.db", "index.db-wal", "index.db-journal"] {
        let bench = full(5);
        let elsewhere = bench.place.dir.path().join("elsewhere");
        std::fs::write(&elsewhere, "precious").unwrap();
        std::os::unix::fs::symlink(&elsewhere, bench.place.dirs.state_file(name)).unwrap();
        assert_eq!(rebuilds(&bench), 1, "{name}");
        assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "precious");
    }
}

#[test]
fn another_session_gets_an_index_of_its_own() {
    let mut bench = full(5);
    let search = bench.search();
    assert!(search.wait_for(5, DEADLINE));
    bench.session = SessionId::new("session_1795000000001_a1b2c3d4");
    let deleted = bench.ledger.path().to_path_buf();
    let mut next = bench.reopened();
    next.note("a new beginning");
    std::fs::remove_file(deleted).unwrap();
    search.follow(next.ledger.clone(), next.session.clone());
    assert_eq!(ask(&search, request("lot")).total, 0, "not of this session");
    assert_eq!(ask(&search, request("beginning")).total, 1);
    assert!(search.wait_for(1, DEADLINE));
    let bytes = std::fs::read(next.place.dirs.state_file("index.db")).unwrap();
    assert!(!holds(&bytes, b"lot"), "nothing of the old session is left");
}

#[test]
fn a_rebuild_is_done_by_whoever_owns_the_index() {
    let bench = full(30);
    let search = bench.search();
    assert!(search.wait_for(30, DEADLINE));
    search.rebuild();
    assert!(search.wait_for(30, DEADLINE));
    assert_eq!(search.state().rebuilds, 1);
    search.close();

    let mut told = 0;
    let done = rebuild_file(
        &bench.place.dirs,
        &bench.session,
        bench.ledger.path(),
        u64::MAX,
        &REDACTOR,
        |progress| told = progress.entries,
    )
    .unwrap();
    assert_eq!((done.entries, told), (30, 30));
    assert_eq!(done.bytes, bench.ledger.stats().bytes);
    assert_eq!(rebuilds(&bench), 0, "a daemon takes it as it is");
    discard(&bench.place.dirs).unwrap();
    assert!(!bench.place.dirs.state_file("index.db").exists());
}

#[test]
fn a_state_folder_that_cannot_be_written_costs_the_index_and_not_the_search() {
    if rustix::process::geteuid().is_root() {
        // Root writes everywhere.
        return;
    }
    let bench = full(5);
    let state = &bench.place.dirs.state;
    std::fs::set_permissions(state, std::fs::Permissions::from_mode(0o500)).unwrap();
    let search = bench.search();
    assert_eq!(ask(&search, request("lot ")).total, 5);
    std::fs::set_permissions(state, std::fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn no_secret_reaches_the_index() {
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let mut bench = Bench::new();
    let key = bench.artifact(&format!("token {secret} here"), secret, secret);
    bench.append(vec![key]);
    bench.ledger.close();
    // A line as an older program wrote it, which masked nothing.
    let session = SessionId::new("session_1795000000009_a1b2c3d4");
    let path = bench.place.dirs.ledger(&session);
    let line = format!(
        "{{\"schema\":\"v1\",\"id\":\"old\",\"timestamp\":1,\"sessionId\":\"s\",\"type\":\"artifact\",\
         \"source\":\"claude\",\"content\":\"see {secret}\",\"artifact\":{{\"kind\":\"x\",\
         \"title\":\"{secret}\",\"summary\":\"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYzQ4kLm9TaB\",\
         \"evidence\":[\"{secret}\"]}}}}\n"
    );
    std::fs::write(&path, line.repeat(3)).unwrap();
    for (session, path) in [
        (&bench.session, bench.place.dirs.ledger(&bench.session)),
        (&session, path),
    ] {
        rebuild_file(
            &bench.place.dirs,
            session,
            &path,
            u64::MAX,
            &REDACTOR,
            |_| {},
        )
        .unwrap();
        for name in ["index.db", "index.db-wal"] {
            let Ok(bytes) = std::fs::read(bench.place.dirs.state_file(name)) else {
                continue;
            };
            let bytes = bytes.to_ascii_lowercase();
            for part in ["16c7e42f", "wjalrxut", "bpxrficy"] {
                assert!(!holds(&bytes, part.as_bytes()), "{part} in {name}");
            }
        }
        let typed = request("16C7e42F292c6912E7710c838347Ae178B4a");
        let reading = Reading::open(&path, session, None, None).unwrap();
        let found = super::super::search_file(
            &bench.place.dirs,
            Some((session, &reading)),
            &path,
            u64::MAX,
            &REDACTOR,
            &typed,
        );
        assert_eq!(found.unwrap().total, 0);
    }
}

#[test]
fn entries_of_an_older_ledger_are_found_too() {
    let bench = Bench::new();
    let session = SessionId::new("session_1795000000009_a1b2c3d4");
    let path = bench.place.dirs.ledger(&session);
    let line = "{\"id\":\"old\",\"type\":\"note\",\"content\":\"an old needle\"}\n";
    std::fs::write(&path, format!("{line}null\n{line}")).unwrap();
    let opened = crate::ledger::open(
        crate::ledger::OpenOptions {
            dirs: bench.place.dirs.clone(),
            session: session.clone(),
            prev_head: None,
            redactor: Arc::clone(&REDACTOR),
            checkpoint: None,
            outside: None,
            space: None,
        },
        Box::new(|_| {}),
    )
    .unwrap();
    let search = Search::start(
        &bench.place.dirs,
        Arc::clone(&REDACTOR),
        opened.ledger.clone(),
        session.clone(),
        false,
    )
    .unwrap();
    assert!(search.wait_for(3, DEADLINE));
    assert_eq!(seqs(&ask(&search, request("needle"))), [3, 1]);
    search.close();
    // Without a daemon, where no line has a number.
    let reading = Reading::open(&path, &session, None, None).unwrap();
    let found = super::super::search_file(
        &bench.place.dirs,
        Some((&session, &reading)),
        &path,
        u64::MAX,
        &REDACTOR,
        &request("needle"),
    )
    .unwrap();
    assert_eq!(seqs(&found), [3, 1]);
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn a_line_that_was_spoilt_hides_none_of_the_others() {
    let mut bench = Bench::new();
    for entry in 0..40 {
        bench.note(&format!("needle {entry}"));
    }
    let spoil = |bench: &Bench, line: usize| {
        let text = std::fs::read_to_string(bench.ledger.path()).unwrap();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let at = lines[..line - 1].concat().len() as u64;
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(bench.ledger.path())
            .unwrap();
        let junk = "x".repeat(lines[line - 1].len() - 1);
        std::os::unix::fs::FileExt::write_all_at(&file, junk.as_bytes(), at).unwrap();
    };
    // One before it is in the index, and one after.
    spoil(&bench, 7);
    let search = bench.search();
    assert!(search.wait_for(40, DEADLINE));
    spoil(&bench, 20);
    let left: Vec<u64> = (1..=40)
        .rev()
        .filter(|seq| ![7, 20].contains(seq))
        .collect();
    let found = ask(&search, request("needle"));
    assert_eq!((seqs(&found), found.total), (left.clone(), 38));
    assert_eq!(found.unread_lines, 1, "the other one is not in the index");
    assert_eq!(search.state().fault, None);
    search.close();
    // And without an index.
    std::fs::remove_file(bench.place.dirs.state_file("index.db")).unwrap();
    let (session, until) = (&bench.session, Instant::now() + DEADLINE);
    let found = find(
        None,
        &REDACTOR,
        &bench.ledger,
        session,
        &request("needle"),
        until,
    );
    let found = found.unwrap();
    assert_eq!((seqs(&found), found.unread_lines), (left, 2));
}

/// Waits until the index stands still, and says why.
fn fault(search: &Search) -> String {
    let until = Instant::now() + DEADLINE;
    loop {
        if let Some(fault) = search.state().fault {
            return fault;
        }
        assert!(Instant::now() < until, "it goes on");
        std::thread::yield_now();
    }
}

#[test]
fn a_line_that_the_disk_does_not_give_is_in_the_index_once_it_does() {
    // Among others, and the first of all.
    for line in [20, 1] {
        let bench = full(40);
        let not_given = NotGiven::entry(line, bench.ledger.path());
        let search = bench.search();
        assert!(fault(&search).contains(&format!("entry {line}")));
        assert_eq!(search.state().indexed_to, line - 1, "not past it");
        let found = ask(&search, request("lot"));
        assert_eq!((found.total, found.unread_lines), (39, 1), "line {line}");
        assert!(!seqs(&found).contains(&line));
        drop(not_given);
        assert!(search.wait_for(40, DEADLINE), "it tries again by itself");
        assert_eq!(search.state().rebuilds, 0);
        let found = ask(&search, request("lot"));
        assert_eq!((found.total, found.unread_lines), (40, 0), "line {line}");
        assert_eq!(found.indexed_to, 40);
        search.close();
    }
}

#[test]
fn an_index_whose_last_line_the_disk_does_not_give_is_kept() {
    let mut bench = full(20);
    assert_eq!(rebuilds(&bench), 0);
    bench.note("one more of the lot");
    let not_given = NotGiven::entry(20, bench.ledger.path());
    let search = bench.search();
    fault(&search);
    drop(not_given);
    assert!(search.wait_for(21, DEADLINE));
    assert_eq!(search.state().rebuilds, 0);
    search.close();
}

#[test]
fn hits_that_the_disk_does_not_give_are_counted_and_hide_none_of_the_others() {
    let bench = full(20);
    assert_eq!(rebuilds(&bench), 0);
    let search = bench.search();
    assert!(search.wait_for(20, DEADLINE));
    let _not_given = [3, 9].map(|line| NotGiven::entry(line, bench.ledger.path()));
    let found = ask(&search, request("lot"));
    assert_eq!((found.total, found.unread_lines), (18, 2));
    search.close();
}
