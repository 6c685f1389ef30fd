//! [`Relayed`]: a message that we brought into a turn of Codex.

use serde::{Deserialize, Serialize};

use crate::core::agent::Party;
use crate::core::entry::{Entry, EntryKind};
use crate::core::id::{EntryId, RuntimeSession};
use crate::core::snapshot::Snapshot;

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
    /// It is what Codex asked for by a marker in the turn of this message of an agent's, and brings the
    /// answer to that.
    pub(in crate::daemon) goes_on_with: Option<EntryId>,
}

impl Relayed {
    /// The message of an entry, into a turn that it started.
    pub(in crate::daemon) fn of(entry: &Entry) -> Self {
        let message = match &entry.kind {
            EntryKind::Message(message) => Some(message),
            _ => None,
        };
        Self {
            id: entry.id.clone(),
            from: entry.source.clone(),
            runtime_session: entry.runtime_session.clone(),
            asks: message.is_some_and(|message| message.require_reply),
            is_handoff: matches!(entry.kind, EntryKind::Handoff(_)),
            starts: true,
            is_decision: message.is_some_and(|message| message.decision.is_some()),
            goes_on_with: None,
        }
    }

    /// A message of ours with which the turn of another one goes on.
    pub(in crate::daemon) fn going_on_with(ours: &Entry, asked: &Entry) -> Self {
        Self {
            id: ours.id.clone(),
            goes_on_with: Some(asked.id.clone()),
            ..Self::of(asked)
        }
    }

    /// The message that is answered by what comes of it.
    pub(in crate::daemon) fn asked(&self) -> &EntryId {
        self.goes_on_with.as_ref().unwrap_or(&self.id)
    }

    /// The same of an entry that cannot be read, as far as it is known without: it is no word of the
    /// person's to Codex in any case.
    pub(in crate::daemon) fn unread(id: &EntryId, world: &Snapshot) -> Self {
        let known = world.message_under_way(id);
        Self {
            id: id.clone(),
            from: known.map_or(Party::System, |message| message.from.clone()),
            runtime_session: known.and_then(|message| message.runtime_session.clone()),
            asks: world.open_questions.values().any(|open| open.id == *id),
            is_handoff: world.open_handoffs.contains_key(id),
            starts: true,
            is_decision: false,
            goes_on_with: None,
        }
    }
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
