//! What follows from the agents' usage limits: who is asked, what is held, what goes on.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::event::Event;
use super::owners::{Agents, Base, Daemon};
use crate::core::agent::Agent;
use crate::core::delivery::{
    Checked, ClaudeInput, CodexInput, LadderInput, LaterInput, LimitInput, LimitStep,
};
use crate::core::id::EntryId;
use crate::core::snapshot::LimitSnapshot;
use crate::wire::config::Config;

/// How long the adapter may take to find out. It has a deadline of its own, which is shorter.
const CHECK_WAIT: Duration = Duration::from_secs(12);

/// A limit of which nobody knows the end is believed for this long over a restart, ms. After that
/// the next message is the test.
const BELIEVED_MS: i64 = 60 * 60_000;

impl Daemon {
    /// Takes what the configuration says, for a limit that holds too.
    pub(super) fn set_limit_mode(&mut self, config: &Config) {
        let mode = config.rate_limit_resume.mode;
        for agent in Agent::ALL {
            self.limit_input(agent, LimitInput::Mode(mode));
        }
        self.base.clients.status_changed();
    }

    /// Holds what the record says was held when the daemon before this one ended. What died of it
    /// is not sent again by itself: of what else was cut off it is not told apart.
    pub(super) fn recall_limits(&mut self) {
        let now_ms = self.base.clock.outside_ms();
        for agent in Agent::ALL {
            let holds = |limit: &LimitSnapshot| {
                let end_ms = limit.until_ms.unwrap_or(limit.since_ms + BELIEVED_MS);
                // A clock that was set back must not hold a lane for ever.
                end_ms > now_ms && limit.since_ms <= now_ms
            };
            let Some(limit) = self.base.recorder.world().agent(agent).limit.filter(holds) else {
                if agent == Agent::Codex && self.agents.codex.rests_at_limit() {
                    // The lane rested in the process before; the next message is the test.
                    self.codex_input(CodexInput::LimitOver);
                }
                continue;
            };
            let (since_ms, until_ms) = (limit.since_ms, limit.until_ms);
            if agent == Agent::Codex {
                self.agents.limits.codex_ends(until_ms);
            }
            self.limit_input(agent, LimitInput::Recalled { since_ms, until_ms });
        }
    }

    pub(super) fn limit_deadline(&mut self) {
        let now_ms = self.base.clock.outside_ms();
        for agent in Agent::ALL {
            if self
                .agents
                .limits
                .next_ms(agent)
                .is_some_and(|at| at <= now_ms)
            {
                self.limit_input(agent, LimitInput::Tick);
            }
        }
    }

    /// A turn of Codex ended at its limit. `ids`: our messages in it.
    pub(super) fn codex_hit_limit(&mut self, ids: &[EntryId]) {
        let until_ms = self.agents.limits.codex_ends_ms();
        let died = self.base.recorder.written_by_agents(ids);
        self.limit_input(Agent::Codex, LimitInput::Hit { until_ms, died });
    }

    /// Hands something to an agent's limit, and does what it says.
    pub(super) fn limit_input(&mut self, agent: Agent, input: LimitInput) {
        let now_ms = self.base.clock.outside_ms();
        for step in self.agents.limits.apply(agent, input, now_ms) {
            match step {
                LimitStep::Begins => self.lane_rests(agent),
                LimitStep::Ask => self.agents.ask_limit(&mut self.base, agent),
                LimitStep::Over { again } => self.limit_is_over(agent, again),
            }
        }
    }

    fn lane_rests(&mut self, agent: Agent) {
        self.base.clients.status_changed();
        match agent {
            // At once: a start has it recover what is on its way next.
            Agent::Codex => self.codex_input(CodexInput::LimitHolds),
            // It is the account's: the Claudes of other pairs run into it as well.
            Agent::Claude => {
                let holds = LaterInput::Ladders(LadderInput::LimitHolds);
                self.base.later.push(holds);
            }
        }
    }

    /// What died goes first: the lane goes on once the record has it.
    fn limit_is_over(&mut self, agent: Agent, again: Vec<EntryId>) {
        self.base.clients.status_changed();
        let again = self.deliveries.can_be_sent_again(&self.base, agent, again);
        if again.is_empty() {
            return self.agents.lane_goes_on(&mut self.base, agent);
        }
        let why = "its turn ended at the usage limit, which is over";
        self.deliveries
            .send_again(&mut self.base, agent, again, why, move |daemon| {
                daemon.agents.lane_goes_on(&mut daemon.base, agent)
            });
    }
}

impl Agents {
    /// Whether a lane that rests goes on doing so when a turn has worked: what died of the limit goes
    /// before what has come since, and is to be sent again, or is being recorded as that.
    pub(super) fn rests_after_work(&self, base: &Base, agent: Agent) -> bool {
        let rests = match agent {
            Agent::Claude => self.claude.rests_at_limit(),
            Agent::Codex => self.codex.rests_at_limit(),
        };
        let now_ms = base.clock.outside_ms();
        rests && (!self.limits.is_active(agent) || self.limits.sends_again(agent, now_ms))
    }

    /// When something about a limit happens by itself.
    pub(super) fn next_limit_deadline(&self, base: &Base) -> Option<Instant> {
        Agent::ALL
            .into_iter()
            .filter_map(|agent| self.limits.next_ms(agent))
            .min()
            .map(|at_ms| base.clock.instant_outside(at_ms))
    }

    fn ask_limit(&self, base: &mut Base, agent: Agent) {
        let asked = (agent == Agent::Codex)
            .then(|| self.codex.ask_limit())
            .flatten();
        let (Some(asked), events) = (asked, base.events.clone()) else {
            let nobody = match agent {
                Agent::Codex => Checked::Unknown,
                Agent::Claude => Checked::NotAsked,
            };
            let unknown = LimitInput::Checked(nobody);
            return base.later.push(LaterInput::Limit(agent, unknown));
        };
        tokio::spawn(async move {
            let checked = match timeout(CHECK_WAIT, asked).await {
                Ok(Ok(checked)) => checked,
                Ok(Err(_)) | Err(_) => Checked::Unknown,
            };
            if let Some(events) = events.upgrade() {
                let _ = events.send(Event::LimitChecked { agent, checked }).await;
            }
        });
    }

    fn lane_goes_on(&self, base: &mut Base, agent: Agent) {
        if self.limits.is_active(agent) {
            // While the record took what is sent again, another turn ran into the next one.
            return;
        }
        match agent {
            Agent::Codex => base.later.push(LaterInput::Codex(CodexInput::LimitOver)),
            Agent::Claude => {
                base.later.push(LaterInput::Claudes(ClaudeInput::LimitOver));
                base.later.push(LaterInput::Ladders(LadderInput::LimitOver));
            }
        }
    }
}
