//! [`LaneState`]: what the next process needs to know of the Codex lane besides ledger and queue:
//! whose messages the running turn answers, the outcome of the latest, and the lane's state.

use serde::{Deserialize, Serialize};

use super::CodexLane;
use super::relayed::Relayed;
use crate::core::delivery::{CarriedFlow, Outcome};
use crate::core::entry::TurnStatus;
use crate::core::id::{AttemptId, EntryId, RuntimeSession, TurnId};
use crate::daemon::base::bounded_map::BoundedMap;
use crate::wire::status::AppServerStatus;

/// What goes on from one process to the next.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::daemon) struct LaneState {
    receipts: Vec<(EntryId, Outcome)>,
    attempts: Vec<(EntryId, AttemptId)>,
    /// An older process counts it when it hands a message over.
    #[serde(default)]
    ours: Vec<(EntryId, usize)>,
    relayed: Vec<(TurnId, Vec<Relayed>)>,
    answered: Vec<(TurnId, Option<Vec<RuntimeSession>>)>,
    /// As the flow has them: an older process looks for them here.
    #[serde(default)]
    ends: Vec<((TurnId, TurnStatus), ())>,
    turns_noted: Vec<TurnId>,
    server: Option<AppServerStatus>,
    port: Option<u16>,
    tui: bool,
    tui_pid: Option<u32>,
    trouble: Option<String>,
    flow: CarriedFlow,
}

impl CodexLane {
    /// What the next process gets.
    pub(in crate::daemon) fn carried(&self) -> LaneState {
        let flow = self.flow.carried();
        let noted = self.turns_noted.to_vec().into_iter();
        LaneState {
            receipts: self.receipts.to_vec(),
            attempts: self.attempts.to_vec(),
            ours: self.ours.to_vec(),
            relayed: self.relayed.to_vec(),
            answered: self.answered.to_vec(),
            ends: flow.ends().map(|end| (end, ())).collect(),
            turns_noted: noted.map(|(turn, ())| turn).collect(),
            server: self.server().cloned(),
            port: self.app_server_port(),
            tui: self.tui,
            tui_pid: self.tui_pid,
            trouble: self.trouble.clone(),
            flow,
        }
    }

    /// Takes on the state of the previous process. `server_stays` and `terminal_stays`: they came
    /// along. The adapter reports again what the thread does, how full its context is and what
    /// waits for an approval.
    pub(in crate::daemon) fn take_over(
        &mut self,
        carried: LaneState,
        server_stays: bool,
        terminal_stays: bool,
    ) {
        self.receipts = BoundedMap::from_vec(carried.receipts);
        self.attempts = BoundedMap::from_vec(carried.attempts);
        self.ours = BoundedMap::from_vec(carried.ours);
        self.relayed = BoundedMap::from_vec(carried.relayed);
        self.answered = BoundedMap::from_vec(carried.answered);
        let noted = carried.turns_noted.into_iter().map(|turn| (turn, ()));
        self.turns_noted = BoundedMap::from_vec(noted.collect());
        let ends = carried.ends.into_iter().map(|(end, ())| end);
        let flow = carried.flow.with_ends(ends.collect());
        self.flow.take_over(flow, server_stays);
        if server_stays {
            let port = carried.port;
            self.server = carried.server.map(|server| (server, port));
            self.trouble = carried.trouble;
        }
        self.tui = carried.tui && terminal_stays;
        self.tui_pid = carried.tui_pid.filter(|_| self.tui);
    }
}
