//! [`Relayed`] and [`TurnEnd`]: what a turn brought, and how it ended.

use serde::{Deserialize, Serialize};

use crate::core::agent::Party;
use crate::core::entry::TurnStatus;
use crate::core::id::{EntryId, RuntimeSession, ThreadId, TurnId};

/// A message that we brought into a turn. Kept here and not looked up when the turn ends: the
/// session may have been cleared meanwhile, and the answer is still owed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::daemon) struct Relayed {
    pub(in crate::daemon) id: EntryId,
    pub(super) from: Party,
    pub(in crate::daemon) runtime_session: Option<RuntimeSession>,
    /// Its sender waits for an answer.
    #[serde(default)]
    pub(in crate::daemon) asks: bool,
    /// The turn began with it, and not with what somebody typed or sent before.
    #[serde(default = "starts")]
    pub(super) starts: bool,
}

/// What an older process does not tell: nearly all messages start the turn that has them.
fn starts() -> bool {
    true
}

/// How a turn ended.
#[derive(Debug)]
pub(super) struct TurnEnd {
    pub(super) thread_id: ThreadId,
    pub(super) turn_id: TurnId,
    pub(super) status: TurnStatus,
    pub(super) error: Option<String>,
    pub(super) usage_limited: bool,
    /// Its app-server ended, and it with that.
    pub(super) died: bool,
}
