//! What the operator does with what reviews say, and queries about it.

use serde::{Deserialize, Serialize};

use crate::id::{FindingId, RuntimeSession, Seq};
use crate::review::{FindingPlace, ImportedFinding};

/// The most findings of one [`ReviewChange::Import`]; more come in further ones.
pub const IMPORT_BATCH_MAX: usize = 500;

/// Arguments of [`Command::ChangeReview`](super::Command::ChangeReview).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewParams {
    /// What to do.
    pub change: ReviewChange,
    /// The pair; the connection's own when absent.
    pub runtime_session_id: Option<RuntimeSession>,
}

/// What to do with findings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReviewChange {
    /// Record what a review says.
    Import {
        /// Its findings, [`IMPORT_BATCH_MAX`] at most.
        findings: Vec<ImportedFinding>,
        /// With the last of them: all that the review says. What it does not say any more is gone.
        whole: Option<ReadReview>,
        /// The last entry before their origin was asked: what another import recorded behind it is
        /// newer. None where nobody was asked.
        #[serde(default, rename = "readAt", skip_serializing_if = "Option::is_none")]
        read_at: Option<Seq>,
    },
    /// It is dealt with.
    Resolve {
        finding: FindingId,
        reason: Option<String>,
    },
    /// It does not count.
    Dismiss {
        finding: FindingId,
        /// Why.
        reason: String,
    },
}

/// A review that was read to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadReview {
    pub review: String,
    /// All of its findings.
    pub findings: Vec<FindingId>,
}

/// Arguments of [`Command::ReadFinding`](super::Command::ReadFinding).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadFindingParams {
    pub finding: FindingId,
}

/// What a finding says, beside the file as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingText {
    pub finding: FindingId,
    /// Its words. Somebody else's text.
    pub text: String,
    /// Code that it would have instead.
    pub suggestions: Vec<String>,
    /// Where it stands in the work tree of now.
    pub place: FindingPlace,
}

/// Arguments of [`Command::ReadFindingPlaces`](super::Command::ReadFindingPlaces).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadFindingPlacesParams {
    /// At most [`FINDINGS_MAX`](crate::snapshot::FINDINGS_MAX) of them count. Empty: of those that are named as blockers.
    pub findings: Vec<FindingId>,
}

/// Where a finding stands in the work tree of now; nothing of the file is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlacedFinding {
    pub finding: FindingId,
    pub place: FindingPlace,
}
