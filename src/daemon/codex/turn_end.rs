//! [`TurnEnd`]: how a turn of Codex ended.

use crate::core::entry::TurnStatus;
use crate::core::id::{ThreadId, TurnId};

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
