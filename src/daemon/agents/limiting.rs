//! What follows from the agents' usage limits: whom to ask, what to hold back, what may continue.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::core::agent::{Agent, AgentState};
use crate::core::delivery::{
    Checked, ClaudeInput, CodexInput, LadderInput, LaterInput, LimitInput, LimitStep,
};
use crate::core::entry::AgentChanged;
use crate::core::id::EntryId;
use crate::daemon::agents::codex_lane::CodexNews;
use crate::daemon::base::clock::now_ms;
use crate::daemon::event::Event;
use crate::daemon::owners::{Agents, Base, Daemon};
use crate::wire::config::Config;
use crate::wire::control::Refusal;

/// How long the adapter may take to find out. It has a deadline of its own, which is shorter.
const CHECK_WAIT: Duration = Duration::from_secs(12);

impl Daemon {
    /// Takes what the configuration says, for a limit that holds too.
    pub(in crate::daemon) fn set_limit_mode(&mut self, config: &Config) {
        let mode = config.rate_limit_resume.mode;
        for agent in Agent::ALL {
            self.limit_input(agent, LimitInput::Mode(mode));
        }
        self.base.clients.status_changed();
    }

    /// Holds what the record says was held when the previous daemon ended. A message that failed at
    /// the limit is not sent again by itself any more; the first words of this daemon say so to its
    /// sender.
    pub(in crate::daemon) fn recall_limits(&mut self) {
        let now_ms = self.base.clock.outside_ms();
        for agent in Agent::ALL {
            let known = self.base.recorder.world().agent(agent).limit;
            let Some(limit) = known.filter(|limit| limit.is_believed(now_ms)) else {
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

    pub(in crate::daemon) fn limit_deadline(&mut self) {
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
    pub(in crate::daemon) fn codex_hit_limit(&mut self, ids: &[EntryId]) {
        let until_ms = self.agents.limits.codex_ends_ms();
        let mut died = self.base.recorder.written_by_agents(ids);
        let in_turn = &self.base.recorder.world().in_turn;
        // What is closed was done before the limit was hit.
        died.retain(|id| in_turn.get(id).is_none_or(|(_, message)| !message.closed));
        self.limit_input(Agent::Codex, LimitInput::Hit { until_ms, died });
    }

    /// Hands something to an agent's limit, and does what it says.
    pub(in crate::daemon) fn limit_input(&mut self, agent: Agent, input: LimitInput) {
        let now_ms = self.base.clock.outside_ms();
        let is_said_by_turn = input == LimitInput::Worked;
        let ended_ms = self.agents.limits.ends_ms(agent, now_ms);
        let steps = self.agents.limits.apply(agent, input, now_ms);
        let ends_ms = self.agents.limits.ends_ms(agent, now_ms);
        if let (true, Some(at_ms)) = (steps.is_empty() && ends_ms != ended_ms, ends_ms) {
            // Else a start after this would go by the end that was said before.
            let (agents, base) = (&self.agents, &mut self.base);
            match agent {
                Agent::Codex => agents.record_codex(base, CodexNews::LimitEnds { at_ms }),
                Agent::Claude => {
                    let text = "Claude says another end of its usage limit";
                    agents.note_claude_limit_ends(base, at_ms, text);
                }
            }
        }
        for step in steps {
            match step {
                LimitStep::Begins => self.lane_rests(agent),
                LimitStep::Ask => self.agents.ask_limit(&mut self.base, agent),
                LimitStep::Over { again } => {
                    if agent == Agent::Claude && !is_said_by_turn {
                        self.agents.note_untold_end(&mut self.base);
                    }
                    self.limit_is_over(agent, again);
                }
                LimitStep::NotAgain { ids } => {
                    self.behind_facts(move |daemon| daemon.base.tell_nothing_came(&ids));
                }
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
        if again.is_empty() {
            return self.agents.lane_goes_on(&mut self.base, agent);
        }
        self.behind_facts(move |daemon| daemon.send_what_died(agent, again));
    }

    /// Goes on once the record has what has happened so far. Before that it may not say yet that the
    /// turn ended which a message died with, and the message would count as none of those.
    fn behind_facts(&mut self, then: impl FnOnce(&mut Daemon) + Send + 'static) {
        let recorder = &mut self.base.recorder;
        if recorder.facts_on_the_way().next().is_none() {
            let then = move |daemon: &mut Daemon, _: Result<(), &Refusal>| then(daemon);
            return self.deliveries.held.go_on(Box::new(then), Ok(()));
        }
        recorder.keep_then(
            Vec::new(),
            Box::new(move |daemon, _| {
                if daemon.base.operations.fault().is_none() {
                    then(daemon);
                }
            }),
        );
    }

    fn send_what_died(&mut self, agent: Agent, again: Vec<EntryId>) {
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
    /// Whether a lane rests, and goes on doing so when a turn has worked.
    pub(in crate::daemon) fn rests_after_work(&self, base: &Base, agent: Agent) -> bool {
        let rests = match agent {
            Agent::Claude => self.claude.rests_at_limit(),
            Agent::Codex => self.codex.rests_at_limit(),
        };
        let now_ms = base.clock.outside_ms();
        rests && self.limits.rests_after_work(agent, now_ms)
    }

    /// Claude's limit is over, and no turn of it has said so. The record learns that from the state of
    /// those that rest at it; where they are gone, or at work, it is told.
    fn note_untold_end(&self, base: &mut Base) {
        let mut states = self.claude.pairs().into_iter();
        let is_limited = |pair| {
            let state = self.claude.state(&pair);
            state.is_some_and(|state| state.now().state == AgentState::Limited)
        };
        if !states.any(is_limited) {
            let text = "Claude's usage limit counts as over";
            self.note_claude_limit_ends(base, now_ms(), text);
        }
    }

    /// Has the record say when the limit of Claude ends, which goes on with what it does.
    fn note_claude_limit_ends(&self, base: &mut Base, at_ms: i64, text: &str) {
        let Some((pair, now, _)) = self.claude.shown() else {
            return;
        };
        let changed = AgentChanged {
            pid: now.pid,
            why: now.why.clone(),
            until_ms: Some(at_ms),
            ..AgentChanged::of(Agent::Claude, now.state)
        };
        let entry = base.entry_of_agent(pair, changed, text);
        base.recorder.keep_entry(entry);
    }

    /// When something about a limit happens by itself.
    pub(in crate::daemon) fn next_limit_deadline(&self, base: &Base) -> Option<Instant> {
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
