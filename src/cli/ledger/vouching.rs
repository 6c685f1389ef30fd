//! [`Vouching`]: whether the record leads to what another session holds. Agents can write where
//! archives lie, and a chain has no key: of a session to which nothing leads nobody knows who wrote it.

use std::path::PathBuf;
use std::sync::Arc;

use crate::cli::disk;
use crate::core::id::{Seq, SessionId};
use crate::core::snapshot::Snapshot;
use crate::host::ProjectContext;
use crate::store::kept_sessions::KeptSessions;
use crate::wire::search::SearchHit;

/// What is said of one entry.
pub(in crate::cli) const FROM_ELSEWHERE: &str = "from elsewhere, nobody vouches for it";

/// What is said of a session.
const NO_WAY: &str =
    "no session of this project leads to it: it is from elsewhere, nobody vouches for it";

/// What is said of one that was edited since.
const BROKEN: &str = "it is not as it was sealed: nobody vouches for it";

/// What is said of one where the project itself came from elsewhere.
const NOT_KNOWN: &str = "the record of this project came from elsewhere (it was moved, or copied), and this session with \
     it: nobody vouches for it";

/// What is said of a session to which a record does not lead. `broken`: where the way back ends, at a
/// session that is not as it was sealed.
pub(super) fn why_apart(
    world: &Snapshot,
    session: &SessionId,
    broken: Option<&SessionId>,
) -> String {
    match (world.foreign_through, broken) {
        (Seq(0), None) => NO_WAY.to_owned(),
        (Seq(0), Some(broken)) if broken == session => BROKEN.to_owned(),
        (Seq(0), Some(broken)) => format!(
            "the way back from the record ends at {broken}, which is not as it was sealed: where \
             this one comes from nothing tells, and nobody vouches for it"
        ),
        (Seq(_), _) => NOT_KNOWN.to_owned(),
    }
}

/// The way back from the current session.
pub(super) struct Vouching {
    world: Arc<Snapshot>,
    sessions: KeptSessions,
}

impl Vouching {
    /// Of a project. Where its record cannot be read that leads nowhere.
    pub(super) fn of(setting: &ProjectContext) -> Self {
        let world = Arc::new(disk::snapshot(setting).unwrap_or_default());
        let current = disk::current(setting).ok().flatten();
        let path = current.map_or_else(PathBuf::default, |(_, path)| path);
        Self {
            sessions: KeptSessions::new(setting.dirs.clone(), Arc::clone(&world), path),
            world,
        }
    }

    /// What is to be said of a session where the record does not lead to it.
    pub(super) fn why_apart(&self, session: &SessionId) -> Option<String> {
        let sessions = &self.sessions;
        sessions
            .is_apart(session)
            .then(|| why_apart(&self.world, session, sessions.broken().as_ref()))
    }

    /// Marks what was found in a session, or in that which each names, where the record does not lead
    /// to it.
    pub(super) fn mark(&self, hits: &mut [SearchHit], session: Option<&SessionId>) {
        for hit in hits {
            let seq = Seq(hit.seq);
            let session = session.or(hit.session.as_ref());
            hit.apart = session.is_none_or(|session| {
                match self.world.session_id.as_ref() == Some(session) {
                    true => seq <= self.world.foreign_through,
                    false => !self.sessions.leads_to(session, seq),
                }
            });
        }
    }
}
