//! The outbox as the operator sees and changes it.

use super::record::not_found;
use crate::core::agent::Agent;
use crate::core::delivery::{CodexInput, DeliveryState};
use crate::core::entry::DeliveryResult;
use crate::daemon::event::Answer;
use crate::daemon::run::{Daemon, answer, now_ms};
use crate::wire::control::{QueueChange, QueueChangeParams, QueueRow, Refusal, Reply};

impl Daemon {
    pub(super) fn queue_rows(&self) -> Vec<QueueRow> {
        let now = now_ms();
        Agent::ALL
            .into_iter()
            .flat_map(|agent| self.outbox.lane(agent))
            .map(|row| QueueRow {
                id: row.id.clone(),
                to: row.to,
                state: row.state.as_str().to_owned(),
                attempts: row.attempts,
                age_ms: self
                    .world
                    .unsettled
                    .get(&row.id)
                    .map_or(0, |message| (now - message.at_ms).max(0)),
                on_busy: row.on_busy,
            })
            .collect()
    }

    pub(super) fn change_queue(&mut self, params: QueueChangeParams, reply: Answer) {
        let Some(row) = self.outbox.get(&params.id) else {
            return answer(
                reply,
                Err(not_found(
                    &format!("message {} in the queue", params.id),
                    "see `ctxrelay queue list`",
                )),
            );
        };
        let (to, state) = (row.to, row.state);
        let result = match params.change {
            QueueChange::Retry => DeliveryResult::Requeued,
            QueueChange::Remove => DeliveryResult::Cancelled,
        };
        let waits = to == Agent::Codex && state == DeliveryState::Queued;
        if params.change == QueueChange::Retry && waits && self.codex.flow.is_held() {
            // What the human stopped goes on, because the operator says so.
            self.codex_input(CodexInput::Released);
            return answer(reply, Ok(Reply::Done));
        }
        let allowed = match params.change {
            QueueChange::Retry => state == DeliveryState::Ambiguous,
            // What was handed to Claude and not acknowledged is unread; what is on its way to
            // Codex cannot be taken back.
            QueueChange::Remove => match state {
                DeliveryState::Queued | DeliveryState::Ambiguous | DeliveryState::Confirmed => true,
                DeliveryState::Attempted => to == Agent::Claude,
                _ => false,
            },
        };
        if !allowed {
            return answer(
                reply,
                Err(Refusal::new(
                    "wrong_state",
                    format!("{} is {}", params.id, state.as_str()),
                    "retry what is ambiguous; remove what is queued, ambiguous or unread",
                )),
            );
        }
        if self.outbox.backlog.is_recording(&params.id) {
            return answer(
                reply,
                Err(Refusal::new(
                    "in_flight",
                    format!("another change of {} is just being recorded", params.id),
                    "look again: `ctxrelay queue list`",
                )),
            );
        }
        let entry = self.delivery_entry(&params.id, to, result, None, None);
        let id = params.id;
        // From here on nothing is offered of it. That it is to be recorded is said once, here.
        self.outbox
            .backlog
            .record(&id, result, None, None, &mut Vec::new());
        self.record(
            vec![entry],
            Box::new(move |daemon, outcome| match outcome {
                Ok(_) => {
                    daemon.result_is_durable(id, result);
                    answer(reply, Ok(Reply::Done));
                }
                Err(refusal) => {
                    daemon.outbox.backlog.not_recorded(&id, result);
                    answer(reply, Err(refusal.clone()));
                }
            }),
        );
    }
}
