#![allow(clippy::unwrap_used, reason = "tests")]
use std::fs;

use serde_json::{Map, json};

use super::*;
use ctxrelay_core::agent::Party;
use ctxrelay_core::capsule::CapsuleSources;
use ctxrelay_core::entry::{
    Entry, EntryKind, Fate, NoteKind, Predecessor, SealedSession, TASK, TaskStep, kept_words,
};
use ctxrelay_core::fold::fold;
use ctxrelay_core::id::{CapsuleId, EntryId};
use ctxrelay_core::wire::line::{GENESIS, Stored, parse, seal, serialize};

/// A project with a chain of sealed sessions.
struct Sealed {
    _place: tempfile::TempDir,
    dirs: ProjectDirs,
    last: Option<SealedSession>,
    kept: Vec<Capsule>,
    /// What is decided for each task.
    decision: &'static str,
}

impl Sealed {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let dirs = ProjectDirs::new(place.path().canonicalize().unwrap(), None);
        dirs.create().unwrap();
        Self {
            _place: place,
            dirs,
            last: None,
            kept: Vec::new(),
            decision: "one hour",
        }
    }

    /// Seals a session with a few tasks, of which each went out while it was open.
    fn seal(&mut self, number: u64) {
        let session = SessionId::new(format!("session_1795000000000_0000000{number}"));
        let mut lines: Vec<Stored> = Vec::new();
        let mut world = Snapshot::default();
        let mut record = |source, content: &str, kind, task: Option<&CapsuleId>| {
            let seq = lines.len() as u64 + 1;
            let mut entry = Entry {
                id: EntryId::new(format!("e{number}-{seq}")),
                timestamp_ms: 1_795_000_000_000 + i64::try_from(seq).unwrap(),
                session_id: session.clone(),
                source,
                target: None,
                content: content.to_owned(),
                whole: None,
                kind,
                runtime_session: None,
                carried: None,
                meta: Map::new(),
                seq: Seq(seq),
            };
            if let Some(task) = task {
                entry.meta.insert(TASK.to_owned(), json!(task));
            }
            let prev = lines.last().map_or(GENESIS, |last| &last.hash).to_owned();
            let sealed = seal(serialize(&entry), seq, &prev).unwrap();
            let mut entry = parse(sealed.line.as_bytes()).unwrap().entry;
            entry.seq = Seq(seq);
            fold(&mut world, &entry);
            lines.push(Stored {
                entry,
                line: sealed.line,
                hash: sealed.hash,
            });
            (world.clone(), lines.clone())
        };
        let predecessor = self.last.take().map(|before| Predecessor {
            session_id: before.session_id,
            entries: 1,
            head: before.head,
            fate: Fate::Archived,
            earlier: None,
        });
        let first = self.kept.len();
        let started = EntryKind::SessionStarted { predecessor };
        record(Party::System, "begins", started, None);
        for task in 0..3 {
            let id = CapsuleId::new(format!("cap_0000000000{number}{task}"));
            let opened = TaskStep::Opened.of(id.clone());
            record(Party::Human, "Fix the login", opened, None);
            let decision = EntryKind::Note {
                note: NoteKind::Decision,
                handles: Vec::new(),
                withdraws: None,
            };
            let (world, lines) = record(Party::Human, self.decision, decision, Some(&id));
            self.kept.push(capsule_of(&world, &id, &lines));
        }
        for kept in &self.kept[first..] {
            // Earlier versions told no digest.
            if number != UNTOLD {
                let told = kept_words(&kept.digest);
                record(
                    Party::Human,
                    &told,
                    TaskStep::Kept.of(kept.id.clone()),
                    None,
                );
            }
        }
        let text: Vec<&str> = lines.iter().map(|stored| &*stored.line).collect();
        let file = self.dirs.archives().join(format!("{session}.jsonl"));
        fs::write(file, format!("{}\n", text.join("\n"))).unwrap();
        self.last = Some(SealedSession {
            session_id: session,
            head: lines.last().unwrap().hash.clone(),
        });
    }

    fn sessions(&self) -> KeptSessions {
        let before = self.last.clone().unwrap();
        let world = Snapshot {
            predecessor: Some(Predecessor {
                session_id: before.session_id,
                entries: 1,
                head: before.head,
                fate: Fate::Archived,
                earlier: None,
            }),
            ..Snapshot::default()
        };
        KeptSessions::new(self.dirs.clone(), Arc::new(world), PathBuf::new())
    }
}

/// A session of this number is as earlier versions wrote it.
const UNTOLD: u64 = 9;

/// The capsule of a task, as it is made.
fn capsule_of(world: &Snapshot, id: &CapsuleId, lines: &[Stored]) -> Capsule {
    let sources = CapsuleSources {
        world,
        task: &world.tasks[id],
        git: None,
        files: &BTreeMap::new(),
        gates: &[],
        project: "shop",
        version: "0.1.0",
    };
    let mut capsule = sources.capsule();
    let hash = |seq: Seq| lines[usize::try_from(seq.0).unwrap() - 1].hash.clone();
    capsule.origin.head.hash = hash(capsule.origin.head.seq);
    for (_, said) in capsule.stated_mut() {
        if let Some(line) = &mut said.line {
            line.hash = hash(line.seq);
        }
    }
    capsule.digest = capsule::write(&capsule).unwrap().1;
    capsule
}

/// Whether a session has what is cited, and its task the decision.
fn says(sessions: &KeptSessions, kept: &Capsule) -> KeptSays {
    sessions
        .say(kept, |held| {
            let told = held.lines.unwrap();
            let mut cited = kept.refs();
            let has_all = cited.all(|(_, line)| told.line(line.seq).is_some());
            let task = held.task.unwrap();
            let is_same = has_all && task.decisions[0].text == kept.decisions[0].text;
            Ok(KeptSays::Same.only(is_same))
        })
        .says
}

#[test]
fn each_session_is_read_once_for_all_that_is_kept_of_it() {
    let mut project = Sealed::new();
    project.seal(1);
    project.seal(2);
    let sessions = project.sessions();
    for kept in &project.kept {
        sessions.announce(kept);
    }
    // In turn, as a list by age may have them.
    for at in [0, 3, 1, 4, 2, 5] {
        let kept = &project.kept[at];
        assert_eq!(says(&sessions, kept), KeptSays::Same, "{at}");
    }
    assert_eq!(sessions.readings.get(), 2);
    let mut changed = project.kept[0].clone();
    changed.decisions[0].text = "for ever".to_owned();
    changed.digest = "another".to_owned();
    assert_eq!(says(&sessions, &changed), KeptSays::Else);
    assert_eq!(sessions.readings.get(), 2);
}

#[test]
fn what_was_not_announced_has_a_session_read_once_more_for_all_that_is_kept() {
    let mut project = Sealed::new();
    project.seal(3);
    let kept = Capsules::of(&project.dirs);
    for capsule in &project.kept {
        let (bytes, _) = capsule::write(capsule).unwrap();
        let written = kept.write(CapsuleOwner::Project, &capsule.id, &bytes);
        written.unwrap();
    }
    let sessions = project.sessions();
    for kept in &project.kept {
        assert_eq!(says(&sessions, kept), KeptSays::Same);
    }
    assert_eq!(sessions.readings.get(), 2);
}

#[test]
fn another_state_of_the_work_tree_than_the_session_tells_the_digest_of_is_not_believed() {
    let mut project = Sealed::new();
    for number in [4, UNTOLD] {
        project.seal(number);
    }
    let sessions = project.sessions();
    let other_tree = |at: usize| {
        let mut changed = project.kept[at].clone();
        changed.touched.clear();
        changed.not_run.push("gate".to_owned());
        changed.digest = capsule::write(&changed).unwrap().1;
        changed
    };
    assert_eq!(says(&sessions, &project.kept[0]), KeptSays::Same);
    assert_eq!(says(&sessions, &other_tree(0)), KeptSays::Else);
    // Nor where words of it look as if they were masked elsewhere.
    let masked = |_| Ok(KeptSays::Masked);
    assert_eq!(sessions.say(&other_tree(0), masked).says, KeptSays::Else);
    // Nor one that says that it was made behind what tells of the digest.
    let mut later = other_tree(0);
    later.origin.head.seq.0 += 5;
    later.digest = capsule::write(&later).unwrap().1;
    assert_eq!(says(&project.sessions(), &later), KeptSays::Else);
    assert_eq!(says(&sessions, &project.kept[3]), KeptSays::Same);
    assert_eq!(says(&sessions, &other_tree(3)), KeptSays::Same);
}

#[test]
fn a_session_that_was_exchanged_since_it_was_verified_says_nothing() {
    let (mut project, mut forged) = (Sealed::new(), Sealed::new());
    forged.decision = "for ever";
    for one in [&mut project, &mut forged] {
        one.seal(5);
    }
    let file = |one: &Sealed| {
        let name = format!("{}.jsonl", one.last.as_ref().unwrap().session_id);
        one.dirs.archives().join(name)
    };
    let (true_file, forged_file) = (file(&project), file(&forged));
    let truth = fs::read(&true_file).unwrap();
    let sessions = project.sessions();
    // It is verified, and not read for what it says.
    let session = &project.kept[0].origin.session;
    assert!(sessions.leads_to(session, Seq(1)));
    assert_eq!(sessions.readings.get(), 0);
    fs::copy(&forged_file, &true_file).unwrap();
    let says_of = |kept: &Capsule| says(&sessions, kept);
    assert_eq!(says_of(&forged.kept[0]), KeptSays::Else);
    fs::write(&true_file, truth).unwrap();
    assert_eq!(says_of(&forged.kept[0]), KeptSays::Else);
    assert_eq!(says_of(&project.kept[0]), KeptSays::Same);
}
