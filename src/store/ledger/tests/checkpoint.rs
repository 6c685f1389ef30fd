//! Opening from a checkpoint gives what reading the whole file gives; what does not belong to the
//! file is not taken.

use std::fs;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::support::Project;
use crate::derived::discard_checkpoint;
use crate::dirs::UserDirs;
use crate::ledger::checkpoint::{CheckpointKeeper, read};
use crate::ledger::{Checkpoint, EntryFilter, OpenOptions, Reading, verify};
use ctxrelay_core::entry::Entry;
use ctxrelay_core::id::{EntryId, Seq};
use ctxrelay_core::snapshot::Snapshot;
use ctxrelay_core::wire::line::arbitrary;

impl Project {
    fn user(&self) -> UserDirs {
        UserDirs {
            registry: self.dirs.root.join("registry"),
            data: self.dirs.root.join("data"),
            runtime: None,
        }
    }

    fn checkpoint(&self) -> Option<Checkpoint> {
        read(&self.dirs, &self.user())
    }

    fn options_with_checkpoint(&self) -> OpenOptions {
        OpenOptions {
            checkpoint: self.checkpoint(),
            ..self.options()
        }
    }

    /// Appends in a run of its own, which leaves a checkpoint.
    fn run(&self, entries: Vec<Entry>) {
        let mut open = self.open_with(self.options_with_checkpoint());
        let keeper = CheckpointKeeper::start(&self.dirs, &self.user(), 0).unwrap();
        let mut hash = String::new();
        for entry in entries {
            for stored in open.append(vec![entry]).unwrap() {
                hash.clone_from(&stored.hash);
            }
        }
        let (ledger, world) = (open.ledger.clone(), open.live.clone());
        open.close();
        keeper.close(ledger, self.session.clone(), Arc::new(world), hash);
    }

    fn notes(&self, ids: std::ops::Range<usize>) -> Vec<Entry> {
        ids.map(|n| self.note(&format!("n{n}"), &format!("text {n}")))
            .collect()
    }

    /// What two ways of opening the file give, to be compared.
    fn seen(&self, checkpoint: Option<Checkpoint>) -> Seen {
        let reading = Reading::open(&self.path(), &self.session, checkpoint, None).unwrap();
        let all = reading
            .page(&EntryFilter::default(), None, true, 10_000)
            .unwrap();
        let ids = all.entries.iter().map(|stored| &stored.entry.id);
        Seen {
            seqs: ids.map(|id| reading.seq_of(id).unwrap()).collect(),
            world: reading.snapshot().clone(),
            stats: format!("{:?}", reading.stats()),
            lines: all.entries.into_iter().map(|stored| stored.line).collect(),
        }
    }
}

#[derive(Debug, PartialEq)]
struct Seen {
    world: Snapshot,
    stats: String,
    lines: Vec<String>,
    seqs: Vec<Option<Seq>>,
}

#[test]
fn a_checkpoint_spares_reading_and_changes_nothing() {
    let project = Project::new();
    project.run(project.notes(0..50));
    project.run(project.notes(50..60));
    assert!(project.checkpoint().is_some());
    assert_eq!(project.seen(project.checkpoint()), project.seen(None));

    let open = project.open_with(project.options_with_checkpoint());
    assert!(open.report.is_read);
    assert_eq!(open.report.recent.len(), 60);
    let firsts: Vec<u64> = open.report.recent.iter().map(|s| s.entry.seq.0).collect();
    assert_eq!(firsts, (1..=60).collect::<Vec<u64>>());
    open.close();
}

#[test]
fn what_was_appended_after_a_checkpoint_is_read() {
    let project = Project::new();
    project.run(project.notes(0..5));
    let mut open = project.open();
    open.append(project.notes(5..9)).unwrap();
    open.close();
    let open = project.open_with(project.options_with_checkpoint());
    // The file changed without the keeper, so the part before the checkpoint is not vouched for.
    assert!(!open.report.is_read);
    assert_eq!(open.report.entries, 9);
    open.close();
    assert_eq!(project.seen(project.checkpoint()), project.seen(None));
}

#[test]
fn more_entries_than_one_block_of_slots() {
    let project = Project::new();
    let mut open = project.open();
    for from in (0..9_000).step_by(500) {
        open.append(project.notes(from..from + 500)).unwrap();
    }
    open.close();
    for from in [9_000, 9_010] {
        project.run(project.notes(from..from + 10));
        let checkpoint = project.checkpoint();
        assert!(checkpoint.is_some());
        let reading = Reading::open(&project.path(), &project.session, checkpoint, None).unwrap();
        assert_eq!(
            reading.seq_of(&EntryId::new("n8191")).unwrap(),
            Some(Seq(8192))
        );
        assert_eq!(reading.stats().entries as usize, from + 10);
    }
}

#[test]
fn a_long_record_without_a_checkpoint_has_one_after_the_next_entry() {
    for (length, has_one) in [(100, false), (2_100, true)] {
        let project = Project::new();
        let mut open = project.open();
        open.append(project.notes(0..length)).unwrap();
        open.close();
        let follow = || {
            let mut open = project.open_with(project.options_with_checkpoint());
            let from = open.report.spared_to.0;
            let mut keeper = CheckpointKeeper::start(&project.dirs, &project.user(), from).unwrap();
            let last = open.append(project.notes(length..length + 1)).unwrap();
            let (world, hash) = (Arc::new(open.live.clone()), &last[0].hash);
            keeper.moved(&open.ledger, &project.session, &world, hash);
            // What was offered is written before it ends.
            drop(keeper);
            open.close();
            (from, project.checkpoint())
        };
        let (from, checkpoint) = follow();
        assert_eq!((from, checkpoint.is_some()), (0, has_one), "{length}");
        assert_eq!(project.seen(checkpoint), project.seen(None));
        // Of one that has it nothing more is written.
        let before = fs::read(project.dirs.state_file("checkpoint")).ok();
        let (from, _) = follow();
        assert_eq!(from > 0, has_one);
        let after = fs::read(project.dirs.state_file("checkpoint")).ok();
        assert_eq!(before, after);
    }
}

#[test]
fn what_was_offered_before_a_beginning_is_not_written_behind_it() {
    let project = Project::new();
    let mut open = project.open();
    let mut keeper = CheckpointKeeper::start(&project.dirs, &project.user(), 0).unwrap();
    for (from, to) in [(0, 2_100), (2_100, 4_200)] {
        let last = open.append(project.notes(from..to)).unwrap();
        let (world, hash) = (Arc::new(open.live.clone()), &last[last.len() - 1].hash);
        keeper.moved(&open.ledger, &project.session, &world, hash);
        // The next one waits until some time has passed.
        while project.checkpoint().is_none() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    let before = fs::read(project.dirs.state_file("checkpoint")).unwrap();
    keeper.begin_anew().unwrap();
    drop(keeper);
    let after = fs::read(project.dirs.state_file("checkpoint")).unwrap();
    assert_eq!(before, after);
    open.close();
}

#[test]
fn in_a_pause_no_checkpoint_is_written_and_behind_it_the_newest_is() {
    let project = Project::new();
    let mut open = project.open();
    let mut keeper = CheckpointKeeper::start(&project.dirs, &project.user(), 0).unwrap();
    let pause = keeper.begin_anew().unwrap();
    assert!(pause.wait(Duration::from_secs(30)));
    let last = open.append(project.notes(0..2_100)).unwrap();
    let (world, hash) = (Arc::new(open.live.clone()), &last[last.len() - 1].hash);
    keeper.moved(&open.ledger, &project.session, &world, hash);
    // Written at once where it is not kept back: half a second shows that in nearly each run.
    let until = Instant::now() + Duration::from_millis(500);
    while Instant::now() < until && project.checkpoint().is_none() {
        std::thread::yield_now();
    }
    assert!(project.checkpoint().is_none());
    drop(pause);
    drop(keeper);
    assert!(project.checkpoint().is_some());

    // Who ends does not wait for the end of a pause.
    let mut keeper = CheckpointKeeper::start(&project.dirs, &project.user(), 0).unwrap();
    let _pause = keeper.begin_anew().unwrap();
    drop(keeper);
    open.close();
}

#[test]
fn a_checkpoint_that_anybody_changed_is_not_taken() {
    for name in ["checkpoint", "checkpoint.slots"] {
        let project = Project::new();
        project.run(project.notes(0..20));
        let path = project.dirs.state_file(name);
        let bytes = fs::read(&path).unwrap();
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        for at in (0..bytes.len()).step_by(7) {
            file.write_all_at(&[bytes[at] ^ 1], at as u64).unwrap();
            assert!(project.checkpoint().is_none(), "{name}, byte {at}");
            file.write_all_at(&[bytes[at]], at as u64).unwrap();
        }
        assert!(project.checkpoint().is_some());
        file.set_len(bytes.len() as u64 - 1).unwrap();
        assert!(project.checkpoint().is_none());
    }
}

#[test]
fn a_checkpoint_without_its_digest_outside_of_the_project_is_nothing() {
    let project = Project::new();
    project.run(project.notes(0..20));
    let outside = project.user().checkpoint(&project.dirs.instance_id());
    assert_eq!(crate::testing::mode(&outside), 0o600);
    fs::remove_file(outside).unwrap();
    assert!(project.checkpoint().is_none());
    assert_eq!(project.seen(project.checkpoint()).lines.len(), 20);
}

#[test]
fn a_ledger_that_is_not_the_one_of_the_checkpoint_is_read_as_a_whole() {
    let project = Project::new();
    project.run(project.notes(0..20));
    let whole = project.bytes();
    let line = project.lines()[0].len();
    let mut replaced = whole.clone();
    replaced.extend_from_slice(&whole[..line]);
    let mut edited = whole.clone();
    let last = whole.len() - 100;
    edited[last] ^= 1;
    for bytes in [
        Vec::new(),
        whole[..line].to_vec(),
        whole[..whole.len() - 1].to_vec(),
        whole[line..].to_vec(),
        edited,
        replaced,
    ] {
        project.write(&bytes);
        assert_eq!(project.seen(project.checkpoint()), project.seen(None));
    }
}

#[test]
fn an_edit_before_the_checkpoint_is_noticed_as_not_read() {
    let project = Project::new();
    project.run(project.notes(0..20));
    let mut bytes = project.bytes();
    let at = bytes.windows(6).position(|w| w == b"text 3").unwrap();
    bytes[at] = b'T';
    let file = fs::OpenOptions::new()
        .write(true)
        .open(project.path())
        .unwrap();
    file.write_all_at(&bytes, 0).unwrap();
    let open = project.open_with(project.options_with_checkpoint());
    assert!(!open.report.is_read);
    open.close();
    assert!(!verify(&project.path(), None).unwrap().ok);

    // A line that is no entry any more has no place in the index.
    bytes[at - 20..at].fill(b'"');
    file.write_all_at(&bytes, 0).unwrap();
    assert_eq!(project.seen(project.checkpoint()), project.seen(None));
}

/// Writes over a note's text, again until the file system's clock has moved on since the last write.
fn edit(project: &Project, text: &[u8]) {
    let path = project.path();
    let ctime = || {
        let found = fs::metadata(&path).unwrap();
        (found.ctime(), found.ctime_nsec())
    };
    let before = ctime();
    let at = project.bytes();
    let at = at.windows(5).position(|w| w.eq_ignore_ascii_case(b"ext 3"));
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    while ctime() == before {
        file.write_all_at(text, at.unwrap() as u64 - 1).unwrap();
    }
}

#[test]
fn a_record_that_is_edited_while_it_is_written_is_read_by_the_next_start_until_it_is_as_before() {
    for writes_on in [true, false] {
        let project = Project::new();
        project.run(project.notes(0..20));
        let run = |edited: &[u8], is_read_over: Option<bool>, from: usize| {
            let mut open = project.open_with(project.options_with_checkpoint());
            let keeper = CheckpointKeeper::start(&project.dirs, &project.user(), 0).unwrap();
            let mut last = open.append(project.notes(from..from + 1)).unwrap();
            edit(&project, edited);
            if writes_on {
                last = open.append(project.notes(from + 1..from + 2)).unwrap();
            }
            if let Some(is_whole) = is_read_over {
                let touches = open.ledger.touches();
                open.ledger.read_over(touches, is_whole);
            }
            let (ledger, world) = (open.ledger.clone(), open.live.clone());
            open.close();
            let hash = last[0].hash.clone();
            keeper.close(ledger, project.session.clone(), Arc::new(world), hash);
        };
        let chain_ok = || {
            let open = project.open_with(project.options_with_checkpoint());
            let found = (open.report.is_read, open.report.chain_ok);
            open.close();
            found
        };
        run(b"Text 3", None, 20);
        assert!(project.checkpoint().is_none());
        assert_eq!(chain_ok(), (true, false));
        // Nothing hides it later, and of a broken record nothing hides that it is put back.
        project.run(project.notes(30..31));
        assert_eq!(chain_ok(), (true, false));
        edit(&project, b"text 3");
        assert_eq!(chain_ok(), (true, true));
        // The watch has read all of it.
        run(b"Text 3", Some(false), 40);
        assert_eq!(chain_ok(), (true, false));
        edit(&project, b"text 3");
        run(b"text 3", Some(true), 50);
        assert!(project.checkpoint().is_some());
        assert_eq!(chain_ok(), (true, true));
    }
}

#[test]
fn another_sessions_checkpoint_is_not_taken_and_discarding_removes_all_of_it() {
    let project = Project::new();
    project.run(project.notes(0..20));
    let checkpoint = project.checkpoint().unwrap();
    let file = fs::File::open(project.path()).unwrap();
    assert!(checkpoint.fits(&project.session, &file));
    let other = ctxrelay_core::id::SessionId::new("session_1795000000001_a1b2c3d4");
    assert!(!checkpoint.fits(&other, &file));
    discard_checkpoint(&project.dirs).unwrap();
    discard_checkpoint(&project.dirs).unwrap();
    assert!(project.checkpoint().is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_entries_give_the_same_world_from_a_checkpoint(
        first in prop::collection::vec(arbitrary::entry(), 1..20),
        second in prop::collection::vec(arbitrary::entry(), 1..20),
        later in prop::collection::vec(arbitrary::entry(), 0..5),
    ) {
        let project = Project::new();
        project.run(first);
        project.run(second);
        let mut open = project.open();
        for entry in later {
            let _ = open.append(vec![entry]);
        }
        open.close();
        prop_assert!(project.checkpoint().is_some());
        prop_assert_eq!(project.seen(project.checkpoint()), project.seen(None));
    }
}
