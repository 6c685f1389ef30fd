//! Signed decisions: what is signed, by whom, and what the record says of that.
//!
//! While the record says that decisions are signed, one without the right signature has no effect:
//! anybody who can write the project or append to the record still cannot decide. The key itself is
//! never here; it signs what [`DecisionStatement`], [`ActStatement`] and [`SigningStatement`]
//! write.

mod act;
mod act_signature;
mod change;
mod sign;
mod statement;

pub use act::{OperatorAct, TRUSTED};
pub use act_signature::{ACT_META, ActSignature};
pub use change::{META, SigningChange, SigningNotice, SigningRefused, SigningState};
pub use sign::SignedDecision;
pub use statement::{ActStatement, DecisionStatement, SignedPlace, SigningStatement};

use serde::{Deserialize, Serialize};

use crate::entry::{FinalityDecision, WorkTree};

/// Why a decision is not believed while decisions are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum NotSigned {
    /// It has no signature.
    #[error("it is not signed")]
    Missing,
    /// Another key signed it.
    #[error("it is signed by another key")]
    OtherSigner,
    /// What is signed is not the proposal as it stands in this record.
    #[error("its signature belongs to another proposal or record")]
    OtherHead,
    /// What is signed is not what the entry says.
    #[error("what is signed is something else")]
    OtherSubject,
    /// It closes what its proposal does not name.
    #[error("it closes handoffs that its proposal does not name")]
    OtherHandoffs,
    /// The signature is not one of this very statement.
    #[error("its signature is wrong")]
    Wrong,
}

/// What a decision is compared with: its proposal as the record has it.
#[derive(Debug, Clone, Copy)]
pub struct SignedProposal<'a> {
    /// The hash on its line; `None` where that is not known.
    pub head: Option<&'a str>,
    /// The handoffs that it would close.
    pub handles: &'a [crate::id::EntryId],
}

impl SigningState {
    /// Whether a decision is believed. `proposal`: the one that it names, where the record has it;
    /// without it there is nothing to decide, and only the signature itself is looked at.
    ///
    /// # Errors
    ///
    /// Why it is not.
    pub fn check(
        &self,
        decision: &FinalityDecision,
        proposal: Option<SignedProposal<'_>>,
    ) -> Result<(), NotSigned> {
        let signature = decision.signature.as_ref().ok_or(NotSigned::Missing)?;
        if signature.signer != self.notice.signer {
            return Err(NotSigned::OtherSigner);
        }
        if let Some(proposal) = proposal {
            if proposal.head != Some(signature.head.as_str()) {
                return Err(NotSigned::OtherHead);
            }
            if !decision.handles.is_empty()
                && (!decision.approved || decision.handles != proposal.handles)
            {
                return Err(NotSigned::OtherHandoffs);
            }
        }
        let place = self.notice.place.as_ref();
        let statement = DecisionStatement {
            project: place.map(|place| place.project.as_str()),
            head: &signature.head,
            proposal: &decision.proposal_id,
            tree: WorkTree::pin(decision.tree.as_ref()),
            approved: decision.approved,
        };
        let is_right = signature
            .signer
            .verifies(&statement.to_bytes(), &signature.value);
        is_right.then_some(()).ok_or(NotSigned::Wrong)
    }
}

#[cfg(test)]
mod tests;
