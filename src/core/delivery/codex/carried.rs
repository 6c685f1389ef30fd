//! [`CarriedFlow`]: what the next process must know of the lane to Codex when the app-server keeps
//! running under it.
//!
//! Messages on their way are not in here: they are in the rows, and the app-server is asked about
//! them again ([`CodexInput::Began`](super::CodexInput::Began)). The same holds for answers that
//! were seen: each must count again.

use serde::{Deserialize, Serialize};

use super::CodexFlow;
use crate::entry::TurnStatus;
use crate::id::{EntryId, ThreadId, TurnId};

/// The state that one process passes to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CarriedFlow {
    pub(super) life: u64,
    pub(super) is_running: bool,
    pub(super) thread: Option<ThreadId>,
    /// The turn that began last, running or not.
    pub(super) turn: Option<TurnId>,
    /// The running turn.
    pub(super) running: Option<TurnId>,
    pub(super) ended: Vec<(TurnId, TurnStatus)>,
    /// The lane rests because of a usage limit.
    pub(super) is_limited: bool,
    #[serde(rename = "isHeld")]
    pub(super) is_paused: bool,
    pub(super) not_taken: Option<EntryId>,
}

impl CarriedFlow {
    /// The turns that ended last, oldest first.
    pub fn ends(&self) -> impl Iterator<Item = (TurnId, TurnStatus)> {
        self.ended.iter().cloned()
    }

    /// Takes a longer list of turns that ended, which the previous process kept beside this.
    pub fn with_ends(mut self, ends: Vec<(TurnId, TurnStatus)>) -> Self {
        if ends.len() > self.ended.len() {
            self.ended = ends;
        }
        self
    }
}

impl CodexFlow {
    /// From here on nothing goes out: another process is to go on, and the adapter takes no more.
    pub fn begin_takeover(&mut self) {
        self.is_leaving = true;
    }

    /// What the next process gets.
    pub fn carried(&self) -> CarriedFlow {
        CarriedFlow {
            ended: self.ended.iter().cloned().collect(),
            not_taken: self.not_taken.clone(),
            ..self.state.carried()
        }
    }

    /// Takes on the state of the previous process. `server_stays`: the app-server goes on, and what
    /// it says is of the same life; it reports its thread's activity again.
    pub fn take_over(&mut self, carried: CarriedFlow, server_stays: bool) {
        self.state.take_over(&carried, server_stays);
        self.ended = carried.ended.into();
        self.not_taken = carried.not_taken;
    }
}
