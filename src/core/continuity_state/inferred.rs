//! [`InferredSeen`]: what a model inferred from an agent's words; [`InferencesSeen`]: how often a
//! model was asked.

use serde::{Deserialize, Serialize};

use crate::entry::InferredValue;
use crate::id::Seq;

/// What was taken and not recorded as notes is gone after so many turns.
pub const INFERRED_TURNS: u64 = 3;

const DAY_MS: i64 = 86_400_000;

/// What a model took from an agent's words, and nobody recorded as notes yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InferredSeen {
    /// Its entry.
    pub seq: Seq,
    /// When, ms since the epoch.
    pub at_ms: i64,
    /// In which turn of the agent.
    pub turn: u64,
    /// What it takes to be so.
    pub values: Vec<InferredValue>,
}

/// When a model was asked last, and how often on that day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InferencesSeen {
    /// In which turn of the agent.
    pub turn: u64,
    /// The day, UTC, counted from the epoch.
    pub day: i64,
    /// How often on it.
    pub times: u64,
}

/// The day of a time (ms since the epoch), UTC, counted from the epoch.
pub fn day_of(at_ms: i64) -> i64 {
    at_ms.div_euclid(DAY_MS)
}
