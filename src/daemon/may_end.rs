//! Whether the loop may end.

use tokio::time::Instant;

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

    /// Whether another process is to go on, and somebody was given something who may say any moment
    /// that it arrived.
    pub(super) fn waits_for_proofs(&self, base: &Base) -> bool {
        let until = base.operations.takeover().proofs_until();
        until.is_some_and(|until| Instant::now() < until) && self.outbox.backlog().has_claims()
    }

    /// Whether nothing more has to be waited for.
    pub(super) fn may_stop(&self, base: &Base) -> bool {
        // Another process gets nothing as long as a fact waits for the disk, which is asked again.
        let is_refused = base.operations.takeover().is_begun() && base.recorder.has_unwritten();
        let is_at_work = !self.is_settled(base) || self.waits_for_proofs(base) || is_refused;
        base.operations.may_stop(is_at_work)
    }
}
