//! Lines that somebody else put behind the record, in all orders of stop and start.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use super::support::Project;
use crate::dirs::UserDirs;
use crate::head::{self, Head, HeadKeeper, Heads, Kept};
use crate::ledger::{
    Border, Ledger, LedgerError, OpenOptions, OpenedLedger, Origin, Outside, Reading, Stored, open,
    verify,
};
use ctxrelay_core::agent::{Agent, Party};
use ctxrelay_core::alarm::Alarm;
use ctxrelay_core::delivery::OnBusy;
use ctxrelay_core::entry::{
    Entry, EntryKind, FinalityDecision, FinalityProposal, Message, NoteKind,
};
use ctxrelay_core::id::{EntryId, Seq};
use ctxrelay_core::wire::line::{parse, seal, serialize};

const DEADLINE: Duration = Duration::from_secs(30);

pub const ID: &str = "ctx_1";

pub struct Scene {
    pub project: Project,
    pub user: UserDirs,
}

/// How a daemon stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    Clean,
    Crash,
}

impl Scene {
    pub fn new() -> Self {
        let project = Project::quick();
        let outside = project.dirs.root.join("outside");
        let user = UserDirs {
            registry: outside.clone(),
            data: outside,
            runtime: None,
        };
        Self { project, user }
    }

    fn open_from(&self, origin: Origin) -> (OpenedLedger, Heads) {
        let heads = Heads::open(&self.user, ID).unwrap();
        let options = OpenOptions {
            outside: Some(Outside {
                heads: heads.clone(),
                origin,
            }),
            ..self.project.options()
        };
        (open(options, Box::new(|_| {})).unwrap(), heads)
    }

    pub fn open(&self) -> (OpenedLedger, Heads) {
        self.open_from(Origin::Known)
    }

    pub fn stop(&self, ledger: Ledger, heads: Heads, stop: Stop) {
        let head = ledger.stats().head;
        ledger.close();
        if stop == Stop::Clean {
            let last = head.map(|(seq, hash)| Head {
                seq,
                hash,
                session_id: self.project.session.clone(),
            });
            HeadKeeper::start(heads, |_| {})
                .unwrap()
                .close(last)
                .unwrap();
        }
    }

    /// A record with a proposal, a note and what stands behind it, and how it was stopped. The
    /// head outside is that of the last entry.
    pub fn record(&self, stop: Stop) {
        let (opened, heads) = self.open();
        append(&opened.ledger, proposal("p1")).unwrap();
        append(&opened.ledger, operators("m1")).unwrap();
        self.stop(opened.ledger, heads, stop);
    }

    /// Continues the chain as anybody can.
    fn forge(&self, entries: Vec<Entry>) {
        let mut bytes = self.project.bytes();
        let last = bytes
            .split(|byte| *byte == b'\n')
            .rfind(|line| !line.is_empty());
        let link = parse(last.unwrap()).unwrap().link.unwrap();
        let (mut seq, mut prev) = (link.seq, link.hash);
        for mut entry in entries {
            entry.session_id = self.project.session.clone();
            seq += 1;
            let sealed = seal(serialize(&entry), seq, &prev).unwrap();
            bytes.extend_from_slice(sealed.line.as_bytes());
            bytes.push(b'\n');
            prev = sealed.hash;
        }
        self.project.write(&bytes);
    }

    pub fn kept(&self) -> Kept {
        head::read(&self.user, ID).unwrap().unwrap()
    }

    fn asides(&self) -> usize {
        let found = fs::read_dir(self.project.dirs.sessions()).unwrap();
        let names = found.map(|file| file.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.contains(".foreign-")).count()
    }

    /// What a reader sees that opens nothing.
    fn reading(&self) -> Reading {
        let path = self.project.path();
        let border = Border::new(Some(&self.kept()), &self.project.session, true, &path);
        Reading::open(&path, &self.project.session, None, Some(&border)).unwrap()
    }
}

pub fn append(ledger: &Ledger, entry: Entry) -> Result<Vec<Arc<Stored>>, LedgerError> {
    ledger.append_and_wait(0, 0, vec![entry], DEADLINE)
}

fn entry(id: &str, source: Party, kind: EntryKind) -> Entry {
    Entry {
        id: EntryId::new(id),
        timestamp_ms: 1_795_000_000_000,
        session_id: Project::quick().session,
        content: format!("the text of {id}"),
        ..Entry::new(source, kind)
    }
}

pub fn note(id: &str) -> Entry {
    let kind = EntryKind::note(NoteKind::Note);
    entry(id, Agent::Codex.into(), kind)
}

fn proposal(id: &str) -> Entry {
    let kind = EntryKind::FinalityProposal(FinalityProposal {
        summary: "done".to_owned(),
        ..FinalityProposal::default()
    });
    entry(id, Agent::Codex.into(), kind)
}

fn decision(source: Party) -> Entry {
    let kind = EntryKind::FinalityDecision(FinalityDecision::of(EntryId::new("p1"), true));
    entry("d1", source, kind)
}

fn message(id: &str, source: Party) -> Entry {
    let kind = EntryKind::Message(Message::new(OnBusy::default()));
    Entry {
        target: Some(Agent::Claude.into()),
        ..entry(id, source, kind)
    }
}

pub fn operators(id: &str) -> Entry {
    message(id, Party::Human)
}

pub fn ids(opened: &OpenedLedger) -> Vec<&str> {
    opened
        .snapshot
        .unsettled
        .keys()
        .map(EntryId::as_str)
        .collect()
}

#[test]
fn the_operators_word_of_the_moment_of_a_crash_is_nobody_elses() {
    for (is_announced, is_forged_on) in [(true, false), (true, true), (false, false)] {
        let scene = Scene::new();
        let (opened, heads) = scene.open();
        append(&opened.ledger, proposal("p1")).unwrap();
        append(&opened.ledger, operators("m1")).unwrap();
        let before = fs::read(scene.user.head(ID)).unwrap();
        append(&opened.ledger, operators("m2")).unwrap();
        scene.stop(opened.ledger, heads, Stop::Crash);
        // As if the crash had come before the head was there.
        fs::write(scene.user.head(ID), before).unwrap();
        if !is_announced {
            fs::remove_file(scene.user.coming(ID)).unwrap();
        }
        if is_forged_on {
            scene.forge(vec![decision(Party::Human), operators("m9")]);
        }
        let seen = scene.reading();
        let report = verify(&scene.project.path(), Some(&scene.kept())).unwrap();
        let is_whole = is_announced && !is_forged_on;
        assert_eq!((seen.is_whole(), report.ok), (is_whole, is_whole));

        for _ in 0..2 {
            let (opened, heads) = scene.open();
            let believed: &[&str] = if is_announced { &["m1", "m2"] } else { &["m1"] };
            assert_eq!(ids(&opened), believed);
            assert_eq!(opened.snapshot.pending_proposals.len(), 1);
            assert_eq!(scene.asides(), usize::from(!is_whole));
            assert_eq!(opened.report.alarms.is_empty(), is_whole);
            scene.stop(opened.ledger, heads, Stop::Crash);
        }
    }
}

#[test]
fn a_word_that_was_not_recorded_is_not_announced_for_later() {
    let scene = Scene::new();
    let (opened, heads) = scene.open();
    append(&opened.ledger, operators("m1")).unwrap();
    // The head cannot be written, and what is before it can.
    let head = scene.user.head(ID);
    fs::rename(&head, head.with_extension("away")).unwrap();
    fs::create_dir(&head).unwrap();
    append(&opened.ledger, operators("m2")).unwrap_err();
    assert!(!scene.user.coming(ID).exists());
    fs::remove_dir(&head).unwrap();
    fs::rename(head.with_extension("away"), &head).unwrap();
    scene.stop(opened.ledger, heads, Stop::Crash);
    let (opened, _) = scene.open();
    assert_eq!(ids(&opened), ["m1"]);
    assert_eq!(opened.report.alarms, []);
}

#[test]
fn behind_the_head_of_an_orderly_end_nothing_is_believed() {
    let forgeries = [
        vec![note("n9")],
        vec![note("n8"), note("n9")],
        vec![decision(Party::Human), operators("m9")],
        vec![decision(Party::System)],
    ];
    for forgery in forgeries {
        let scene = Scene::new();
        scene.record(Stop::Clean);
        let (ours, lines) = (scene.project.bytes(), forgery.len() as u64);
        scene.forge(forgery);
        let report = verify(&scene.project.path(), Some(&scene.kept())).unwrap();
        assert!(!report.ok && report.has_foreign_lines(), "{report:?}");
        assert!(!scene.reading().is_whole());
        assert_eq!(scene.reading().snapshot().pending_proposals.len(), 1);

        let (opened, heads) = scene.open();
        assert_eq!(scene.project.bytes(), ours);
        assert_eq!(opened.snapshot.pending_proposals.len(), 1);
        assert_eq!(ids(&opened), ["m1"]);
        let [
            Alarm::ForeignLines {
                file, lines: moved, ..
            },
        ] = &opened.report.alarms[..]
        else {
            panic!("{:?}", opened.report.alarms);
        };
        assert_eq!(*moved, lines);
        assert!(scene.project.dirs.sessions().join(file).exists());
        // It stays known until the record tells of it, over a crash too.
        scene.stop(opened.ledger, heads, Stop::Crash);
        let report = verify(&scene.project.path(), Some(&scene.kept())).unwrap();
        assert!(!report.ok && report.alarms.len() == 1);
        let (opened, _) = scene.open();
        assert_eq!(opened.report.alarms.len(), 1);
        assert_eq!(scene.asides(), 1);
    }
}

#[test]
fn behind_the_head_of_a_crash_nobody_speaks_for_the_operator() {
    let operator = [
        operators("m9"),
        decision(Party::System),
        decision(Agent::Claude.into()),
        note_by("human"),
        message("m9", Party::Other("operator".to_owned())),
    ];
    for forged in operator {
        let scene = Scene::new();
        scene.record(Stop::Crash);
        scene.forge(vec![
            note("n1"),
            message("m2", Agent::Codex.into()),
            forged,
            note("n2"),
        ]);
        let report = verify(&scene.project.path(), Some(&scene.kept())).unwrap();
        assert!(!report.ok && report.has_foreign_lines());
        let (opened, heads) = scene.open();
        // What an agent may have said in the last second stays.
        assert_eq!(ids(&opened), ["m1", "m2"]);
        assert_eq!(opened.snapshot.pending_proposals.len(), 1);
        assert_eq!(opened.report.entries, 4);
        let [Alarm::ForeignLines { lines: 2, .. }] = &opened.report.alarms[..] else {
            panic!("{:?}", opened.report.alarms);
        };
        // And what is recorded now continues what is left.
        append(&opened.ledger, note("n3")).unwrap();
        scene.stop(opened.ledger, heads, Stop::Clean);
        let report = verify(&scene.project.path(), None).unwrap();
        assert!(report.ok && report.chained == 5, "{report:?}");
    }
}

fn note_by(name: &str) -> Entry {
    Entry {
        source: Party::from(name.to_owned()),
        ..note("n9")
    }
}

#[test]
fn lines_that_do_not_continue_the_chain_are_foreign_after_a_crash_too() {
    let scene = Scene::new();
    scene.record(Stop::Crash);
    let ours = scene.project.bytes();
    let again = scene.project.lines().concat();
    for junk in [&again[..], b"null\n", b"{\"a\":1}\nnull\n"] {
        scene.project.write(&[&ours, junk].concat());
        let (opened, heads) = scene.open();
        assert_eq!(scene.project.bytes(), ours);
        assert!(!opened.report.alarms.is_empty());
        scene.stop(opened.ledger, heads, Stop::Crash);
    }
}

#[test]
fn the_operators_word_is_outside_before_it_is_acknowledged() {
    let scene = Scene::new();
    let (opened, heads) = scene.open();
    assert_eq!(scene.kept().head.seq, 0);
    append(&opened.ledger, note("n1")).unwrap();
    assert_eq!(scene.kept().head.seq, 0, "nobody waits for that");
    for (count, entry) in [operators("m1"), decision(Party::System)]
        .into_iter()
        .enumerate()
    {
        let stored = append(&opened.ledger, entry).unwrap();
        let kept = scene.kept();
        assert_eq!(kept.head.hash, stored[0].hash);
        assert_eq!(kept.head.seq, count as u64 + 2);
    }
    drop(heads);
}

#[test]
fn where_the_head_cannot_be_written_the_operators_word_is_refused_and_nothing_else() {
    let scene = Scene::new();
    let (opened, _) = scene.open();
    append(&opened.ledger, operators("m1")).unwrap();
    let folder = scene.user.registry.join("heads");
    let aside = scene.user.registry.join("moved");
    fs::rename(&folder, &aside).unwrap();
    fs::write(&folder, "in the way").unwrap();
    let refused = append(&opened.ledger, operators("m2"));
    assert!(
        matches!(&refused, Err(LedgerError::HeadUnwritable { .. })),
        "{refused:?}"
    );
    let stored = append(&opened.ledger, note("n1")).unwrap();
    assert_eq!(stored[0].entry.seq, Seq(2));
    fs::remove_file(&folder).unwrap();
    fs::rename(&aside, &folder).unwrap();
    let stored = append(&opened.ledger, operators("m2")).unwrap();
    assert_eq!(stored[0].entry.seq, Seq(3));
    opened.ledger.close();
    let report = verify(&scene.project.path(), Some(&scene.kept())).unwrap();
    assert!(report.ok && report.chained == 3, "{report:?}");
}

#[test]
fn a_record_that_was_cut_is_believed_up_to_the_last_word_of_the_operator_that_is_left() {
    for stop in [Stop::Clean, Stop::Crash] {
        let scene = Scene::new();
        let (opened, heads) = scene.open();
        for entry in [
            proposal("p1"),
            operators("m1"),
            note("n1"),
            operators("m2"),
            note("n2"),
        ] {
            append(&opened.ledger, entry).unwrap();
        }
        scene.stop(opened.ledger, heads, stop);
        let lines = scene.project.lines();
        scene.project.write(&lines[..3].concat());
        scene.forge(vec![note("n3"), decision(Party::Human), operators("m9")]);
        let report = verify(&scene.project.path(), Some(&scene.kept())).unwrap();
        assert!(!report.ok, "{report:?}");

        let (opened, heads) = scene.open();
        assert_eq!(ids(&opened), ["m1"]);
        assert_eq!(opened.snapshot.pending_proposals.len(), 1);
        assert_eq!(opened.report.entries, 4);
        let [
            Alarm::RecordCut { seq, .. },
            Alarm::ForeignLines { lines: 2, .. },
        ] = &opened.report.alarms[..]
        else {
            panic!("{:?}", opened.report.alarms);
        };
        assert!(*seq >= 4);
        scene.stop(opened.ledger, heads, Stop::Clean);
        let report = verify(&scene.project.path(), Some(&scene.kept())).unwrap();
        assert!(!report.ok && report.alarms.len() == 2);
    }
}

#[test]
fn what_the_head_does_not_vouch_for_does_not_speak_for_the_operator() {
    // The chain of what stands before the head is broken: the head vouches for its end only.
    let scene = Scene::new();
    let (opened, heads) = scene.open();
    for entry in [proposal("p1"), note("n1"), note("n2"), operators("m2")] {
        append(&opened.ledger, entry).unwrap();
    }
    scene.stop(opened.ledger, heads, Stop::Clean);
    let lines = scene.project.lines();
    scene.project.write(&lines[..1].concat());
    scene.forge(vec![operators("m9"), decision(Party::Human)]);
    let forged = [scene.project.bytes(), lines[3..].concat()].concat();
    scene.project.write(&forged);
    assert!(
        !verify(&scene.project.path(), Some(&scene.kept()))
            .unwrap()
            .ok
    );
    let (opened, heads) = scene.open();
    assert_eq!(ids(&opened), ["m2"]);
    assert_eq!(opened.snapshot.pending_proposals.len(), 1);
    assert_eq!(opened.snapshot.foreign_through, Seq(3));
    scene.stop(opened.ledger, heads, Stop::Clean);
    // The next start, and a reader, see the same.
    assert_eq!(scene.reading().snapshot().foreign_through, Seq(3));
    assert_eq!(ids(&scene.open().0), ["m2"]);
}

#[test]
fn without_a_head_or_in_another_folder_the_history_is_somebody_elses_word() {
    for (origin, forgets) in [(Origin::Elsewhere, false), (Origin::Known, true)] {
        let scene = Scene::new();
        let (opened, heads) = scene.open();
        for entry in [proposal("p1"), operators("m1"), decision(Party::Human)] {
            append(&opened.ledger, entry).unwrap();
        }
        assert_eq!(scene.reading().snapshot().pending_proposals.len(), 0);
        scene.stop(opened.ledger, heads, Stop::Clean);
        if forgets {
            fs::remove_dir_all(scene.user.registry.join("heads")).unwrap();
        }
        let (opened, heads) = scene.open_from(origin);
        assert_eq!(opened.snapshot.entries, 3, "all of it is shown");
        assert!(ids(&opened).is_empty());
        assert_eq!(opened.snapshot.pending_proposals.len(), 1);
        // What is said from now on counts, and the rest does not begin to by another start.
        append(&opened.ledger, operators("m2")).unwrap();
        scene.stop(opened.ledger, heads, Stop::Crash);
        assert_eq!(ids(&scene.open().0), ["m2"]);
        assert_eq!(scene.open().0.snapshot.foreign_through, Seq(3));
    }
}

#[test]
fn a_copy_with_forged_lines_loses_them() {
    let scene = Scene::new();
    scene.record(Stop::Clean);
    let ours = scene.project.bytes();
    scene.forge(vec![decision(Party::Human), operators("m9")]);
    let (opened, _) = scene.open_from(Origin::Elsewhere);
    assert_eq!(scene.project.bytes(), ours);
    assert_eq!(opened.report.alarms.len(), 1);
    assert!(ids(&opened).is_empty());
    assert_eq!(opened.snapshot.pending_proposals.len(), 1);
}

#[test]
fn a_crash_between_any_two_steps_of_a_start_forgets_no_alarm() {
    // 1: the copy is made. 2: the alarm is known outside. 3: the lines are gone. 4: the mark.
    for steps in 1..=3 {
        let scene = Scene::new();
        scene.record(Stop::Clean);
        let ours = scene.project.bytes();
        scene.forge(vec![decision(Party::Human)]);
        let forged = scene.project.bytes();
        let before = scene.kept();
        let (opened, _) = scene.open();
        opened.ledger.close();
        let alarms = scene.kept().alarms;
        // As it was after so many steps.
        let kept = Kept {
            alarms: if steps >= 2 { alarms } else { Vec::new() },
            ..before
        };
        head::write(&scene.user, ID, &kept).unwrap();
        scene
            .project
            .write(if steps >= 3 { &ours } else { &forged });
        let (opened, _) = scene.open();
        assert_eq!(opened.report.alarms.len(), 1, "after {steps}");
        assert_eq!(opened.snapshot.pending_proposals.len(), 1);
        assert_eq!(scene.project.bytes(), ours);
        append(&opened.ledger, note("n1")).unwrap();
        assert!(!scene.kept().clean);
    }
}

#[test]
fn a_start_that_comes_to_nothing_leaves_the_mark_of_an_orderly_end() {
    let scene = Scene::new();
    scene.record(Stop::Clean);
    for _ in 0..2 {
        let (opened, heads) = scene.open();
        scene.stop(opened.ledger, heads, Stop::Crash);
        assert!(scene.kept().clean);
        // Also where somebody wrote behind it meanwhile.
        scene.forge(vec![note("n9")]);
    }
    let (opened, heads) = scene.open();
    assert_eq!(opened.report.entries, 2);
    assert_eq!(scene.asides(), 1, "the same line lies there once");
    // Where it cannot be taken away nothing is written behind it.
    let folder = scene.user.registry.join("heads");
    let moved = scene.user.registry.join("moved");
    fs::rename(&folder, &moved).unwrap();
    fs::write(&folder, "in the way").unwrap();
    let ours = scene.project.bytes();
    let refused = append(&opened.ledger, note("n1"));
    assert!(
        matches!(&refused, Err(LedgerError::HeadUnwritable { .. })),
        "{refused:?}"
    );
    assert_eq!(scene.project.bytes(), ours);
    fs::remove_file(&folder).unwrap();
    fs::rename(&moved, &folder).unwrap();
    append(&opened.ledger, note("n1")).unwrap();
    assert!(!scene.kept().clean);
    scene.stop(opened.ledger, heads, Stop::Crash);
    // It was ours, and counts.
    assert_eq!(scene.open().0.report.entries, 3);
}
