//! [`RungMessage`]: a message that the doorbell of a Claude was rung for.

use serde::{Deserialize, Serialize};

use crate::id::EntryId;

/// A message that the doorbell of a Claude was rung for, as the next process gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RungMessage {
    pub(super) id: EntryId,
    pub(super) at_ms: i64,
    /// For the second time.
    #[serde(default)]
    pub(super) is_second: bool,
    /// A turn has begun since.
    #[serde(default)]
    pub(super) turn_began: bool,
}
