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
use crate::sealed_way::{ReachedSession, SessionTold, SessionWants, WayBack, file_of};
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
    /// Where the record lies.
    path: PathBuf,
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

/// How far a kept capsule says what the session says that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionSays {
    pub says: KeptSays,
    /// The session tells the digest of what was kept. Where git stood it tells in no other way.
    pub has_digest: bool,
}

impl SessionSays {
    /// Something else.
    pub const ELSE: Self = Self {
        says: KeptSays::Else,
        has_digest: false,
    };
}

/// A session, with what it said of what was asked.
#[derive(Debug, Default)]
struct SessionRecord {
    /// None of the current one.
    reached: Option<ReachedSession>,
    told: RefCell<Option<Rc<SessionTold>>>,
}

impl KeptSessions {
    /// Those of a project, whose record lies at `path`.
    pub fn new(dirs: ProjectDirs, world: Arc<Snapshot>, path: PathBuf) -> Self {
        Self {
            way: RefCell::new(WayBack::new(&dirs, &world)),
            kept: Capsules::of(&dirs),
            has_all_announced: Cell::new(false),
            path,
            current: SessionRecord::default(),
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
        let record = self.reach(session);
        let reached = record.as_ref().and_then(|record| record.reached.as_ref());
        reached.is_some_and(|reached| seq > reached.foreign_through)
    }

    /// How far a kept capsule says what the session says that it names, as `hold` finds.
    pub fn say(
        &self,
        kept: &Capsule,
        hold: impl Fn(HeldAgainst) -> io::Result<KeptSays>,
    ) -> SessionSays {
        let session = &kept.origin.session;
        // An agent's file may name any session: for one that is not there no archive is read.
        if check_lines(kept).is_err() || file_of(&self.dirs, session).is_none() {
            return SessionSays::ELSE;
        }
        self.announce(kept);
        if self.world.session_id.as_ref() == Some(session) {
            // Of a task that is too old for the state of the record.
            let ask = || self.hold(&self.current, kept, &hold).ok();
            return match self.world.foreign_through {
                // What stands before the place that it names stays as it is.
                Seq(0) => SaidBefore::of_chain(&kept.digest).or_ask(ask),
                // What was said before the record was touched may not be believed any more.
                _ => ask().unwrap_or(SessionSays::ELSE),
            };
        }
        let Some(record) = self.reach(session) else {
            return SessionSays::ELSE;
        };
        let head = record.reached.as_ref().map_or("", ReachedSession::head);
        SaidBefore::of(&kept.digest, head).or_ask(|| self.hold(&record, kept, &hold).ok())
    }

    fn hold(
        &self,
        record: &SessionRecord,
        kept: &Capsule,
        hold: impl Fn(HeldAgainst) -> io::Result<KeptSays>,
    ) -> io::Result<SessionSays> {
        let told = self.told(record, kept)?;
        let is_current = record.reached.is_none();
        // Where git stood the session does not tell: the digest vouches for that.
        let has_kept = told.has_kept(kept);
        let task = told.task(&kept.id, kept.origin.head.seq).cloned();
        // One that names a later entry would leave behind it what tells of its digest.
        let is_its_head = task
            .as_ref()
            .is_some_and(|task| task.head == kept.origin.head.seq);
        let says = hold(HeldAgainst {
            task,
            lines: (!is_current).then_some(told),
        })?;
        Ok(SessionSays {
            says: says.only(has_kept != Some(false) && is_its_head),
            has_digest: has_kept.is_some(),
        })
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
        match &record.reached {
            Some(reached) => SessionTold::read_sealed(reached, wants),
            None => SessionTold::read(&self.path, self.world.foreign_through, wants),
        }
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
            let found = reached.session_id.clone();
            let record = Rc::new(SessionRecord {
                reached: Some(reached),
                told: RefCell::new(told.map(Rc::new)),
            });
            let mut all = self.reached.borrow_mut();
            all.insert(found.clone(), Rc::clone(&record));
            if found == *session {
                return Some(record);
            }
        }
    }
}
