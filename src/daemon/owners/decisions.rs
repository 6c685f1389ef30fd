//! [`Decisions`]: what is decided about the agents' work.

use crate::daemon::decisions::approval_texts::ApprovalTexts;
use crate::daemon::decisions::approvals::Approvals;
use crate::daemon::decisions::gates::Gates;
use crate::daemon::decisions::imports::Imports;
use crate::daemon::decisions::pending_decisions::PendingDecisions;

/// Decisions about the agents' work, by the operator, by gates or by a review, that are not
/// recorded yet.
pub struct Decisions {
    pub(in crate::daemon) approvals: Approvals,
    pub(in crate::daemon) approval_texts: ApprovalTexts,
    pub(in crate::daemon) deciding: PendingDecisions,
    pub(in crate::daemon) gates: Gates,
    pub(in crate::daemon) imports: Imports,
}

impl Decisions {
    pub(super) fn since(now_ms: i64) -> Self {
        Self {
            approvals: Approvals::default(),
            approval_texts: ApprovalTexts::default(),
            deciding: PendingDecisions::default(),
            gates: Gates::numbered_from(now_ms),
            imports: Imports::default(),
        }
    }
}
