//! [`HeldEffects`]: what of each lane waits for rows that are on their way to the disk, and then for
//! what it is given from, where that is not at hand.
//!
//! `T` is how whoever waits goes on; it is kept, handed back and not looked at.

use crate::core::agent::Agent;
use crate::core::delivery::{DeliveryEffect, Held};

/// How much one lane holds at most. Each message is held once, and each call of a client; more is
/// refused.
const HELD_MAX: usize = 16_384;

/// What happens once the rows before it are on the disk.
#[derive(Debug)]
pub(super) enum HeldEffect<T> {
    /// A body leaves; see [`DeliveryEffect::leaves`].
    Leave(DeliveryEffect),
    /// Somebody goes on.
    Then(T),
}

/// What waits, in the order of each lane.
#[derive(Debug)]
pub(super) struct HeldEffects<T> {
    claude: Held<HeldEffect<T>>,
    codex: Held<HeldEffect<T>>,
}

impl<T> Default for HeldEffects<T> {
    fn default() -> Self {
        Self {
            claude: Held::default(),
            codex: Held::default(),
        }
    }
}

impl<T> HeldEffects<T> {
    /// Rows of this lane are being written.
    pub(super) fn begin(&mut self, agent: Agent, token: u64) {
        self.lane(agent).begin(token);
    }

    /// The write that what is held in this lane from now on waits for.
    pub(super) fn waits_for(&mut self, agent: Agent) -> Option<u64> {
        self.lane(agent).waits_for()
    }

    /// Holds something behind the rows before it. It comes back when there is nothing to wait for.
    ///
    /// # Errors
    ///
    /// It comes back when too much waits already.
    pub(super) fn hold(
        &mut self,
        agent: Agent,
        effect: HeldEffect<T>,
    ) -> Result<Option<HeldEffect<T>>, HeldEffect<T>> {
        let lane = self.lane(agent);
        if lane.len() >= HELD_MAX {
            return Err(effect);
        }
        Ok(lane.hold(effect))
    }

    /// All writes up to this one are durable: what may leave next. To be asked until there is
    /// nothing.
    pub(super) fn next_durable(&mut self, upto: u64) -> Option<(Agent, HeldEffect<T>)> {
        Agent::ALL
            .into_iter()
            .find_map(|agent| Some((agent, self.lane(agent).next_durable(upto)?)))
    }

    /// The writes up to this one failed: what does not leave.
    pub(super) fn take_failed(&mut self, upto: u64) -> Vec<(Agent, HeldEffect<T>)> {
        let mut failed = Vec::new();
        for agent in Agent::ALL {
            let of_lane = self.lane(agent).take_failed(upto);
            failed.extend(of_lane.into_iter().map(|effect| (agent, effect)));
        }
        failed
    }

    /// What left a lane last is being read from the disk: what follows stays behind it.
    pub(super) fn begin_read(&mut self, agent: Agent) {
        self.lane(agent).begin_read();
    }

    /// That was read and has left: what may leave next. To be asked until there is nothing, with
    /// which the read is over.
    pub(super) fn next_read(&mut self, agent: Agent) -> Option<HeldEffect<T>> {
        self.lane(agent).next_read()
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.claude.is_empty() && self.codex.is_empty()
    }

    fn lane(&mut self, agent: Agent) -> &mut Held<HeldEffect<T>> {
        match agent {
            Agent::Claude => &mut self.claude,
            Agent::Codex => &mut self.codex,
        }
    }
}
