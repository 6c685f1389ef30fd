//! [`CarriedFlow`]: what the next process must know of the lane to Codex when the app-server goes on
//! under it.
//!
//! What is on its way is not in here: it is in the rows, and the app-server is asked about it anew
//! ([`CodexInput::Began`](super::CodexInput::Began)). So are the answers that were heard: each must
//! count again.

use serde::{Deserialize, Serialize};

use super::CodexFlow;
use crate::core::entry::TurnStatus;
use crate::core::id::{EntryId, ThreadId, TurnId};

/// What goes on from one process to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CarriedFlow {
    life: u64,
    is_running: bool,
    thread: Option<ThreadId>,
    turn: Option<TurnId>,
    ended: Vec<(TurnId, TurnStatus)>,
    is_limited: bool,
    is_held: bool,
    not_taken: Option<EntryId>,
}

impl CodexFlow {
    /// From here on nothing goes out: another process is to go on, and the adapter takes no more.
    pub fn leave(&mut self) {
        self.is_leaving = true;
    }

    /// What the next process gets.
    pub fn carried(&self) -> CarriedFlow {
        CarriedFlow {
            life: self.life,
            is_running: self.is_running,
            thread: self.thread.clone(),
            turn: self.turn.clone(),
            ended: self.ended.iter().cloned().collect(),
            is_limited: self.is_limited,
            is_held: self.is_held,
            not_taken: self.not_taken.clone(),
        }
    }

    /// Takes on what the process before knew. `server_stays`: the app-server goes on, and what it
    /// says is of the same life; its thread's activity it tells anew.
    pub fn inherit(&mut self, carried: CarriedFlow, server_stays: bool) {
        self.life = carried.life;
        self.is_running = carried.is_running && server_stays;
        self.thread = carried.thread;
        self.turn = carried.turn.filter(|_| server_stays);
        self.ended = carried.ended.into();
        self.is_limited = carried.is_limited;
        #[cfg(test)]
        if self.fault == Some(crate::core::delivery::fault::Fault::LimitNotCarried) {
            self.is_limited = false;
        }
        self.is_held = carried.is_held;
        self.not_taken = carried.not_taken;
    }
}
