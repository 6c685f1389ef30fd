//! [`Vouching`]: whether the record leads to what another session contains. Agents can write to the
//! folder of the archives, and a chain has no key: nobody knows who wrote a session to which
//! nothing leads.

use std::path::PathBuf;

use serde_json::Value;

use crate::cli::offline::disk;
use crate::core::id::{Seq, SessionId};
use crate::core::snapshot::Snapshot;
use crate::host::ProjectContext;
use crate::store::kept_sessions::KeptSessions;
use crate::wire::line::is_carried_foreign;
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

/// What is said of the current session where its first entries are somebody else's.
fn foreign_through(seq: Seq) -> String {
    format!("its entries up to {seq} are from elsewhere: nobody vouches for them")
}

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
    world: Snapshot,
    sessions: KeptSessions,
}

impl Vouching {
    /// Of a project. Where its record cannot be read that leads nowhere.
    pub(super) fn of(project: &ProjectContext) -> Self {
        let world = disk::snapshot(project).unwrap_or_default();
        let current = disk::current(project).ok().flatten();
        let path = current.map_or_else(PathBuf::default, |(_, path)| path);
        Self {
            sessions: KeptSessions::new(project.dirs.clone(), &world, path),
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

    /// Up to where a session is somebody else's word, and what is to be said of that, where it is the
    /// current one.
    pub(super) fn foreign_through(&self, session: &SessionId) -> Option<(Seq, String)> {
        let seq = self.world.foreign_through;
        let is_foreign = seq > Seq(0) && self.world.session_id.as_ref() == Some(session);
        is_foreign.then(|| (seq, foreign_through(seq)))
    }

    /// Whether an entry of a session is somebody else's, or the record does not lead to it.
    pub(super) fn is_apart(&self, session: &SessionId, seq: Seq) -> bool {
        match self.world.session_id.as_ref() == Some(session) {
            true => self.world.is_foreign(seq),
            false => !self.sessions.leads_to(session, seq),
        }
    }

    /// Marks what was found in a session, or in that which each names, where the record does not lead
    /// to it.
    pub(super) fn mark(&self, hits: &mut [SearchHit], session: Option<&SessionId>) {
        for hit in hits {
            let seq = Seq(hit.seq);
            let session = session.or(hit.session.as_ref());
            hit.apart |= session.is_none_or(|session| self.is_apart(session, seq));
        }
    }
}

/// Whose word is what was read of a session.
pub(super) struct Provenance {
    /// A session that was named, and what leads to it.
    named: Option<(SessionId, Vouching)>,
    /// Why nobody vouches for all of that.
    pub(super) apart: Option<String>,
    /// Up to where the current one is somebody else's, where none was named.
    foreign_through: u64,
}

impl Provenance {
    pub(super) fn of(project: &ProjectContext, named: Option<&str>, foreign_through: u64) -> Self {
        let named = named.map(|session| (SessionId::new(session), Vouching::of(project)));
        let apart = named.as_ref();
        let apart = apart.and_then(|(session, vouching)| vouching.why_apart(session));
        Self {
            named,
            apart,
            foreign_through,
        }
    }

    /// Whether nobody vouches for the entry at this place. Where that is so of all, it is said once.
    pub(super) fn is_apart(&self, place: u64, entry: &Value) -> bool {
        match &self.named {
            Some(_) if self.apart.is_some() => false,
            _ if is_carried_foreign(entry) => true,
            Some((session, vouching)) => vouching.is_apart(session, Seq(place)),
            None => place <= self.foreign_through,
        }
    }
}
