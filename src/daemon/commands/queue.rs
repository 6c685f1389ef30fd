//! The outbox as the operator sees and changes it.

use std::collections::HashSet;
use std::sync::Arc;

use super::checks::not_found;
use crate::core::agent::{Agent, Party};
use crate::core::delivery::{CodexInput, Delivery, DeliveryState};
use crate::core::entry::DeliveryResult;
use crate::core::id::{EntryId, RuntimeSession};
use crate::daemon::claude_lane::ClaudeLane;
use crate::daemon::clock::now_ms;
use crate::daemon::decisions::track_told;
use crate::daemon::owners::continuation::ThenStored;
use crate::daemon::owners::{Base, Daemon, Deliveries};
use crate::daemon::reply::{ReplySender, answer};
use crate::store::ledger::Stored;
use crate::wire::control::{
    QueueChange, QueueChangeParams, QueueDrainParams, QueueRow, Recorded, Refusal, RefusalCode,
    Reply,
};

impl Deliveries {
    /// What is on its way, and what lost its turn.
    pub(super) fn queue_rows(&self, base: &Base, claude: &ClaudeLane) -> Vec<QueueRow> {
        let now = now_ms();
        let of_claude = self.cut_off(base, claude, Agent::Claude);
        let of_claude: HashSet<&EntryId> = of_claude.iter().collect();
        let mut rows: Vec<&Delivery> = self.outbox.backlog().rows().collect();
        rows.sort_by_key(|row| (row.to, row.seq));
        let rows = rows.into_iter();
        // Of Codex's there is no row any more.
        let of_codex = QueueRow::of_cut_off(base.recorder.world(), now);
        rows.map(|row| QueueRow {
            id: row.id.clone(),
            to: row.to,
            state: match of_claude.contains(&row.id) {
                true => QueueRow::cut_off(),
                false => row.state.into(),
            },
            attempts: row.attempts,
            age_ms: base
                .recorder
                .world()
                .unsettled
                .get(&row.id)
                .map_or(0, |message| (now - message.at_ms).max(0)),
            on_busy: row.on_busy,
            pair: QueueRow::named_pair(row.to, &row.runtime_session),
            waits_for_you: self.outbox.backlog().is_kept_back(&row.id),
        })
        .chain(of_codex)
        .collect()
    }

    /// Takes back all that can be taken back. What is on its way to Codex stays.
    pub(super) fn drain_queue(
        &mut self,
        base: &mut Base,
        params: &QueueDrainParams,
        reply: ReplySender,
    ) {
        let agents = params.to.map_or(Agent::ALL.to_vec(), |to| vec![to]);
        let shown = params.ids.as_ref();
        let shown: Option<HashSet<&EntryId>> = shown.map(|ids| ids.iter().collect());
        let rows: Vec<(EntryId, Agent)> = agents
            .into_iter()
            .flat_map(|agent| self.outbox.lane(agent))
            .filter(|row| QueueRow::can_be_removed(row.to, row.state))
            .filter(|row| shown.as_ref().is_none_or(|ids| ids.contains(&row.id)))
            .filter(|row| !self.outbox.backlog().has_left(&row.id))
            .filter(|row| !self.outbox.backlog().is_recording(&row.id))
            .map(|row| (row.id.clone(), row.to))
            .collect();
        self.end_all(base, rows, DeliveryResult::Cancelled, |_, ids, outcome| {
            let done = outcome.map(|_| Reply::QueueChanged(ids));
            answer(reply, done.map_err(Clone::clone));
        });
    }

    /// Rebuilds the queue from the record. Whatever has no proof there becomes ambiguous, so
    /// that nothing is sent again by itself.
    pub(super) fn rebuild_queue(&mut self, base: &mut Base, reply: ReplySender) {
        let rows: Vec<(EntryId, Agent)> = self
            .outbox
            .backlog()
            .rows()
            .filter(|row| QueueRow::becomes_ambiguous(row.state))
            .filter(|row| !self.outbox.backlog().is_recording(&row.id))
            .map(|row| (row.id.clone(), row.to))
            .collect();
        self.end_all(
            base,
            rows,
            DeliveryResult::Ambiguous,
            |daemon, ids, outcome| {
                if let Err(refusal) = outcome {
                    return answer(reply, Err(refusal.clone()));
                }
                let done: ThenStored = Box::new(move |_, stored| {
                    let done = stored.map(|()| Reply::QueueChanged(ids));
                    answer(reply, done.map_err(Clone::clone));
                });
                let given = daemon
                    .deliveries
                    .outbox
                    .rebuild(&daemon.base.dirs, daemon.base.recorder.world().seq);
                match daemon
                    .deliveries
                    .rows_given(&mut daemon.base, &Agent::ALL, given)
                {
                    Ok(()) => daemon.deliveries.held.when_stored(Agent::Codex, done),
                    Err(refusal) => done(daemon, Err(&refusal)),
                }
            },
        );
    }

    /// A message that Codex has, and whose turn ended early, is not sent again.
    fn give_cut_off_up(&self, base: &mut Base, params: QueueChangeParams, reply: ReplySender) {
        let (id, result) = (params.id, DeliveryResult::Cancelled);
        let mut entries = vec![self.settled_entry(base, &id, Agent::Codex, result)];
        entries.extend(base.nothing_comes_of_given_up(&id));
        base.recorder.append(
            entries,
            Box::new(move |daemon, outcome| {
                track_told(daemon, outcome);
                let is_sent_again = daemon.deliveries.outbox.get(&id).is_some();
                if outcome.is_ok() && is_sent_again {
                    // That was recorded before this.
                    daemon.result_is_durable(id, result);
                } else if outcome.is_ok() {
                    // Handed over again it is another one.
                    daemon.deliveries.handoff_dedup.forget(&id);
                    daemon.base.clients.status_changed();
                }
                answer(reply, changed(outcome, params.placed));
            }),
        );
    }

    /// Records the same result of these messages in one batch: all of them, or none. Then goes on
    /// with their ids.
    fn end_all(
        &mut self,
        base: &mut Base,
        rows: Vec<(EntryId, Agent)>,
        result: DeliveryResult,
        then: impl FnOnce(&mut Daemon, Vec<EntryId>, Result<&[Arc<Stored>], &Refusal>) + Send + 'static,
    ) {
        let entries: Vec<_> = rows
            .iter()
            .map(|(id, to)| self.settled_entry(base, id, *to, result))
            .collect();
        let ids: Vec<EntryId> = rows.into_iter().map(|(id, _)| id).collect();
        if entries.is_empty() {
            let then: ThenStored = Box::new(move |daemon, _| then(daemon, ids, Ok(&[])));
            return self.held.go_on(then, Ok(()));
        }
        for id in &ids {
            // From here on nothing is offered of it. That it is to be recorded is said once, here.
            self.outbox.mark_recording(id, result);
        }
        base.recorder.append(
            entries,
            Box::new(move |daemon, outcome| {
                for id in &ids {
                    match outcome {
                        Ok(_) => daemon.result_is_durable(id.clone(), result),
                        Err(_) => daemon.deliveries.outbox.unmark_recording(id, result),
                    }
                }
                then(daemon, ids, outcome);
            }),
        );
    }
}

impl Base {
    /// The agents of a message's pair may go on answering each other, and the count begins again.
    fn release_exchange(&mut self, pair: &RuntimeSession, placed: bool, reply: ReplySender) {
        let said = "the operator lets the agents go on answering each other";
        let entry = self.person_spoke_entry(Party::Human, Some(pair), said);
        self.recorder.append(
            vec![entry],
            Box::new(move |_, outcome| answer(reply, changed(outcome, placed))),
        );
    }
}

impl Daemon {
    pub(super) fn change_queue(&mut self, params: QueueChangeParams, reply: ReplySender) {
        let claude = &self.agents.claude;
        let mut agents = Agent::ALL.into_iter();
        let cut_off = agents.find(|agent| {
            let ids = self.deliveries.cut_off(&self.base, claude, *agent);
            ids.contains(&params.id)
        });
        match (cut_off, params.change) {
            (Some(to), QueueChange::Retry) => {
                let (base, id) = (&mut self.base, params.id);
                let then = move |_: &mut Self| answer(reply, Ok(Reply::Done));
                return self.deliveries.send_cut_off(base, to, vec![id], then);
            }
            (Some(Agent::Codex), QueueChange::Remove) => {
                return self
                    .deliveries
                    .give_cut_off_up(&mut self.base, params, reply);
            }
            _ => {}
        }
        let Some(row) = self.deliveries.outbox.get(&params.id) else {
            return answer(
                reply,
                Err(not_found(
                    &format!("message {} in the queue", params.id),
                    "see `ctxrelay queue list`",
                )),
            );
        };
        let (to, state) = (row.to, row.state);
        let is_held = self.deliveries.outbox.backlog().is_kept_back(&params.id);
        if params.change == QueueChange::Retry && is_held {
            // What the human stopped is another matter, and stays behind the stop.
            let pair = row.runtime_session.clone();
            return self.base.release_exchange(&pair, params.placed, reply);
        }
        let result = match params.change {
            QueueChange::Retry => DeliveryResult::Requeued,
            QueueChange::Remove => DeliveryResult::Cancelled,
        };
        // Here, or in the app-server's own queue.
        let waits =
            to == Agent::Codex && matches!(state, DeliveryState::Queued | DeliveryState::Offered);
        if params.change == QueueChange::Retry && waits && self.agents.codex.is_paused() {
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
        if params.change == QueueChange::Remove
            && self.deliveries.outbox.backlog().has_left(&params.id)
        {
            return answer(
                reply,
                Err(Refusal::new(
                    RefusalCode::InFlight,
                    format!("{} is just being given to {}", params.id, to.title()),
                    "look again in a moment: `ctxrelay queue list`",
                )),
            );
        }
        if self.deliveries.outbox.backlog().is_recording(&params.id) {
            return answer(
                reply,
                Err(Refusal::new(
                    RefusalCode::InFlight,
                    format!("another change of {} is just being recorded", params.id),
                    "look again: `ctxrelay queue list`",
                )),
            );
        }
        let placed = params.placed;
        self.deliveries.end_all(
            &mut self.base,
            vec![(params.id, to)],
            result,
            move |_, _, outcome| answer(reply, changed(outcome, placed)),
        );
    }
}

/// The answer to a change of one message; with its entry where that is wanted.
fn changed(outcome: Result<&[Arc<Stored>], &Refusal>, placed: bool) -> Result<Reply, Refusal> {
    let done = outcome.map(|stored| match stored.first().filter(|_| placed) {
        Some(stored) => Reply::Recorded(Recorded::of(&stored.entry)),
        None => Reply::Done,
    });
    done.map_err(Clone::clone)
}
