//! [`AgentStatus`]: what the agent of one pair does, and which of several is shown.

use serde::{Deserialize, Serialize};

use super::{AgentSnapshot, LimitSnapshot, RUNTIME_SESSIONS_MAX};
use crate::agent::{Agent, AgentState};
use crate::entry::AgentChanged;
use crate::id::RuntimeSession;

/// What the agent of one pair does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct AgentStatus {
    /// What it is doing.
    pub state: AgentState,
    /// Since when, ms since the epoch.
    pub since_ms: i64,
    /// Its process, when known.
    pub pid: Option<u32>,
    /// The reason for the state.
    pub why: Option<String>,
}

impl AgentSnapshot {
    /// What the agent of a pair does.
    pub fn status(&self, pair: &RuntimeSession) -> AgentStatus {
        let is_known_alone = self.statuses.is_empty() && *pair == RuntimeSession::default();
        if !is_known_alone {
            return self.statuses.get(pair).cloned().unwrap_or_default();
        }
        AgentStatus {
            state: self.state,
            since_ms: self.since_ms,
            pid: self.pid,
            why: self.why.clone(),
        }
    }

    /// The pairs whose agent is here.
    pub fn pairs_here(&self) -> Vec<RuntimeSession> {
        let first = RuntimeSession::default();
        let others = self.statuses.keys().filter(|pair| **pair != first);
        let all = std::iter::once(&first).chain(others);
        all.filter(|pair| self.status(pair).state.is_attached())
            .cloned()
            .collect()
    }

    /// Takes in what the agent of a pair does. Of several the one is shown that says most: what
    /// waits for the person before what works, and that before what rests; of the same the first.
    pub(crate) fn set_status(&mut self, pair: &RuntimeSession, status: AgentStatus) {
        let first = RuntimeSession::default();
        if self.statuses.is_empty() && *pair != first {
            self.statuses.insert(first.clone(), self.status(&first));
        }
        let mut shown = status;
        if !self.statuses.is_empty() {
            self.statuses.insert(pair.clone(), shown);
            let is_here = |pair: &RuntimeSession, status: &AgentStatus| {
                *pair == first || status.state != AgentState::Offline
            };
            self.statuses.retain(|pair, status| is_here(pair, status));
            while self.statuses.len() > RUNTIME_SESSIONS_MAX {
                let others = self.statuses.keys().rfind(|pair| **pair != first);
                let Some(last) = others.cloned() else { break };
                self.statuses.remove(&last);
            }
            let of_first = self.statuses.get(&first).into_iter();
            let mut all = of_first.chain(self.statuses.values());
            let mut most = all.next().cloned().unwrap_or_default();
            for other in all {
                if other.state.weight() > most.state.weight() {
                    most = other.clone();
                }
            }
            shown = most;
            if self.statuses.len() == 1 {
                self.statuses.clear();
            }
        }
        self.state = shown.state;
        self.since_ms = shown.since_ms;
        self.pid = shown.pid;
        self.why = shown.why;
    }

    /// Takes in what a change of state says of the usage limit, once the status has it.
    pub(crate) fn take_limit(&mut self, change: &AgentChanged, at_ms: i64) {
        // An agent that leaves keeps its limit, and a prompt to Claude tries it: its turn may fail, behind
        // a dialog too.
        let tries = change.agent == Agent::Claude && change.state.is_in_turn();
        if change.state == AgentState::Limited {
            let known = self.limit;
            self.limit = Some(LimitSnapshot {
                since_ms: known.map_or(at_ms, |limit| limit.since_ms),
                // Said again for another reason, it does not know the end.
                until_ms: change.until_ms.or(known.and_then(|limit| limit.until_ms)),
            });
        } else if tries || !change.state.is_attached() {
            // Unless it is said to be over all the same.
            self.limit
                .take_if(|_| change.until_ms.is_some_and(|until| until <= at_ms));
        } else if !self.is_limited() {
            self.limit = None;
        }
    }

    /// Whether the agent of any pair is at its usage limit.
    fn is_limited(&self) -> bool {
        let states = self.statuses.values().map(|status| status.state);
        states
            .chain([self.state])
            .any(|state| state == AgentState::Limited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_pair_does_is_kept_by_the_name_that_every_version_reads() {
        let second = RuntimeSession::new("second");
        let mut agent = AgentSnapshot::default();
        let status = AgentStatus {
            state: AgentState::Busy,
            ..AgentStatus::default()
        };
        agent.set_status(&second, status.clone());
        let text = serde_json::to_value(&agent).unwrap();
        assert_eq!(text["standings"]["second"]["state"], "busy");
        let read: AgentSnapshot = serde_json::from_value(text).unwrap();
        assert_eq!(read.status(&second), status);
    }
}
