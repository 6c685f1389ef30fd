//! [`KeptSessions`]: the project's sessions, as far as kept capsules are held against them.
//!
//! Agents can write where capsules are kept, and sessions that the record does not lead back to vouch
//! for nothing.

mod said_before;
#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use self::said_before::SaidBefore;
use crate::capsules::{CapsuleOwner, Capsules};
use crate::dirs::ProjectDirs;
use crate::sealed_way::{SessionTold, SessionWants, WayBack, file_of};
use ctxrelay_core::capsule::{Capsule, KeptSays};
use ctxrelay_core::id::{Seq, SessionId};
use ctxrelay_core::snapshot::{Snapshot, TaskSnapshot};
use ctxrelay_core::wire::capsule::{self, check_lines};

/// The sessions that the record leads back to, each of which may be gigabytes long: it is read once
/// for all capsules that were announced, and only when one of them is asked for; once more where one
/// was not announced.
#[derive(Debug)]
pub struct KeptSessions {
    dirs: ProjectDirs,
    world: Arc<Snapshot>,
    way: RefCell<WayBack>,
    current: SessionRecord,
    reached: RefCell<BTreeMap<SessionId, Rc<SessionRecord>>>,
    wants: RefCell<BTreeMap<SessionId, SessionWants>>,
    kept: Capsules,
    has_all_announced: Cell<bool>,
    /// How often one of them was read for what it says.
    readings: Cell<usize>,
}

/// What a kept capsule is held against.
#[derive(Debug)]
pub struct HeldAgainst {
    /// The lines of its session; none of the current one, which others have.
    pub lines: Option<Rc<SessionTold>>,
    /// Its task as it stood then, where the session knows it.
    pub task: Option<TaskSnapshot>,
}

/// A session's file, with what it said of what was asked.
#[derive(Debug)]
struct SessionRecord {
    path: PathBuf,
    foreign_through: Seq,
    told: RefCell<Option<Rc<SessionTold>>>,
}

impl KeptSessions {
    /// Those of a project, whose record lies at `path`.
    pub fn new(dirs: ProjectDirs, world: Arc<Snapshot>, path: PathBuf) -> Self {
        Self {
            way: RefCell::new(WayBack::new(&dirs, &world)),
            kept: Capsules::of(&dirs),
            has_all_announced: Cell::new(false),
            current: SessionRecord {
                path,
                foreign_through: world.foreign_through,
                told: RefCell::default(),
            },
            dirs,
            world,
            reached: RefCell::default(),
            wants: RefCell::default(),
            readings: Cell::new(0),
        }
    }

    /// It will be asked for.
    pub fn announce(&self, kept: &Capsule) {
        let mut wants = self.wants.borrow_mut();
        let session = kept.origin.session.clone();
        wants.entry(session).or_default().add(kept);
    }

    /// Whether a session lies here that the record does not lead back to.
    pub fn is_apart(&self, session: &SessionId) -> bool {
        self.world.session_id.as_ref() != Some(session)
            && file_of(&self.dirs, session).is_some()
            && self.reach(session).is_none()
    }

    /// Whether the record leads back to an entry of a session, and it is nobody else's word.
    pub fn leads_to(&self, session: &SessionId, seq: Seq) -> bool {
        self.reach(session)
            .is_some_and(|record| seq > record.foreign_through)
    }

    /// How far a kept capsule says what the session says that it names, as `hold` finds.
    pub fn say(
        &self,
        kept: &Capsule,
        hold: impl Fn(HeldAgainst) -> io::Result<KeptSays>,
    ) -> KeptSays {
        let session = &kept.origin.session;
        // An agent's file may name any session: for one that is not there no archive is read.
        if check_lines(kept).is_err() || file_of(&self.dirs, session).is_none() {
            return KeptSays::Else;
        }
        self.announce(kept);
        if self.world.session_id.as_ref() == Some(session) {
            // Of a task that is too old for the state of the record.
            let ask = || self.hold(&self.current, kept, &hold).ok();
            return match self.world.foreign_through {
                // What stands before the place that it names stays as it is.
                Seq(0) => SaidBefore::of_chain(&kept.digest).or_ask(ask),
                // What was said before the record was touched may not be believed any more.
                _ => ask().unwrap_or(KeptSays::Else),
            };
        }
        let Some(record) = self.reach(session) else {
            return KeptSays::Else;
        };
        let known = SaidBefore::of(&kept.digest, &record.path);
        known.map_or(KeptSays::Else, |known| {
            known.or_ask(|| self.hold(&record, kept, &hold).ok())
        })
    }

    fn hold(
        &self,
        record: &SessionRecord,
        kept: &Capsule,
        hold: impl Fn(HeldAgainst) -> io::Result<KeptSays>,
    ) -> io::Result<KeptSays> {
        let told = self.told(record, kept)?;
        let is_current = std::ptr::eq(record, &self.current);
        // Where git stood the session does not tell: the digest vouches for that.
        let is_told = told.has_kept(kept) != Some(false);
        let task = told.task(&kept.id, kept.origin.head.seq).cloned();
        // One that names a later entry would leave behind it what tells of its digest.
        let is_its_head = task
            .as_ref()
            .is_some_and(|task| task.head == kept.origin.head.seq);
        let says = hold(HeldAgainst {
            task,
            lines: (!is_current).then_some(told),
        })?;
        Ok(says.only(is_told && is_its_head))
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
