//! The outbox as the operator sees and changes it.

use super::checks::not_found;
use crate::core::agent::Agent;
use crate::core::delivery::{CodexInput, DeliveryState};
use crate::core::entry::DeliveryResult;
use crate::core::id::EntryId;
use crate::daemon::clock::now_ms;
use crate::daemon::continuation::ThenStored;
use crate::daemon::owners::Daemon;
use crate::daemon::reply::{ReplySender, answer};
use crate::wire::control::{
    QueueChange, QueueChangeParams, QueueDrainParams, QueueRow, Recorded, Refusal, RefusalCode,
    Reply,
};

impl Daemon {
    pub(super) fn queue_rows(&self) -> Vec<QueueRow> {
        let now = now_ms();
        Agent::ALL
            .into_iter()
            .flat_map(|agent| self.outbox.lane(agent))
            .map(|row| QueueRow {
                id: row.id.clone(),
                to: row.to,
                state: row.state.into(),
                attempts: row.attempts,
                age_ms: self
                    .recorder
                    .world()
                    .unsettled
                    .get(&row.id)
                    .map_or(0, |message| (now - message.at_ms).max(0)),
                on_busy: row.on_busy,
            })
            .collect()
    }

    pub(super) fn change_queue(&mut self, params: QueueChangeParams, reply: ReplySender) {
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
        // Here, or in the app-server's own queue.
        let waits =
            to == Agent::Codex && matches!(state, DeliveryState::Queued | DeliveryState::Offered);
        if params.change == QueueChange::Retry && waits && self.codex.is_held() {
            // What the human stopped goes on, because the operator says so.
            self.codex_input(CodexInput::Released);
            return answer(reply, Ok(Reply::Done));
        }
        let allowed = match params.change {
            QueueChange::Retry => state == DeliveryState::Ambiguous,
            QueueChange::Remove => QueueRow::can_be_removed(to, state),
        };
        if !allowed {
            return answer(
                reply,
                Err(Refusal::new(
                    RefusalCode::WrongState,
                    format!("{} is {}", params.id, state.as_str()),
                    "retry what is ambiguous; remove what is queued, ambiguous or unread",
                )),
            );
        }
        if params.change == QueueChange::Remove && self.outbox.backlog().has_left(&params.id) {
            return answer(
                reply,
                Err(Refusal::new(
                    RefusalCode::InFlight,
                    format!("{} is just being given to {}", params.id, to.title()),
                    "look again in a moment: `ctxrelay queue list`",
                )),
            );
        }
        if self.outbox.backlog().is_recording(&params.id) {
            return answer(
                reply,
                Err(Refusal::new(
                    RefusalCode::InFlight,
                    format!("another change of {} is just being recorded", params.id),
                    "look again: `ctxrelay queue list`",
                )),
            );
        }
        let entry = self.delivery_entry(&params.id, to, result, None, None);
        let (id, placed) = (params.id, params.placed);
        // From here on nothing is offered of it. That it is to be recorded is said once, here.
        self.outbox.records(&id, result);
        self.recorder.record(
            vec![entry],
            Box::new(move |daemon, outcome| match outcome {
                Ok(stored) => {
                    daemon.result_is_durable(id, result);
                    let of = stored
                        .first()
                        .filter(|_| placed)
                        .map(|stored| &stored.entry);
                    let recorded = of.map(|entry| Recorded {
                        entry_id: entry.id.clone(),
                        seq: entry.seq,
                    });
                    answer(reply, Ok(recorded.map_or(Reply::Done, Reply::Recorded)));
                }
                Err(refusal) => {
                    daemon.outbox.does_not_record(&id, result);
                    answer(reply, Err(refusal.clone()));
                }
            }),
        );
    }

    /// Takes back all that can be taken back. What is on its way to Codex stays.
    pub(super) fn drain_queue(&mut self, params: &QueueDrainParams, reply: ReplySender) {
        let agents = params.to.map_or(Agent::ALL.to_vec(), |to| vec![to]);
        let rows: Vec<(EntryId, Agent)> = agents
            .into_iter()
            .flat_map(|agent| self.outbox.lane(agent))
            .filter(|row| QueueRow::can_be_removed(row.to, row.state))
            .filter(|row| !self.outbox.backlog().has_left(&row.id))
            .filter(|row| !self.outbox.backlog().is_recording(&row.id))
            .map(|row| (row.id.clone(), row.to))
            .collect();
        let then = |daemon: &mut Self, done: ThenStored| done(daemon, Ok(()));
        self.end_all(rows, DeliveryResult::Cancelled, then, reply);
    }

    /// Makes the queue anew from the record. Whatever has no proof there becomes ambiguous, so
    /// that nothing is sent again by itself.
    pub(super) fn rebuild_queue(&mut self, reply: ReplySender) {
        let rows: Vec<(EntryId, Agent)> = self
            .outbox
            .backlog()
            .rows()
            .filter(|row| QueueRow::becomes_ambiguous(row.state))
            .filter(|row| !self.outbox.backlog().is_recording(&row.id))
            .map(|row| (row.id.clone(), row.to))
            .collect();
        let rebuild = |daemon: &mut Self, done: ThenStored| {
            let given = daemon
                .outbox
                .rebuild(&daemon.dirs, daemon.recorder.world().seq);
            match daemon.rows_given(&Agent::ALL, given) {
                Ok(()) => daemon.held.when_stored(Agent::Codex, done),
                Err(refusal) => done(daemon, Err(&refusal)),
            }
        };
        self.end_all(rows, DeliveryResult::Ambiguous, rebuild, reply);
    }

    /// Records the same result of many messages in one batch: all of them, or none.
    fn end_all(
        &mut self,
        rows: Vec<(EntryId, Agent)>,
        result: DeliveryResult,
        then: impl FnOnce(&mut Self, ThenStored) + Send + 'static,
        reply: ReplySender,
    ) {
        let done_with = |ids: Vec<EntryId>, reply: ReplySender| -> ThenStored {
            Box::new(move |_, stored| {
                let done = stored.map(|()| Reply::QueueChanged(ids));
                answer(reply, done.map_err(Clone::clone));
            })
        };
        let entries: Vec<_> = rows
            .iter()
            .map(|(id, to)| self.delivery_entry(id, *to, result, None, None))
            .collect();
        let ids: Vec<EntryId> = rows.into_iter().map(|(id, _)| id).collect();
        if entries.is_empty() {
            let done = done_with(ids, reply);
            let then: ThenStored = Box::new(move |daemon, _| then(daemon, done));
            return self.held.go_on(then, Ok(()));
        }
        for id in &ids {
            // From here on nothing is offered of it. It is recorded once, here.
            self.outbox.records(id, result);
        }
        self.recorder.record(
            entries,
            Box::new(move |daemon, outcome| {
                if let Err(refusal) = outcome {
                    for id in &ids {
                        daemon.outbox.does_not_record(id, result);
                    }
                    return answer(reply, Err(refusal.clone()));
                }
                for id in &ids {
                    daemon.result_is_durable(id.clone(), result);
                }
                then(daemon, done_with(ids, reply));
            }),
        );
    }
}
