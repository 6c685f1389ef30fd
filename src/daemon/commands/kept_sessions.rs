//! [`KeptSessions`]: whether a session of the project has the task of a kept capsule, and says what
//! that says. Agents can write where capsules are kept, and sessions that the record does not lead
//! back to vouch for nothing.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use crate::adapters::capsules_now::{CapsulesNow, KeptSays};
use crate::core::capsule::Capsule;
use crate::core::id::{CapsuleId, Seq, SessionId};
use crate::core::redact::Redactor;
use crate::core::snapshot::{Snapshot, TaskSnapshot};
use crate::store::dirs::{ProjectDirs, exists};
use crate::store::ledger::Reading;
use crate::store::sealed_way::{
    FileStamp, ReachedSession, SessionTold, SessionWants, reached, tasks_at_close,
};
use crate::wire::capsule::check_lines;

/// More than a project keeps capsules; beyond that they are all asked for anew.
const REMEMBERED_MAX: usize = 10_000;

/// A session is read whole for an answer, and agents ask again and again. By a capsule's digest and
/// the session's file.
static SAID: LazyLock<Mutex<HashMap<(String, FileStamp), KeptSays>>> =
    LazyLock::new(Mutex::default);

/// The sessions of a project in one moment.
pub(super) struct KeptSessions {
    dirs: ProjectDirs,
    world: Arc<Snapshot>,
    redactor: Arc<Redactor>,
    /// The record's file.
    path: PathBuf,
    /// Those that were asked for: each is read once.
    read: RefCell<HashMap<SessionId, Option<Rc<SealedTasks>>>>,
}

/// The lines of a session, and what its tasks were when they were closed.
struct SealedTasks {
    now: CapsulesNow,
    path: PathBuf,
    foreign_through: Seq,
    closed: BTreeMap<CapsuleId, TaskSnapshot>,
}

impl KeptSessions {
    pub(super) fn new(
        dirs: ProjectDirs,
        world: Arc<Snapshot>,
        redactor: Arc<Redactor>,
        path: PathBuf,
    ) -> Self {
        Self {
            dirs,
            world,
            redactor,
            path,
            read: RefCell::default(),
        }
    }

    /// Whether one of them says what a kept capsule says; `now` has the lines of the current one.
    pub(super) fn vouch_for(&self, now: &CapsulesNow, capsule: &Capsule) -> bool {
        check_lines(capsule).is_ok() && self.says(now, capsule) != KeptSays::Else
    }

    fn says(&self, now: &CapsulesNow, capsule: &Capsule) -> KeptSays {
        let session = &capsule.origin.session;
        let foreign_through = self.world.foreign_through;
        if self.world.session_id.as_ref() == Some(session) {
            // Of a task that is too old for the state of the record.
            let ask = || told(now, &self.path, foreign_through, None, capsule);
            return match foreign_through {
                // What stands before the place that it names stays as it is.
                Seq(0) => remembered(capsule, FileStamp::default(), ask),
                _ => ask().unwrap_or(KeptSays::Else),
            };
        }
        // An agent's file may name any session: for one that is not there no archive is read.
        let is_there = || {
            let name = format!("{session}.jsonl");
            let folders = [self.dirs.sessions(), self.dirs.archives()];
            folders.iter().any(|folder| exists(&folder.join(&name)))
        };
        if !SessionId::is_well_formed(session.as_str()) || !is_there() {
            return KeptSays::Else;
        }
        let Some(reached) = reached(&self.dirs, &self.world, session) else {
            return KeptSays::Else;
        };
        let Ok(file) = reached.path.symlink_metadata() else {
            return KeptSays::Else;
        };
        remembered(capsule, FileStamp::from(&file), || {
            let sealed = self.sealed(&reached);
            let sealed = sealed.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
            let closed = Some(&sealed.closed);
            let (path, foreign_through) = (&sealed.path, sealed.foreign_through);
            told(&sealed.now, path, foreign_through, closed, capsule)
        })
    }

    fn sealed(&self, reached: &ReachedSession) -> Option<Rc<SealedTasks>> {
        let session = reached.session_id.clone();
        let mut read = self.read.borrow_mut();
        let read = read.entry(session).or_insert_with(|| {
            let sealed = self.open(reached);
            sealed.ok().map(Rc::new)
        });
        read.clone()
    }

    fn open(&self, reached: &ReachedSession) -> io::Result<SealedTasks> {
        let (path, session) = (reached.path.clone(), &reached.session_id);
        let closed = tasks_at_close(&path, reached.foreign_through)?;
        let reading = Reading::open(&path, session, None, None)?;
        let world = Snapshot {
            session_id: Some(session.clone()),
            ..Snapshot::default()
        };
        let now = CapsulesNow::new(
            self.dirs.root.clone(),
            Arc::new(world),
            Vec::new(),
            Arc::clone(&self.redactor),
            move |seq| reading.read(seq),
        );
        Ok(SealedTasks {
            now,
            path,
            foreign_through: reached.foreign_through,
            closed,
        })
    }
}

/// How far a session says what a kept capsule says: all of what it cites, and nothing else of its
/// task. `closed`: its tasks at their close, where they were read.
fn told(
    now: &CapsulesNow,
    path: &Path,
    foreign_through: Seq,
    closed: Option<&BTreeMap<CapsuleId, TaskSnapshot>>,
    kept: &Capsule,
) -> io::Result<KeptSays> {
    let has_all = now.has_all(kept)?;
    if has_all == KeptSays::Else {
        return Ok(has_all);
    }
    let head = kept.origin.head.seq;
    let closed = closed.and_then(|closed| closed.get(&kept.id));
    let task = match closed.filter(|task| task.head == head) {
        Some(task) => Some(task.clone()),
        // It went out while it was open.
        None => {
            let mut wants = SessionWants::default();
            wants.add(kept);
            let told = SessionTold::read(path, foreign_through, wants)?;
            told.task(&kept.id, head).cloned()
        }
    };
    let says = task.map(|task| now.tells_of(kept, &task)).transpose()?;
    Ok(has_all.min(says.unwrap_or(KeptSays::Else)))
}

/// What cannot be read says something else, and is not remembered.
fn remembered(
    capsule: &Capsule,
    file: FileStamp,
    ask: impl FnOnce() -> io::Result<KeptSays>,
) -> KeptSays {
    let said = || SAID.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (capsule.digest.clone(), file);
    if let Some(says) = said().get(&key).copied() {
        return says;
    }
    let Ok(says) = ask() else {
        return KeptSays::Else;
    };
    let mut said = said();
    if said.len() >= REMEMBERED_MAX {
        said.clear();
    }
    said.insert(key, says);
    says
}
