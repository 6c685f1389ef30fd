//! Queries and answers about requests for approval.

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::entry::ApprovalRequest;
use crate::id::{EntryId, RuntimeSession};

/// Arguments of [`Command::AnswerApproval`](super::Command::AnswerApproval).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerApprovalParams {
    /// The request.
    pub id: EntryId,
    /// One of its choices, by id.
    pub choice: String,
    /// What the agent is told with a refusal or with the answer to its question, and where the
    /// choice is an answer in own words, that answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Arguments of [`Command::AskApproval`](super::Command::AskApproval).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AskApprovalParams {
    /// What is asked.
    pub request: ApprovalRequest,
    /// What else the person should read.
    #[serde(default)]
    pub details: String,
    /// The Claude that asks.
    pub claude_pid: Option<u32>,
    /// Names the use of the tool that it is about, as [`HookParams::tool_use`] does when it ran.
    ///
    /// [`HookParams::tool_use`]: super::HookParams::tool_use
    pub tool_use: Option<String>,
    /// For how long its hook has been asking, in ms; none of a hook of an earlier build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_ago_ms: Option<u64>,
}

/// Arguments of [`Command::AskUser`](super::Command::AskUser).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AskUserParams {
    /// Who asks.
    pub agent: Agent,
    pub question: String,
    /// Answers to choose from. The person can always answer in words of its own.
    #[serde(default)]
    pub choices: Vec<String>,
    /// How long the call is going to wait for the answer, in ms: shown to the person.
    #[serde(default)]
    pub timeout_ms: u64,
    /// The pair; the connection's own when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_session_id: Option<RuntimeSession>,
}

/// What the operator answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalAnswer {
    /// The choice's id.
    pub choice: String,
    /// What the agent is told with a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
