//! What is asked about requests for approval.

use serde::{Deserialize, Serialize};

use crate::id::EntryId;

/// Arguments of [`Command::AnswerApproval`](super::Command::AnswerApproval).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerApprovalParams {
    /// The request.
    pub id: EntryId,
    /// One of its choices, by id.
    pub choice: String,
    /// What the agent is told with a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
