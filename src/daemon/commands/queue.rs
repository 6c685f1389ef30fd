//! The outbox as the operator sees and changes it.

use super::record::not_found;
use crate::core::agent::Agent;
use crate::core::delivery::{DeliveryFact, DeliveryState};
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
        let (fact, result) = match params.change {
            QueueChange::Retry => (DeliveryFact::Requeued, DeliveryResult::Requeued),
            QueueChange::Remove => (DeliveryFact::Cancelled, DeliveryResult::Cancelled),
        };
        let allowed = match params.change {
            QueueChange::Retry => state == DeliveryState::Ambiguous,
            QueueChange::Remove => matches!(
                state,
                DeliveryState::Queued | DeliveryState::Ambiguous | DeliveryState::Confirmed
            ),
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
        if !self.changing.insert(params.id.clone()) {
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
        self.record(
            vec![entry],
            Box::new(move |daemon, outcome| {
                daemon.changing.remove(&id);
                if let Err(refusal) = outcome {
                    return answer(reply, Err(refusal.clone()));
                }
                let applied = daemon.apply(&id, fact);
                if result == DeliveryResult::Cancelled {
                    daemon.outbox.settle(&id);
                    daemon.recent_handoffs.retain(|recent| recent.id != id);
                }
                answer(reply, applied.map(|_| Reply::Done));
            }),
        );
    }
}
