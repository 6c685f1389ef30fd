//! Messages that are kept back: they are not offered to anybody, and not returned to an agent that
//! asks, until they are released.

use std::collections::BTreeSet;

use super::Backlog;
use crate::delivery::{Delivery, DeliveryState};
use crate::id::{EntryId, RuntimeSession};

impl Backlog {
    /// Keeps a message back that waits. One that is on its way already goes on.
    pub fn keep_back(&mut self, id: &EntryId) {
        let waits = self
            .get(id)
            .is_some_and(|row| row.state == DeliveryState::Queued);
        if waits && self.kept_back.insert(id.clone()) {
            self.look_whether_free(id);
        }
    }

    /// Lets go what has no cause to be kept any more, and waits from then on: while it was kept back
    /// it could not leave, and that makes nothing of it expire. Returns what it was.
    pub fn let_go(&mut self, now_ms: i64, stays: impl Fn(&EntryId) -> bool) -> BTreeSet<EntryId> {
        let (kept, gone) = std::mem::take(&mut self.kept_back)
            .into_iter()
            .partition(|id| stays(id));
        self.kept_back = kept;
        for id in &gone {
            self.change(id, |row| row.delivery.changed_ms = now_ms);
            self.look_whether_free(id);
        }
        gone
    }

    pub fn is_kept_back(&self, id: &EntryId) -> bool {
        self.kept_back.contains(id)
    }

    pub fn kept_back(&self) -> impl Iterator<Item = &Delivery> {
        self.kept_back.iter().filter_map(|id| self.get(id))
    }

    /// How much of what is for the Claude of a pair is kept back.
    pub(super) fn kept_back_of(&self, pair: &RuntimeSession) -> usize {
        let of_claude = self
            .kept_back()
            .filter(|row| row.to == crate::agent::Agent::Claude && row.runtime_session == *pair);
        of_claude.count()
    }
}
