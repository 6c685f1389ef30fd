//! [`Turn`] and why it failed.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::plain_value::{PlainValue, member, optional};

use super::item::{Item, readable};
use crate::entry::TurnStatus;

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Turn {
    pub id: String,
    /// `completed`, `interrupted`, `failed`, `inProgress`, or a word of a newer Codex.
    pub status: String,
    /// Why it failed.
    pub error: Option<TurnError>,
    /// When it began, s since the epoch, where that is told in whole seconds.
    #[serde(deserialize_with = "whole_seconds")]
    pub started_at: Option<i64>,
    /// When it ended. None for one that died with its app-server, in the history (Codex 0.169.0,
    /// observed).
    #[serde(deserialize_with = "optional")]
    pub completed_at: Option<Value>,
    /// The items that came along; often only the last message.
    #[serde(deserialize_with = "readable")]
    pub items: Vec<Item>,
}

impl Turn {
    /// Its status in our words; `None` for a word that we do not know.
    pub fn known_status(&self) -> Option<TurnStatus> {
        [
            TurnStatus::InProgress,
            TurnStatus::Completed,
            TurnStatus::Interrupted,
            TurnStatus::Failed,
        ]
        .into_iter()
        .find(|status| status.as_str() == self.status)
    }
}

/// A time of another shape is none.
fn whole_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    Ok(member(deserializer)?.as_i64())
}

/// Why a turn failed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "PlainValue")]
pub struct TurnError {
    pub message: String,
    /// A word, or an object with one key.
    pub codex_error_info: Option<Value>,
}

impl From<PlainValue> for TurnError {
    /// Of another shape than we know it says all of what is written.
    fn from(PlainValue(written): PlainValue) -> Self {
        let message = written["message"].as_str().or(written.as_str());
        Self {
            message: message.map_or_else(|| written.to_string(), str::to_owned),
            codex_error_info: written
                .get("codexErrorInfo")
                .filter(|info| !info.is_null())
                .cloned(),
        }
    }
}

impl TurnError {
    /// Whether a usage limit was hit.
    pub fn is_usage_limit(&self) -> bool {
        self.codex_error_info.as_ref().and_then(Value::as_str) == Some("usageLimitExceeded")
    }
}
