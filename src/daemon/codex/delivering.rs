//! Handing messages over as the lane decides, and asking what became of those of before.

use tokio::time::Instant;

use crate::core::agent::{Agent, Party};
use crate::core::delivery::{CodexInput, OnBusy};
use crate::core::entry::LifecycleEvent;
use crate::core::id::{AttemptId, EntryId, RuntimeSession};
use crate::core::instructions::coordinator_note;
use crate::core::relay_cost::CostSort;
use crate::core::trace;
use crate::daemon::bodies::Body;
use crate::daemon::inbox::{enveloped, whole_text};
use crate::daemon::owners::Daemon;
use crate::daemon::reply::{ReplySender, answer, no_adapter};
use crate::wire::control::{CodexJoin, Refusal, RefusalCode, Reply};

impl Daemon {
    /// Hands something to the lane to Codex, and does what it says.
    pub(in crate::daemon) fn codex_input(&mut self, input: CodexInput) {
        let at = self.moment();
        let effects = self.codex.apply(input, &mut self.outbox.backlog, &at);
        // A refusal has been said to the operator.
        let _ = self.perform(Agent::Codex, effects);
    }

    /// Hands over what can go out now.
    pub(in crate::daemon) fn pump_codex(&mut self) {
        // A turn that waits for messages gets them into that very turn.
        self.answer_waiters();
        self.codex_input(CodexInput::News);
    }

    /// One message to the adapter. Its row is on disk.
    pub(in crate::daemon) fn deliver_to_adapter(
        &mut self,
        id: EntryId,
        attempt: AttemptId,
        on_busy: OnBusy,
        repeat: bool,
        body: Option<Body>,
    ) {
        let Some(body) = body else {
            return self.not_sent(id, "a message could not be read from the record");
        };
        let message = enveloped(&self.identity, &body, repeat);
        self.given.note(&message);
        let mut text = message.text;
        let pair = RuntimeSession::default();
        let more = self.rides_along(Agent::Codex, &pair);
        if let Some(more) = &more {
            text.push_str("\n\n");
            text.push_str(&more.text);
        }
        if let Some(note) = self.tell_coordinator(&id) {
            text.push_str("\n\n");
            text.push_str(&note);
        }
        let ours = text.chars().count();
        let ours = ours.saturating_sub(whole_text(&body).chars().count());
        let now_ms = self.clock.now_ms();
        self.costs
            .add(Agent::Codex, CostSort::Envelopes, ours, now_ms);
        let following = trace::attempt(&id, Some(&attempt));
        following.in_scope(|| tracing::debug!(?on_busy, repeat, "handed to the Codex adapter"));
        let asked = self
            .codex
            .deliver(id.clone(), attempt, text, on_busy, following);
        if asked.is_err() {
            return self.not_sent(id, "the Codex adapter takes no requests");
        }
        if let Some(more) = more {
            self.reminders.said(Agent::Codex, &pair, &more);
        }
    }

    /// What tells Codex, with this message, that the operator changed who writes to git; recorded,
    /// and said once. Codex reads its instruction files when a conversation begins, and not again.
    fn tell_coordinator(&mut self, with: &EntryId) -> Option<String> {
        let changed = self.recorder.world().untold_coordinator?;
        if self.coordinator_told >= changed {
            // Its entry is on its way.
            return None;
        }
        self.coordinator_told = changed;
        let note = coordinator_note(self.configuration.policy().coordinator);
        let text = format!("Codex is told with message {}: {note}", with.short());
        self.recorder
            .note_fact(Party::System, LifecycleEvent::CoordinatorTold, text);
        Some(note)
    }

    /// Why the lane rests, for the status.
    pub(in crate::daemon) fn codex_trouble(&mut self, why: &str) {
        if self.codex.rests_because(why) {
            self.clients.status_changed();
        }
    }

    /// When something about deliveries happens by itself.
    pub(in crate::daemon) fn delivery_deadline(&self) -> Option<Instant> {
        let backlog = &self.outbox.backlog;
        self.codex
            .next_ms(backlog)
            .into_iter()
            .chain(backlog.next_claim_ms())
            .min()
            .map(|at_ms| self.clock.instant(at_ms))
    }

    pub(in crate::daemon) fn codex_deadline(&mut self) {
        let next = self.codex.next_ms(&self.outbox.backlog);
        if next.is_some_and(|at_ms| at_ms <= self.clock.now_ms()) {
            self.codex_input(CodexInput::Tick);
        }
    }

    /// Has the app-server run; what comes of it comes as facts.
    pub(in crate::daemon) fn wake_codex(&mut self) {
        if self.codex.ensure().is_err() {
            tracing::warn!("the Codex adapter takes no requests");
        }
    }

    /// After a start: what was attempted before and has no proof is for the adapter to find out.
    pub(in crate::daemon) fn recover_codex(&mut self) {
        self.codex_input(CodexInput::Began);
    }

    /// Holds the lane to Codex where the record says that the human stopped a turn and nothing has
    /// begun since.
    pub(in crate::daemon) fn recall_stop(&mut self) {
        let codex = self.recorder.world().agent(Agent::Codex);
        if codex.stopped_turn.is_some() {
            let thread = codex.thread_id;
            self.codex_input(CodexInput::Stopped { thread });
        }
    }

    pub(in crate::daemon) fn ask_what_became_of(&mut self, message_ids: Vec<EntryId>) {
        if self.codex.recover(message_ids).is_err() {
            tracing::error!("the Codex adapter takes no requests");
        }
    }

    /// The operator lets go on what the app-server holds since the human stopped a turn.
    pub(in crate::daemon) fn release_codex_queue(&mut self) {
        if self.codex.release_queue().is_err() {
            tracing::warn!("the Codex adapter takes no requests");
        }
    }

    pub(in crate::daemon) fn ensure_codex(&mut self, reply: ReplySender) {
        let Ok(thread) = self.codex.ensure() else {
            return answer(reply, Err(no_adapter()));
        };
        // Whoever wants Codex now does not wait for the lane's rest.
        self.codex_input(CodexInput::Wanted);
        let proxy_port = self.identity.proxy_port;
        tokio::spawn(async move {
            let result = match thread.await {
                Ok(Ok(thread_id)) => Ok(Reply::Codex(CodexJoin {
                    thread_id,
                    proxy_port,
                })),
                Ok(Err(why)) => Err(Refusal::new(
                    RefusalCode::CodexUnavailable,
                    why,
                    "run `ctxrelay doctor` to see what is missing",
                )),
                Err(_) => Err(crate::daemon::reply::stopping()),
            };
            answer(reply, result);
        });
    }
}
