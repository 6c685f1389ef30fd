//! [`CarriedPair`]: what the next process must know of the Claude of a pair besides ledger and
//! queue: what it does, what it was asked, and what its doorbell was rung for.

use serde::{Deserialize, Serialize};

use super::ClaudeLane;
use crate::core::delivery::{Backlog, CarriedClaude, ClaudeInput, LadderInput, RungMessage};
use crate::core::id::RuntimeSession;
use crate::daemon::agents::running_tools::RunningTools;

/// What goes on from one process to the next.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::daemon) struct CarriedPair {
    pair: RuntimeSession,
    claude: CarriedClaude,
    #[serde(default)]
    prompted_ms: Option<i64>,
    #[serde(default)]
    answered_ms: Option<i64>,
    #[serde(default)]
    asked_about: Option<String>,
    #[serde(default)]
    rung: Vec<RungMessage>,
    /// What its turn runs.
    #[serde(default)]
    tools: RunningTools,
}

impl CarriedPair {
    /// Whose Claude it is.
    pub(in crate::daemon) fn pair(&self) -> &RuntimeSession {
        &self.pair
    }

    /// The process of that.
    pub(in crate::daemon) fn pid(&self) -> u32 {
        self.claude.pid()
    }
}

impl ClaudeLane {
    /// What the next process gets, whose clock is ahead of this one's by so much: of each Claude
    /// that is here.
    pub(in crate::daemon) fn carried(&self, backlog: &Backlog, ahead_ms: i64) -> Vec<CarriedPair> {
        let there = |at_ms: i64| at_ms.saturating_add(ahead_ms);
        let carried = self.pairs.iter().filter_map(|(name, pair)| {
            Some(CarriedPair {
                pair: name.clone(),
                claude: pair.state.carried(ahead_ms)?,
                prompted_ms: pair.prompted_ms.map(there),
                answered_ms: pair.answered_ms.map(there),
                asked_about: pair.asked_about.clone(),
                rung: pair.ladder.rung_for(backlog, ahead_ms),
                tools: pair.turn.tools_of_next(ahead_ms),
            })
        });
        carried.collect()
    }

    /// What Claudes are known to have been given since it was collected what the next process gets.
    pub(in crate::daemon) fn tell_given_since(&self, carried: &mut [CarriedPair]) {
        for pair in carried {
            if let Some(state) = self.state(&pair.pair) {
                pair.claude.has_by_now(state);
            }
        }
    }

    /// Takes on what the previous process knew of a Claude, and says what its state and its ladder
    /// are to be told.
    pub(in crate::daemon) fn recall(&mut self, carried: CarriedPair) -> (ClaudeInput, LadderInput) {
        let pair = self.pair_mut(&carried.pair);
        pair.prompted_ms = carried.prompted_ms;
        pair.answered_ms = carried.answered_ms;
        pair.asked_about = carried.asked_about;
        pair.turn.goes_on(carried.tools);
        let claude = Box::new(carried.claude);
        let rung = carried.rung;
        (
            ClaudeInput::Recalled { claude },
            LadderInput::WasRung { rung },
        )
    }
}
