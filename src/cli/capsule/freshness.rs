//! How capsules compare with the current work tree, in words.

use super::maker::{CapsuleMaker, MadeCapsule};
use crate::adapters::git::deadline::GitDeadline;
use crate::adapters::git::now::{GitAhead, GitNeed};
use crate::cli::exit::Failure;
use crate::core::capsule::{Capsule, CapsuleStatus, Freshness, StandsNow};
use crate::core::id::CapsuleId;
use crate::core::snapshot::TaskSnapshot;
use crate::store::capsules::CapsuleOwner;

impl CapsuleMaker {
    /// These are shown, and nothing is built on that: all that is told of git for them is asked at once,
    /// while they are read. How a task stands is not known where it is not told in time.
    pub(super) fn ask_git_ahead<'a>(
        &self,
        ids: impl Iterator<Item = &'a CapsuleId>,
        deadline: GitDeadline,
    ) {
        let is_open = |id: &CapsuleId| self.world.tasks.get(id).is_some_and(TaskSnapshot::is_open);
        let mut ids = ids.peekable();
        if ids.peek().is_none() {
            return;
        }
        // An open one is made as it is now.
        let need = match ids.any(is_open) {
            true => GitNeed::Stand,
            false => GitNeed::Tree,
        };
        let root = self.now.root().to_owned();
        self.now.ask_ahead(GitAhead::start(root, need, deadline));
    }

    /// A capsule as it is now, and how what went out of it last stands to the work tree.
    pub(super) fn freshness(&self, id: &CapsuleId) -> Result<(MadeCapsule, Freshness), Failure> {
        let mut made = self.named(id.as_str())?;
        let stands = self.compare_last(&mut made);
        Ok((made, stands.freshness))
    }

    /// How what went out of a capsule last stands to the work tree; the capsule itself, and a remark,
    /// where what is kept of an open task is none.
    pub(super) fn compare_last(&self, made: &mut MadeCapsule) -> StandsNow {
        let task = self.world.tasks.get(&made.capsule.id);
        let is_open_task = task.is_some_and(TaskSnapshot::is_open)
            && made.capsule.status == CapsuleStatus::Open
            && made.owner == CapsuleOwner::Project;
        let kept = is_open_task.then(|| self.last_kept(&made.capsule.id));
        match kept {
            Some(Ok(kept)) => {
                let stands = self.stands_of(&kept);
                let new = kept.remarks.into_iter();
                let new: Vec<_> = new.filter(|it| !made.remarks.contains(it)).collect();
                made.remarks.extend(new);
                return stands;
            }
            Some(Err(failure)) => made.remarks.push(failure.message),
            None => {}
        }
        self.stands_of(made)
    }

    /// How a capsule stands to the work tree, with how what went out of an open task last does.
    pub(super) fn stands_with_last(&self, made: &mut MadeCapsule) -> StandsNow {
        let last = self.compare_last(made);
        self.stands_of(made).since_out(last)
    }

    /// As [`Self::compare`], as it is told.
    pub(super) fn stands(&self, capsule: &Capsule) -> StandsNow {
        let (_, now) = self.compare(capsule);
        let mut stands = StandsNow::of(capsule, &now, &self.world);
        // Names of files are the sender's words too.
        let changed = stands.changed.iter_mut().map(|file| &mut file.path);
        let uncompared = stands.uncompared.iter_mut().map(|file| &mut file.path);
        for path in changed.chain(uncompared) {
            *path = self.now.masked(path);
        }
        stands
    }

    /// As [`Self::stands`]; what is made of the work tree of now needs no comparing.
    pub(super) fn stands_of(&self, made: &MadeCapsule) -> StandsNow {
        match made.is_of_now {
            true => StandsNow::of_now(&made.capsule),
            false => self.stands(&made.capsule),
        }
    }
}
