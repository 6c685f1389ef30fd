//! [`HeldEffects`]: effects of each lane that wait for rows to be on the disk, and then for the
//! text that is given, if it is not in memory.
//!
//! `T` is the continuation of a waiter; it is kept and handed back unread. `E` says why the waiter
//! cannot go on.

use std::collections::VecDeque;

use super::{DeliveryEffect, Held};
use crate::agent::Agent;

/// How much one lane holds at most. Each message is held once, and each call of a client; more is
/// refused.
const HELD_MAX: usize = 16_384;

/// The lane holds as much as it may already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldTooMuch;

/// What is done once the rows before it are on the disk.
#[derive(Debug)]
pub enum HeldEffect<T> {
    /// A text leaves; see [`DeliveryEffect::leaves`].
    Leave(DeliveryEffect),
    /// A waiting flow goes on.
    Then(T),
}

/// The effects that wait for rows, in the order of each lane.
#[derive(Debug)]
pub struct HeldEffects<T, E> {
    claude: Held<HeldEffect<T>>,
    codex: Held<HeldEffect<T>>,
    /// Flows that no longer wait, and go on after what is being done.
    ready: VecDeque<(T, Result<(), E>)>,
}

impl<T, E> Default for HeldEffects<T, E> {
    fn default() -> Self {
        Self {
            claude: Held::default(),
            codex: Held::default(),
            ready: VecDeque::new(),
        }
    }
}

impl<T, E: From<HeldTooMuch>> HeldEffects<T, E> {
    /// Rows of this lane are being written.
    pub fn begin(&mut self, agent: Agent, token: u64) {
        self.lane(agent).begin(token);
    }

    /// The write that what is held in this lane from now on waits for.
    pub fn waits_for(&mut self, agent: Agent) -> Option<u64> {
        self.lane(agent).waits_for()
    }

    /// Has somebody go on behind the rows before it; where too much waits already, with that
    /// refusal.
    pub fn when_stored(&mut self, agent: Agent, then: T) {
        match self.hold(agent, HeldEffect::Then(then)) {
            Ok(Some(HeldEffect::Then(then))) => self.go_on(then, Ok(())),
            Err(HeldEffect::Then(then)) => self.go_on(then, Err(HeldTooMuch.into())),
            Ok(_) | Err(_) => {}
        }
    }

    /// Has somebody go on who has nothing to wait for: behind what is being done.
    pub fn go_on(&mut self, then: T, stored: Result<(), E>) {
        self.ready.push_back((then, stored));
    }

    /// Who goes on next, until there is nobody.
    pub fn next_ready(&mut self) -> Option<(T, Result<(), E>)> {
        self.ready.pop_front()
    }

    /// Holds something behind the rows before it. It comes back when there is nothing to wait for.
    ///
    /// # Errors
    ///
    /// It comes back when a lane holds as much as it may: [`HeldTooMuch`].
    pub fn hold(
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
    pub fn next_durable(&mut self, upto: u64) -> Option<(Agent, HeldEffect<T>)> {
        Agent::ALL
            .into_iter()
            .find_map(|agent| Some((agent, self.lane(agent).next_durable(upto)?)))
    }

    /// The writes up to this one failed: what does not leave.
    pub fn take_failed(&mut self, upto: u64) -> Vec<(Agent, HeldEffect<T>)> {
        let mut failed = Vec::new();
        for agent in Agent::ALL {
            let of_lane = self.lane(agent).take_failed(upto);
            failed.extend(of_lane.into_iter().map(|effect| (agent, effect)));
        }
        failed
    }

    /// What left a lane last is being read from the disk: what follows stays behind it.
    pub fn begin_read(&mut self, agent: Agent) {
        self.lane(agent).begin_read();
    }

    /// That was read and has left: what may leave next. To be asked until there is nothing, with
    /// which the read is over.
    pub fn next_read(&mut self, agent: Agent) -> Option<HeldEffect<T>> {
        self.lane(agent).next_read()
    }

    /// What one lane holds, in its order.
    #[cfg(test)]
    pub fn of_lane(&self, agent: Agent) -> impl Iterator<Item = &HeldEffect<T>> {
        match agent {
            Agent::Claude => self.claude.iter(),
            Agent::Codex => self.codex.iter(),
        }
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.claude.is_empty() && self.codex.is_empty() && self.ready.is_empty()
    }

    fn lane(&mut self, agent: Agent) -> &mut Held<HeldEffect<T>> {
        match agent {
            Agent::Claude => &mut self.claude,
            Agent::Codex => &mut self.codex,
        }
    }
}
