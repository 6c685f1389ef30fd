//! [`Limits`]: the agents' usage limits: who is held, until when, and what is sent again.
//!
//! Codex can be asked whether a limit still holds, where it works with an account of its vendor's.
//! Claude cannot, and never says when one ends (2.1.330, observed).

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::event::Event;
use super::run::Daemon;
use crate::core::agent::{Agent, Party};
use crate::core::delivery::{
    Checked, ClaudeInput, CodexInput, DeliveryState, LadderInput, Limit, LimitInput, LimitStep,
    LimitTerms,
};
use crate::core::entry::{DeliveryResult, Entry};
use crate::core::id::{EntryId, RuntimeSession};
use crate::core::snapshot::LimitSnapshot;
use crate::wire::config::Config;
use crate::wire::status::LimitStatus;

/// How long the adapter may take to find out. It has a deadline of its own, which is shorter.
const CHECK_WAIT: Duration = Duration::from_secs(12);

/// A limit of which nobody knows the end is believed for this long over a restart, ms. After that
/// the next message is the test.
const BELIEVED_MS: i64 = 60 * 60_000;

/// What is known of the agents' limits.
#[derive(Debug)]
pub(super) struct Limits {
    codex: Limit,
    claude: Limit,
    /// When a limit that Codex hits would end, ms, by the last word about it.
    codex_ends_ms: Option<i64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            codex: Limit::new(LimitTerms::default()),
            claude: Limit::new(LimitTerms::default()),
            codex_ends_ms: None,
        }
    }
}

impl Limits {
    fn of(&mut self, agent: Agent) -> &mut Limit {
        match agent {
            Agent::Claude => &mut self.claude,
            Agent::Codex => &mut self.codex,
        }
    }

    fn get(&self, agent: Agent) -> &Limit {
        match agent {
            Agent::Claude => &self.claude,
            Agent::Codex => &self.codex,
        }
    }

    /// Whether deliveries to the agent are held.
    pub(super) fn holds(&self, agent: Agent) -> bool {
        self.get(agent).holds()
    }

    /// When a limit that Codex hits would end, ms since the epoch, if it has said.
    pub(super) fn codex_ends_ms(&self) -> Option<i64> {
        self.codex_ends_ms
    }

    /// A limit would end then.
    pub(super) fn codex_ends(&mut self, at_ms: i64) {
        self.codex_ends_ms = Some(at_ms);
    }
}

impl Daemon {
    /// Takes what the configuration says, for a limit that holds too.
    pub(super) fn set_limit_mode(&mut self, config: &Config) {
        let mode = config.rate_limit_resume.mode;
        for agent in Agent::ALL {
            self.limit_input(agent, LimitInput::Mode(mode));
        }
        self.status_changed();
    }

    /// Holds what the record says was held when the daemon before this one ended. What died of it
    /// is not sent again by itself: of what else was cut off it is not told apart.
    pub(super) fn recall_limits(&mut self) {
        let now_ms = self.clock.now_ms();
        for agent in Agent::ALL {
            let holds = |limit: &LimitSnapshot| {
                let end_ms = limit.until_ms.unwrap_or(limit.since_ms + BELIEVED_MS);
                // A clock that was set back must not hold a lane for ever.
                end_ms > now_ms && limit.since_ms <= now_ms
            };
            let Some(limit) = self.recorder.world().agent(agent).limit.filter(holds) else {
                if agent == Agent::Codex && self.codex.flow.state().is_limited() {
                    // The process before held the lane; the next message is the test.
                    self.codex_input(CodexInput::LimitOver);
                }
                continue;
            };
            let (since_ms, until_ms) = (limit.since_ms, limit.until_ms);
            match agent {
                Agent::Codex => {
                    self.limits.codex_ends_ms = until_ms;
                    self.codex_input(CodexInput::LimitHolds);
                }
                Agent::Claude => {
                    for pair in self.pairs_of_claude() {
                        self.tell_ladder(&pair, LadderInput::LimitHolds);
                    }
                }
            }
            self.limit_input(agent, LimitInput::Recalled { since_ms, until_ms });
        }
    }

    /// Holds the lane to Codex where the record says that the human stopped a turn and nothing has
    /// begun since.
    pub(super) fn recall_stop(&mut self) {
        let codex = self.recorder.world().agent(Agent::Codex);
        if codex.stopped_turn.is_some() {
            let thread = codex.thread_id;
            self.codex_input(CodexInput::Stopped { thread });
        }
    }

    /// The first pair, and those for which something waits.
    pub(super) fn pairs_of_claude(&self) -> BTreeSet<RuntimeSession> {
        let waiting = self.outbox.backlog.lane(Agent::Claude);
        waiting
            .map(|row| row.runtime_session.clone())
            .chain([RuntimeSession::default()])
            .collect()
    }

    /// When something about a limit happens by itself.
    pub(super) fn next_limit_deadline(&self) -> Option<Instant> {
        Agent::ALL
            .into_iter()
            .filter_map(|agent| self.limits.get(agent).next_ms())
            .min()
            .map(|at_ms| self.clock.instant(at_ms))
    }

    pub(super) fn limit_deadline(&mut self) {
        let now_ms = self.clock.now_ms();
        for agent in Agent::ALL {
            if self
                .limits
                .get(agent)
                .next_ms()
                .is_some_and(|at| at <= now_ms)
            {
                self.limit_input(agent, LimitInput::Tick);
            }
        }
    }

    /// A turn of Codex ended at its limit. `ids`: our messages in it.
    pub(super) fn codex_hit_limit(&mut self, ids: &[EntryId]) {
        let until_ms = self.limits.codex_ends_ms;
        let died = self.written_by_agents(ids);
        self.limit_input(Agent::Codex, LimitInput::Hit { until_ms, died });
    }

    /// Those of these messages that an agent wrote. What the operator typed is for them to repeat.
    pub(super) fn written_by_agents(&self, ids: &[EntryId]) -> Vec<EntryId> {
        ids.iter()
            .filter(|id| matches!(self.sender_of(Some(id)), Party::Agent(_)))
            .cloned()
            .collect()
    }

    /// Hands something to an agent's limit, and does what it says.
    pub(super) fn limit_input(&mut self, agent: Agent, input: LimitInput) {
        let now_ms = self.clock.now_ms();
        for step in self.limits.of(agent).apply(input, now_ms) {
            match step {
                LimitStep::Begins => self.status_changed(),
                LimitStep::Ask => self.ask_limit(agent),
                LimitStep::Over { again } => self.limit_is_over(agent, again),
            }
        }
    }

    fn ask_limit(&mut self, agent: Agent) {
        let asked = (agent == Agent::Codex)
            .then(|| self.codex.ask_limit())
            .flatten();
        let (Some(asked), events) = (asked, self.events.clone()) else {
            return self.limit_input(agent, LimitInput::Checked(Checked::Unknown));
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

    /// What died goes first: the lane goes on once the record has it.
    fn limit_is_over(&mut self, agent: Agent, again: Vec<EntryId>) {
        self.status_changed();
        let again = self.can_be_sent_again(agent, again);
        if again.is_empty() {
            return self.lane_goes_on(agent);
        }
        let why = "its turn ended at the usage limit, which is over";
        self.send_again(agent, again, why, move |daemon| daemon.lane_goes_on(agent));
    }

    fn lane_goes_on(&mut self, agent: Agent) {
        match agent {
            Agent::Codex => self.codex_input(CodexInput::LimitOver),
            Agent::Claude => self.claude_limit_over(),
        }
    }

    /// The messages whose turn ended early, oldest first.
    pub(super) fn cut_off(&self, agent: Agent) -> Vec<EntryId> {
        match agent {
            Agent::Codex => {
                let mut cut_off: Vec<_> = self.recorder.world().cut_off.iter().collect();
                cut_off.sort_by_key(|(_, message)| message.seq);
                cut_off.into_iter().map(|(id, _)| id.clone()).collect()
            }
            Agent::Claude => self.can_be_sent_again(agent, self.claude.state().cut_off().to_vec()),
        }
    }

    /// What is settled for good, or on its way already, cannot.
    fn can_be_sent_again(&self, agent: Agent, ids: Vec<EntryId>) -> Vec<EntryId> {
        let can = |id: &EntryId| match agent {
            Agent::Codex => self.recorder.world().cut_off.contains_key(id),
            Agent::Claude => self
                .outbox
                .get(id)
                .is_some_and(|row| row.state == DeliveryState::Confirmed),
        };
        ids.into_iter().filter(can).collect()
    }

    /// Whether the end of an agent's limit has something sent again.
    pub(super) fn sends_again(&self, agent: Agent) -> bool {
        let spoken = self.limits.get(agent).spoken(self.clock.now_ms());
        spoken.is_some_and(|limit| limit.again > 0 && !limit.is_cancelled)
    }

    /// Records that these are sent again, and has them sent.
    pub(super) fn send_again(
        &mut self,
        agent: Agent,
        ids: Vec<EntryId>,
        why: &str,
        then: impl FnOnce(&mut Self) + Send + 'static,
    ) {
        let entries: Vec<Entry> = ids
            .iter()
            .map(|id| Entry {
                content: why.to_owned(),
                ..self.delivery_entry(id, agent, DeliveryResult::Requeued, None, None)
            })
            .collect();
        // The row that it had is gone for good before it is to have another one: brought back by a
        // loss of power, it would tell of the attempt before this one. A failing queue is told, and
        // the next row cannot be written then either.
        let synced = self.outbox.sync();
        let _ = self.queue_written(synced);
        self.record_fact(
            entries,
            Box::new(move |daemon, _| {
                for id in ids {
                    let message = daemon.recorder.world().unsettled.get(&id).cloned();
                    if let Some(message) = message.filter(|_| daemon.outbox.get(&id).is_none()) {
                        daemon.outbox.track_again(id.clone(), &message);
                    }
                    daemon.claude_hears(ClaudeInput::SentAgain { id: id.clone() });
                    daemon.result_is_durable(id, DeliveryResult::Requeued);
                }
                then(daemon);
                daemon.pump();
            }),
        );
    }

    /// For the status.
    pub(super) fn limit_status(&self, agent: Agent) -> Option<LimitStatus> {
        let limit = self.limits.get(agent);
        let spoken = limit.spoken(self.clock.now_ms())?;
        Some(LimitStatus {
            mode: limit.mode(),
            since: spoken.since_ms,
            resets_at: spoken.until_ms,
            next_try: spoken.try_at_ms,
            tries: spoken.tries,
            tries_max: LimitTerms::default().tries_max,
            again: spoken.again as u64,
            cancelled: spoken.is_cancelled,
        })
    }
}
