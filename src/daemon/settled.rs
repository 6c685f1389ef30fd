//! Whether the loop may end.

use tokio::time::Instant;

use super::owners::Daemon;

impl Daemon {
    /// Whether nothing is on its way to the disk, and nothing waits for that.
    pub(super) fn is_settled(&self) -> bool {
        self.base.recorder.pending_count() == 0
            && self.deliveries.held.is_empty()
            && self.base.later.is_empty()
            && !self.deliveries.outbox.is_writing()
            && !self.base.operations.is_beside()
    }

    /// Whether another process is to go on, and somebody was given something who may say any moment
    /// that it arrived.
    pub(super) fn waits_for_proofs(&self) -> bool {
        let until = self.base.operations.takeover().proofs_until();
        until.is_some_and(|until| Instant::now() < until)
            && self.deliveries.outbox.backlog().has_claims()
    }

    /// Whether nothing more has to be waited for.
    pub(super) fn may_stop(&self) -> bool {
        let is_at_work = !self.is_settled() || self.waits_for_proofs();
        self.base.operations.may_stop(is_at_work)
    }
}
