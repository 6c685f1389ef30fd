//! Whether the loop may end.

use super::owners::{Base, Deliveries};

impl Deliveries {
    /// Whether nothing is on its way to the disk, and nothing waits for that.
    pub(super) fn is_settled(&self, base: &Base) -> bool {
        base.recorder.pending_count() == 0
            && self.held.is_empty()
            && base.later.is_empty()
            && !self.outbox.is_writing()
            && !base.operations.is_beside()
    }

    /// Whether nothing more has to be waited for.
    pub(super) fn may_stop(&self, base: &Base) -> bool {
        let is_at_work = !self.is_settled(base) || self.keeps_next_waiting(base);
        base.operations.may_stop(is_at_work)
    }
}
