//! [`CarriedPair`]: what the next process must know of the Claude of a pair besides ledger and
//! queue: what it does, what it was asked, and what its doorbell was rung for.

use serde::{Deserialize, Serialize};

use super::ClaudeLane;
use crate::core::delivery::{Backlog, CarriedClaude, ClaudeInput, LadderInput, RungMessage};
use crate::core::id::RuntimeSession;

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
    /// What the next process gets: of each Claude that is here.
    pub(in crate::daemon) fn carried(&self, backlog: &Backlog) -> Vec<CarriedPair> {
        let carried = self.pairs.iter().filter_map(|(name, pair)| {
            Some(CarriedPair {
                pair: name.clone(),
                claude: pair.state.carried()?,
                prompted_ms: pair.prompted_ms,
                answered_ms: pair.answered_ms,
                asked_about: pair.asked_about.clone(),
                rung: pair.ladder.rung_for(backlog),
            })
        });
        carried.collect()
    }

    /// Takes on what the previous process knew of a Claude, and says what its state and its ladder
    /// are to be told.
    pub(in crate::daemon) fn recall(&mut self, carried: CarriedPair) -> (ClaudeInput, LadderInput) {
        let pair = self.pair_mut(&carried.pair);
        pair.prompted_ms = carried.prompted_ms;
        pair.answered_ms = carried.answered_ms;
        pair.asked_about = carried.asked_about;
        let claude = Box::new(carried.claude);
        let rung = carried.rung;
        (
            ClaudeInput::Recalled { claude },
            LadderInput::WasRung { rung },
        )
    }
}
