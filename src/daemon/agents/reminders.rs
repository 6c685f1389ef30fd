//! [`Reminders`]: after which turn each agent was last reminded that it has not stated for long
//! what it is working on, and which of the other agent's compactions it was told of.

use std::collections::BTreeMap;

use crate::core::agent::Agent;
use crate::core::continuity::{CompactionSeen, ContinuityState, reminder};
use crate::core::id::RuntimeSession;
use crate::core::snapshot::Snapshot;

/// Has every reminder said once, with the first prompt or message that comes when it is due: two
/// may come before the record holds a turn between, and turns of the human's own may be many.
#[derive(Debug, Default)]
pub(in crate::daemon) struct Reminders {
    /// How many turns the agent had begun. As many as the record has states.
    said: BTreeMap<(Agent, RuntimeSession), u64>,
    /// When the other's compaction was that each was told of last, ms since the epoch.
    compactions: BTreeMap<(Agent, RuntimeSession), i64>,
    /// When the other's latest compaction was in the sessions before this one, ms since the epoch.
    before: BTreeMap<Agent, i64>,
    /// Where nothing else is known, older compactions count as told by a previous daemon; ms since
    /// the epoch.
    since_ms: i64,
}

/// What rides along with an agent's prompt, or with a message to it.
#[derive(Debug)]
pub(in crate::daemon) struct RidesAlong {
    pub(in crate::daemon) text: String,
    /// It is reminded: after how many turns.
    pub(in crate::daemon) reminded_at: Option<u64>,
    /// It is told of a compaction of the other's: when that was, ms since the epoch.
    pub(in crate::daemon) compacted_ms: Option<i64>,
}

impl Reminders {
    /// Of compactions from now on, and of the latest one before where an agent has begun no turn
    /// since, with which a previous daemon would have told it.
    pub(in crate::daemon) fn since(now_ms: i64, world: &Snapshot) -> Self {
        let mut compactions = BTreeMap::new();
        for (agent, states) in &world.continuity {
            let Some(latest) = latest_compaction(world, *agent) else {
                continue;
            };
            let untold = states
                .iter()
                .filter(|(_, state)| state.turn_seq < latest.seq);
            // Whatever it was told of was earlier.
            let told_ms = latest.at_ms.saturating_sub(1);
            compactions.extend(untold.map(|(pair, _)| ((*agent, pair.clone()), told_ms)));
        }
        Self {
            compactions,
            since_ms: now_ms,
            ..Self::default()
        }
    }

    /// When the other's latest compaction was, ms since the epoch, where the agent was not told of it
    /// yet.
    pub(in crate::daemon) fn untold_compaction(
        &self,
        world: &Snapshot,
        agent: Agent,
        pair: &RuntimeSession,
    ) -> Option<i64> {
        let latest = latest_compaction(world, agent).map(|seen| seen.at_ms);
        let latest = latest.max(self.before.get(&agent).copied());
        let told = self.compactions.get(&(agent, pair.clone()));
        latest.filter(|at_ms| at_ms > told.unwrap_or(&self.since_ms))
    }

    /// The reminder that is due and was not said yet.
    pub(in crate::daemon) fn due(
        &self,
        agent: Agent,
        pair: &RuntimeSession,
        state: &ContinuityState,
    ) -> Option<String> {
        let said = self.said.get(&(agent, pair.clone()));
        // More turns than it has begun: it was said in another session, whose count was another.
        let since = said.and_then(|said| state.turns.checked_sub(*said));
        let since = since.unwrap_or(u64::MAX);
        reminder(state.turns_since_written, since)
    }

    /// Another session begins: it counts the agents' turns from 0, and so no reminder was said in it.
    /// `before`: the world of the one before, of whose compactions it knows nothing.
    pub(in crate::daemon) fn session_began(&mut self, before: &Snapshot) {
        self.said.clear();
        for agent in Agent::ALL {
            let latest = latest_compaction(before, agent);
            self.before.extend(latest.map(|seen| (agent, seen.at_ms)));
        }
    }

    /// The agent has it.
    pub(in crate::daemon) fn said(
        &mut self,
        agent: Agent,
        pair: &RuntimeSession,
        rides: &RidesAlong,
    ) {
        let key = (agent, pair.clone());
        if let Some(at_ms) = rides.compacted_ms {
            self.compactions.insert(key.clone(), at_ms);
        }
        if let Some(turns) = rides.reminded_at {
            self.said.insert(key, turns);
        }
    }
}

/// The latest compaction of the other one's context. Codex has one conversation for all pairs, and
/// Claude one in each.
fn latest_compaction(world: &Snapshot, agent: Agent) -> Option<&CompactionSeen> {
    let states = world.continuity.get(&agent.peer()).into_iter().flatten();
    let states =
        states.filter(|(of, _)| agent == Agent::Codex || **of == RuntimeSession::default());
    let latest = states.filter_map(|(_, state)| state.compactions.back());
    latest.max_by_key(|seen| seen.at_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(
        reminders: &mut Reminders,
        agent: Agent,
        pair: &RuntimeSession,
        state: &ContinuityState,
    ) -> Option<String> {
        let text = reminders.due(agent, pair, state)?;
        let rides = RidesAlong {
            text,
            reminded_at: Some(state.turns),
            compacted_ms: None,
        };
        reminders.said(agent, pair, &rides);
        Some(rides.text)
    }

    #[test]
    fn a_reminder_is_said_once_to_each_agent() {
        let mut reminders = Reminders::default();
        let pair = RuntimeSession::default();
        let mut state = ContinuityState::default();
        let mut said = Vec::new();
        for turn in 1..=17 {
            state.turn_began();
            for agent in [Agent::Claude, Agent::Claude, Agent::Codex] {
                if take(&mut reminders, agent, &pair, &state).is_some() {
                    said.push((turn, agent));
                }
            }
        }
        let each = [8, 16].map(|turn| [(turn, Agent::Claude), (turn, Agent::Codex)]);
        assert_eq!(said, each.concat());
    }

    #[test]
    fn in_the_session_after_it_comes_as_early_as_in_the_one_before() {
        let pair = RuntimeSession::default();
        let turns = |count| {
            let mut state = ContinuityState::default();
            (0..count).for_each(|_| state.turn_began());
            state
        };
        let due = |reminders: &mut Reminders, count| {
            take(reminders, Agent::Claude, &pair, &turns(count)).is_some()
        };
        for begun in [8, 40] {
            let mut reminders = Reminders::default();
            assert!(due(&mut reminders, begun));
            reminders.session_began(&Snapshot::default());
            assert!(!due(&mut reminders, 7));
            assert!(due(&mut reminders, 8), "{begun}");
            assert!(!due(&mut reminders, 9), "{begun}");
        }
        // Also where nothing tells that the count is another one.
        let mut reminders = Reminders::default();
        assert!(due(&mut reminders, 40));
        assert!(due(&mut reminders, 8));
    }

    #[test]
    fn one_that_nothing_came_by_for_is_said_later_and_none_after_a_word() {
        let mut reminders = Reminders::default();
        let pair = RuntimeSession::default();
        let mut state = ContinuityState::default();
        let mut due = |state: &ContinuityState| take(&mut reminders, Agent::Codex, &pair, state);
        for _ in 0..11 {
            state.turn_began();
        }
        assert!(due(&state).is_some_and(|text| text.contains("11 turns")));
        for _ in 0..7 {
            state.turn_began();
        }
        assert_eq!(due(&state), None);
        state.turns_since_written = 0;
        for _ in 0..7 {
            state.turn_began();
        }
        assert_eq!(due(&state), None);
        state.turn_began();
        assert!(due(&state).is_some());
    }
}
