//! The head outside where a disk fails between two steps, or somebody cuts the file; and what a start
//! goes by.

use rustix::io::Errno;

use super::belief::{ID, Scene, Stop, append, ids, note, operators};
use super::faulty_file::{FaultyFile, Plan};
use super::support::Project;
use crate::head::Heads;
use crate::ledger::open::open_file;
use crate::ledger::{LedgerError, OpenOptions, Origin, Outside, ReadProgress};
use crate::testing::Full;

#[test]
fn a_word_that_was_taken_back_is_not_what_the_head_outside_tells_of() {
    let scene = Scene::new();
    let (opened, heads) = scene.open();
    append(&opened.ledger, operators("m1")).unwrap();
    let before = scene.kept();
    // The head takes its place, and its name cannot be made to last.
    let full = Full::after(0, scene.user.head(ID).parent().unwrap());
    let refused = append(&opened.ledger, operators("m2"));
    assert!(
        matches!(&refused, Err(LedgerError::HeadUnwritable { .. })),
        "{refused:?}"
    );
    assert_eq!(scene.kept().head, before.head);
    drop(full);
    scene.stop(opened.ledger, heads, Stop::Crash);
    let (opened, _) = scene.open();
    assert_eq!(ids(&opened), ["m1"]);
    assert_eq!(opened.report.alarms, []);
}

#[test]
fn what_is_recorded_behind_a_cut_is_there_after_a_crash() {
    let scene = Scene::new();
    let (opened, heads) = scene.open();
    append(&opened.ledger, operators("m1")).unwrap();
    for id in ["n1", "n2"] {
        append(&opened.ledger, note(id)).unwrap();
    }
    let lines = scene.project.lines();
    scene.project.write(&lines[..2].concat());
    // It does not continue what stands before it: only the head outside tells that it is ours.
    let stored = append(&opened.ledger, note("n3")).unwrap();
    assert_eq!(scene.kept().head.hash, stored[0].hash);
    scene.stop(opened.ledger, heads, Stop::Crash);
    let (opened, _) = scene.open();
    let found = opened.report.recent.iter();
    let found: Vec<_> = found.map(|stored| stored.entry.id.as_str()).collect();
    assert_eq!(found, ["m1", "n1", "n3"]);
}

#[test]
fn the_head_outside_tells_of_nothing_that_a_loss_of_power_can_take() {
    let scene = Scene::new();
    let (opened, heads) = scene.open();
    append(&opened.ledger, operators("m1")).unwrap();
    append(&opened.ledger, note("n1")).unwrap();
    scene.stop(opened.ledger, heads, Stop::Crash);
    let before = scene.kept();
    let open = |sync_fails: bool| {
        let (file, plan) = FaultyFile::open(&scene.project);
        plan.lock().unwrap().sync = sync_fails.then_some(Some(Errno::IO)).into_iter().collect();
        let options = OpenOptions {
            outside: Some(Outside {
                heads: Heads::open(&scene.user, ID).unwrap(),
                origin: Origin::Known,
            }),
            ..scene.project.options()
        };
        open_file(options, file, &ReadProgress::default(), Box::new(|_| {}))
    };
    assert!(open(true).is_err());
    assert_eq!(scene.kept(), before);
    open(false).unwrap();
    assert_eq!(scene.kept().head.seq, 2);
}

#[test]
fn what_a_crash_left_in_memory_is_on_the_disk_before_anybody_goes_by_it() {
    let project = Project::with_notes(2);
    let durable = project.bytes();
    let (file, plan) = FaultyFile::open(&project);
    let mut open = project.open_on(file);
    // Written, and the process is killed before the sync.
    let sync = plan.lock().unwrap().calls.len() + 2;
    plan.lock().unwrap().dies_at = Some((sync, 0));
    open.append(vec![project.note("x1", "x")]).unwrap_err();
    open.close();
    assert!(project.bytes().len() > durable.len());

    let unsynced = || Plan {
        durable: durable.clone(),
        ..Plan::default()
    };
    let (file, plan) = FaultyFile::open_with(&project, unsynced());
    plan.lock().unwrap().sync.push_back(Some(Errno::IO));
    assert!(project.try_open_on(file).is_err());
    let (file, plan) = FaultyFile::open_with(&project, unsynced());
    let open = project.open_on(file);
    assert_eq!(open.found(), ["n1", "n2", "x1"]);
    assert_eq!(plan.lock().unwrap().durable, project.bytes());
    open.close();
}
