//! Disks that fail, and others who write.

use std::fs::{self, File};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::mpsc::channel;

use proptest::prelude::*;
use rustix::io::Errno;

use super::faulty_file::{FaultyFile, Plan};
use super::support::{DEADLINE, Open, Project};
use crate::ledger::writer::WAITING_MAX;
use crate::ledger::{LedgerError, NotTaken, Reason, WriterEvent, verify};
use ctxrelay_core::id::{EntryId, Seq};
use ctxrelay_core::wire::line::{seal, serialize};

#[test]
fn a_full_disk_fails_the_append_leaves_nothing_and_recovers_by_itself() {
    for written in [0, 1, 50, 100_000] {
        let project = Project::new();
        let (file, plan) = FaultyFile::open(&project);
        let mut open = project.open_on(file);
        open.append(vec![project.note("a", "1")]).unwrap();
        let good = project.bytes();
        plan.lock()
            .unwrap()
            .append
            .extend([Some((Errno::NOSPC, written)); 2]);
        for _ in 0..2 {
            let error = open.append(vec![project.note("b", "2")]).unwrap_err();
            assert!(matches!(error, LedgerError::NoSpace(_)), "{error}");
            assert!(error.to_string().starts_with("No space left"), "{error}");
            assert_eq!(project.bytes(), good);
            assert_eq!(open.ledger.seq_of(&EntryId::new("b")).unwrap(), None);
        }
        assert_eq!(open.recovered, 0);
        let stored = open.append(vec![project.note("b", "2")]).unwrap();
        assert_eq!((stored[0].entry.seq, open.recovered), (Seq(2), 1));
        open.append(vec![project.note("c", "3")]).unwrap();
        assert_eq!(open.recovered, 1);
        assert_eq!(open.ledger.stats().bytes as usize, project.bytes().len());
        open.close();
        assert_eq!(verify(&project.path(), None).unwrap().entries, 3);
    }
}

#[test]
fn a_failed_sync_is_not_asked_again_as_if_nothing_had_been() {
    let project = Project::new();
    let (file, plan) = FaultyFile::open(&project);
    let mut open = project.open_on(file);
    open.append(vec![project.note("a", "1")]).unwrap();
    let good = project.bytes();
    plan.lock().unwrap().sync.push_back(Some(Errno::IO));
    let error = open.append(vec![project.note("b", "2")]).unwrap_err();
    assert!(error.to_string().contains("sync"), "{error}");
    assert_eq!(project.bytes(), good, "what was not synced was taken back");
    open.append(vec![project.note("b", "2")]).unwrap();
    open.close();
    let report = verify(&project.path(), None).unwrap();
    assert_eq!((report.ok, report.entries), (true, 2));
}

#[test]
fn what_could_not_be_taken_back_at_once_is_taken_back_before_the_next_append() {
    let project = Project::new();
    let (file, plan) = FaultyFile::open(&project);
    let mut open = project.open_on(file);
    open.append(vec![project.note("a", "1")]).unwrap();
    {
        let mut plan = plan.lock().unwrap();
        plan.append.push_back(Some((Errno::IO, 70)));
        plan.truncate.extend([Some(Errno::IO), Some(Errno::IO)]);
    }
    assert!(open.append(vec![project.note("b", "2")]).is_err());
    // Who looks at the file finds no more there than the writer says is its own.
    let stats = open.ledger.stats();
    let behind = project.bytes().len() as u64 - stats.bytes;
    assert!(0 < behind && behind <= stats.ahead, "{behind}: {stats:?}");
    // Still no way back: this one fails before it writes anything.
    assert!(open.append(vec![project.note("c", "3")]).is_err());
    plan.lock().unwrap().reopen.push_back(Some(Errno::IO));
    assert!(open.append(vec![project.note("d", "4")]).is_err());
    open.append(vec![project.note("e", "5")]).unwrap();
    assert_eq!(open.ledger.stats().ahead, 0);
    open.close();
    let report = verify(&project.path(), None).unwrap();
    assert_eq!((report.ok, report.entries, report.bad_lines), (true, 2, 0));
}

/// Nothing is recorded, in the file that is open or in the one that has its name.
#[track_caller]
fn is_gone(project: &Project, open: &mut Open) {
    let before = fs::read(project.path()).ok();
    let error = open.append(vec![project.note("x", "1")]).unwrap_err();
    assert!(matches!(error, LedgerError::Gone(_)), "{error}");
    assert_eq!(fs::read(project.path()).ok(), before);
}

/// Goes on in the file that has the name now.
#[track_caller]
fn goes_on(project: &Project, mut open: Open) {
    let before = project.bytes();
    open.append(vec![project.note("x", "1")]).unwrap();
    assert!(project.bytes().len() > before.len());
    assert_eq!(open.ledger.read(Seq(3)).unwrap().unwrap().entry.seq, Seq(3));
    open.close();
    let report = verify(&project.path(), None).unwrap();
    assert_eq!((report.ok, report.entries), (true, 3));
}

#[test]
fn a_removed_or_replaced_ledger_takes_no_entries_until_it_is_as_it_was() {
    let project = Project::with_notes(2);
    let mut open = project.open();
    let bytes = project.bytes();
    fs::remove_file(project.path()).unwrap();
    is_gone(&project, &mut open);
    // Each under its name, and none of them what was written.
    let mut altered = bytes.clone();
    let last = altered.len() - 2;
    altered[last] ^= 1;
    for other in [&altered, &bytes[..last], &[&bytes[..], b"{}\n"].concat()] {
        project.write(other);
        is_gone(&project, &mut open);
    }
    project.write(&bytes);
    goes_on(&project, open);
}

#[test]
fn a_ledger_that_was_moved_away_takes_no_entries_where_it_lies_then() {
    let project = Project::with_notes(2);
    let mut open = project.open();
    let (away, bytes) = (project.path().with_extension("away"), project.bytes());
    fs::rename(project.path(), &away).unwrap();
    is_gone(&project, &mut open);
    assert_eq!(fs::read(&away).unwrap(), bytes);
    // A link, and a file that has a name elsewhere, are somebody else's to write.
    std::os::unix::fs::symlink(&away, project.path()).unwrap();
    let error = open.append(vec![project.note("x", "1")]).unwrap_err();
    assert!(matches!(error, LedgerError::Link(_)), "{error}");
    fs::remove_file(project.path()).unwrap();
    let copy = away.with_extension("copy");
    fs::copy(&away, &copy).unwrap();
    fs::hard_link(&copy, project.path()).unwrap();
    is_gone(&project, &mut open);
    assert_eq!(fs::read(&away).unwrap(), bytes);
    fs::rename(&away, project.path()).unwrap();
    goes_on(&project, open);
}

#[test]
fn a_copy_that_an_editor_leaves_in_its_place_is_written_and_not_the_backup() {
    let project = Project::with_notes(2);
    let open = project.open();
    let (backup, bytes) = (project.path().with_extension("jsonl~"), project.bytes());
    fs::rename(project.path(), &backup).unwrap();
    fs::copy(&backup, project.path()).unwrap();
    goes_on(&project, open);
    assert_eq!(fs::read(&backup).unwrap(), bytes);
}

#[test]
fn what_others_append_is_set_aside_and_swallows_nothing() {
    let project = Project::with_notes(2);
    let mut open = project.open();
    let forged = project.lines()[1].clone();
    let mut lost = 0;
    for foreign in [
        &b"no newline"[..],
        b"{\"id\":\"x\",\"type\":\"note\"}\n",
        &forged,
    ] {
        let mut file = fs::OpenOptions::new()
            .append(true)
            .open(project.path())
            .unwrap();
        file.write_all(foreign).unwrap();
        lost += foreign.len() as u64;
        let id = format!("after-{}", foreign.len());
        open.append(vec![project.note(&id, "x")]).unwrap();
        assert!(project.aside("foreign").contains(&foreign.to_vec()));
    }
    assert_eq!(open.ledger.stats().foreign_bytes, lost);
    let live = open.live.clone();
    open.close();
    let report = verify(&project.path(), None).unwrap();
    assert_eq!((report.ok, report.entries), (true, 5), "{report:?}");
    let open = project.open();
    assert_eq!(open.live, live);
    open.close();
}

#[test]
fn an_edit_in_place_that_makes_the_file_longer_costs_no_entry_that_was_acknowledged() {
    // Nothing behind it, a line of somebody's, and one that continues the chain.
    for case in 0..3 {
        let project = Project::with_notes(4);
        let mut open = project.open();
        let last = open.append(vec![project.note("n5", "text 5")]).unwrap();
        let forged = seal(serialize(&project.note("x", "forged")), 6, &last[0].hash).unwrap();
        let behind = match case {
            0 => String::new(),
            1 => "{\"id\":\"x\",\"type\":\"note\"}\n".to_owned(),
            _ => forged.line + "\n",
        };
        let text = String::from_utf8(project.bytes()).unwrap();
        // As an editor saves it that keeps the file.
        let edited = text.replacen("text 1", "text one", 1);
        project.write((edited.clone() + &behind).as_bytes());
        let stored = open.append(vec![project.note("after", "x")]).unwrap();
        assert_eq!(stored[0].entry.seq, Seq(6));
        for seq in 1..=6 {
            let read = open.ledger.read(Seq(seq)).unwrap();
            assert_eq!(read.unwrap().entry.seq, Seq(seq), "case {case}");
        }
        assert!(!open.ledger.stats().chain_ok);
        open.append(vec![project.note("later", "x")]).unwrap();
        open.close();
        assert!(
            project.bytes().starts_with(edited.as_bytes()),
            "case {case}"
        );
        let aside = project.aside("foreign");
        let behind = (case > 0).then(|| behind.into_bytes());
        assert_eq!(aside, Vec::from_iter(behind), "case {case}");
        let report = verify(&project.path(), None).unwrap();
        assert_eq!((report.ok, report.bad_lines), (false, 0), "{report:?}");
        assert_eq!(report.first_bad.unwrap().seq, 1);
        let open = project.open();
        let ours = ["n1", "n2", "n3", "n4", "n5", "after", "later"];
        assert_eq!(open.found(), ours);
        open.close();
    }
}

#[test]
fn an_unchained_ledger_that_was_made_longer_in_place_loses_nothing_either() {
    let project = Project::new();
    let lines =
        ["one", "two", "three"].map(|id| format!("{{\"id\":\"{id}\",\"type\":\"note\"}}\n"));
    project.write(lines.concat().as_bytes());
    let mut open = project.open();
    let edited = lines.concat().replacen("one", "first", 1);
    project.write(edited.as_bytes());
    open.append(vec![project.note("after", "x")]).unwrap();
    open.close();
    assert!(project.bytes().starts_with(edited.as_bytes()));
    let open = project.open();
    assert_eq!(open.found(), ["first", "two", "three", "after"]);
    open.close();
}

#[test]
fn foreign_lines_on_a_disk_that_fails_are_not_copied_once_more_with_each_append() {
    let project = Project::with_notes(2);
    let (file, plan) = FaultyFile::open(&project);
    let mut open = project.open_on(file);
    let foreign = b"somebody else's\n";
    project.write(&[&project.bytes()[..], foreign].concat());
    // The last entry is read, and what is to be copied is not.
    plan.lock()
        .unwrap()
        .unreadable
        .extend([false, true].repeat(3));
    for _ in 0..3 {
        open.append(vec![project.note("a", "1")]).unwrap_err();
        assert_eq!(project.aside("foreign"), Vec::<Vec<u8>>::new());
    }
    plan.lock()
        .unwrap()
        .truncate
        .extend([Some(Errno::NOSPC); 3]);
    for _ in 0..3 {
        open.append(vec![project.note("a", "1")]).unwrap_err();
        assert_eq!(project.aside("foreign"), [foreign]);
    }
    open.append(vec![project.note("a", "1")]).unwrap();
    assert_eq!(project.aside("foreign"), [foreign]);
    // The same words once more are news.
    project.write(&[&project.bytes()[..], foreign].concat());
    open.append(vec![project.note("b", "2")]).unwrap();
    assert_eq!(project.aside("foreign"), [foreign, foreign]);
    assert_eq!(open.ledger.stats().foreign_bytes, 2 * foreign.len() as u64);
    open.close();
    let report = verify(&project.path(), None).unwrap();
    assert_eq!((report.ok, report.entries), (true, 4), "{report:?}");
}

#[test]
fn what_others_cut_off_shows_and_the_ledger_goes_on() {
    for cut in [1, 40] {
        let project = Project::with_notes(4);
        let mut open = project.open();
        let lines = project.lines();
        let kept = lines[..2].concat().len() + cut;
        File::options()
            .write(true)
            .open(project.path())
            .unwrap()
            .set_len(kept as u64)
            .unwrap();
        let stored = open.append(vec![project.note("after", "x")]).unwrap();
        assert_eq!(stored[0].entry.seq, Seq(5));
        assert_eq!(open.ledger.read(Seq(5)).unwrap().unwrap(), *stored[0]);
        assert_eq!(open.ledger.read(Seq(4)).unwrap(), None);
        assert!(!open.ledger.stats().chain_ok);
        open.close();
        let report = verify(&project.path(), None).unwrap();
        assert!(!report.ok);
        assert_eq!(report.first_bad.unwrap().seq, 3);
        assert_eq!(report.entries, 3);
        let open = project.open();
        assert_eq!(
            open.ledger.seq_of(&EntryId::new("after")).unwrap(),
            Some(Seq(5))
        );
        open.close();
    }
}

#[test]
fn an_entry_that_cannot_be_read_is_not_one_that_is_not_there() {
    let project = Project::new();
    let mut open = project.open();
    let ids = ["a", "b"].map(EntryId::new);
    let stored = open
        .append(
            ids.iter()
                .map(|id| project.note(id.as_str(), "x"))
                .collect(),
        )
        .unwrap();
    let mut file = File::options().write(true).open(project.path()).unwrap();
    file.write_all(b"?").unwrap();
    let ledger = &open.ledger;
    assert!(ledger.seq_of(&ids[0]).is_err());
    assert_eq!(ledger.seq_of(&ids[1]).unwrap(), Some(Seq(2)));
    assert_eq!(ledger.seq_of(&EntryId::new("c")).unwrap(), None);
    // What is in memory is not read.
    let known = |seq: Seq| (seq == Seq(1)).then(|| Arc::clone(&stored[0]));
    let found = ledger.stored_of(&ids[0], known).unwrap();
    assert_eq!(found.unwrap().entry.id, ids[0]);
    open.close();
}

#[test]
fn a_file_cut_at_a_line_misses_entries() {
    let project = Project::with_notes(4);
    let mut open = project.open();
    let kept = project.lines()[..2].concat().len();
    File::options()
        .write(true)
        .open(project.path())
        .unwrap()
        .set_len(kept as u64)
        .unwrap();
    open.append(vec![project.note("after", "x")]).unwrap();
    open.close();
    let fault = verify(&project.path(), None).unwrap().first_bad.unwrap();
    assert_eq!((fault.seq, fault.reason), (3, Reason::Missing));
}

#[test]
fn a_slow_disk_makes_the_queue_full_and_loses_nothing() {
    let project = Project::new();
    let (mut file, _plan) = FaultyFile::open(&project);
    let (open_gate, gate) = channel();
    file.gate = Some(gate);
    let open = project.open_on(file);
    let mut taken = 0;
    let refused = loop {
        match open
            .ledger
            .append(taken, vec![project.note(&format!("n{taken}"), "x")])
        {
            Ok(()) => taken += 1,
            Err(full) => break full,
        }
    };
    assert_eq!(refused, NotTaken::Full);
    assert!(taken as usize >= WAITING_MAX);
    for _ in 0..taken {
        open_gate.send(()).unwrap();
    }
    for token in 0..taken {
        match open.events.recv_timeout(DEADLINE).unwrap() {
            WriterEvent::Durable { token: done, .. } => assert_eq!(done, token),
            event => panic!("{event:?}"),
        }
    }
    drop(open_gate);
    open.close();
    assert_eq!(verify(&project.path(), None).unwrap().entries, taken);
}

fn errno() -> impl Strategy<Value = Errno> {
    prop::sample::select(vec![Errno::NOSPC, Errno::IO, Errno::DQUOT, Errno::ROFS])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_fails_exactly_what_was_acknowledged_is_there(
        append in prop::collection::vec(prop::option::of((errno(), 0..400usize)), 0..12),
        sync in prop::collection::vec(prop::option::of(errno()), 0..12),
        truncate in prop::collection::vec(prop::option::of(errno()), 0..6),
        reopen in prop::collection::vec(prop::option::of(errno()), 0..6),
    ) {
        let project = Project::new();
        let (file, plan) = FaultyFile::open(&project);
        let mut open = project.open_on(file);
        *plan.lock().unwrap() = Plan {
            append: append.into(),
            sync: sync.into(),
            truncate: truncate.into(),
            reopen: reopen.into(),
            ..Plan::default()
        };
        let mut acknowledged = Vec::new();
        for n in 0..16 {
            let id = format!("n{n}");
            if open.append(vec![project.note(&id, "x")]).is_ok() {
                acknowledged.push(id);
            }
        }
        // All faults are used up by now: the disk works again.
        *plan.lock().unwrap() = Plan::default();
        open.append(vec![project.note("last", "x")]).unwrap();
        acknowledged.push("last".to_owned());
        let live = open.live.clone();
        open.close();
        let report = verify(&project.path(), None).unwrap();
        prop_assert!(report.ok, "{:?}", report);
        let open = project.open();
        prop_assert_eq!(open.found(), acknowledged);
        prop_assert_eq!(&open.live, &live);
        open.close();
    }
}
