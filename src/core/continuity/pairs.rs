//! Whose work is seen from where: the agents' states by their pairs.

use super::state::ContinuityState;
use crate::agent::{Agent, Party};
use crate::entry::Entry;
use crate::id::RuntimeSession;
use crate::snapshot::Snapshot;

impl Snapshot {
    /// What an agent is at, in a runtime session.
    pub fn state_of(&self, agent: Agent, pair: &RuntimeSession) -> Option<&ContinuityState> {
        self.continuity.get(&agent)?.get(pair)
    }

    /// The runtime session under which an agent's work stands that is seen from a pair. The Codex that
    /// a daemon runs has one conversation for all pairs, and its work stands under the first of them;
    /// one that a person runs beside it, with a bridge of its own, has what it says under its own
    /// pair. What the operator says there, and turns, of which no entry names a pair, are no sign of it.
    pub fn pair_of_work(&self, agent: Agent, pair: &RuntimeSession) -> RuntimeSession {
        let is_own = || {
            let state = self.state_of(agent, pair);
            // A checkpoint of a version before does not tell it.
            let by = Party::Agent(agent);
            let is_own =
                |state: &ContinuityState| state.is_own || state.stated().any(|said| said.by == by);
            state.is_some_and(is_own)
        };
        match agent == Agent::Claude || is_own() {
            true => pair.clone(),
            false => RuntimeSession::default(),
        }
    }

    /// What an agent is at that is seen from a pair.
    pub fn work_of(&self, agent: Agent, pair: &RuntimeSession) -> Option<&ContinuityState> {
        self.state_of(agent, &self.pair_of_work(agent, pair))
    }

    /// The runtime session under which an agent's work stands that an entry speaks of. What the
    /// operator says in a pair to nobody by name holds for both, wherever the work of each stands.
    pub fn pair_of_entry(&self, agent: Agent, entry: &Entry) -> RuntimeSession {
        if entry.source != Party::Human || entry.target.is_some() {
            return entry.pair();
        }
        let carried = entry.carried.as_ref().filter(|_| agent == Agent::Codex);
        let stood = carried.and_then(|carried| carried.codex_pair.clone());
        stood.unwrap_or_else(|| self.pair_of_work(agent, &entry.pair()))
    }

    /// What the peers of an agent are at that is seen from a pair: the Codex that a daemon runs works
    /// with the Claude of every pair, one that a person runs beside it with that of its own.
    pub fn peers_of(&self, agent: Agent, pair: &RuntimeSession) -> Vec<&ContinuityState> {
        match agent {
            Agent::Claude => self.work_of(Agent::Codex, pair).into_iter().collect(),
            Agent::Codex => {
                let is_all = self.pair_of_work(agent, pair) == RuntimeSession::default();
                let claudes = self.continuity.get(&Agent::Claude).into_iter().flatten();
                let seen = claudes.filter(|(of, _)| is_all || *of == pair);
                seen.map(|(_, state)| state).collect()
            }
        }
    }

    /// How often a model was asked on a day what an agent is at, by what is known of the latest ones.
    pub fn inferences_on(&self, day: i64) -> u64 {
        let states = self.continuity.values().flat_map(|states| states.values());
        let asked = states.filter_map(|state| state.inferences);
        asked
            .filter(|asked| asked.day == day)
            .map(|asked| asked.times)
            .sum()
    }
}
