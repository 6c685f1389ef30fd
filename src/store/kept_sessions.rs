//! [`KeptSessions`]: the project's sessions, as far as they vouch for kept capsules.
//!
//! Agents can write where capsules are kept, so a session vouches for one only by its digest, and a
//! session that the record does not lead back to vouches for nothing.

#[cfg(test)]
mod tests;

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex};

use crate::dirs::ProjectDirs;
use crate::ledger;
use crate::sealed_way::{KeptDigests, ReachedSession, WayBack, file_of};
use ctxrelay_core::capsule::Capsule;
use ctxrelay_core::id::{Seq, SessionId};
use ctxrelay_core::lock::lock;
use ctxrelay_core::snapshot::Snapshot;

/// More than a project keeps capsules; beyond that the current record is read again.
const REMEMBERED_MAX: usize = 10_000;

/// Whether the current record vouches for a capsule, by the digest of that, which is of its session
/// too: the deck lists the tasks again and again. What is kept later has another digest.
static OF_CURRENT: LazyLock<Mutex<HashMap<String, bool>>> = LazyLock::new(Mutex::default);

/// The current session, and those that the record leads back to, each of which may be gigabytes long:
/// it is read only when something is asked of it.
#[derive(Debug)]
pub struct KeptSessions {
    dirs: ProjectDirs,
    /// The current one, and up to where it is somebody else's word.
    session: Option<SessionId>,
    foreign_through: Seq,
    way: RefCell<WayBack>,
    /// Where the way back ends, at a session that is not as it was sealed.
    broken: RefCell<Option<SessionId>>,
    /// Where the record lies.
    path: PathBuf,
    current: OnceCell<KeptDigests>,
    reached: RefCell<BTreeMap<SessionId, ReachedSession>>,
}

impl KeptSessions {
    /// Those of a project, whose record lies at `path`. Reads nothing yet, and does not keep the
    /// world.
    pub fn new(dirs: ProjectDirs, world: &Snapshot, path: PathBuf) -> Self {
        Self {
            session: world.session_id.clone(),
            foreign_through: world.foreign_through,
            way: RefCell::new(WayBack::new(&dirs, world)),
            path,
            broken: RefCell::default(),
            current: OnceCell::new(),
            dirs,
            reached: RefCell::default(),
        }
    }

    /// Whether a session lies here that the record does not lead back to.
    pub fn is_apart(&self, session: &SessionId) -> bool {
        self.session.as_ref() != Some(session)
            && file_of(&self.dirs, session).is_some()
            && self.reach(session).is_none()
    }

    /// Where the way back from the record ends, if it ends at a session that is not as it was sealed;
    /// as far as it was gone.
    pub fn broken(&self) -> Option<SessionId> {
        self.broken.borrow().clone()
    }

    /// Whether the record leads back to an entry of a session, and it is nobody else's word.
    pub fn leads_to(&self, session: &SessionId, seq: Seq) -> bool {
        let reached = self.reach(session);
        reached.is_some_and(|reached| seq > reached.foreign_through)
    }

    /// Whether the session that a capsule names says that just this one was kept.
    pub fn vouch_for(&self, kept: &Capsule) -> bool {
        let session = &kept.origin.session;
        if self.session.as_ref() == Some(session) {
            return self.current_has(kept);
        }
        // An agent's file may name any session: for one that is not there no archive is read.
        file_of(&self.dirs, session).is_some()
            && self
                .reach(session)
                .is_some_and(|reached| reached.kept.has(kept))
    }

    /// As [`Self::vouch_for`], of a task that is too old for the state of the record.
    fn current_has(&self, kept: &Capsule) -> bool {
        // What was said before the record was touched may not be believed any more.
        let is_whole = self.foreign_through == Seq(0);
        let known = || lock(&OF_CURRENT);
        if let Some(has) = known().get(&kept.digest).copied().filter(|_| is_whole) {
            return has;
        }
        if self.current.get().is_none() {
            match self.read_current(is_whole) {
                Ok(read) => _ = self.current.set(read),
                Err(_) => return false,
            }
        }
        let has = self.current.get().is_some_and(|told| told.has(kept));
        if is_whole {
            let mut known = known();
            if known.len() >= REMEMBERED_MAX {
                known.clear();
            }
            known.insert(kept.digest.clone(), has);
        }
        has
    }

    fn read_current(&self, is_whole: bool) -> io::Result<KeptDigests> {
        let mut told = KeptDigests::default();
        let stats = ledger::read(&self.path, |stored| {
            told.hear(&stored.entry);
            ControlFlow::Continue(())
        })?;
        if is_whole && !stats.chain_ok {
            return Err(io::Error::other("the record was changed by somebody else"));
        }
        told.believe_after(self.foreign_through);
        Ok(told)
    }

    /// Goes back until there.
    fn reach(&self, session: &SessionId) -> Option<ReachedSession> {
        let mut reached = self.reached.borrow_mut();
        while !reached.contains_key(session) {
            match self.way.borrow_mut().next()? {
                Ok(next) => _ = reached.insert(next.session_id.clone(), next),
                Err(broken) => *self.broken.borrow_mut() = Some(broken),
            }
        }
        reached.get(session).cloned()
    }
}
