//! [`BlockedOnce`]: messages that came with a prompt that another hook blocked.

use crate::core::id::EntryId;
use crate::daemon::base::bounded_map::BoundedMap;

/// The messages that were given once more for that reason. A hook that blocks every prompt would
/// block them again, without end if nobody counted.
#[derive(Debug, Default)]
pub(in crate::daemon) struct BlockedOnce {
    ids: BoundedMap<EntryId, ()>,
}

impl BlockedOnce {
    /// Whether a message was blocked.
    pub(in crate::daemon) fn is_known(&self, id: &EntryId) -> bool {
        self.ids.get(id).is_some()
    }

    /// A message was blocked. Whether it was for the first time.
    pub(in crate::daemon) fn is_first(&mut self, id: &EntryId) -> bool {
        let is_first = self.ids.get(id).is_none();
        self.ids.insert(id.clone(), ());
        is_first
    }
}
