//! Handing messages over one at a time, and finding out what became of those of before.

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{RECOVERY_WAIT, REST};
use crate::adapters::codex::request::CodexRequest;
use crate::core::agent::Agent;
use crate::core::delivery::{DeliveryFact, DeliveryState, OnBusy, Outcome};
use crate::core::entry::DeliveryResult;
use crate::core::id::{AttemptId, EntryId};
use crate::daemon::event::Answer;
use crate::daemon::run::{Daemon, answer};
use crate::wire::control::{CodexJoin, Refusal, Reply};

impl Daemon {
    /// Hands the next message over when nothing is on its way.
    pub(in crate::daemon) fn pump_codex(&mut self) {
        // A turn that waits for messages gets them into that very turn.
        self.answer_waiters();
        if self.codex.limited || self.codex.resting_until.is_some() {
            return;
        }
        // What the app-server holds waits there for the end of the turn. What is to join that turn
        // does not wait with it.
        let is_free = self.codex.in_flight.is_empty();
        let all_held = self.codex.in_flight.iter().all(|id| {
            self.outbox
                .get(id)
                .is_none_or(|row| row.state == DeliveryState::Offered)
        });
        let may_overtake = all_held && self.codex.is_busy();
        if !is_free && !may_overtake {
            return;
        }
        // A steer overtakes; nothing else does.
        let next = self
            .outbox
            .lane(Agent::Codex)
            .filter(|row| row.state == DeliveryState::Queued && self.may_be_offered(row))
            .filter(|row| is_free || row.on_busy == OnBusy::Steer)
            .min_by_key(|row| (row.on_busy != OnBusy::Steer, row.seq))
            .map(|row| (row.id.clone(), row.seq, row.on_busy));
        let Some((message_id, seq, on_busy)) = next else {
            return;
        };
        let Some(stored) = self.stored(seq) else {
            return self.rest("a message could not be read from the record");
        };
        // Attempts that were not taken showed nothing to anybody.
        let repeat = self
            .world
            .unsettled
            .get(&message_id)
            .is_some_and(|message| message.result == Some(DeliveryResult::Requeued));
        let text = self.enveloped(&stored.entry, repeat).text;
        let attempt = AttemptId::new(uuid::Uuid::now_v7().to_string());
        // On disk before a byte leaves.
        if self
            .apply(&message_id, DeliveryFact::AttemptBegan(attempt.clone()))
            .is_err()
        {
            return self.rest("the queue could not be written");
        }
        self.codex.attempts.insert(message_id.clone(), attempt);
        let request = CodexRequest::Deliver {
            message_id: message_id.clone(),
            text,
            on_busy,
        };
        if self.codex.adapter.requests.try_send(request).is_err() {
            let _ = self.apply(&message_id, DeliveryFact::NotTaken);
            return self.rest("the Codex adapter takes no requests");
        }
        self.codex.in_flight.push(message_id);
    }

    pub(super) fn rest(&mut self, why: &str) {
        self.codex.resting_until = Some(Instant::now() + REST);
        if self.codex.trouble.as_deref() != Some(why) {
            self.codex.trouble = Some(why.to_owned());
            self.status_changed();
        }
    }

    pub(in crate::daemon) fn codex_deadline(&mut self) {
        if self
            .codex
            .resting_until
            .is_some_and(|until| Instant::now() >= until)
        {
            self.codex.resting_until = None;
            self.pump_codex();
            // What is on its way is only found out about with a running app-server.
            if !self.codex.is_quiet() && self.codex.server.is_none() {
                self.wake_codex();
            }
        }
        let now = Instant::now();
        // Only an app-server with an idle thread can tell.
        let cannot_tell = self.codex.server.is_none() || self.codex.is_busy();
        let mut overdue = Vec::new();
        for (id, until) in &mut self.codex.unanswered {
            if *until <= now {
                *until = now + RECOVERY_WAIT;
                overdue.push(id.clone());
            }
        }
        for id in overdue.iter().filter(|_| !cannot_tell) {
            self.give_up_knowing(id);
        }
    }

    /// Has the app-server run; what comes of it comes as facts.
    pub(super) fn wake_codex(&mut self) {
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

    /// Nobody can find out any more whether Codex has the message.
    pub(super) fn give_up_knowing(&mut self, id: &EntryId) {
        let is_open = self.outbox.get(id).is_some_and(|row| {
            matches!(row.state, DeliveryState::Attempted | DeliveryState::Offered)
        });
        self.codex.landed(id);
        if !is_open {
            return;
        }
        let entry = self.delivery_entry(id, Agent::Codex, DeliveryResult::Ambiguous, None, None);
        let id = id.clone();
        self.record_fact(
            vec![entry],
            Box::new(move |daemon, _| {
                let _ = daemon.apply(&id, DeliveryFact::Unknowable);
                daemon.codex.receipts.insert(id, Outcome::Ambiguous);
            }),
        );
    }

    /// Codex began to work before the message reached it, and its sender wants no waiting.
    pub(super) fn reject_late(&mut self, id: EntryId) {
        let entry = self.delivery_entry(&id, Agent::Codex, DeliveryResult::Rejected, None, None);
        self.record_fact(
            vec![entry],
            Box::new(move |daemon, _| {
                daemon.recent_handoffs.retain(|recent| recent.id != id);
                daemon.outbox.settle(&id);
                daemon.codex.receipts.insert(id, Outcome::Rejected);
            }),
        );
    }

    /// After a start: what was attempted before and has no proof is for the adapter to find out.
    pub(in crate::daemon) fn recover_codex(&mut self) {
        let message_ids: Vec<EntryId> = self
            .outbox
            .lane(Agent::Codex)
            .filter(|row| matches!(row.state, DeliveryState::Attempted | DeliveryState::Offered))
            .map(|row| row.id.clone())
            .collect();
        if !message_ids.is_empty() {
            // Nothing newer goes out before it is known what became of these.
            let until = Instant::now() + RECOVERY_WAIT;
            self.codex.in_flight.clone_from(&message_ids);
            self.codex.unanswered = message_ids.iter().map(|id| (id.clone(), until)).collect();
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
    }

    pub(in crate::daemon) fn ensure_codex(&mut self, reply: Answer) {
        let (sender, thread) = oneshot::channel();
        self.codex.resting_until = None;
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
                    "codex_unavailable",
                    "the Codex adapter takes no requests",
                    "try again in a moment",
                )),
            );
        }
        let proxy_port = self.identity.proxy_port;
        tokio::spawn(async move {
            let result = match thread.await {
                Ok(Ok(thread_id)) => Ok(Reply::Codex(CodexJoin {
                    thread_id,
                    proxy_port,
                })),
                Ok(Err(why)) => Err(Refusal::new(
                    "codex_unavailable",
                    why,
                    "run `ctxrelay doctor` to see what is missing",
                )),
                Err(_) => Err(crate::daemon::run::stopping()),
            };
            answer(reply, result);
        });
    }
}
