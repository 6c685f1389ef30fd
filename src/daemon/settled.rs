//! Whether the loop may end.

use super::owners::Daemon;

impl Daemon {
    /// Whether nothing is on its way to the disk, and nothing waits for that.
    pub(super) fn is_settled(&self) -> bool {
        self.recorder.pending_count() == 0
            && self.held.is_empty()
            && self.later.is_empty()
            && !self.outbox.is_writing()
            && !self.operations.is_beside()
    }

    /// Whether nothing more has to be waited for.
    pub(super) fn may_stop(&self) -> bool {
        self.operations.may_stop(!self.is_settled())
    }
}
