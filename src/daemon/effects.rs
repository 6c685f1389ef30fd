//! What the machines of delivery want done, done in their order.

use uuid::Uuid;

use super::run::Daemon;
use crate::core::agent::{Agent, AgentState, Party};
use crate::core::delivery::{CodexInput, Effect, Moment};
use crate::core::entry::{AgentChanged, DeliveryResult, EntryKind};
use crate::core::id::{AttemptId, EntryId, TurnId};
use crate::store::queue::QueueError;
use crate::wire::control::Refusal;

/// What the operator reads while the lane to Codex is held.
const HELD: &str = "you stopped a turn in Codex: what waits goes on with your next message there, \
    or with `ctxrelay queue retry` of a waiting one";

impl Daemon {
    /// Now, and an id that nothing has.
    pub(super) fn moment(&self) -> Moment {
        Moment {
            now_ms: self.clock.now_ms(),
            attempt: AttemptId::new(Uuid::now_v7().to_string()),
        }
    }

    /// Hands something to the lane to Codex, and does what it says.
    pub(super) fn codex_input(&mut self, input: CodexInput) {
        let at = self.moment();
        let effects = self.codex.flow.apply(&mut self.outbox.backlog, input, &at);
        // A refusal has been said to the operator.
        let _ = self.perform(effects);
    }

    /// Does it, in its order. A byte leaves only after the rows before it are written.
    ///
    /// # Errors
    ///
    /// When a row could not be written; nothing has left after it.
    pub(super) fn perform(&mut self, effects: Vec<Effect>) -> Result<(), Refusal> {
        let mut stored = Ok(());
        for effect in effects {
            match effect {
                Effect::Store(id) => {
                    let written = self.outbox.store(&id);
                    if let Err(refusal) = self.queue_written(written) {
                        stored = Err(refusal);
                    }
                }
                Effect::Forget(id) => self.outbox.forget(&id),
                Effect::Record {
                    id,
                    to,
                    result,
                    rung,
                    turn,
                } => self.record_result(id, to, result, rung.as_deref(), turn),
                Effect::HandOver { id, .. } if stored.is_err() => {
                    self.not_sent(id, "the queue could not be written");
                }
                Effect::HandOver {
                    id,
                    attempt,
                    on_busy,
                    repeat,
                } => self.hand_over(id, attempt, on_busy, repeat),
                Effect::Recover(ids) => self.ask_what_became_of(ids),
                Effect::Wake => self.wake_codex(),
                Effect::Receipt { id, outcome } => self.codex.receipts.insert(id, outcome),
                Effect::CutOff { id, turn } => self.note_cut_off(&id, &turn),
                Effect::Limit(limited) => self.note_limit(limited),
                Effect::Held(held) => {
                    self.codex.trouble = held.then(|| HELD.to_owned());
                    self.status_changed();
                }
                Effect::Stale { what, of, current } => {
                    tracing::info!(
                        what,
                        of,
                        current,
                        "refused a fact of something that is gone"
                    );
                }
                // What the app-server itself holds goes on with the human's next message there.
                // Claude's announcements are decided in `claude_lane`.
                Effect::ReleaseQueue | Effect::Push { .. } | Effect::Ring { .. } => {}
            }
        }
        stored
    }

    /// A failing `queue.db` is said to the operator and to whoever asked.
    pub(super) fn queue_written<T>(
        &mut self,
        written: Result<T, QueueError>,
    ) -> Result<T, Refusal> {
        if written.is_ok() && self.notices.clear("queue") {
            self.status_changed();
        }
        written.map_err(|error| {
            let refusal = Refusal::new(
                "queue_unwritable",
                format!("the queue could not be written: {error}"),
                "nothing was sent; free space or make the project writable, it goes on by itself",
            );
            if self.notices.set("queue", refusal.message.clone()) {
                self.status_changed();
            }
            refusal
        })
    }

    /// The message stays where it is, and the lane rests.
    pub(super) fn not_sent(&mut self, id: EntryId, why: &str) {
        self.codex_input(CodexInput::NotSent { id });
        self.codex_trouble(why);
    }

    fn record_result(
        &mut self,
        id: EntryId,
        to: Agent,
        result: DeliveryResult,
        rung: Option<&str>,
        turn: Option<TurnId>,
    ) {
        let entry = self.delivery_entry(&id, to, result, rung, turn);
        self.record_fact(
            vec![entry],
            Box::new(move |daemon, _| daemon.result_is_durable(id, result)),
        );
    }

    /// The ledger says what became of a message: this and nothing else moves it to its end.
    pub(super) fn result_is_durable(&mut self, id: EntryId, result: DeliveryResult) {
        if matches!(result, DeliveryResult::Rejected | DeliveryResult::Cancelled) {
            // Sent again it is another one.
            self.recent_handoffs.retain(|recent| recent.id != id);
        }
        match self.outbox.get(&id).map(|row| row.to) {
            Some(Agent::Claude) => {
                if result == DeliveryResult::Requeued {
                    self.claude.forget_ring(&id);
                }
                let now_ms = self.clock.now_ms();
                let mut effects = Vec::new();
                self.outbox
                    .backlog
                    .durable(&id, result, now_ms, &mut effects);
                let _ = self.perform(effects);
            }
            _ => self.codex_input(CodexInput::Durable { id, result }),
        }
        self.status_changed();
    }

    fn note_cut_off(&mut self, id: &EntryId, turn: &TurnId) {
        let event = "delivery_cut_off".to_owned();
        self.note_fact(
            Party::System,
            EntryKind::Lifecycle { event },
            format!(
                "turn {turn} ended before it was done with {id}: Codex has the message and does \
                 not get it again by itself"
            ),
        );
    }

    fn note_limit(&mut self, limited: bool) {
        let (state, why, text) = if limited {
            let why = self.codex.limit_why.take();
            let text = "Codex is at its usage limit; messages for it are held";
            (AgentState::Limited, why, text)
        } else {
            let text = "Codex works again: the usage limit is over";
            (self.codex.state(), None, text)
        };
        self.note_fact(
            Party::System,
            EntryKind::AgentChanged(AgentChanged {
                agent: Agent::Codex,
                state,
                pid: None,
                thread_id: None,
                why,
            }),
            text,
        );
    }
}
