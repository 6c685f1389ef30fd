use std::fs;

use serde_json::json;

use super::*;
use ctxrelay_core::agent::{Agent, Party};
use ctxrelay_core::capsule::CapsuleSources;
use ctxrelay_core::entry::{
    Entry, EntryKind, Fate, NoteKind, Predecessor, SealedSession, TASK, TaskStep, ToldDigest,
};
use ctxrelay_core::fold::fold;
use ctxrelay_core::id::{CapsuleId, EntryId};
use ctxrelay_core::whole::Whole;
use ctxrelay_core::wire::capsule;
use ctxrelay_core::wire::line::{GENESIS, Stored, parse, seal, serialize};

/// A project with a chain of sealed sessions.
struct Sealed {
    _place: tempfile::TempDir,
    dirs: ProjectDirs,
    last: Option<SealedSession>,
    kept: Vec<Capsule>,
    /// What is decided for each task.
    decision: &'static str,
    /// Who says what was kept.
    by: Party,
    /// The first two tasks are closed after that, and only of the second one it is said once more what
    /// is kept.
    closes: bool,
    /// The long text of which each decision is the beginning.
    whole: Option<Whole>,
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
            by: Party::Human,
            closes: false,
            whole: None,
        }
    }

    /// Seals a session with a few tasks, of which each went out while it was open.
    fn seal(&mut self, number: u64) {
        let session = SessionId::new(format!("session_1795000000000_0000000{number}"));
        let mut lines: Vec<Stored> = Vec::new();
        let mut world = Snapshot::default();
        let whole = self.whole.clone();
        let mut record = |source, content: &str, kind, task: Option<&CapsuleId>| {
            let seq = lines.len() as u64 + 1;
            let mut entry = Entry {
                id: EntryId::new(format!("e{number}-{seq}")),
                timestamp_ms: 1_795_000_000_000 + i64::try_from(seq).unwrap(),
                session_id: session.clone(),
                content: content.to_owned(),
                seq: Seq(seq),
                whole: whole.clone().filter(|_| content == self.decision),
                ..Entry::new(source, kind)
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
            let decision = EntryKind::note(NoteKind::Decision);
            let (world, lines) = record(Party::Human, self.decision, decision, Some(&id));
            self.kept.push(capsule_of(&world, &id, &lines));
        }
        for kept in &self.kept[first..] {
            let told = ToldDigest::Kept(&kept.digest).written();
            let step = TaskStep::Kept.of(kept.id.clone());
            record(self.by.clone(), &told, step, None);
        }
        if self.closes {
            let [cut_off, whole] = [&self.kept[first], &self.kept[first + 1]];
            for task in [cut_off, whole] {
                let closed = TaskStep::Closed.of(task.id.clone());
                record(Party::Human, "it is rotated", closed, None);
            }
            let step = TaskStep::Kept.of(whole.id.clone());
            let told = ToldDigest::Kept(&whole.digest).written();
            record(Party::Human, &told, step, None);
        }
        let text: Vec<&str> = lines.iter().map(|stored| &*stored.line).collect();
        let file = self.dirs.archives().join(format!("{session}.jsonl"));
        fs::write(file, format!("{}\n", text.join("\n"))).unwrap();
        self.last = Some(SealedSession {
            session_id: session,
            head: lines.last().unwrap().hash.clone(),
        });
    }

    /// The last of them as the current one, which is believed after an entry.
    fn current(&self, foreign_through: Seq) -> KeptSessions {
        let world = Snapshot {
            session_id: Some(self.last.clone().unwrap().session_id),
            ..Snapshot::believing_after(foreign_through)
        };
        KeptSessions::new(self.dirs.clone(), &world, self.file())
    }

    /// The file of the last of them.
    fn file(&self) -> PathBuf {
        let name = format!("{}.jsonl", self.last.as_ref().unwrap().session_id);
        self.dirs.archives().join(name)
    }

    /// With all of them sealed.
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
        KeptSessions::new(self.dirs.clone(), &world, PathBuf::new())
    }
}

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

/// The same task on another state of the work tree.
fn other_tree(kept: &Capsule) -> Capsule {
    let mut changed = kept.clone();
    changed.not_run.push("gate".to_owned());
    changed.digest = capsule::write(&changed).unwrap().1;
    changed
}

#[test]
fn a_long_text_that_is_gone_takes_no_session_from_the_way_back() {
    let mut sealed = Sealed::new();
    sealed.seal(1);
    // Nothing lies under its name.
    sealed.whole = Some(Whole {
        sha256: "ab".repeat(32),
        units: 30_000,
    });
    sealed.seal(2);
    let sessions = sealed.sessions();
    for number in [2, 1] {
        let session = SessionId::new(format!("session_1795000000000_0000000{number}"));
        assert!(!sessions.is_apart(&session), "{session}");
    }
}

#[test]
fn a_session_vouches_for_what_it_tells_the_digest_of_and_for_nothing_else() {
    let mut project = Sealed::new();
    project.seal(1);
    project.seal(2);
    let sessions = project.sessions();
    // In turn, as a list by age may have them.
    for at in [0, 3, 1, 4, 2, 5] {
        assert!(sessions.vouch_for(&project.kept[at]), "{at}");
    }
    let kept = &project.kept[0];
    assert!(!sessions.vouch_for(&other_tree(kept)));
    // Nor where it says that it was made behind what tells of the digest, or in another session.
    let mut later = other_tree(kept);
    later.origin.head.seq.0 += 5;
    let mut of_other = kept.clone();
    of_other.origin.session = project.kept[3].origin.session.clone();
    let mut of_none = kept.clone();
    of_none.origin.session = SessionId::new("session_1795000000000_00000000");
    for mut changed in [later, of_other, of_none] {
        changed.digest = capsule::write(&changed).unwrap().1;
        assert!(!sessions.vouch_for(&changed));
    }
    // Nor as another task.
    let mut other_task = kept.clone();
    other_task.id = project.kept[1].id.clone();
    assert!(!sessions.vouch_for(&other_task));
}

#[test]
fn the_current_record_vouches_as_far_as_it_is_believed_and_whole() {
    let mut project = Sealed::new();
    project.seal(6);
    let [first, second, _] = &project.kept[..] else {
        panic!("{:?}", project.kept)
    };
    // Three tasks with two entries each are told of behind the first entry.
    assert!(!project.current(Seq(8)).vouch_for(first));
    assert!(project.current(Seq(8)).vouch_for(second));
    let file = project.file();
    let truth = fs::read_to_string(&file).unwrap();
    let other = other_tree(first);
    let forged = truth.replace(&first.digest, &other.digest);
    fs::write(&file, forged).unwrap();
    assert!(!project.current(Seq(0)).vouch_for(&other));
    fs::write(&file, truth).unwrap();
    assert!(project.current(Seq(0)).vouch_for(first));
}

#[test]
fn for_a_closed_task_nothing_vouches_that_was_kept_before_its_close() {
    let mut project = Sealed::new();
    project.closes = true;
    project.seal(8);
    for sessions in [project.sessions(), project.current(Seq(0))] {
        let vouched = project.kept.iter().map(|kept| sessions.vouch_for(kept));
        assert_eq!(vouched.collect::<Vec<_>>(), [false, true, true]);
    }
}

#[test]
fn what_an_agent_says_was_kept_was_not() {
    let mut project = Sealed::new();
    project.by = Party::Agent(Agent::Claude);
    project.seal(7);
    assert!(!project.sessions().vouch_for(&project.kept[0]));
    assert!(!project.current(Seq(0)).vouch_for(&project.kept[0]));
}

#[test]
fn a_session_that_was_exchanged_says_nothing() {
    let (mut project, mut forged) = (Sealed::new(), Sealed::new());
    forged.decision = "for ever";
    for one in [&mut project, &mut forged] {
        one.seal(5);
    }
    let (true_file, forged_file) = (project.file(), forged.file());
    let truth = fs::read(&true_file).unwrap();
    fs::copy(&forged_file, &true_file).unwrap();
    let vouched = |kept: &Capsule| project.sessions().vouch_for(kept);
    assert!(!vouched(&forged.kept[0]) && !vouched(&project.kept[0]));
    fs::write(&true_file, &truth).unwrap();
    assert!(!vouched(&forged.kept[0]) && vouched(&project.kept[0]));
    // Nor once it was verified.
    let sessions = project.sessions();
    assert!(sessions.leads_to(&project.kept[0].origin.session, Seq(1)));
    fs::copy(&forged_file, &true_file).unwrap();
    assert!(!sessions.vouch_for(&forged.kept[0]));
}
