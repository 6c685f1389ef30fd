//! [`ProposalSnapshot`]: a proposal, and what became of it.

use serde::{Deserialize, Serialize};

use crate::agent::Party;
use crate::entry::{FinalityDecision, FinalityProposal, ProposalState};
use crate::id::{EntryId, RuntimeSession, Seq};

/// A proposal that the work is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalSnapshot {
    pub id: EntryId,
    /// Its place in the ledger.
    pub seq: Seq,
    /// Who proposes.
    pub by: Party,
    /// When, ms since the epoch.
    pub at_ms: i64,
    /// What it says.
    pub proposal: FinalityProposal,
    /// The operator's answer, and when it was given.
    pub decision: Option<(FinalityDecision, i64)>,
    /// How it ended without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<ProposalEnd>,
    /// The pair that it belongs to.
    pub runtime_session: Option<RuntimeSession>,
    /// The hash on its line, over which a decision is signed; `None` of a record without a chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

impl ProposalSnapshot {
    /// Whether it waits for the operator.
    pub fn is_pending(&self) -> bool {
        self.decision.is_none() && self.ended.is_none()
    }

    /// Where it stands.
    pub fn state(&self) -> ProposalState {
        match (&self.decision, &self.ended) {
            (Some((decision, _)), _) => decision.verdict(),
            (None, None) => ProposalState::Pending,
            (None, Some(ProposalEnd::Withdrawn(_))) => ProposalState::Withdrawn,
            (None, Some(ProposalEnd::Superseded(_))) => ProposalState::Superseded,
        }
    }

    /// Why there is nothing to decide, of one that does not wait.
    pub fn why_over(&self) -> String {
        let by = match &self.ended {
            Some(end) => format!(" by entry {}", end.by()),
            None => String::new(),
        };
        let (id, state) = (&self.id, self.state());
        format!("proposal {id} does not wait any more: {state}{by}")
    }
}

/// How a proposal ended that nobody decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProposalEnd {
    /// Its agent took it back with this note.
    Withdrawn(EntryId),
    /// This later proposal resolves all of its handoffs.
    Superseded(EntryId),
}

impl ProposalEnd {
    /// The entry that ended it.
    pub fn by(&self) -> &EntryId {
        match self {
            Self::Withdrawn(by) | Self::Superseded(by) => by,
        }
    }
}
