//! [`ClaudeLane`]: the Claude of each pair: its state, how messages reach it, and what is shown of
//! its turn.
//!
//! Only [`ClaudeLane::apply`] changes a [`Ladder`], and only [`ClaudeLane::hear`] a
//! [`ClaudeState`]. Nothing here proves a delivery: see [`LadderInput::Proven`]. The flows in
//! `claude/` carry out what follows for other owners.

mod carried;
mod shown_claude;

use std::collections::BTreeMap;

use crate::core::delivery::{
    Backlog, ClaudeChange, ClaudeInput, ClaudeSetting, ClaudeState, ClaudeStep, DeliveryEffect,
    Ladder, LadderInput, LadderTimeouts, Moment,
};
use crate::core::id::{EntryId, RuntimeSession};

pub(in crate::daemon) use carried::CarriedPair;
pub(in crate::daemon) use shown_claude::ShownClaude;

/// How many pairs are remembered that have no Claude now. Names of pairs come from clients.
const PAIRS_MAX: usize = 64;

/// What is known of Claude right now.
#[derive(Debug, Default)]
pub struct ClaudeLane {
    pairs: BTreeMap<RuntimeSession, ClaudePair>,
    timeouts: LadderTimeouts,
}

/// The Claude of one pair.
#[derive(Debug)]
struct ClaudePair {
    ladder: Ladder,
    state: ClaudeState,
    turn: ShownClaude,
    /// When it was last prompted, ms.
    prompted_ms: Option<i64>,
    /// When it was last answered, ms.
    answered_ms: Option<i64>,
    /// The use of a tool that it showed a dialog about last.
    asked_about: Option<String>,
}

impl ClaudePair {
    /// Whether its bridge or its doorbell is connected.
    fn is_here(&self) -> bool {
        self.ladder.receiver().is_some() || self.ladder.bell().is_some()
    }

    /// Whether something would be lost with it.
    fn is_needed(&self) -> bool {
        self.is_here() || self.state.is_in_turn() || !self.state.cut_off().is_empty()
    }
}

impl ClaudeLane {
    /// Hands something to the ladder of a pair, and says what is to be done.
    pub(in crate::daemon) fn apply(
        &mut self,
        pair: &RuntimeSession,
        input: LadderInput,
        backlog: &mut Backlog,
        at: &Moment,
    ) -> Vec<DeliveryEffect> {
        self.pair_mut(pair).ladder.apply(backlog, input, at)
    }

    /// Takes in what is told of the Claude of a pair, and says what follows.
    pub(in crate::daemon) fn hear(
        &mut self,
        pair: &RuntimeSession,
        input: ClaudeInput,
        setting: ClaudeSetting,
    ) -> Vec<ClaudeStep> {
        self.pair_mut(pair).state.apply(input, setting)
    }

    /// Knows a pair. What waits for it is looked at from now on.
    pub(in crate::daemon) fn know(&mut self, pair: &RuntimeSession) {
        self.pair_mut(pair);
    }

    /// An idle Claude that was told and does nothing for `idle_ms` was not reached; what was not
    /// attempted for `expiry_ms` expires.
    pub(in crate::daemon) fn set_timeouts(&mut self, idle_ms: i64, expiry_ms: Option<i64>) {
        self.timeouts.idle_ms = idle_ms;
        self.timeouts.expiry_ms = expiry_ms;
        for pair in self.pairs.values_mut() {
            pair.ladder.set_timeouts(self.timeouts);
        }
    }

    /// What the Claude of a pair is and does; `None` for a pair that is not known.
    pub(in crate::daemon) fn state(&self, pair: &RuntimeSession) -> Option<&ClaudeState> {
        self.pairs.get(pair).map(|pair| &pair.state)
    }

    /// The Claude of a pair was prompted: the turn before is over, and what it waited for.
    pub(in crate::daemon) fn prompted(&mut self, pair: &RuntimeSession, at_ms: i64) {
        self.pair_mut(pair).prompted_ms = Some(at_ms);
    }

    /// It was answered: what it waited for until now is over.
    pub(in crate::daemon) fn answered(&mut self, pair: &RuntimeSession, at_ms: i64) {
        self.pair_mut(pair).answered_ms = Some(at_ms);
    }

    /// Whether it was prompted since this time.
    pub(in crate::daemon) fn prompted_since(&self, pair: &RuntimeSession, since_ms: i64) -> bool {
        let known = self.pairs.get(pair).and_then(|pair| pair.prompted_ms);
        known.is_some_and(|at_ms| at_ms > since_ms)
    }

    /// Whether it was prompted or answered since this time.
    pub(in crate::daemon) fn went_on_since(&self, pair: &RuntimeSession, since_ms: i64) -> bool {
        let answered = self.pairs.get(pair).and_then(|pair| pair.answered_ms);
        let is_answered = answered.is_some_and(|at_ms| at_ms > since_ms);
        is_answered || self.prompted_since(pair, since_ms)
    }

    /// It shows a dialog about this use of a tool.
    pub(in crate::daemon) fn asks_about(&mut self, pair: &RuntimeSession, tool_use: Option<&str>) {
        self.pair_mut(pair).asked_about = tool_use.map(str::to_owned);
    }

    /// The use of a tool that it showed a dialog about last.
    pub(in crate::daemon) fn asked_about(&self, pair: &RuntimeSession) -> Option<&str> {
        self.pairs.get(pair)?.asked_about.as_deref()
    }

    /// The Claude that is shown as *the* Claude, with its turn: of several the one that says most,
    /// and of the same the first. The record's world chooses in the same way.
    pub(in crate::daemon) fn shown(
        &self,
    ) -> Option<(&RuntimeSession, &ClaudeChange, &ShownClaude)> {
        let first = self.pairs.get_key_value(&RuntimeSession::default());
        let mut shown = None;
        for (pair, it) in first.into_iter().chain(&self.pairs) {
            let weight = it.state.now().state.weight();
            if shown.is_none_or(|(most, _)| weight > most) {
                shown = Some((weight, (pair, it.state.now(), &it.turn)));
            }
        }
        shown.map(|(_, shown)| shown)
    }

    /// Whether the context of a Claude is compacted, as far as is known.
    pub(in crate::daemon) fn is_compacting(&self, now_ms: i64) -> bool {
        let mut states = self.pairs.values().map(|pair| &pair.state);
        states.any(|state| state.is_compacting(now_ms))
    }

    /// When the next of their compactions lapses, ms.
    pub(in crate::daemon) fn next_lapse_ms(&self) -> Option<i64> {
        let states = self.pairs.values().map(|pair| &pair.state);
        states.filter_map(ClaudeState::compaction_lapses_ms).min()
    }

    /// The pairs whose Claude compacts, and should be done by now.
    pub(in crate::daemon) fn lapsed(&self, now_ms: i64) -> Vec<RuntimeSession> {
        let is_late = |pair: &ClaudePair| {
            let lapses_ms = pair.state.compaction_lapses_ms();
            lapses_ms.is_some_and(|lapses_ms| lapses_ms <= now_ms)
        };
        let lapsed = self.pairs.iter().filter(|(_, pair)| is_late(pair));
        lapsed.map(|(name, _)| name.clone()).collect()
    }

    /// How many helpers of the Claudes show a dialog.
    pub(in crate::daemon) fn asking_helpers(&self) -> usize {
        let states = self.pairs.values().map(|pair| &pair.state);
        states.map(ClaudeState::asking_helpers).sum()
    }

    /// The messages that the Claudes were given in turns that failed.
    pub(in crate::daemon) fn cut_off(&self) -> Vec<EntryId> {
        let states = self.pairs.values().map(|pair| &pair.state);
        states.flat_map(ClaudeState::cut_off).cloned().collect()
    }

    /// Whether the lane rests because of a usage limit, which is the account's: all ladders are told the
    /// same, and that of the first pair is always among them.
    pub(in crate::daemon) fn rests_at_limit(&self) -> bool {
        let first = self.ladder(&RuntimeSession::default());
        first.is_some_and(Ladder::rests_at_limit)
    }

    /// The ways to the Claude of one pair.
    pub(in crate::daemon) fn ladder(&self, pair: &RuntimeSession) -> Option<&Ladder> {
        self.pairs.get(pair).map(|pair| &pair.ladder)
    }

    /// The pairs that are known.
    pub(in crate::daemon) fn pairs(&self) -> Vec<RuntimeSession> {
        self.pairs.keys().cloned().collect()
    }

    /// Whether what waits for too long expires.
    pub(in crate::daemon) fn lets_expire(&self) -> bool {
        self.timeouts.expiry_ms.is_some()
    }

    /// When something about a ladder happens by itself, ms.
    pub(in crate::daemon) fn next_ms(&self, backlog: &Backlog) -> Option<i64> {
        let ladders = self.pairs.values().map(|pair| &pair.ladder);
        ladders.filter_map(|ladder| ladder.next_ms(backlog)).min()
    }

    fn pair_mut(&mut self, pair: &RuntimeSession) -> &mut ClaudePair {
        if self.pairs.len() >= PAIRS_MAX && !self.pairs.contains_key(pair) {
            let first = RuntimeSession::default();
            self.pairs
                .retain(|name, pair| *name == first || pair.is_needed());
            if self.pairs.len() >= PAIRS_MAX {
                // What those had that are gone, in turns that failed, waits unread in their lanes.
                self.pairs
                    .retain(|name, pair| *name == first || pair.is_here());
            }
        }
        let (timeouts, rests) = (self.timeouts, self.rests_at_limit());
        self.pairs
            .entry(pair.clone())
            .or_insert_with(|| ClaudePair {
                ladder: Ladder::new(pair.clone(), timeouts, rests),
                state: ClaudeState::default(),
                turn: ShownClaude::default(),
                prompted_ms: None,
                answered_ms: None,
                asked_about: None,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_that_are_gone_are_forgotten_whatever_became_of_their_turns() {
        let mut lane = ClaudeLane::default();
        let setting = ClaudeSetting {
            is_here: false,
            is_limited: false,
        };
        for number in 0..1_000 {
            let pair = RuntimeSession::new(format!("pair-{number}"));
            let ids = vec![EntryId::new(format!("m{number}"))];
            let (limited, why) = (false, "overloaded".to_owned());
            for input in [
                ClaudeInput::TurnBegan,
                ClaudeInput::Given { ids },
                ClaudeInput::Failed { limited, why },
            ] {
                lane.hear(&pair, input, setting);
            }
            assert!(lane.state(&pair).is_some());
            assert!(lane.pairs().len() <= PAIRS_MAX);
        }
    }
}
