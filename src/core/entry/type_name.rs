//! The word for a kind of entry: the ledger line's `type`.

use super::{ArtifactKind, EntryKind};

const RUNTIME_EVENT: &str = "runtime_event";

impl EntryKind {
    /// The `type` on the line.
    pub fn type_name(&self) -> &str {
        match self {
            Self::SessionStarted { .. } => "session_started",
            Self::Message(_) => "message",
            Self::Handoff(_) => "handoff",
            Self::Note { .. } => "note",
            Self::Artifact(artifact) if artifact.kind == ArtifactKind::ReleaseGate => {
                "release_gate"
            }
            Self::Artifact(_) | Self::Finding(_) => "artifact",
            Self::FinalityProposal(_) => "finality_proposal",
            Self::FinalityDecision(_) => "finality_decision",
            Self::Delivery(_)
            | Self::AgentChanged(_)
            | Self::Turn(_)
            | Self::Approval(_)
            | Self::Continuity(_)
            | Self::Task(_)
            | Self::Lifecycle { .. } => RUNTIME_EVENT,
            Self::Error { .. } => "error",
            Self::Other { entry_type, .. } => entry_type,
        }
    }

    /// Whether it tells what somebody was seen to do, and is nobody's own word.
    pub fn is_runtime_event(&self) -> bool {
        self.type_name() == RUNTIME_EVENT
    }
}
