//! What the machines of delivery want done, done in their order.

use tracing::Span;
use uuid::Uuid;

use super::owners::Daemon;
use crate::core::agent::{Agent, AgentState, Party};
use crate::core::delivery::{CodexInput, DeliveryEffect, LadderInput, Moment};
use crate::core::entry::{AgentChanged, DeliveryResult, Entry, EntryKind, LifecycleEvent};
use crate::core::id::{AttemptId, EntryId, TurnId};
use crate::core::trace;
use crate::wire::control::Refusal;

impl Daemon {
    /// Now, and an id that nothing has.
    pub(super) fn moment(&self) -> Moment {
        Moment {
            now_ms: self.clock.now_ms(),
            attempt: AttemptId::new(Uuid::now_v7().to_string()),
        }
    }

    /// The attempt at a message's delivery, in the log.
    pub(super) fn following(&self, id: &EntryId) -> Span {
        let row = self.outbox.get(id);
        trace::attempt(id, row.and_then(|row| row.attempt.as_ref()))
    }

    /// Does what the machine of one agent wants, in its order. A byte leaves only after the rows
    /// before it are written, which is waited for beside the loop; see [`Self::let_leave`].
    ///
    /// # Errors
    ///
    /// When the rows are not taken; nothing leaves after them.
    pub(super) fn perform(
        &mut self,
        agent: Agent,
        effects: Vec<DeliveryEffect>,
    ) -> Result<(), Refusal> {
        let stored = self.store_rows(agent, &effects);
        let mut effects = effects.into_iter().peekable();
        while let Some(effect) = effects.next() {
            match effect {
                DeliveryEffect::Store(_) => {}
                DeliveryEffect::HandOver { .. } | DeliveryEffect::Push { .. } => match &stored {
                    Ok(()) => self.let_leave(agent, effect),
                    Err(_) => self.does_not_leave(effect),
                },
                DeliveryEffect::Forget(id) => self.outbox.forget(&id),
                DeliveryEffect::Record {
                    id,
                    to,
                    result,
                    rung,
                    turn,
                } => {
                    let entry = self.delivery_entry(&id, to, result, rung, turn);
                    let mut results = vec![(id, result, entry)];
                    while let Some(DeliveryEffect::Record {
                        id,
                        to,
                        result,
                        rung,
                        turn,
                    }) = effects.next_if(|next| matches!(next, DeliveryEffect::Record { .. }))
                    {
                        let entry = self.delivery_entry(&id, to, result, rung, turn);
                        results.push((id, result, entry));
                    }
                    self.record_results(results);
                }
                DeliveryEffect::Recover(ids) => self.ask_what_became_of(ids),
                DeliveryEffect::Wake => self.wake_codex(),
                // The lane remembers it.
                DeliveryEffect::Receipt { .. } => {}
                DeliveryEffect::CutOff { id, turn } => self.note_cut_off(&id, &turn),
                DeliveryEffect::Limit(limited) if agent == Agent::Codex => self.note_limit(limited),
                // Claude's own hook has said it already.
                DeliveryEffect::Limit(_) => self.clients.status_changed(),
                // The lane says so itself.
                DeliveryEffect::Held(_) => self.clients.status_changed(),
                DeliveryEffect::Stale { what, of, current } => {
                    tracing::info!(
                        what,
                        of,
                        current,
                        "refused a fact of something that is gone"
                    );
                }
                DeliveryEffect::Ring { bell, ids, asks } => self.ring(bell, ids, asks),
                DeliveryEffect::ReleaseQueue => self.release_codex_queue(),
            }
        }
        stored
    }

    /// The message stays where it is, and the lane rests.
    pub(super) fn not_sent(&mut self, id: EntryId, why: &str) {
        self.codex_input(CodexInput::NotSent { id });
        self.codex_trouble(why);
    }

    /// Appends what became of messages, in one step. While the disk refuses it is kept.
    fn record_results(&mut self, results: Vec<(EntryId, DeliveryResult, Entry)>) {
        let (facts, entries): (Vec<_>, Vec<_>) = results
            .into_iter()
            .map(|(id, result, entry)| ((id, result), entry))
            .unzip();
        self.recorder.record_fact(
            entries,
            Box::new(move |daemon, result| {
                // Of what was given up the lanes hear by `fact_refused`.
                for (id, result) in result.map_or_else(|_| Vec::new(), |_| facts) {
                    daemon.result_is_durable(id, result);
                }
            }),
        );
    }

    /// A fact was refused by the disk. What it says of messages is kept in mind, so that nothing
    /// is offered once more meanwhile; given up for good, the lanes hear of it.
    pub(super) fn fact_refused(&mut self, entries: &[Entry], refusal: &Refusal, is_kept: bool) {
        let of_messages = entries.iter().filter_map(|entry| match &entry.kind {
            EntryKind::Delivery(record) => Some((record.message_id.clone(), record.result)),
            _ => None,
        });
        let of_messages: Vec<(EntryId, DeliveryResult)> = of_messages.collect();
        let ids: Vec<EntryId> = of_messages.iter().map(|(id, _)| id.clone()).collect();
        self.refuse_asked(&ids, refusal);
        for (id, result) in of_messages {
            match self.outbox.get(&id).map(|row| row.to) {
                _ if is_kept => {}
                Some(Agent::Claude) => {
                    if let Some(pair) = self.pair_of(&id) {
                        self.tell_ladder(&pair, LadderInput::NotDurable { id, result });
                    }
                }
                Some(Agent::Codex) => self.codex_input(CodexInput::NotDurable { id, result }),
                None => {}
            }
        }
    }

    /// The ledger says what became of a message: this and nothing else moves it to its end.
    pub(super) fn result_is_durable(&mut self, id: EntryId, result: DeliveryResult) {
        if matches!(result, DeliveryResult::Rejected | DeliveryResult::Cancelled) {
            // Sent again it is another one.
            self.handoff_dedup.forget(&id);
        }
        let row = self.outbox.get(&id);
        match row.map(|row| (row.to, row.runtime_session.clone())) {
            Some((Agent::Claude, pair)) => {
                let durable = LadderInput::Durable {
                    id: id.clone(),
                    result,
                };
                self.tell_ladder(&pair, durable);
            }
            _ => self.codex_input(CodexInput::Durable {
                id: id.clone(),
                result,
            }),
        }
        self.recorded_for_asked(&id, result);
        self.clients.status_changed();
    }

    fn note_cut_off(&mut self, id: &EntryId, turn: &TurnId) {
        let event = LifecycleEvent::DeliveryCutOff;
        self.recorder.keep_fact(
            Party::System,
            event,
            format!(
                "turn {turn} ended before it was done with {id}: Codex has the message and does \
                 not get it again by itself"
            ),
        );
    }

    /// Tells of the messages that Codex was at work on when the daemon before this one ended, and
    /// the app-server with it. To be called before the record says that this one started, which
    /// counts them as cut off.
    pub(super) fn note_unfinished(&mut self) {
        let unfinished = self.recorder.world().in_turn.clone();
        for (id, (turn, _)) in unfinished {
            let event = LifecycleEvent::DeliveryCutOff;
            self.recorder.keep_fact(
                Party::System,
                event,
                format!(
                    "Codex was at work on {id} in turn {turn} when the daemon ended: it has the \
                     message and does not get it again by itself"
                ),
            );
        }
    }

    fn note_limit(&mut self, limited: bool) {
        let (state, why, until_ms, text) = if limited {
            let why = self.codex.take_last_error();
            let text = "Codex is at its usage limit; messages for it are held";
            (AgentState::Limited, why, self.limits.codex_ends_ms(), text)
        } else {
            let text = "Codex works again: the usage limit is over";
            (self.codex.state(), None, None, text)
        };
        self.recorder.keep_fact(
            Party::System,
            EntryKind::AgentChanged(AgentChanged {
                agent: Agent::Codex,
                state,
                pid: None,
                thread_id: None,
                why,
                until_ms,
            }),
            text,
        );
    }
}
