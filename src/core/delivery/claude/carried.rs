//! [`CarriedClaude`]: what the next process must know of the Claude of a pair. That goes on, and
//! its hooks tell of what comes, not of what was.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ClaudeChange, ClaudeDialog, ClaudeState, ClaudeStep};
use crate::agent::AgentState;
use crate::id::EntryId;

/// What goes on from one process to the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CarriedClaude {
    state: AgentState,
    pid: u32,
    #[serde(default)]
    why: Option<String>,
    #[serde(default)]
    is_in_turn: bool,
    /// Only helpers of it ask.
    #[serde(default)]
    waits_for_helper: bool,
    #[serde(default)]
    compacts_since: Option<i64>,
    #[serde(default)]
    asking_helpers: BTreeMap<String, Option<String>>,
    #[serde(default)]
    given: Vec<EntryId>,
    #[serde(default)]
    cut_off: Vec<EntryId>,
}

impl CarriedClaude {
    /// Its process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Takes what this very Claude is known to have by now: a proof may come while its clients are
    /// sent away already.
    pub fn has_by_now(&mut self, claude: &ClaudeState) {
        if claude.now.pid == Some(self.pid) {
            self.given.clone_from(&claude.given);
            self.cut_off.clone_from(&claude.cut_off);
        }
    }
}

impl ClaudeState {
    /// What the next process gets, whose clock is ahead of this one's by so much; `None` where no
    /// Claude is here that could be known again.
    pub fn carried(&self, ahead_ms: i64) -> Option<CarriedClaude> {
        let pid = self.now.pid.filter(|_| self.now.state.is_attached())?;
        let since = self.compacts_since;
        Some(CarriedClaude {
            state: self.now.state,
            pid,
            why: self.now.why.clone(),
            is_in_turn: self.is_in_turn,
            waits_for_helper: self.dialog == ClaudeDialog::OfHelper,
            compacts_since: since.map(|since_ms| since_ms.saturating_add(ahead_ms)),
            asking_helpers: self.asking_helpers.clone(),
            given: self.given.clone(),
            cut_off: self.cut_off.clone(),
        })
    }

    /// Neither its bridge nor its doorbell has come to this process.
    pub fn is_away(&self) -> bool {
        self.is_recalled || self.now.state == AgentState::Offline
    }

    /// The process before this one knew it, and it is waited for.
    pub fn is_recalled(&self) -> bool {
        self.is_recalled
    }

    /// Takes on what the previous process knew. Its record says that nobody is here, until this
    /// Claude comes.
    pub(super) fn recall(&mut self, carried: CarriedClaude, steps: &mut Vec<ClaudeStep>) {
        self.is_recalled = true;
        self.now = ClaudeChange {
            state: carried.state,
            pid: Some(carried.pid),
            why: carried.why,
        };
        self.is_in_turn = carried.is_in_turn;
        self.dialog = match carried.waits_for_helper {
            true => ClaudeDialog::OfHelper,
            false => ClaudeDialog::Own,
        };
        self.compacts_since = carried.compacts_since;
        self.asking_helpers = carried.asking_helpers;
        (self.given, self.cut_off) = (carried.given, carried.cut_off);
        if self.is_in_turn {
            let waits = ClaudeStep::Waits(self.now.state == AgentState::Waiting);
            steps.extend([ClaudeStep::Runs, ClaudeStep::Lives, waits]);
        }
        if self.compacts_since.is_some() {
            steps.push(ClaudeStep::Compacts);
        }
    }
}
