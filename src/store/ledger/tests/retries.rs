//! What is tried once more on a disk that failed, when somebody else wrote to the file meanwhile.

use std::fs::{self, File};
use std::io::Write as _;
use std::sync::{Arc, Mutex};

use rustix::io::Errno;

use super::faulty_file::{FaultyFile, Operation, Plan};
use super::support::{Open, Project};
use crate::ledger::{LedgerError, verify};
use ctxrelay_core::id::Seq;
use ctxrelay_core::wire::line::{seal, serialize};

/// An open ledger with `n1` to `n4`, and what its disk does.
fn begun() -> (Project, Open, Arc<Mutex<Plan>>) {
    let project = Project::with_notes(4);
    let (file, plan) = FaultyFile::open(&project);
    let open = project.open_on(file);
    (project, open, plan)
}

/// Saves the file as an editor does that keeps it.
fn edit(project: &Project, change: impl Fn(&str) -> String) {
    let text = String::from_utf8(project.bytes()).unwrap();
    project.write(change(&text).as_bytes());
}

/// A line that continues the chain behind the last one there, with this number, as anybody can
/// make it.
fn forged(project: &Project, seq: u64, prev: &str) -> String {
    let entry = project.note(&format!("forged-{seq}"), "x");
    seal(serialize(&entry), seq, prev).unwrap().line + "\n"
}

/// Each entry is read by its own number, now and after the next start, but for how the numbers of
/// lines from elsewhere move them then.
#[track_caller]
fn holds(project: &Project, open: Open, ids: &[&str], case: &str) {
    for (seq, id) in (1..).zip(ids) {
        let read = open.ledger.read(Seq(seq)).unwrap();
        let read = read.map(|stored| stored.entry.id.as_str().to_owned());
        assert_eq!(read.as_deref(), Some(*id), "{case}: entry {seq}");
    }
    open.close();
    let open = project.open();
    let found = open.found();
    let kept: Vec<_> = found
        .iter()
        .filter(|id| ids.contains(&id.as_str()))
        .collect();
    assert_eq!(kept, ids, "{case}: found {found:?}");
    open.close();
}

/// What somebody makes of the file's text.
type Edit = fn(&str) -> String;

const OURS: [&str; 6] = ["n1", "n2", "n3", "n4", "after", "later"];

#[test]
fn a_write_that_is_taken_back_late_cuts_nothing_of_a_file_that_was_made_longer_meanwhile() {
    // What gets through of the write that fails: nothing, some of its line, all of it.
    for written in [0, 70, 100_000] {
        let edits: [(&str, Edit); 5] = [
            ("among", |text| text.replacen("text 1", "text one", 1)),
            ("in front", |text| format!("somebody was here\n{text}")),
            ("between", |text| text.replacen("}\n", "}\nsomebody\n", 1)),
            ("shorter", |text| text.replacen("text 1", "", 1)),
            ("the last line", |text| {
                text.replacen("text 4", "text four", 1)
            }),
        ];
        for (name, change) in edits {
            let case = format!("{name}, {written} bytes got through");
            let (project, mut open, plan) = begun();
            {
                let mut plan = plan.lock().unwrap();
                plan.append.push_back(Some((Errno::IO, written)));
                plan.truncate.extend([Some(Errno::IO), Some(Errno::IO)]);
                plan.reopen.extend([Some(Errno::IO), Some(Errno::IO)]);
            }
            for id in ["x1", "x2"] {
                open.append(vec![project.note(id, "x")]).unwrap_err();
            }
            edit(&project, change);
            plan.lock().unwrap().reopen.clear();
            plan.lock().unwrap().truncate.clear();
            for id in ["after", "later"] {
                open.append(vec![project.note(id, "x")]).unwrap();
            }
            assert_eq!(open.foreign, [], "{case}");
            assert!(!String::from_utf8(project.bytes()).unwrap().contains("x1"));
            holds(&project, open, &OURS, &case);
            assert_eq!(project.aside("foreign"), Vec::<Vec<u8>>::new(), "{case}");
        }
    }
}

#[test]
fn what_others_append_behind_a_write_that_failed_is_kept_and_told_of() {
    let (project, mut open, plan) = begun();
    let good = project.bytes();
    {
        let mut plan = plan.lock().unwrap();
        plan.append.push_back(Some((Errno::NOSPC, 100_000)));
        plan.truncate.push_back(Some(Errno::IO));
    }
    open.append(vec![project.note("x1", "x")]).unwrap_err();
    edit(&project, |text| format!("{text}somebody else's\n"));
    let behind = project.bytes()[good.len()..].to_vec();
    open.append(vec![project.note("after", "x")]).unwrap();
    assert_eq!(open.foreign.len(), 1);
    assert_eq!(open.ledger.stats().foreign_bytes, behind.len() as u64);
    assert_eq!(project.aside("foreign"), [behind]);
    holds(&project, open, &OURS[..5], "behind a failed write");
}

#[test]
fn a_cut_that_is_not_synced_is_gone_on_with_and_told_of_once() {
    for moved in [false, true] {
        let (project, mut open, plan) = begun();
        edit(&project, |text| {
            let text = match moved {
                true => text.replacen("text 1", "text one", 1),
                false => text.to_owned(),
            };
            text + "somebody else's\n"
        });
        plan.lock().unwrap().sync.push_back(Some(Errno::IO));
        open.append(vec![project.note("x1", "x")]).unwrap_err();
        assert_eq!(open.foreign, [], "nothing is over yet");
        let calls = plan.lock().unwrap().calls.len();
        open.append(vec![project.note("after", "x")]).unwrap();
        let calls = plan.lock().unwrap().calls[calls..].to_vec();
        let before = calls.iter().take_while(|call| **call != Operation::Append);
        assert!(before.into_iter().any(|call| *call == Operation::Sync));
        open.append(vec![project.note("later", "x")]).unwrap();
        assert_eq!(open.foreign.len(), 1);
        assert_eq!(open.ledger.stats().foreign_bytes, 16);
        assert_eq!(project.aside("foreign"), [b"somebody else's\n"]);
        holds(&project, open, &OURS, &format!("moved: {moved}"));
    }
}

#[test]
fn a_disk_that_does_not_give_the_file_makes_nobody_elses_lines_ours() {
    // Which of the readings fails: of the last line, of the whole file, of the last line in it.
    for fails in 0..3 {
        let (project, mut open, plan) = begun();
        let last = open.ledger.stats().head.unwrap().1;
        let line = forged(&project, 5, &last);
        edit(&project, |text| {
            text.replacen("text 1", "text one", 1) + &line
        });
        let mut reads = vec![false; fails];
        reads.push(true);
        plan.lock().unwrap().unreadable = reads.into();
        open.append(vec![project.note("x1", "x")]).unwrap_err();
        assert!(plan.lock().unwrap().unreadable.is_empty());
        for id in ["after", "later"] {
            open.append(vec![project.note(id, "x")]).unwrap();
        }
        assert_eq!(project.aside("foreign"), [line.into_bytes()]);
        holds(&project, open, &OURS, &format!("reading {fails} fails"));
    }
}

#[test]
fn what_others_write_in_the_very_moment_swallows_nothing() {
    for crowd in [&b"no newline"[..], b"somebody else's\n"] {
        let (project, mut open, plan) = begun();
        plan.lock().unwrap().crowd.push_back(crowd.to_vec());
        let error = open.append(vec![project.note("x1", "x")]).unwrap_err();
        assert!(matches!(error, LedgerError::Crowded(_)), "{error}");
        for id in ["after", "later"] {
            open.append(vec![project.note(id, "x")]).unwrap();
        }
        assert!(project.aside("foreign")[0].starts_with(crowd));
        assert_eq!(open.foreign.len(), 1);
        holds(&project, open, &OURS, "in the very moment");
        assert!(verify(&project.path(), None).unwrap().ok);
    }
}

#[test]
fn a_last_line_that_was_made_longer_swallows_nothing() {
    for added in [" ", " {\"more\":1}", "\r"] {
        let (project, mut open, _plan) = begun();
        edit(&project, |text| {
            text.strip_suffix('\n').unwrap().to_owned() + added + "\n"
        });
        open.append(vec![project.note("after", "x")]).unwrap();
        open.append(vec![project.note("later", "x")]).unwrap();
        open.close();
        let open = project.open();
        let found = open.found();
        assert!(
            found.ends_with(&["after".into(), "later".into()]),
            "{found:?}"
        );
        open.close();
    }
}

#[test]
fn a_line_that_is_no_entry_at_the_end_swallows_nothing_when_it_is_made_longer() {
    let project = Project::with_notes(2);
    edit(&project, |text| text.to_owned() + "junk\n");
    let mut open = project.open();
    edit(&project, |text| text.replacen("junk", "more junk", 1));
    open.append(vec![project.note("after", "x")]).unwrap();
    open.close();
    let open = project.open();
    assert_eq!(open.found(), ["n1", "n2", "after"]);
    open.close();
}

#[test]
fn lines_of_others_in_the_place_of_ours_take_no_number_of_a_later_entry() {
    let (project, mut open, _plan) = begun();
    let lines = project.lines();
    let third = String::from_utf8(lines[2].clone()).unwrap();
    let link = ctxrelay_core::wire::line::parse(third.trim_end().as_bytes()).unwrap();
    let mut prev = link.link.unwrap().hash;
    let mut text = String::from_utf8(lines[..3].concat()).unwrap();
    // In the place of the fourth, and two behind it.
    for seq in 4..=6 {
        let line = forged(&project, seq, &prev);
        let parsed = ctxrelay_core::wire::line::parse(line.trim_end().as_bytes()).unwrap();
        prev = parsed.link.unwrap().hash;
        text += &line;
    }
    project.write(text.as_bytes());
    // It was numbered for the file as it was.
    let error = open.append(vec![project.note("x1", "x")]).unwrap_err();
    assert!(matches!(error, LedgerError::Crowded(_)), "{error}");
    let stored = open.append(vec![project.note("after", "x")]).unwrap();
    let seq = stored[0].entry.seq;
    assert_eq!(open.ledger.read(seq).unwrap().unwrap(), *stored[0]);
    open.close();
    let report = verify(&project.path(), None).unwrap();
    assert_eq!((report.ok, report.bad_lines), (false, 0), "{report:?}");
    let open = project.open();
    assert_eq!(open.found().last().unwrap(), "after");
    open.close();
}

#[test]
fn what_could_not_be_taken_back_is_tried_once_more_at_the_end() {
    let (project, mut open, plan) = begun();
    let good = project.bytes();
    {
        let mut plan = plan.lock().unwrap();
        plan.append.push_back(Some((Errno::NOSPC, 100_000)));
        plan.truncate.push_back(Some(Errno::IO));
    }
    open.append(vec![project.note("x1", "x")]).unwrap_err();
    assert!(project.bytes().len() > good.len());
    open.close();
    assert_eq!(project.bytes(), good, "nobody was told that it is recorded");
}

#[test]
fn a_file_put_back_from_a_copy_while_a_write_waits_to_be_taken_back_is_gone_on_with() {
    let (project, mut open, plan) = begun();
    let good = project.bytes();
    {
        let mut plan = plan.lock().unwrap();
        plan.append.push_back(Some((Errno::IO, 70)));
        plan.truncate.push_back(Some(Errno::IO));
    }
    open.append(vec![project.note("x1", "x")]).unwrap_err();
    let copy = project.path().with_extension("copy");
    File::create(&copy).unwrap().write_all(&good).unwrap();
    fs::rename(&copy, project.path()).unwrap();
    for id in ["after", "later"] {
        open.append(vec![project.note(id, "x")]).unwrap();
    }
    holds(&project, open, &OURS, "put back");
}
