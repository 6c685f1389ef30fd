//! [`Limits`]: which agent is at its usage limit, and until when.
//!
//! Status and record follow this owner. Whether a lane rests is a separate fact, which the lane
//! holds: it was told to rest, and does so until the messages that died of the limit are recorded
//! as sent again.
//!
//! Codex can be asked whether a limit still holds, where it works with an account of its vendor.
//! Claude cannot, and never reports the end of one (2.1.330, observed).

use crate::core::agent::Agent;
use crate::core::delivery::{Limit, LimitInput, LimitPolicy, LimitStep};
use crate::core::id::EntryId;
use crate::wire::status::LimitStatus;

/// What is known of the agents' limits.
#[derive(Debug)]
pub(in crate::daemon) struct Limits {
    codex: Limit,
    claude: Limit,
    /// When a limit that Codex hits would end, ms, by the last word about it.
    codex_ends_ms: Option<i64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            codex: Limit::new(LimitPolicy::default()),
            claude: Limit::new(LimitPolicy::default()),
            codex_ends_ms: None,
        }
    }
}

impl Limits {
    /// Hands something to an agent's limit, and says what follows.
    pub(in crate::daemon) fn apply(
        &mut self,
        agent: Agent,
        input: LimitInput,
        now_ms: i64,
    ) -> Vec<LimitStep> {
        let limit = match agent {
            Agent::Claude => &mut self.claude,
            Agent::Codex => &mut self.codex,
        };
        limit.apply(input, now_ms)
    }

    /// A limit that Codex hits would end then, ms since the epoch; `None`: nobody says.
    pub(in crate::daemon) fn codex_ends(&mut self, at_ms: Option<i64>) {
        self.codex_ends_ms = at_ms;
    }

    /// Whether the agent is at its limit.
    pub(in crate::daemon) fn is_active(&self, agent: Agent) -> bool {
        self.get(agent).is_active()
    }

    /// When the limit that an agent is at ends, ms since the epoch, if its vendor has said.
    pub(in crate::daemon) fn ends_ms(&self, agent: Agent, now_ms: i64) -> Option<i64> {
        self.get(agent).spoken(now_ms)?.until_ms
    }

    /// When a limit that Codex hits would end, ms since the epoch, if it has said.
    pub(in crate::daemon) fn codex_ends_ms(&self) -> Option<i64> {
        self.codex_ends_ms
    }

    /// When something about an agent's limit happens by itself, ms.
    pub(in crate::daemon) fn next_ms(&self, agent: Agent) -> Option<i64> {
        self.get(agent).next_ms()
    }

    /// Whether the end of an agent's limit has something sent again.
    pub(in crate::daemon) fn sends_again(&self, agent: Agent, now_ms: i64) -> bool {
        self.get(agent).sends_again(now_ms)
    }

    /// As [`Limit::rests_after_work`].
    pub(in crate::daemon) fn rests_after_work(&self, agent: Agent, now_ms: i64) -> bool {
        self.get(agent).rests_after_work(now_ms)
    }

    /// Whether a message that an agent's limit ends now is sent again once that is over.
    pub(in crate::daemon) fn will_have_again(&self, agent: Agent, id: &EntryId) -> bool {
        self.get(agent).will_have_again(id)
    }

    /// Whether something is sent again without anybody's doing, once a limit is over: until then it
    /// stands in no queue, and the next daemon would not know of it.
    pub(in crate::daemon) fn will_send_again(&self, now_ms: i64) -> bool {
        let will = |agent| self.sends_again(agent, now_ms) && self.next_ms(agent).is_some();
        Agent::ALL.into_iter().any(will)
    }

    /// For the status; `None` while the agent is at no limit.
    pub(in crate::daemon) fn status(&self, agent: Agent, now_ms: i64) -> Option<LimitStatus> {
        let limit = self.get(agent);
        let spoken = limit.spoken(now_ms)?;
        Some(LimitStatus {
            mode: limit.mode(),
            since: spoken.since_ms,
            resets_at: spoken.until_ms,
            next_try: spoken.try_at_ms,
            tries: spoken.tries,
            tries_max: LimitPolicy::default().tries_max,
            again: spoken.again as u64,
            cancelled: spoken.is_cancelled,
        })
    }

    fn get(&self, agent: Agent) -> &Limit {
        match agent {
            Agent::Claude => &self.claude,
            Agent::Codex => &self.codex,
        }
    }
}
