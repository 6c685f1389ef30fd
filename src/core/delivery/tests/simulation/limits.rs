//! Claude's usage limit, as the daemon has it: what died of it goes first.

use super::disk::Write;
use super::world::World;
use crate::agent::Agent;
use crate::delivery::{
    Checked, ClaudeInput, DeliveryState, LadderInput, LaterInput, LimitInput, LimitMode,
    LimitPolicy, LimitStep,
};
use crate::entry::DeliveryResult;
use crate::id::EntryId;

/// The limits of these worlds are short.
pub const LIMITS: LimitPolicy = LimitPolicy {
    mode: LimitMode::Resume,
    slack_ms: 100,
    first_ms: 1_500,
    longest_ms: 6_000,
    tries_max: 4,
    answer_ms: 500,
    stale_ms: 30_000,
};

impl World {
    /// Hands something to the limit of Claude.
    pub fn limit(&mut self, input: LimitInput) {
        let now = self.now;
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        for step in daemon.limit.apply(input, now) {
            match step {
                LimitStep::Begins => {
                    self.tell_later(LaterInput::Ladders(LadderInput::LimitHolds));
                }
                LimitStep::Ask => {
                    let nobody = LimitInput::Checked(Checked::NotAsked);
                    self.tell_later(LaterInput::Limit(Agent::Claude, nobody));
                }
                LimitStep::Over { again } if again.is_empty() => self.lane_goes_on(),
                // Once the record has what has happened so far.
                LimitStep::Over { again } => {
                    self.checks.died.extend(again.iter().cloned());
                    self.append(Write::Died(again));
                }
                // Their senders hear of it.
                LimitStep::NotAgain { .. } => {}
            }
        }
    }

    /// The record has what happened before the limit was over.
    pub fn sends_what_died(&mut self, ids: Vec<EntryId>) {
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        if ids.iter().any(|id| daemon.backlog.is_recording(id)) {
            return self.append(Write::Died(ids));
        }
        let is_proven = |id: &EntryId| {
            let row = daemon.backlog.get(id);
            row.is_some_and(|row| row.state == DeliveryState::Confirmed)
        };
        let (again, over): (Vec<_>, Vec<_>) = ids.into_iter().partition(is_proven);
        daemon.again.extend(again.iter().cloned());
        self.checks.died.retain(|id| !over.contains(id));
        if again.is_empty() {
            return self.lane_goes_on();
        }
        for id in again {
            self.append(Write::Result {
                id,
                to: Agent::Claude,
                result: DeliveryResult::Requeued,
                rung: None,
                turn: None,
            });
        }
    }

    /// The record says that it is sent to Claude again. Behind the last of them its lane goes on.
    pub fn is_sent_again(&mut self, id: &EntryId) {
        let Some(daemon) = &mut self.daemon else {
            return;
        };
        let is_last = daemon.again.remove(id) && daemon.again.is_empty();
        self.checks.died.remove(id);
        if is_last {
            self.lane_goes_on();
        }
    }

    fn lane_goes_on(&mut self) {
        let Some(daemon) = &self.daemon else { return };
        if daemon.limit.is_active() {
            // While the record took what is sent again, another turn ran into the next one.
            return;
        }
        self.tell_later(LaterInput::Claudes(ClaudeInput::LimitOver));
        self.tell_later(LaterInput::Ladders(LadderInput::LimitOver));
    }
}
