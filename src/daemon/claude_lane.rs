//! [`ClaudeLane`]: how messages reach Claude: one [`Ladder`] for each pair, and what Claude is and
//! does.
//!
//! [`ClaudeLane::apply`] is the only way to a ladder, [`ClaudeLane::hear`] the only one to what is
//! known of Claude. Nothing here is proof: see [`LadderInput::Proven`]. What follows for others is
//! done by the flows in `claude/`.

use std::collections::BTreeMap;

use crate::core::delivery::{
    Backlog, ClaudeInput, ClaudeSetting, ClaudeState, ClaudeStep, DeliveryEffect, Ladder,
    LadderInput, LadderTerms, Moment,
};
use crate::core::id::RuntimeSession;

/// How many pairs are remembered that have no Claude now. Names of pairs come from clients.
const PAIRS_MAX: usize = 64;

/// What is known of Claude right now.
#[derive(Debug, Default)]
pub struct ClaudeLane {
    ladders: BTreeMap<RuntimeSession, Ladder>,
    terms: LadderTerms,
    state: ClaudeState,
}

impl ClaudeLane {
    /// Hands something to the ladder of a pair, and says what is to be done.
    pub(super) fn apply(
        &mut self,
        pair: &RuntimeSession,
        input: LadderInput,
        backlog: &mut Backlog,
        at: &Moment,
    ) -> Vec<DeliveryEffect> {
        self.ladder_mut(pair).apply(backlog, input, at)
    }

    /// Takes in what is told of Claude, and says what follows.
    pub(super) fn hear(&mut self, input: ClaudeInput, setting: ClaudeSetting) -> Vec<ClaudeStep> {
        self.state.apply(input, setting)
    }

    /// Has a ladder for a pair. What waits for it is looked at from now on.
    pub(super) fn know(&mut self, pair: &RuntimeSession) {
        self.ladder_mut(pair);
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

    /// What Claude is and does.
    pub(super) fn state(&self) -> &ClaudeState {
        &self.state
    }

    /// The ways to the Claude of one pair.
    pub(super) fn ladder(&self, pair: &RuntimeSession) -> Option<&Ladder> {
        self.ladders.get(pair)
    }

    /// The pairs that have a ladder.
    pub(super) fn pairs(&self) -> Vec<RuntimeSession> {
        self.ladders.keys().cloned().collect()
    }

    /// Whether what waits for too long expires.
    pub(super) fn lets_expire(&self) -> bool {
        self.terms.expiry_ms.is_some()
    }

    /// When something about a ladder happens by itself, ms.
    pub(super) fn next_ms(&self, backlog: &Backlog) -> Option<i64> {
        let ladders = self.ladders.values();
        ladders.filter_map(|ladder| ladder.next_ms(backlog)).min()
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
}
