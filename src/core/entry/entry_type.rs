//! [`EntryType`]: the word for a kind of entry, the ledger line's `type`.

use super::{ArtifactKind, EntryKind};
use crate::word::words;

words! {
    /// The `type` of an entry that this version writes. Another version may write others.
    pub closed enum EntryType {
        SessionStarted = "session_started",
        Message = "message",
        Handoff = "handoff",
        Note = "note",
        /// Also what a review or the operator says of a finding.
        Artifact = "artifact",
        ReleaseGate = "release_gate",
        FinalityProposal = "finality_proposal",
        FinalityDecision = "finality_decision",
        /// What somebody was seen to do.
        RuntimeEvent = "runtime_event",
        Error = "error",
    }
}

impl EntryKind {
    /// The `type` on the line.
    pub fn type_name(&self) -> &str {
        let known = match self {
            Self::SessionStarted { .. } => EntryType::SessionStarted,
            Self::Message(_) => EntryType::Message,
            Self::Handoff(_) => EntryType::Handoff,
            Self::Note { .. } => EntryType::Note,
            Self::Artifact(artifact) if artifact.kind == ArtifactKind::ReleaseGate => {
                EntryType::ReleaseGate
            }
            Self::Artifact(_) | Self::Finding(_) => EntryType::Artifact,
            Self::FinalityProposal(_) => EntryType::FinalityProposal,
            Self::FinalityDecision(_) => EntryType::FinalityDecision,
            Self::Delivery(_)
            | Self::AgentChanged(_)
            | Self::Turn(_)
            | Self::Approval(_)
            | Self::Continuity(_)
            | Self::Task(_)
            | Self::Lifecycle { .. } => EntryType::RuntimeEvent,
            Self::Error { .. } => EntryType::Error,
            Self::Other { entry_type, .. } => return entry_type,
        };
        known.as_str()
    }

    /// Whether it tells what somebody was seen to do, and is nobody's own word.
    pub fn is_runtime_event(&self) -> bool {
        self.type_name() == EntryType::RuntimeEvent.as_str()
    }
}
