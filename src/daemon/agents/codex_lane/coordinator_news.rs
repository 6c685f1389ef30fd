//! [`CoordinatorNews`]: whether Codex has been told who writes to git now.

use crate::core::delivery::Backlog;
use crate::core::id::{EntryId, Seq, SessionId};

/// A change of who writes to git, by its place in the record.
pub(in crate::daemon) type CoordinatorChange = (SessionId, Seq);

/// What Codex is told, with a message, of changes of who writes to git.
#[derive(Debug, Default)]
pub(super) struct CoordinatorNews {
    /// The change of which it was told last.
    told: Option<CoordinatorChange>,
    /// The message with which a change is on its way.
    on_its_way: Option<(EntryId, CoordinatorChange)>,
}

impl CoordinatorNews {
    /// Whether this message is to tell of the change: it was not told, and no other message is on its
    /// way with it.
    pub(super) fn rides_with(&mut self, id: &EntryId, change: CoordinatorChange) -> bool {
        let is_told = self.told.as_ref() == Some(&change);
        let goes_with = self.on_its_way.as_ref();
        let has_other = goes_with.is_some_and(|(with, it)| with != id && *it == change);
        if is_told || has_other {
            return false;
        }
        self.on_its_way = Some((id.clone(), change));
        true
    }

    /// A message is in the conversation. The change that it told of.
    pub(super) fn arrived(&mut self, id: &EntryId) -> Option<CoordinatorChange> {
        let (_, change) = self.on_its_way.take_if(|(with, _)| with == id)?;
        self.told = Some(change.clone());
        Some(change)
    }

    /// A message did not get there, or nobody can know whether it did: the next one tells it.
    pub(super) fn came_back(&mut self, id: &EntryId) {
        self.on_its_way.take_if(|(with, _)| with == id);
    }

    /// Messages were settled without it.
    pub(super) fn forget_settled(&mut self, backlog: &Backlog) {
        self.on_its_way
            .take_if(|(with, _)| backlog.get(with).is_none());
    }
}
