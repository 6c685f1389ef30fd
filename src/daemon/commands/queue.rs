//! The outbox as the operator sees and changes it.

use std::collections::HashSet;
use std::sync::Arc;

use super::queue_step::{QueueStep, queue_step};
use crate::core::agent::{Agent, Party};
use crate::core::delivery::{CodexInput, Delivery};
use crate::core::entry::DeliveryResult;
use crate::core::id::{EntryId, RuntimeSession};
use crate::daemon::agents::claude_lane::ClaudeLane;
use crate::daemon::base::clock::now_ms;
use crate::daemon::decisions::decision_messages::track_told;
use crate::daemon::owners::continuation::ThenStored;
use crate::daemon::owners::{Base, Daemon, Deliveries};
use crate::daemon::reply::{ReplySender, answer};
use crate::store::ledger::Stored;
use crate::wire::control::{
    QueueChange, QueueChangeParams, QueueDrainParams, QueueRow, Recorded, Refusal, Reply,
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
        rows.map(|row| {
            let message = base.recorder.world().unsettled.get(&row.id);
            QueueRow {
                id: row.id.clone(),
                to: row.to,
                state: match of_claude.contains(&row.id) {
                    true => QueueRow::cut_off(),
                    false => row.state.into(),
                },
                attempts: row.attempts,
                age_ms: message.map_or(0, |message| now - message.sent_ms.unwrap_or(message.at_ms)),
                on_busy: row.on_busy,
                pair: QueueRow::named_pair(row.to, &row.runtime_session),
                waits_for_you: self.outbox.backlog().is_kept_back(&row.id),
                closed: message.is_some_and(|message| message.closed),
            }
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
        let told = base.nothing_comes_of_ended(&entries);
        base.recorder.append(
            [entries, told].concat(),
            Box::new(move |daemon, outcome| {
                track_told(daemon, outcome);
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
    /// Looks which of these, and of those that were found before, their own senders closed, and takes
    /// back what the operator could take back now. The lanes see to the rest: they offer none of it.
    /// What the operator took back stays so.
    pub(in crate::daemon) fn take_back_closed(&mut self, ids: impl IntoIterator<Item = EntryId>) {
        let (world, outbox) = (self.base.recorder.world(), &mut self.deliveries.outbox);
        let before = outbox.backlog().unwanted().cloned();
        let ids: Vec<EntryId> = before.chain(ids).collect();
        for id in ids {
            let message = world.unsettled.get(&id);
            let is_closed = message.is_some_and(|message| message.closed_by_sender);
            outbox.set_unwanted(id, is_closed);
        }
        for agent in Agent::ALL {
            let effects = self.deliveries.outbox.end_unwanted(agent);
            if !effects.is_empty() {
                // No row is written for it, so that nothing is refused.
                let _ = self.perform(agent, effects);
            }
        }
    }

    /// Takes a message back that lies in Codex's own queue. Once its row says so, however this process
    /// ends, the next one goes on with that.
    fn withdraw(&mut self, id: EntryId, reply: ReplySender) {
        let given = self.codex_does(CodexInput::Withdrawn { id: id.clone() });
        let done: ThenStored = Box::new(move |daemon, stored| {
            if stored.is_err() {
                daemon.deliveries.outbox.withdraw_not(&id);
                daemon.take_back_closed([]);
            }
            let done = stored.map(|()| Reply::Done);
            answer(reply, done.map_err(Clone::clone));
        });
        match given {
            Ok(()) => self.deliveries.held.when_stored(Agent::Codex, done),
            Err(refusal) => done(self, Err(&refusal)),
        }
    }

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
        match queue_step(&self.deliveries.outbox, &self.agents.codex, &params) {
            Err(refusal) => answer(reply, Err(refusal)),
            Ok(QueueStep::ReleaseExchange(pair)) => {
                self.base.release_exchange(&pair, params.placed, reply);
            }
            Ok(QueueStep::Release) => {
                self.codex_input(CodexInput::Released);
                answer(reply, Ok(Reply::Done));
            }
            Ok(QueueStep::Withdraw) => self.withdraw(params.id, reply),
            Ok(QueueStep::Settle(to, result)) => {
                let (base, rows) = (&mut self.base, vec![(params.id, to)]);
                self.deliveries
                    .end_all(base, rows, result, move |_, _, outcome| {
                        answer(reply, changed(outcome, params.placed));
                    });
            }
        }
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
