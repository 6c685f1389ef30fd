//! Keeps a copy of a task when it is closed or exported; from then on the task is compared with it.

use super::maker::{CapsuleMaker, MadeCapsule};
use crate::cli::connection::record_now::RecordNow;
use crate::cli::exit::Failure;
use crate::core::capsule::Capsule;
use crate::core::id::{CapsuleId, Seq};
use crate::core::snapshot::TaskSnapshot;
use crate::host::ProjectContext;
use crate::store::capsules::{CapsuleOwner, Capsules};
use crate::wire::control::ProgramCode;
use crate::wire::search::{FoundHit, FoundIn};

impl CapsuleMaker {
    /// Whether a kept file may be held against the work tree: of a task of the record only the one of
    /// which that tells the digest, since its close where it is closed.
    pub(in crate::cli) fn is_as_recorded(&self, id: &CapsuleId, kept: &Capsule) -> bool {
        let (world, digest) = (&self.world, &kept.digest);
        world.tasks.get(id).is_none_or(|task| match task.is_open() {
            true => world.has_kept(task, digest),
            false => world.has_kept_since_close(task, digest) == Some(true),
        })
    }

    /// Whether the record says of an open task that something is kept of it.
    pub(in crate::cli) fn tells_of_kept(&self, id: &CapsuleId) -> bool {
        let open = self.world.tasks.get(id).filter(|task| task.is_open());
        open.is_some_and(|task| self.world.tells_of_kept(task))
    }

    /// Whether the record leads to an entry that was found: anybody can put a file among the archives.
    pub(in crate::cli) fn leads_to(&self, found: &FoundHit) -> bool {
        let seq = Seq(found.hit.seq);
        match (found.kind, &found.hit.session) {
            (FoundIn::Record, _) => !self.world.is_foreign(seq),
            (FoundIn::Archive, Some(session)) => {
                // The entry may say itself that it was brought.
                !found.unvouched && self.sessions.leads_to(session, seq)
            }
            (FoundIn::Archive, None) => false,
            (FoundIn::Capsule, _) => true,
        }
    }

    /// What went out is what a task is held against from now on. The digest of what is kept, for the
    /// record to tell; none where nothing is to be kept.
    ///
    /// # Errors
    ///
    /// When the disk does not take it.
    pub(super) fn keep(&self, made: &MadeCapsule) -> Result<Option<String>, Failure> {
        self.keeping(made).map_or(Ok(None), Keeping::keep)
    }

    /// The same, to be done later: what is kept then is this one, where its task is not closed by then.
    /// None where nothing is to be kept.
    pub(super) fn keeping(&self, made: &MadeCapsule) -> Option<Keeping> {
        let digest = self.to_keep(made)?;
        let id = made.capsule.id.clone();
        Some(Keeping {
            kept: self.kept.clone(),
            owner: made.owner,
            is_open: made.is_of_now,
            bytes: made.bytes.clone(),
            told: self.to_record(&id, digest),
            id,
        })
    }

    /// As [`Self::keep`], for a task that was closed just now: the work tree of now is that of its
    /// close.
    pub(super) fn keep_closed(&self, id: &CapsuleId) -> Result<Option<String>, Failure> {
        match self.world.tasks.get(id) {
            Some(task) => self.keep(&self.make(task)?),
            None => Ok(None),
        }
    }

    /// Of its own tasks alone the record tells what is kept.
    fn to_record(&self, id: &CapsuleId, digest: String) -> Option<String> {
        self.world.tasks.contains_key(id).then_some(digest)
    }

    /// The digest of a capsule that [`Self::keep`] would keep. A file that says something else than
    /// the record stays: nobody but a person can tell which of the two was changed.
    pub(super) fn to_keep(&self, made: &MadeCapsule) -> Option<String> {
        let is_kept = made.owner == CapsuleOwner::Project && made.is_vouched;
        // Of a task that the record does not hold nothing can tell the digest of another file than the
        // one that is there.
        let is_told = || {
            self.world.tasks.contains_key(&made.capsule.id)
                || self.sessions.vouch_for(&made.capsule)
        };
        (is_kept && is_told()).then(|| made.capsule.digest.clone())
    }
}

/// A capsule that is to be kept as it was made.
#[derive(Debug)]
pub(super) struct Keeping {
    kept: Capsules,
    owner: CapsuleOwner,
    id: CapsuleId,
    /// Its task was open when it was made.
    is_open: bool,
    bytes: Vec<u8>,
    /// Its digest, where the record is to tell that.
    told: Option<String>,
}

impl Keeping {
    /// As [`Self::keep`], a while after it was made: of a task that was closed meanwhile the close keeps
    /// where git stood then, which nobody can tell again.
    ///
    /// # Errors
    ///
    /// When the disk does not take it, or neither the daemon nor the disk tells of the task.
    pub(super) fn keep_open(self, project: &ProjectContext) -> Result<Option<String>, Failure> {
        if self.is_open {
            let now = RecordNow::open(project)?;
            let task = now.world().tasks.get(&self.id);
            if !task.is_some_and(TaskSnapshot::is_open) {
                return Ok(None);
            }
        }
        self.keep()
    }

    /// Keeps it; its digest, for the record to tell.
    ///
    /// # Errors
    ///
    /// When the disk does not take it.
    pub(super) fn keep(self) -> Result<Option<String>, Failure> {
        let id = &self.id;
        let kept = self.kept.write(self.owner, id, &self.bytes);
        kept.map(|()| self.told).map_err(|error| {
            Failure::state(
                ProgramCode::Unwritable,
                format!("the capsule of {id} could not be kept: {error}"),
                "see that the disk has room; the task stands in the record, and is shown on the work \
                 tree of now",
            )
        })
    }
}

/// Of one that was kept later.
pub(super) const KEPT_LATE: &str = "it was not kept when it was closed: where git stood, and its files, are as of when it went out";

/// Why what is kept of an open task is held against nothing.
pub(super) fn not_as_recorded(id: &CapsuleId) -> String {
    format!(
        "what is kept of {id} is not what the record says went out last: this is the task as it is \
         now, and exporting it anew keeps that"
    )
}
