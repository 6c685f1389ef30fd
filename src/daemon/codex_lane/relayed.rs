//! [`Relayed`]: a message that we brought into a turn of Codex.

use serde::{Deserialize, Serialize};

use crate::core::agent::Party;
use crate::core::id::{EntryId, RuntimeSession};

/// A message that we brought into a turn. Kept here and not looked up when the turn ends: the
/// session may have been cleared meanwhile, and the answer is still owed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(in crate::daemon) struct Relayed {
    pub(in crate::daemon) id: EntryId,
    pub(in crate::daemon) from: Party,
    pub(in crate::daemon) runtime_session: Option<RuntimeSession>,
    /// Its sender waits for an answer.
    #[serde(default)]
    pub(in crate::daemon) asks: bool,
    /// It hands work over.
    #[serde(default)]
    pub(in crate::daemon) is_handoff: bool,
    /// The turn began with it, and not with what somebody typed or sent before.
    #[serde(default = "starts")]
    pub(in crate::daemon) starts: bool,
    /// It tells of a decision.
    #[serde(default)]
    pub(in crate::daemon) is_decision: bool,
}

/// What an older process does not tell: nearly all messages start the turn that has them.
fn starts() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::Relayed;

    #[test]
    fn what_a_daemon_of_before_leaves_is_taken_on() {
        let left = json!({"id": "m1", "from": "claude", "runtime_session": null});
        let relayed: Result<Relayed, _> = from_value(left);
        assert!(
            relayed.is_ok_and(|one| one.starts && !one.asks && !one.is_handoff && !one.is_decision)
        );
    }
}
