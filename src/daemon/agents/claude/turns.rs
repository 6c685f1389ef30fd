//! What Claude does: reports of its hooks, doorbell, bridge and calls go into the state of its
//! pair; ladder, silence, context, record and limit follow from that state.

use crate::core::agent::{Agent, Party};
use crate::core::delivery::{
    ClaudeChange, ClaudeInput, ClaudeSetting, ClaudeStep, LimitInput, TurnEndSetting,
};
use crate::core::entry::{AgentChanged, Entry, EntryKind};
use crate::core::id::RuntimeSession;
use crate::core::snapshot::AgentSnapshot;
use crate::daemon::agents::silence::TurnOf;
use crate::daemon::owners::{Agents, Base, Daemon};

impl Daemon {
    /// Takes in what is told of the Claude of a pair, and does what follows.
    pub(in crate::daemon) fn claude_hears(&mut self, pair: &RuntimeSession, input: ClaudeInput) {
        let setting = ClaudeSetting {
            is_here: self.base.clients.is_claude_of(pair),
            is_limited: self.agents.limits.is_active(Agent::Claude),
        };
        let turn = TurnOf::Claude(pair.clone());
        let is_answered = input == ClaudeInput::Answered;
        let steps = self.agents.claude.hear(pair, input, setting);
        // That a tool has ended says nothing of a dialog: it may be another tool's.
        let now_ms = self.base.clock.now_ms();
        if is_answered {
            self.agents.claude.answered(pair, now_ms);
        }
        if steps.contains(&ClaudeStep::Began) {
            self.agents.claude.prompted(pair, now_ms);
        }
        for step in steps {
            self.ladder_hears_of(pair, &step);
            match step {
                ClaudeStep::Began | ClaudeStep::Runs => {
                    self.agents.contexts.turn_began(Agent::Claude);
                }
                ClaudeStep::Lives => self.agents.turn_lives(&mut self.base, &turn),
                ClaudeStep::Waits(waits) => self.agents.turn_waits(&mut self.base, &turn, waits),
                ClaudeStep::Over(_) => {
                    self.agents.contexts.turn_ended(Agent::Claude);
                    self.agents.claude.turn_ended(pair);
                    self.agents.turn_is_over(&mut self.base, &turn);
                }
                ClaudeStep::Compacts => {}
                ClaudeStep::Compacted | ClaudeStep::CompactionOver => {
                    self.base.clients.status_changed();
                }
                ClaudeStep::Append { change, has_come } => {
                    self.base.append_claude(pair, change, has_come);
                }
                ClaudeStep::Worked => self.limit_input(Agent::Claude, LimitInput::Worked),
                ClaudeStep::Died(ids) => {
                    // It never says when its limit ends.
                    let (until_ms, died) = (None, self.base.recorder.written_by_agents(&ids));
                    self.limit_input(Agent::Claude, LimitInput::Hit { until_ms, died });
                }
            }
        }
    }

    /// The ladder of the pair hears of a step before anything else does.
    fn ladder_hears_of(&mut self, pair: &RuntimeSession, step: &ClaudeStep) {
        let setting = TurnEndSetting {
            rests: self.agents.claude.rests_at_limit(),
            rests_after_work: self.agents.rests_after_work(&self.base, Agent::Claude),
            is_read: !self.agents.spoken.ended().is_reading_end(pair),
        };
        if let Some(told) = step.told_ladder(setting) {
            let backlog = self.deliveries.outbox.backlog();
            self.agents.spoken.ended().keep_unread(pair, &told, backlog);
            self.tell_ladder(pair, told);
        }
    }

    /// As [`Self::claude_hears`], of all pairs.
    pub(in crate::daemon) fn claudes_hear(&mut self, input: &ClaudeInput) {
        for pair in self.agents.claude.pairs() {
            self.claude_hears(&pair, input.clone());
        }
    }
}

impl Base {
    fn append_claude(&mut self, pair: &RuntimeSession, change: ClaudeChange, has_come: bool) {
        let who = Agent::Claude.title_in(pair);
        let text = match &change.why {
            None if has_come => format!("{who} attached"),
            Some(why) if has_come => format!("{who} attached: {why}"),
            None => format!("{who} is {}", change.state.as_str()),
            Some(why) => format!("{who} is {}: {why}", change.state.as_str()),
        };
        let changed = AgentChanged {
            pid: change.pid,
            why: change.why.clone(),
            ..AgentChanged::of(Agent::Claude, change.state)
        };
        let entry = self.entry_of_agent(pair, changed, text);
        let of = pair.clone();
        self.recorder.append(
            vec![entry],
            Box::new(move |daemon, result| {
                if let Err(refusal) = result {
                    tracing::warn!(code = %refusal.code, "Claude's state was not recorded");
                    let known = daemon
                        .base
                        .recorder
                        .world()
                        .agent(Agent::Claude)
                        .status(&of);
                    let known = (known.state, known.pid);
                    daemon.claude_hears(&of, ClaudeInput::NotRecorded { change, known });
                }
            }),
        );
    }

    /// What the record says of an agent, of Claude that of a pair. The first pair is not named, as
    /// nobody names it.
    pub(in crate::daemon) fn entry_of_agent(
        &self,
        pair: &RuntimeSession,
        changed: AgentChanged,
        text: impl Into<String>,
    ) -> Entry {
        let named = Some(pair.clone()).filter(|pair| *pair != RuntimeSession::default());
        self.recorder.entry(
            Party::System,
            None,
            EntryKind::AgentChanged(changed),
            text,
            named,
        )
    }
}

impl Agents {
    /// For the status: as the record tells it, and as it is where the record is behind.
    pub(in crate::daemon) fn claude_as_it_is(&self, base: &Base) -> AgentSnapshot {
        let mut claude = base.recorder.world().agent(Agent::Claude).clone();
        if let Some((_, now, _)) = self.claude.shown()
            && claude.state != now.state
        {
            claude.state = now.state;
            claude.pid = now.pid;
            claude.why.clone_from(&now.why);
            claude.since_ms = 0;
        }
        claude
    }
}
