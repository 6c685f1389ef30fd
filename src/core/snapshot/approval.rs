//! [`ApprovalSnapshot`]: a request for approval that waits.

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::entry::ApprovalRequest;
use crate::id::{EntryId, RuntimeSession, Seq};

/// How many requests can wait at one time; further ones are answered in the agent's terminal.
pub const APPROVALS_OPEN_MAX: usize = 256;

/// A request that waits for the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalSnapshot {
    /// What names it.
    pub id: EntryId,
    /// The entry that holds all of its text.
    pub seq: Seq,
    /// Who asks.
    pub agent: Agent,
    /// Since when, ms since the epoch.
    pub at_ms: i64,
    /// What is asked.
    pub request: ApprovalRequest,
    /// All of it in words, cut to [`TEXT_CHARS_MAX`](super::TEXT_CHARS_MAX).
    pub text: String,
    /// The operator's answer that nobody has heard the effect of yet: the choice's id, and when it
    /// was given.
    pub given: Option<(String, i64)>,
    /// The pair, where the request names one.
    #[serde(default)]
    pub runtime_session: Option<RuntimeSession>,
}
