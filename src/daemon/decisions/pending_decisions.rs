//! [`PendingDecisions`]: proposals whose decision is being recorded. A proposal is decided once.

use std::collections::HashSet;

use crate::core::id::EntryId;
use crate::wire::control::Refusal;

/// Proposals whose decision is on its way to the record.
#[derive(Debug, Default)]
pub(in crate::daemon) struct PendingDecisions {
    proposals: HashSet<EntryId>,
}

impl PendingDecisions {
    /// Refuses whatever would change a proposal that is being decided.
    pub(in crate::daemon) fn check(&self, proposal: &EntryId) -> Result<(), Refusal> {
        if !self.proposals.contains(proposal) {
            return Ok(());
        }
        Err(Refusal::in_flight(
            "a decision on this proposal is just being recorded",
            "look again: `ctxrelay finality list`",
        ))
    }

    /// A decision is on its way.
    pub(in crate::daemon) fn begin(&mut self, proposal: EntryId) {
        self.proposals.insert(proposal);
    }

    /// It was recorded, or refused.
    pub(in crate::daemon) fn end(&mut self, proposal: &EntryId) {
        self.proposals.remove(proposal);
    }
}
