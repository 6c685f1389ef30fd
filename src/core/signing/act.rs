//! [`OperatorAct`]: what the operator signs besides decisions.

use crate::entry::{ArtifactKind, Entry, EntryKind, LifecycleEvent};
use crate::word::words;

/// What an act's statement says of the verdict on a configuration.
pub const TRUSTED: &str = "trusted";

words! {
    /// An act of the operator that carries a signature.
    pub closed enum OperatorAct {
        /// What `config.json` says counts.
        Trust = "trust",
        /// The session is over: archived, deleted or compacted.
        Clear = "clear",
        /// All required gates were run for a release.
        Release = "release",
    }
}

impl OperatorAct {
    /// The act that an entry tells of.
    pub fn of(entry: &Entry) -> Option<Self> {
        match &entry.kind {
            EntryKind::Lifecycle {
                event: LifecycleEvent::ConfigTrusted,
            } => Some(Self::Trust),
            EntryKind::Lifecycle {
                event: LifecycleEvent::SessionCleared | LifecycleEvent::SessionCompacted,
            } => Some(Self::Clear),
            // What an agent says of a release is a claim like any other.
            EntryKind::Artifact(artifact)
                if artifact.kind == ArtifactKind::ReleaseGate && entry.source.agent().is_none() =>
            {
                Some(Self::Release)
            }
            _ => None,
        }
    }
}
