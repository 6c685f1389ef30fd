//! What Claude does: what its hooks, its doorbell, its bridge and its calls tell goes into one
//! state, and silence, record and limit follow from it.

use crate::core::agent::{Agent, Party};
use crate::core::delivery::{ClaudeChange, ClaudeInput, ClaudeSetting, ClaudeStep, LimitInput};
use crate::core::entry::{AgentChanged, EntryKind};
use crate::core::snapshot::AgentSnapshot;
use crate::daemon::owners::Daemon;

impl Daemon {
    /// Takes in what is told of Claude, and does what follows.
    pub(in crate::daemon) fn claude_hears(&mut self, input: ClaudeInput) {
        let setting = ClaudeSetting {
            is_here: self.clients.is_claude_here(),
            is_limited: self.limits.holds(Agent::Claude),
        };
        for step in self.claude.hear(input, setting) {
            match step {
                ClaudeStep::Lives => self.turn_lives(Agent::Claude),
                ClaudeStep::Waits(waits) => self.turn_waits(Agent::Claude, waits),
                ClaudeStep::Over => {
                    self.shown_claude.is_over();
                    self.turn_is_over(Agent::Claude);
                }
                ClaudeStep::Record { change, has_come } => self.record_claude(change, has_come),
                ClaudeStep::Worked => self.limit_input(Agent::Claude, LimitInput::Worked),
                ClaudeStep::Died(ids) => {
                    // It never says when its limit ends.
                    let (until_ms, died) = (None, self.recorder.written_by_agents(&ids));
                    self.limit_input(Agent::Claude, LimitInput::Hit { until_ms, died });
                }
            }
        }
    }

    fn record_claude(&mut self, change: ClaudeChange, has_come: bool) {
        let text = match &change.why {
            None if has_come => "Claude attached".to_owned(),
            None => format!("Claude is {}", change.state.as_str()),
            Some(why) => format!("Claude is {}: {why}", change.state.as_str()),
        };
        let entry = self.recorder.entry(
            Party::System,
            None,
            EntryKind::AgentChanged(AgentChanged {
                agent: Agent::Claude,
                state: change.state,
                pid: change.pid,
                thread_id: None,
                why: change.why.clone(),
                until_ms: None,
            }),
            text,
            None,
        );
        self.recorder.record(
            vec![entry],
            Box::new(move |daemon, result| {
                if let Err(refusal) = result {
                    tracing::warn!(code = %refusal.code, "Claude's state was not recorded");
                    let known = daemon.recorder.world().agent(Agent::Claude);
                    let known = (known.state, known.pid);
                    daemon.claude_hears(ClaudeInput::NotRecorded { change, known });
                }
            }),
        );
    }

    /// For the status: as the record tells it, and as it is where the record is behind.
    pub(in crate::daemon) fn claude_as_it_is(&self) -> AgentSnapshot {
        let recorded = self.recorder.world().agent(Agent::Claude);
        let now = self.claude.state().now();
        if recorded.state == now.state {
            return recorded;
        }
        AgentSnapshot {
            state: now.state,
            pid: now.pid,
            why: now.why.clone(),
            since_ms: 0,
            ..recorded
        }
    }
}
