//! [`Reminders`]: after which turn each agent was reminded last that it has not said for long what
//! it is at.

use std::collections::BTreeMap;

use crate::core::agent::Agent;
use crate::core::continuity::{ContinuityState, reminder};
use crate::core::id::RuntimeSession;

/// Has every reminder said once: two prompts may come before the record holds a turn between.
#[derive(Debug, Default)]
pub(super) struct Reminders {
    /// How many turns the agent had begun. As many as the record has states.
    said: BTreeMap<(Agent, RuntimeSession), u64>,
}

impl Reminders {
    /// The reminder that is due and was not said yet; it counts as said.
    pub(super) fn take(
        &mut self,
        agent: Agent,
        pair: &RuntimeSession,
        state: &ContinuityState,
    ) -> Option<String> {
        let text = reminder(state.turns_since_written)?;
        let before = self.said.insert((agent, pair.clone()), state.turns);
        (before != Some(state.turns)).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reminder_is_said_once_to_each_agent() {
        let mut reminders = Reminders::default();
        let pair = RuntimeSession::default();
        let mut state = ContinuityState::default();
        let mut said = Vec::new();
        for turn in 1..=17 {
            state.turn_began();
            for agent in [Agent::Claude, Agent::Claude, Agent::Codex] {
                if reminders.take(agent, &pair, &state).is_some() {
                    said.push((turn, agent));
                }
            }
        }
        let each = [8, 16].map(|turn| [(turn, Agent::Claude), (turn, Agent::Codex)]);
        assert_eq!(said, each.concat());
    }
}
