//! [`FactFence`]: keeps facts in their order across a failure.
//!
//! A fact whose append failed is sent to the writer again. A later fact that is in the queue by
//! then, or arrives before its sender hears of the failure, must not be recorded first: the end of
//! a turn would precede the proof that the turn had its message. So facts are sent in rounds. Once
//! one has failed, all facts of its round and of earlier ones fail as well, and the sender sends
//! them again in a later round, in their order.

use super::super::error::LedgerError;

/// Refuses the facts of failed rounds.
#[derive(Debug, Default)]
pub(super) struct FactFence {
    /// The last round in which a fact failed, and why it did.
    refused: Option<(u64, LedgerError)>,
}

impl FactFence {
    /// Whether a fact may be recorded; `None` is no fact.
    ///
    /// # Errors
    ///
    /// As the one before it, of the same round or a later one.
    pub(super) fn check(&self, fact: Option<u64>) -> Result<(), LedgerError> {
        match (fact, &self.refused) {
            (Some(round), Some((refused, error))) if round <= *refused => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// A fact failed, and is given again. `is_of_operator`: it speaks for the operator.
    pub(super) fn failed(&mut self, round: u64, error: &LedgerError, is_of_operator: bool) {
        let passes = match error {
            // It is not given again.
            LedgerError::Refused { .. } => true,
            // The head outside may refuse the operator's word for days. What the agents do is
            // recorded meanwhile.
            error => is_of_operator && error.is_of_head(),
        };
        if !passes {
            let refused = self.refused.as_ref().map_or(round, |(refused, _)| *refused);
            self.refused = Some((refused.max(round), error.clone()));
        }
    }
}
