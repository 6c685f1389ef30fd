//! Handing messages over as the lane decides, and asking what became of those of before.

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::adapters::codex::request::CodexRequest;
use crate::core::delivery::{CodexInput, OnBusy};
use crate::core::id::{AttemptId, EntryId};
use crate::core::trace;
use crate::daemon::reply::{ReplySender, answer};
use crate::daemon::run::Daemon;
use crate::wire::control::{CodexJoin, Refusal, RefusalCode, Reply};

impl Daemon {
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
    ) {
        let Some(stored) = self.message(&id) else {
            return self.not_sent(id, "a message could not be read from the record");
        };
        let message = self.enveloped(&stored.entry, repeat);
        self.note_given(&message);
        let text = message.text;
        let following = trace::attempt(&id, Some(&attempt));
        following.in_scope(|| tracing::debug!(?on_busy, repeat, "handed to the Codex adapter"));
        self.codex.attempts.insert(id.clone(), attempt);
        let request = CodexRequest::Deliver {
            message_id: id.clone(),
            text,
            on_busy,
            following,
        };
        if self.codex.adapter.requests.try_send(request).is_err() {
            self.not_sent(id, "the Codex adapter takes no requests");
        }
    }

    /// Why the lane rests, for the status.
    pub(in crate::daemon) fn codex_trouble(&mut self, why: &str) {
        if self.codex.trouble.as_deref() != Some(why) {
            self.codex.trouble = Some(why.to_owned());
            self.status_changed();
        }
    }

    /// When something about deliveries happens by itself.
    pub(in crate::daemon) fn delivery_deadline(&self) -> Option<Instant> {
        let backlog = &self.outbox.backlog;
        self.codex
            .flow
            .next_ms(backlog)
            .into_iter()
            .chain(backlog.next_claim_ms())
            .min()
            .map(|at_ms| self.clock.instant(at_ms))
    }

    pub(in crate::daemon) fn codex_deadline(&mut self) {
        let next = self.codex.flow.next_ms(&self.outbox.backlog);
        if next.is_some_and(|at_ms| at_ms <= self.clock.now_ms()) {
            self.codex_input(CodexInput::Tick);
        }
    }

    /// Has the app-server run; what comes of it comes as facts.
    pub(in crate::daemon) fn wake_codex(&mut self) {
        let (reply, _) = oneshot::channel();
        if self
            .codex
            .adapter
            .requests
            .try_send(CodexRequest::Ensure { reply })
            .is_err()
        {
            tracing::warn!("the Codex adapter takes no requests");
        }
    }

    /// After a start: what was attempted before and has no proof is for the adapter to find out.
    pub(in crate::daemon) fn recover_codex(&mut self) {
        self.codex_input(CodexInput::Began);
    }

    pub(in crate::daemon) fn ask_what_became_of(&mut self, message_ids: Vec<EntryId>) {
        if self
            .codex
            .adapter
            .requests
            .try_send(CodexRequest::Recover { message_ids })
            .is_err()
        {
            tracing::error!("the Codex adapter takes no requests");
        }
    }

    /// The operator lets go on what the app-server holds since the human stopped a turn.
    pub(in crate::daemon) fn release_codex_queue(&mut self) {
        if self
            .codex
            .adapter
            .requests
            .try_send(CodexRequest::ReleaseQueue)
            .is_err()
        {
            tracing::warn!("the Codex adapter takes no requests");
        }
    }

    pub(in crate::daemon) fn ensure_codex(&mut self, reply: ReplySender) {
        let (sender, thread) = oneshot::channel();
        if self
            .codex
            .adapter
            .requests
            .try_send(CodexRequest::Ensure { reply: sender })
            .is_err()
        {
            return answer(
                reply,
                Err(Refusal::new(
                    RefusalCode::CodexUnavailable,
                    "the Codex adapter takes no requests",
                    "try again in a moment",
                )),
            );
        }
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
