//! [`CarriedLane`]: what the next process must know of the Codex lane besides ledger and queue: whose
//! messages the running turn answers, and what became of the latest.

use serde::{Deserialize, Serialize};

use super::{CodexLane, Relayed, Remembered};
use crate::adapters::codex::passed::Passed;
use crate::adapters::codex::request::CodexRequest;
use crate::core::delivery::Outcome;
use crate::core::id::{AttemptId, EntryId, TurnId};
use tokio::sync::oneshot;

/// What goes on from one process to the next.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::daemon) struct CarriedLane {
    receipts: Vec<(EntryId, Outcome)>,
    attempts: Vec<(EntryId, AttemptId)>,
    relayed: Vec<(TurnId, Vec<Relayed>)>,
    answered: Vec<(TurnId, ())>,
    turn: Option<TurnId>,
    limited: bool,
    tui: bool,
    tui_pid: Option<u32>,
}

impl CodexLane {
    /// Asks the adapter to let go of what runs. Whether it was asked.
    pub(in crate::daemon) fn release(&self, reply: oneshot::Sender<Passed>) -> bool {
        let release = CodexRequest::Release { reply };
        self.adapter.requests.try_send(release).is_ok()
    }

    /// What the next process gets.
    pub(in crate::daemon) fn carried(&self) -> CarriedLane {
        CarriedLane {
            receipts: self.receipts.to_vec(),
            attempts: self.attempts.to_vec(),
            relayed: self.relayed.to_vec(),
            answered: self.answered.to_vec(),
            turn: self.turn.clone(),
            limited: self.limited,
            tui: self.tui,
            tui_pid: self.tui_pid,
        }
    }

    /// Takes on what the process before knew. `terminal_stays`: its connections came along. The
    /// app-server and its thread are told by the adapter.
    pub(in crate::daemon) fn inherit(&mut self, carried: CarriedLane, terminal_stays: bool) {
        self.receipts = Remembered::from_vec(carried.receipts);
        self.attempts = Remembered::from_vec(carried.attempts);
        self.relayed = Remembered::from_vec(carried.relayed);
        self.answered = Remembered::from_vec(carried.answered);
        // The adapter knows that it runs, and tells its end only.
        self.turn = carried.turn;
        self.limited = carried.limited;
        self.tui = carried.tui && terminal_stays;
        self.tui_pid = carried.tui_pid.filter(|_| self.tui);
    }
}

impl<K: Clone + Eq + std::hash::Hash, V: Clone> Remembered<K, V> {
    /// Oldest first.
    fn to_vec(&self) -> Vec<(K, V)> {
        self.order
            .iter()
            .filter_map(|key| Some((key.clone(), self.map.get(key)?.clone())))
            .collect()
    }

    fn from_vec(pairs: Vec<(K, V)>) -> Self {
        let mut remembered = Self::default();
        for (key, value) in pairs {
            remembered.insert(key, value);
        }
        remembered
    }
}
