//! [`PairConversation`]: the session of its own that the Claude of a pair was last in.

use serde::{Deserialize, Serialize};

use super::{AgentSnapshot, RUNTIME_SESSIONS_MAX};
use crate::agent::Agent;
use crate::entry::AgentChanged;
use crate::id::{RuntimeSession, ThreadId};

/// The session of the last prompt of a pair's Claude.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairConversation {
    pub pair: RuntimeSession,
    /// Claude's own session.
    pub thread_id: ThreadId,
}

impl AgentSnapshot {
    /// The conversation of a pair's Claude, which may be gone.
    pub fn conversation(&self, pair: &RuntimeSession) -> Option<&ThreadId> {
        let known = self.conversations.iter().find(|known| known.pair == *pair);
        known.map(|known| &known.thread_id)
    }

    /// The first pair, and the others of which anything is known: those that are gone, the one that was
    /// talked to last at the end, and behind them those that are here.
    pub fn known_pairs(&self) -> Vec<RuntimeSession> {
        let first = RuntimeSession::default();
        let gone = self.conversations.iter().map(|known| &known.pair);
        let gone = gone.filter(|pair| !self.statuses.contains_key(*pair));
        let others = gone.chain(self.statuses.keys());
        let others = others.filter(|pair| **pair != first).cloned();
        std::iter::once(first.clone()).chain(others).collect()
    }

    /// Takes in what a change says of the conversation. Codex has one for all pairs.
    pub(crate) fn take_thread(&mut self, change: &AgentChanged, pair: RuntimeSession) {
        let Some(thread_id) = change.thread_id.clone() else {
            return;
        };
        if change.agent == Agent::Claude {
            self.converses(pair, thread_id);
        } else if self.thread_id.as_ref() != Some(&thread_id) {
            self.thread_id = Some(thread_id);
            self.stopped_turn = None;
        }
    }

    /// The Claude of a pair has a prompt in a session of its own. Names of pairs come from clients: of
    /// too many the one is forgotten that has had none for longest.
    fn converses(&mut self, pair: RuntimeSession, thread_id: ThreadId) {
        self.conversations.retain(|known| known.pair != pair);
        if self.conversations.len() == RUNTIME_SESSIONS_MAX {
            self.conversations.pop_front();
        }
        let conversation = PairConversation { pair, thread_id };
        self.conversations.push_back(conversation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{AgentState, Party};
    use crate::entry::{Entry, EntryKind};
    use crate::fold::fold;
    use crate::id::{EntryId, Seq, SessionId};
    use crate::snapshot::Snapshot;

    fn changed(pair: &str, state: AgentState, thread: Option<&str>) -> Entry {
        let change = AgentChanged {
            thread_id: thread.map(ThreadId::new),
            ..AgentChanged::of(Agent::Claude, state)
        };
        Entry {
            id: EntryId::new("m1"),
            timestamp_ms: 1,
            session_id: SessionId::new("session_1_aaaaaaaa"),
            content: "a text".to_owned(),
            runtime_session: Some(RuntimeSession::new(pair)),
            seq: Seq(1),
            ..Entry::new(Party::System, EntryKind::AgentChanged(change))
        }
    }

    #[test]
    fn each_pair_has_its_own_and_keeps_it_when_its_claude_leaves() {
        let mut world = Snapshot::default();
        for (pair, state, thread) in [
            ("default", AgentState::Busy, Some("plums")),
            ("two", AgentState::Busy, Some("pears")),
            ("default", AgentState::Offline, None),
            ("two", AgentState::Offline, None),
        ] {
            fold(&mut world, &changed(pair, state, thread));
        }
        let claude = world.agent(Agent::Claude);
        let of = |pair: &str| claude.conversation(&RuntimeSession::new(pair)).cloned();
        assert_eq!(of("default"), Some(ThreadId::new("plums")));
        assert_eq!(of("two"), Some(ThreadId::new("pears")));
        assert_eq!(of("three"), None);
        let known = ["default", "two"].map(RuntimeSession::new);
        assert_eq!(claude.known_pairs(), known);
    }

    #[test]
    fn of_too_many_pairs_the_one_that_was_talked_to_last_is_known() {
        let mut agent = AgentSnapshot::default();
        let pair = |number: usize| RuntimeSession::new(format!("pair-{number}"));
        for number in 0..RUNTIME_SESSIONS_MAX {
            agent.converses(pair(number), ThreadId::new("plums"));
        }
        agent.converses(pair(0), ThreadId::new("pears"));
        agent.converses(RuntimeSession::new("a new one"), ThreadId::new("plums"));
        assert_eq!(agent.conversations.len(), RUNTIME_SESSIONS_MAX);
        assert_eq!(agent.conversation(&pair(0)), Some(&ThreadId::new("pears")));
        assert_eq!(agent.conversation(&pair(1)), None);
    }

    #[test]
    fn a_snapshot_of_a_version_that_knew_of_none_is_read() {
        let known = serde_json::to_value(AgentSnapshot::default()).unwrap();
        assert_eq!(known.get("conversations"), None);
        let read: AgentSnapshot = serde_json::from_value(known).unwrap();
        assert_eq!(read, AgentSnapshot::default());
    }
}
