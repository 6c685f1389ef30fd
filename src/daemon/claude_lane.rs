//! How messages reach Claude: one [`Ladder`] for each pair decides, and this does what it says.
//!
//! [`ClaudeLane`] is what is known; `presence` says which Claude that is, `context` what a hook
//! hands into a turn, `standing` what the operator reads of it, `tools` whether it can call us,
//! `turns` what it does. Nothing here is proof: see [`LadderInput::Proven`].

mod context;
mod presence;
mod ring;
mod standing;
mod tools;
mod turns;

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

use super::attach::ConnId;
use super::run::Daemon;
use crate::core::agent::Agent;
use crate::core::delivery::{ClaudeState, Ladder, LadderInput, LadderTerms};
use crate::core::id::{EntryId, RuntimeSession};
use crate::wire::control::{Notification, Refusal};
use ring::ring_line;
use tools::ToolsGone;

/// How many pairs are remembered that have no Claude now. Names of pairs come from clients.
const PAIRS_MAX: usize = 64;

/// What is known of Claude right now.
#[derive(Debug, Default)]
pub struct ClaudeLane {
    ladders: BTreeMap<RuntimeSession, Ladder>,
    terms: LadderTerms,
    /// What it is and does. Changed by `Daemon::claude_hears` alone.
    state: ClaudeState,
    /// Claude processes that say that their monitor does not run.
    silent: BTreeSet<u32>,
    /// Claude processes whose doorbell was here.
    heard: BTreeSet<u32>,
    /// Claude processes that have run a hook of ours, so that they run the one of a turn's beginning.
    hooked: BTreeSet<u32>,
    /// Whose bridge died while it lives.
    tools_gone: ToolsGone,
}

impl ClaudeLane {
    /// What Claude is and does.
    pub(super) fn state(&self) -> &ClaudeState {
        &self.state
    }

    /// The ways to the Claude of one pair.
    pub(super) fn ladder(&self, pair: &RuntimeSession) -> Option<&Ladder> {
        self.ladders.get(pair)
    }

    fn ladder_mut(&mut self, pair: &RuntimeSession) -> &mut Ladder {
        if self.ladders.len() >= PAIRS_MAX && !self.ladders.contains_key(pair) {
            self.ladders.retain(|_, ladder| {
                ladder.receiver().is_some() || ladder.bell().is_some() || ladder.is_limited()
            });
        }
        self.ladders
            .entry(pair.clone())
            .or_insert_with(|| Ladder::new(pair.clone(), self.terms))
    }

    /// An idle Claude that was told and does nothing for `idle_ms` was not reached; what was not
    /// attempted for `expiry_ms` expires.
    pub(super) fn set_terms(&mut self, idle_ms: i64, expiry_ms: Option<i64>) {
        self.terms.idle_ms = idle_ms;
        self.terms.expiry_ms = expiry_ms;
        for ladder in self.ladders.values_mut() {
            ladder.set_terms(self.terms);
        }
    }
}

impl Daemon {
    /// Hands something to the ladder of a pair, and does what it says.
    ///
    /// # Errors
    ///
    /// When a row could not be written; nothing has left after it.
    pub(super) fn claude_input(
        &mut self,
        pair: &RuntimeSession,
        input: LadderInput,
    ) -> Result<(), Refusal> {
        let at = self.moment();
        let ladder = self.claude.ladder_mut(pair);
        let effects = ladder.apply(&mut self.outbox.backlog, input, &at);
        self.perform(Agent::Claude, effects)
    }

    /// As [`Self::claude_input`], where nobody asked: a refusal has been said to the operator.
    pub(super) fn tell_ladder(&mut self, pair: &RuntimeSession, input: LadderInput) {
        let _ = self.claude_input(pair, input);
    }

    /// The pair that a message belongs to.
    pub(super) fn pair_of(&self, id: &EntryId) -> Option<RuntimeSession> {
        Some(self.outbox.get(id)?.runtime_session.clone())
    }

    /// Offers what has not been offered, by the best way there is.
    pub(super) fn pump_claude(&mut self) {
        if self.claude.terms.expiry_ms.is_some() {
            // What waits for a Claude that never came expires too.
            for pair in self.pairs_of_claude() {
                self.claude.ladder_mut(&pair);
            }
        }
        self.tell_all_ladders(&LadderInput::News);
    }

    /// Everything may be offered again: the record is a new one.
    pub(super) fn claude_forgets(&mut self) {
        self.tell_all_ladders(&LadderInput::NewContext);
    }

    pub(super) fn tell_all_ladders(&mut self, input: &LadderInput) {
        let pairs: Vec<RuntimeSession> = self.claude.ladders.keys().cloned().collect();
        for pair in pairs {
            self.tell_ladder(&pair, input.clone());
        }
    }

    /// When something about Claude happens by itself.
    pub(super) fn claude_next(&self) -> Option<Instant> {
        self.next_ladder_ms().map(|at_ms| self.clock.instant(at_ms))
    }

    fn next_ladder_ms(&self) -> Option<i64> {
        let backlog = &self.outbox.backlog;
        let ladders = self.claude.ladders.values();
        ladders.filter_map(|ladder| ladder.next_ms(backlog)).min()
    }

    pub(super) fn claude_deadline(&mut self) {
        let now_ms = self.clock.now_ms();
        if self.next_ladder_ms().is_some_and(|at_ms| at_ms <= now_ms) {
            self.tell_all_ladders(&LadderInput::Tick);
            self.status_changed();
        }
    }

    /// One message through the bridge, with its body. Its row is on disk.
    pub(super) fn push_to_claude(&mut self, bridge: u64, id: EntryId, repeat: bool) {
        let Some(row) = self.outbox.get(&id) else {
            return;
        };
        let pair = row.runtime_session.clone();
        let sent = self.message(&id).is_some_and(|stored| {
            let message = self.enveloped(&stored.entry, repeat);
            self.note_given(&message);
            self.following(&id)
                .in_scope(|| tracing::debug!(repeat, "pushed to the bridge"));
            self.clients
                .send(ConnId::of(bridge), Notification::Push(Box::new(message)))
        });
        if !sent {
            self.tell_ladder(&pair, LadderInput::OutletFull { id });
        }
    }

    /// One line that says that messages wait. `asks`: no hook will carry them.
    pub(super) fn ring(&mut self, bell: u64, ids: Vec<EntryId>, asks: bool) {
        let bell = ConnId::of(bell);
        let has_hooks = self
            .clients
            .get(bell)
            .and_then(|bell| bell.hello.agent_pid)
            .is_some_and(|process| self.claude.hooked.contains(&process));
        let waiting: Vec<(&str, &str)> = ids
            .iter()
            .filter_map(|id| {
                let message = self.recorder.world().unsettled.get(id)?;
                Some((message.from.as_str(), id.as_str()))
            })
            .collect();
        if waiting.is_empty() {
            return;
        }
        let line = ring_line(&waiting, asks || !has_hooks);
        let rung = self.clients.send(bell, Notification::Ring { line });
        for id in &ids {
            self.following(id)
                .in_scope(|| tracing::debug!(rung, "announced by the doorbell"));
        }
        if !rung {
            for id in ids {
                if let Some(pair) = self.pair_of(&id) {
                    self.tell_ladder(&pair, LadderInput::OutletFull { id });
                }
            }
        }
    }
}
