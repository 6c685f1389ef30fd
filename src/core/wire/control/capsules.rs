//! Queries about tasks that can travel, and their replies. Read-only.

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::capsule::{CapsuleStatus, Freshness};
use crate::id::{CapsuleId, RuntimeSession};

/// The most rows of a [`CapsuleList`].
pub const CAPSULES_LISTED_MAX: usize = 50;

/// Arguments of [`Command::ReadCapsules`](super::Command::ReadCapsules).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ReadCapsulesParams {
    /// What is asked.
    pub question: CapsuleQuestion,
    /// Of which task; the current one of the pair when absent. A list is of all.
    pub id: Option<CapsuleId>,
    /// A list of these alone, in this order; of all when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<CapsuleId>,
    /// The pair; the connection's own when absent.
    pub runtime_session_id: Option<RuntimeSession>,
}

/// What is asked about tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
pub enum CapsuleQuestion {
    /// Which there are. The answer is a [`CapsuleList`].
    #[default]
    List,
    /// What one says, for who asks. The answer is a [`CapsuleText`].
    Show,
    /// Whether what one says of the work tree is still so. The answer is a [`CapsuleCheck`].
    Check,
}

/// The tasks of the record, latest first, then what else is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct CapsuleList {
    /// At most [`CAPSULES_LISTED_MAX`].
    pub capsules: Vec<CapsuleRow>,
    pub total: u64,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CapsuleRow {
    pub id: CapsuleId,
    /// One line; empty when the file cannot be believed.
    pub title: String,
    /// Whether it goes on; none when the file cannot be believed.
    pub status: Option<CapsuleStatus>,
    /// How what was kept of it stands to the work tree, or what it says now where nothing was kept;
    /// none when the file cannot be believed.
    pub freshness: Option<Freshness>,
    /// The work of the pair belongs to it.
    pub is_current: bool,
    /// The record does not vouch for it.
    pub is_foreign: bool,
    /// Why the file cannot be believed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// A task as a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CapsuleText {
    pub id: CapsuleId,
    /// How it stands to the work tree of now.
    pub freshness: Freshness,
    /// The record does not vouch for it.
    pub is_foreign: bool,
    /// All of it, at most [`RENDER_CHARS_MAX`](crate::capsule::RENDER_CHARS_MAX) characters.
    pub text: String,
    /// What had no room, by section.
    pub left_out: Vec<(String, u64)>,
    /// What has to be told of it, a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
}

/// How a task stands to the work tree of now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CapsuleCheck {
    pub id: CapsuleId,
    /// In one word.
    pub freshness: Freshness,
    /// The record does not vouch for it.
    pub is_foreign: bool,
    /// Commits since its own; none where git cannot tell.
    pub ahead: Option<u64>,
    /// Commits of its own that are not here.
    pub behind: Option<u64>,
    /// Its files that differ from what they were, and who touched them since.
    pub touched: Vec<(String, Option<Agent>)>,
    /// Its files that cannot be compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncompared: Vec<String>,
    /// What has to be told of it, a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
}
