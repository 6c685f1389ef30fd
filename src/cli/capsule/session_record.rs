//! [`SessionRecords`]: the project's sessions, as far as kept capsules are held against them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use super::sealed_says::SealedSays;
use crate::adapters::capsules_now::{CapsulesNow, KeptSays};
use crate::core::capsule::Capsule;
use crate::core::id::{Seq, SessionId};
use crate::core::redact::Redactor;
use crate::core::snapshot::Snapshot;
use crate::store::capsules::{CapsuleOwner, Capsules};
use crate::store::dirs::ProjectDirs;
use crate::store::sealed_way::{SessionTold, SessionWants, WayBack};
use crate::wire::capsule;

/// The sessions that the record leads back to, each of which may be gigabytes long: it is read once
/// for all capsules that were announced, and only when one of them is asked for; once more where one
/// was not announced.
pub(super) struct SessionRecords {
    dirs: ProjectDirs,
    redactor: Arc<Redactor>,
    way: RefCell<WayBack>,
    reached: RefCell<BTreeMap<SessionId, Rc<SessionRecord>>>,
    wants: RefCell<BTreeMap<SessionId, SessionWants>>,
    kept: Capsules,
    has_all_announced: Cell<bool>,
    /// How often one of them was read for what it says.
    readings: Cell<usize>,
}

impl SessionRecords {
    pub(super) fn new(dirs: ProjectDirs, world: &Snapshot, redactor: Arc<Redactor>) -> Self {
        Self {
            way: RefCell::new(WayBack::new(&dirs, world)),
            kept: Capsules::of(&dirs),
            has_all_announced: Cell::new(false),
            dirs,
            redactor,
            reached: RefCell::default(),
            wants: RefCell::default(),
            readings: Cell::new(0),
        }
    }

    /// It will be asked for.
    pub(super) fn announce(&self, kept: &Capsule) {
        let mut wants = self.wants.borrow_mut();
        let session = kept.origin.session.clone();
        wants.entry(session).or_default().add(kept);
    }

    /// Whether the record leads back to a session.
    pub(super) fn has(&self, session: &SessionId) -> bool {
        self.reach(session).is_some()
    }

    /// Whether the record leads back to an entry of a session, and it is nobody else's word.
    pub(super) fn leads_to(&self, session: &SessionId, seq: Seq) -> bool {
        self.reach(session)
            .is_some_and(|record| seq > record.foreign_through)
    }

    /// How far a kept capsule says what the session says that it names.
    pub(super) fn say(&self, kept: &Capsule) -> KeptSays {
        self.announce(kept);
        let Some(record) = self.reach(&kept.origin.session) else {
            return KeptSays::Else;
        };
        let ask = || {
            let told = self.told(&record, kept).ok()?;
            self.said_by(&told, kept).ok()
        };
        let known = SealedSays::of(&kept.digest, &record.path);
        known.map_or(KeptSays::Else, |known| known.or_ask(ask))
    }

    /// What the current session's file says of the task of a kept capsule, whose lines `now` has.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub(super) fn current_says(
        &self,
        record: &SessionRecord,
        now: &CapsulesNow,
        kept: &Capsule,
    ) -> io::Result<KeptSays> {
        self.announce(kept);
        let told = self.told(record, kept)?;
        tells_of(now, &told, kept)
    }

    fn said_by(&self, told: &Rc<SessionTold>, kept: &Capsule) -> io::Result<KeptSays> {
        let world = Snapshot {
            session_id: Some(kept.origin.session.clone()),
            ..Snapshot::default()
        };
        let lines = Rc::clone(told);
        let now = CapsulesNow::new(
            self.dirs.root.clone(),
            Arc::new(world),
            Vec::new(),
            Arc::clone(&self.redactor),
            move |seq| Ok(lines.line(seq).cloned()),
        );
        match now.has_all(kept)? {
            KeptSays::Else => Ok(KeptSays::Else),
            has_all => Ok(has_all.min(tells_of(&now, told, kept)?)),
        }
    }

    /// What a session said, or says now where it was not asked for this one, or had no room for it.
    fn told(&self, record: &SessionRecord, kept: &Capsule) -> io::Result<Rc<SessionTold>> {
        match record.told.borrow().as_ref() {
            Some(told) if told.was_asked(kept) && !told.has_left(kept) => {
                return Ok(Rc::clone(told));
            }
            Some(told) if told.was_asked(kept) => {
                let mut wants = SessionWants::default();
                wants.add(kept);
                return self.read(record, wants).map(Rc::new);
            }
            // Where one was not announced, others may follow.
            Some(_) if !self.has_all_announced.replace(true) => self.announce_all(),
            Some(_) | None => {}
        }
        let wants = self.wants.borrow().get(&kept.origin.session).cloned();
        let told = self.read(record, wants.unwrap_or_default())?;
        let told = Rc::new(told);
        *record.told.borrow_mut() = Some(Rc::clone(&told));
        Ok(told)
    }

    fn read(&self, record: &SessionRecord, wants: SessionWants) -> io::Result<SessionTold> {
        self.readings.set(self.readings.get() + 1);
        SessionTold::read(&record.path, record.foreign_through, wants)
    }

    fn announce_all(&self) {
        for id in self.kept.ids(CapsuleOwner::Project) {
            let bytes = self.kept.read(CapsuleOwner::Project, &id).ok().flatten();
            if let Some(kept) = bytes.and_then(|bytes| capsule::read(&bytes).ok()) {
                self.announce(&kept);
            }
        }
    }

    /// Goes back until there.
    fn reach(&self, session: &SessionId) -> Option<Rc<SessionRecord>> {
        if let Some(record) = self.reached.borrow().get(session) {
            return Some(Rc::clone(record));
        }
        let mut way = self.way.borrow_mut();
        let wants = self.wants.borrow();
        loop {
            let (reached, told) = way.step(|session| wants.get(session).cloned())?.ok()?;
            if told.is_some() {
                self.readings.set(self.readings.get() + 1);
            }
            let record = SessionRecord {
                path: reached.path,
                foreign_through: reached.foreign_through,
                told: RefCell::new(told.map(Rc::new)),
            };
            let record = Rc::new(record);
            let mut all = self.reached.borrow_mut();
            all.insert(reached.session_id.clone(), Rc::clone(&record));
            if reached.session_id == *session {
                return Some(record);
            }
        }
    }
}

/// A session's file, with what it said of what was asked.
pub(super) struct SessionRecord {
    path: PathBuf,
    foreign_through: Seq,
    told: RefCell<Option<Rc<SessionTold>>>,
}

impl SessionRecord {
    /// That of the current session.
    pub(super) fn current(path: PathBuf, foreign_through: Seq) -> Self {
        Self {
            path,
            foreign_through,
            told: RefCell::default(),
        }
    }
}

/// How far a kept capsule says of its task what a session says: all of it, and nothing else.
fn tells_of(now: &CapsulesNow, told: &SessionTold, kept: &Capsule) -> io::Result<KeptSays> {
    match told.task(&kept.id, kept.origin.head.seq) {
        Some(task) => now.tells_of(kept, task),
        None => Ok(KeptSays::Else),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::fs;

    use serde_json::{Map, json};

    use super::*;
    use crate::core::agent::Party;
    use crate::core::entry::{
        Entry, EntryKind, Fate, NoteKind, Predecessor, SealedSession, TASK, TaskStep,
    };
    use crate::core::fold::fold;
    use crate::core::id::{CapsuleId, EntryId};
    use crate::wire::line::{GENESIS, Stored, parse, seal, serialize};

    /// A project with a chain of sealed sessions.
    struct Sealed {
        _place: tempfile::TempDir,
        dirs: ProjectDirs,
        last: Option<SealedSession>,
        kept: Vec<Capsule>,
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
                let (world, lines) = record(Party::Human, "one hour", decision, Some(&id));
                let task = world.tasks[&id].clone();
                let now = CapsulesNow::new(
                    self.dirs.root.clone(),
                    Arc::new(world),
                    Vec::new(),
                    Arc::new(Redactor::default()),
                    move |seq| Ok(lines.iter().find(|it| it.entry.seq == seq).cloned()),
                );
                self.kept.push(now.make(&task).unwrap().0);
            }
            let text: Vec<&str> = lines.iter().map(|stored| &*stored.line).collect();
            let file = self.dirs.archives().join(format!("{session}.jsonl"));
            fs::write(file, format!("{}\n", text.join("\n"))).unwrap();
            self.last = Some(SealedSession {
                session_id: session,
                head: lines.last().unwrap().hash.clone(),
            });
        }

        fn records(&self) -> SessionRecords {
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
            SessionRecords::new(self.dirs.clone(), &world, Arc::new(Redactor::default()))
        }
    }

    #[test]
    fn each_session_is_read_once_for_all_that_is_kept_of_it() {
        let mut project = Sealed::new();
        project.seal(1);
        project.seal(2);
        let records = project.records();
        for kept in &project.kept {
            records.announce(kept);
        }
        // In turn, as a list by age may have them.
        for at in [0, 3, 1, 4, 2, 5] {
            let kept = &project.kept[at];
            assert_eq!(records.say(kept), KeptSays::Same, "{at}");
        }
        assert_eq!(records.readings.get(), 2);
        let mut changed = project.kept[0].clone();
        changed.decisions[0].text = "for ever".to_owned();
        changed.digest = "another".to_owned();
        assert_eq!(records.say(&changed), KeptSays::Else);
        assert_eq!(records.readings.get(), 2);
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
        let records = project.records();
        for kept in &project.kept {
            assert_eq!(records.say(kept), KeptSays::Same);
        }
        assert_eq!(records.readings.get(), 2);
    }
}
