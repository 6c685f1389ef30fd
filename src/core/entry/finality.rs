//! [`FinalityProposal`] and [`FinalityDecision`]: the claim that work is done, and what the
//! operator says. [`DecisionSignature`]: what a signed decision carries. [`ProposalState`]: a
//! proposal's state.

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::id::{EntryId, Seq};
use crate::signer::Signer;
use crate::word::words;

/// A proposal that the work is done; the content is a readable rendering.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinalityProposal {
    /// What is done.
    pub summary: String,
    /// Why one should believe it.
    pub evidence: Vec<String>,
    /// What may still be wrong.
    pub remaining_risk: Option<String>,
    /// Handoffs that it would close.
    pub handles: Vec<EntryId>,
    /// The state of the work tree when it was proposed.
    pub tree: Option<WorkTree>,
}

/// A commit and the tree of everything that lies in the work tree, tracked or not yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkTree {
    /// `HEAD`, or `None` in a repository without a commit.
    pub commit: Option<String>,
    /// The git tree id of the work tree as it lies there.
    pub tree: String,
    /// Files that differ from the commit.
    pub changed: u64,
}

impl WorkTree {
    /// What stands for a tree that git could not tell.
    pub const UNKNOWN: &str = "unknown";

    /// What names the content of the work tree: equal exactly when nothing changed. A commit of
    /// what lay there changes nothing.
    pub fn pin(tree: Option<&Self>) -> &str {
        tree.map_or(Self::UNKNOWN, |tree| &tree.tree)
    }
}

/// What came of reading the work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeFound {
    /// There is no repository, so that nothing names what lies there.
    NoRepository,
    /// There is one, and what lies there now is not known: git refused, took too long, or there
    /// are more repositories within than are read.
    Unreadable,
    Read(WorkTree),
}

impl TreeFound {
    /// What stands for a tree that could not be read. Nothing was ever proposed on it, so that it is
    /// never what was proposed.
    pub const UNREADABLE: &str = "unreadable";

    /// As [`WorkTree::pin`].
    pub fn pin(&self) -> &str {
        match self {
            Self::NoRepository => WorkTree::UNKNOWN,
            Self::Unreadable => Self::UNREADABLE,
            Self::Read(tree) => &tree.tree,
        }
    }

    pub fn tree(&self) -> Option<&WorkTree> {
        match self {
            Self::Read(tree) => Some(tree),
            Self::NoRepository | Self::Unreadable => None,
        }
    }

    /// For the record, which has no word for one that could not be read.
    pub fn into_tree(self) -> Option<WorkTree> {
        match self {
            Self::Read(tree) => Some(tree),
            Self::NoRepository | Self::Unreadable => None,
        }
    }

    pub fn is_unreadable(&self) -> bool {
        *self == Self::Unreadable
    }
}

impl From<Option<WorkTree>> for TreeFound {
    fn from(tree: Option<WorkTree>) -> Self {
        tree.map_or(Self::NoRepository, Self::Read)
    }
}

/// What a decision carries while decisions are signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionSignature {
    pub signer: Signer,
    /// The hash on the proposal's line, and so the head of the chain up to and with it.
    pub head: String,
    /// The signature of the [`DecisionStatement`](crate::signing::DecisionStatement), in hex.
    pub value: String,
}

/// What the operator said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinalityDecision {
    pub proposal_id: EntryId,
    /// Yes or no.
    pub approved: bool,
    /// Why; always given for a rejection.
    pub reason: Option<String>,
    /// The state of the work tree at the moment of the decision.
    pub tree: Option<WorkTree>,
    /// Handoffs that the decision closes.
    pub handles: Vec<EntryId>,
    /// The last entry that the operator had seen by then: an approval ends no blocker behind it. None
    /// in a record of a version that did not look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Seq>,
    /// Agents that a message tells of it. None in a record of a version that told nobody.
    pub tells: Vec<Agent>,
    /// The runs of gates by which mode `auto` approved; none where the operator decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<EntryId>,
    /// The operator's signature, while decisions are signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<DecisionSignature>,
}

impl FinalityDecision {
    /// Only the verdict.
    pub fn of(proposal_id: EntryId, approved: bool) -> Self {
        Self {
            proposal_id,
            approved,
            reason: None,
            tree: None,
            handles: Vec::new(),
            tells: Vec::new(),
            runs: Vec::new(),
            seen: None,
            signature: None,
        }
    }

    /// Whether the gates decided, and not the operator.
    pub fn is_auto(&self) -> bool {
        !self.runs.is_empty()
    }

    pub fn verdict(&self) -> ProposalState {
        match self.approved {
            true => ProposalState::Approved,
            false => ProposalState::Rejected,
        }
    }
}

words! {
    /// Where a proposal stands, in a word for JSON and people.
    pub enum ProposalState {
        Pending = "pending",
        Approved = "approved",
        Rejected = "rejected",
        Withdrawn = "withdrawn",
        Superseded = "superseded",
    }
}
