//! [`DecisionStatement`], [`ActStatement`], [`SigningStatement`]: exactly the bytes that are
//! signed. [`SignedPlace`]: where a key announced itself.

use serde::{Deserialize, Serialize};

use super::act::OperatorAct;
use crate::id::{EntryId, SessionId};
use crate::signer::Signer;

/// What no other use of the same key begins with. Raised with the version when a field changes.
const DECISION: &str = "ctxrelay decision v1\n";

/// As [`DECISION`], of a record in which every act of the operator is signed.
const DECISION_2: &str = "ctxrelay decision v2\n";

/// As [`DECISION`].
const ACT: &str = "ctxrelay act v1\n";

/// As [`DECISION`].
const SIGNING: &str = "ctxrelay signing v1\n";

/// What the operator signs with a decision.
#[derive(Debug, Clone, Copy)]
pub struct DecisionStatement<'a> {
    /// The project, where the record says that every act is signed.
    pub project: Option<&'a str>,
    /// The hash on the proposal's line.
    pub head: &'a str,
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
        let fields = [
            ("head", self.head),
            ("proposal", self.proposal.as_str()),
            ("tree", self.tree),
            ("verdict", verdict),
        ];
        match self.project {
            None => written(DECISION, &fields),
            Some(project) => {
                let fields: Vec<_> = std::iter::once(("project", project))
                    .chain(fields)
                    .collect();
                written(DECISION_2, &fields)
            }
        }
    }
}

/// What the operator signs with any other act.
#[derive(Debug, Clone, Copy)]
pub struct ActStatement<'a> {
    pub project: &'a str,
    /// What is done.
    pub act: OperatorAct,
    /// The hash on the line of the act before, so that each signature counts once.
    pub head: &'a str,
    /// What it is done to.
    pub subject: &'a str,
    /// The work tree, where there is one ([`WorkTree::pin`](crate::entry::WorkTree::pin)).
    pub tree: &'a str,
    pub verdict: &'a str,
}

impl ActStatement<'_> {
    /// As [`DecisionStatement::to_bytes`].
    pub fn to_bytes(&self) -> Vec<u8> {
        written(
            ACT,
            &[
                ("project", self.project),
                ("act", self.act.as_str()),
                ("head", self.head),
                ("subject", self.subject),
                ("tree", self.tree),
                ("verdict", self.verdict),
            ],
        )
    }
}

/// Where a key announced itself. What it signs there counts nowhere else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedPlace {
    /// The project's id.
    pub project: String,
    /// The session of the record. Only one that begins with a signed entry goes on from it.
    pub session: SessionId,
}

/// What is signed when signing itself changes.
#[derive(Debug, Clone, Copy)]
pub enum SigningStatement<'a> {
    /// This key signs from now on; signed by itself, which shows that its announcer has it.
    On {
        /// The key.
        signer: &'a Signer,
        /// Where it announces itself, when it signs every act.
        place: Option<&'a SignedPlace>,
    },
    /// Another key signs from now on; by the one that signed so far.
    Replaced {
        /// The hash on the line from which the one so far signs.
        head: &'a str,
        /// The new one.
        signer: &'a Signer,
        /// As of `On`.
        place: Option<&'a SignedPlace>,
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
        let (mut fields, place) = match self {
            Self::On { signer, place } => (vec![("on", signer.as_str())], *place),
            Self::Replaced {
                head,
                signer,
                place,
            } => (vec![("head", *head), ("replaced", signer.as_str())], *place),
            Self::Off { head } => (vec![("head", *head), ("off", "")], None),
        };
        if let Some(place) = place {
            let session = place.session.as_str();
            fields.extend([("project", place.project.as_str()), ("session", session)]);
        }
        written(SIGNING, &fields)
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
