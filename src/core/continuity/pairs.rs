//! Whose work is visible to whom: the agents' states by pair.

use crate::agent::{Agent, Party};
use crate::continuity_state::{ContinuityState, StatedText};
use crate::entry::Entry;
use crate::id::RuntimeSession;
use crate::snapshot::{Snapshot, TaskSnapshot};

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

    /// [`Self::state_of`] as the agent is told it: without what was said for tasks that are not current,
    /// apart from what was decided or is done. It stays in the state for the time when its task is.
    pub fn told_of(&self, agent: Agent, pair: &RuntimeSession) -> ContinuityState {
        let mut told = self.state_of(agent, pair).cloned().unwrap_or_default();
        let (decisions, done) = (told.decisions.clone(), told.done.clone());
        let had_objective = told.objective.is_some();
        told.keep_stated(|said| self.is_told(said, agent, pair));
        (told.decisions, told.done) = (decisions, done);
        if let Some(task) = self.current_task(pair) {
            let is_aside = had_objective && told.objective.is_none();
            let is_general =
                |said: &StatedText| !said.pinned && said.task.as_ref() != Some(&task.id);
            let goal = task.goal.as_ref();
            // A goal that the state took and has no more is replaced or forgotten.
            let goal = goal.filter(|goal| is_aside || goal.is_of_task_only);
            if goal.is_some() && told.objective.as_ref().is_none_or(is_general) {
                told.objective = goal.cloned();
            }
        }
        told
    }

    /// [`Self::work_of`] as the agent is told it.
    pub fn told_work_of(&self, agent: Agent, pair: &RuntimeSession) -> ContinuityState {
        self.told_of(agent, &self.pair_of_work(agent, pair))
    }

    /// Whether an agent is told a value: what the operator pinned, what was said for no task, and what
    /// was for a current one.
    fn is_told(&self, said: &StatedText, agent: Agent, pair: &RuntimeSession) -> bool {
        let Some(task) = said.task.as_ref().filter(|_| !said.pinned) else {
            return true;
        };
        let mut tasks = self.current_tasks_of(agent, pair);
        tasks.any(|current| current.id == *task)
    }

    /// The tasks at which an agent works: of the Codex that a daemon runs those of all pairs.
    pub(super) fn current_tasks_of(
        &self,
        agent: Agent,
        pair: &RuntimeSession,
    ) -> impl Iterator<Item = &TaskSnapshot> {
        let is_all = agent == Agent::Codex && *pair == RuntimeSession::default();
        let current = self.current_tasks.iter();
        let current = current.filter(move |(of, _)| is_all || *of == pair);
        current.filter_map(|(_, current)| self.tasks.get(&current.id))
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

    /// What the peers of an agent are at, as they are told it, that is seen from a pair: the Codex that a
    /// daemon runs works with the Claude of every pair, one that a person runs beside it with that of
    /// its own.
    pub fn peers_of(&self, agent: Agent, pair: &RuntimeSession) -> Vec<ContinuityState> {
        match agent {
            Agent::Claude => vec![self.told_work_of(Agent::Codex, pair)],
            Agent::Codex => {
                let is_all = self.pair_of_work(agent, pair) == RuntimeSession::default();
                let claudes = self.continuity.get(&Agent::Claude).into_iter().flatten();
                let seen = claudes.filter(|(of, _)| is_all || *of == pair);
                seen.map(|(of, _)| self.told_of(Agent::Claude, of))
                    .collect()
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
