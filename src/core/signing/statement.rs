//! [`DecisionStatement`], [`SigningStatement`]: the very bytes that are signed.

use super::signer::Signer;
use crate::id::EntryId;

/// What no other use of the same key begins with. Raised with the version when a field changes.
const DECISION: &str = "ctxrelay decision v1\n";

/// As [`DECISION`].
const SIGNING: &str = "ctxrelay signing v1\n";

/// What the operator signs with a decision.
#[derive(Debug, Clone, Copy)]
pub struct DecisionStatement<'a> {
    /// The hash on the proposal's line.
    pub head: &'a str,
    /// The proposal.
    pub proposal: &'a EntryId,
    /// The work tree of the decision ([`WorkTree::pin`](crate::entry::WorkTree::pin)).
    pub tree: &'a str,
    /// Yes or no.
    pub approved: bool,
}

impl DecisionStatement<'_> {
    /// The bytes that are signed: for each two statements that differ they differ.
    pub fn to_bytes(&self) -> Vec<u8> {
        let verdict = match self.approved {
            true => "approved",
            false => "rejected",
        };
        written(
            DECISION,
            &[
                ("head", self.head),
                ("proposal", self.proposal.as_str()),
                ("tree", self.tree),
                ("verdict", verdict),
            ],
        )
    }
}

/// What is signed when signing itself changes.
#[derive(Debug, Clone, Copy)]
pub enum SigningStatement<'a> {
    /// This key signs from now on; by itself, which shows that whoever announces it has it.
    On(&'a Signer),
    /// Another key signs from now on; by the one that signed so far.
    Replaced {
        /// The hash on the line from which the one so far signs.
        head: &'a str,
        /// The new one.
        signer: &'a Signer,
    },
    /// Nothing is signed from now on; by the key that signed so far.
    Off {
        /// As of `Replaced`.
        head: &'a str,
    },
}

impl SigningStatement<'_> {
    /// As [`DecisionStatement::to_bytes`].
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::On(signer) => written(SIGNING, &[("on", signer.as_str())]),
            Self::Replaced { head, signer } => {
                written(SIGNING, &[("head", head), ("replaced", signer.as_str())])
            }
            Self::Off { head } => written(SIGNING, &[("head", head), ("off", "")]),
        }
    }
}

/// Each value with its length before it, so that no value can pass for two.
fn written(domain: &str, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut text = domain.to_owned();
    for (name, value) in fields {
        text.push_str(&format!("{name} {}:{value}\n", value.len()));
    }
    text.into_bytes()
}
