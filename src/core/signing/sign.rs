//! Signs with a key: the code that verifies a statement also writes what is signed. `sign` gives
//! the signature of the bytes, in hex.

use super::{
    ActSignature, ActStatement, DecisionStatement, OperatorAct, SignedPlace, SigningChange,
    SigningNotice, SigningState, SigningStatement,
};
use crate::entry::{DecisionSignature, WorkTree};
use crate::id::EntryId;
use crate::signer::Signer;

/// What goes with a decision that is signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedDecision {
    pub signature: DecisionSignature,
    /// The work tree that it was signed on.
    pub tree: Option<WorkTree>,
}

impl SigningNotice {
    /// Has a key announce itself.
    ///
    /// # Errors
    ///
    /// As `sign`.
    pub fn sign<E>(
        signer: Signer,
        place: Option<SignedPlace>,
        sign: impl FnOnce(&[u8]) -> Result<String, E>,
    ) -> Result<Self, E> {
        let statement = SigningStatement::On {
            signer: &signer,
            place: place.as_ref(),
        };
        let value = sign(&statement.to_bytes())?;
        Ok(Self {
            signer,
            place,
            value,
        })
    }
}

impl SigningState {
    fn project(&self) -> Option<&str> {
        self.notice
            .place
            .as_ref()
            .map(|place| place.project.as_str())
    }

    /// Signs a decision. `head`: the hash on the proposal's line; `tree`: the work tree of now
    /// ([`WorkTree::pin`](crate::entry::WorkTree::pin)).
    ///
    /// # Errors
    ///
    /// As `sign`.
    pub fn sign_decision<E>(
        &self,
        head: &str,
        proposal: &EntryId,
        tree: &str,
        approved: bool,
        sign: impl FnOnce(&[u8]) -> Result<String, E>,
    ) -> Result<DecisionSignature, E> {
        let statement = DecisionStatement {
            project: self.project(),
            head,
            proposal,
            tree,
            approved,
        };
        Ok(DecisionSignature {
            signer: self.notice.signer.clone(),
            head: head.to_owned(),
            value: sign(&statement.to_bytes())?,
        })
    }

    /// Signs another act; over nothing where the record has no hash to sign over.
    ///
    /// # Errors
    ///
    /// As `sign`.
    pub fn sign_act<E>(
        &self,
        act: OperatorAct,
        subject: &str,
        tree: &str,
        verdict: &str,
        sign: impl FnOnce(&[u8]) -> Result<String, E>,
    ) -> Result<ActSignature, E> {
        let head = self.head.clone().unwrap_or_default();
        let statement = ActStatement {
            project: self.project().unwrap_or_default(),
            act,
            head: &head,
            subject,
            tree,
            verdict,
        };
        let value = sign(&statement.to_bytes())?;
        Ok(ActSignature {
            signer: self.notice.signer.clone(),
            head,
            subject: subject.to_owned(),
            tree: tree.to_owned(),
            verdict: verdict.to_owned(),
            value,
        })
    }

    /// Signs that nothing is signed any more.
    ///
    /// # Errors
    ///
    /// As `sign`.
    pub fn sign_off<E>(
        &self,
        sign: impl FnOnce(&[u8]) -> Result<String, E>,
    ) -> Result<SigningChange, E> {
        let head = self.head.as_deref().unwrap_or_default();
        let value = sign(&SigningStatement::Off { head }.to_bytes())?;
        Ok(SigningChange::Off { value })
    }

    /// Signs, with the key so far, that another one signs from now on, or the same one more.
    ///
    /// # Errors
    ///
    /// As `sign`.
    pub fn sign_replacement<E>(
        &self,
        notice: SigningNotice,
        sign: impl FnOnce(&[u8]) -> Result<String, E>,
    ) -> Result<SigningChange, E> {
        let statement = SigningStatement::Replaced {
            head: self.head.as_deref().unwrap_or_default(),
            signer: &notice.signer,
            place: notice.place.as_ref(),
        };
        let value = sign(&statement.to_bytes())?;
        Ok(SigningChange::Replaced { notice, value })
    }
}
