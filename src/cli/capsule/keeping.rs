//! What is kept of a task: as it stands when it is closed or goes out, which it is held against from
//! then on.

use super::maker::{CapsuleMaker, MadeCapsule};
use crate::cli::exit::Failure;
use crate::core::capsule::Capsule;
use crate::core::id::CapsuleId;
use crate::store::capsules::CapsuleOwner;

impl CapsuleMaker {
    /// Whether a kept file may be held against the work tree: of an open task only the one of which
    /// the record tells the digest.
    pub(in crate::cli) fn is_as_recorded(&self, id: &CapsuleId, kept: &Capsule) -> bool {
        let open = self.world.tasks.get(id).filter(|task| task.is_open());
        open.is_none_or(|task| self.world.has_kept(task, &kept.digest))
    }

    /// What went out is what a task is held against from now on. The digest of what is kept, for the
    /// record to tell.
    pub(super) fn keep(&self, made: &MadeCapsule) -> Option<String> {
        let digest = self.to_keep(made)?;
        let kept = self.kept.write(made.owner, &made.capsule.id, &made.bytes);
        if let Err(error) = kept {
            tracing::warn!(%error, "a capsule that went out could not be kept");
            return None;
        }
        self.to_record(&made.capsule.id, digest)
    }

    /// As [`Self::keep`], for a task that this keeps as it is: one that is closed already stays as it
    /// was then.
    pub(super) fn keep_task(&self, id: &CapsuleId) -> Result<Option<String>, Failure> {
        let made = self.named(id.as_str());
        let made = match (made, self.world.tasks.get(id)) {
            // What is kept of it is no capsule, and the record still tells of it.
            (Err(_), Some(task)) => self.make(task)?,
            (made, _) => made?,
        };
        let Some(digest) = self.to_keep(&made) else {
            return Ok(None);
        };
        let kept = self.kept.write(made.owner, id, &made.bytes);
        kept.map(|()| self.to_record(id, digest)).map_err(|error| {
            Failure::state(
                "unwritable",
                format!("the capsule of {id} could not be kept: {error}"),
                "see that the disk has room; `ctxrelay capsule show` makes it again from the record",
            )
        })
    }

    /// Of its own tasks alone the record tells what is kept.
    fn to_record(&self, id: &CapsuleId, digest: String) -> Option<String> {
        self.world.tasks.contains_key(id).then_some(digest)
    }

    /// The digest of a capsule that [`Self::keep`] would keep. A file that says something else than
    /// the record stays: nobody but a person can tell which of the two was changed.
    pub(super) fn to_keep(&self, made: &MadeCapsule) -> Option<String> {
        let is_kept = made.owner == CapsuleOwner::Project && made.is_vouched;
        is_kept.then(|| made.capsule.digest.clone())
    }
}
