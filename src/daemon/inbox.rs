//! What waits for an agent: pages of messages in their envelope, and [`Waiter`]s that are
//! answered when there is something.

use tokio::time::Instant;

use super::event::Answer;
use super::run::{Daemon, answer, now_ms};
use crate::core::agent::{Agent, Party};
use crate::core::delivery::{CodexInput, Delivery, DeliveryState, Outcome};
use crate::core::entry::{DeliveryResult, Entry, EntryKind};
use crate::core::envelope::{Envelope, wrap};
use crate::core::id::{EntryId, RuntimeSession, Seq};
use crate::wire::control::{InboxMessage, MessagePage, Refusal, Reply, Sent};

/// How many messages one page has when the asker names no number.
const PAGE: u32 = 20;

/// The most that one page can have.
const PAGE_MAX: u32 = 100;

/// The most text that one page carries, in bytes, its first message aside: a page must fit into a
/// frame of the control protocol with room for escapes.
const PAGE_BYTES_MAX: usize = 1024 * 1024;

/// How long bodies that somebody asked for may take until they count as taken or not. The call
/// that fetched them says so within milliseconds, unless its process died. In ms.
const CLAIM_MS: i64 = 5_000;

/// Somebody waits for something, until a deadline.
#[derive(Debug)]
pub struct Waiter {
    /// When it is answered in any case.
    pub deadline: Instant,
    /// What it waits for.
    pub wants: Wants,
    /// The answer.
    pub reply: Answer,
}

/// What somebody waits for.
#[derive(Debug)]
pub enum Wants {
    /// Messages for an agent.
    Messages {
        /// The receiver.
        agent: Agent,
        /// The pair.
        runtime_session: RuntimeSession,
        /// Only what stands after this place.
        after: Option<Seq>,
        /// Only what answers this.
        reply_to: Option<EntryId>,
    },
    /// What becomes of a message that was just sent.
    Receipt(Sent),
}

/// Which messages somebody asks for.
#[derive(Debug, Clone)]
pub(super) struct Query<'a> {
    pub agent: Agent,
    pub runtime_session: &'a RuntimeSession,
    pub after: Option<Seq>,
    pub reply_to: Option<&'a EntryId>,
    pub limit: Option<u32>,
    /// Leave out what is not offered unasked: what is proven, what only the operator may send
    /// again, and what was handed to somebody a moment ago.
    pub unasked: bool,
}

impl Daemon {
    /// A page of what waits for an agent.
    pub(super) fn inbox(&self, query: &Query<'_>) -> MessagePage {
        let limit = query.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX) as usize;
        let asked_at = query.reply_to.and_then(|id| self.ledger.seq_of(id));
        let mut unread = 0;
        let mut messages = Vec::new();
        let mut more = false;
        let mut bytes = 0;
        for row in self.outbox.lane(query.agent) {
            if row.runtime_session != *query.runtime_session
                || row.state == DeliveryState::Cancelled
                || (query.agent == Agent::Codex && row.state != DeliveryState::Queued)
                || (query.unasked && !self.may_be_offered(row))
            {
                continue;
            }
            unread += 1;
            if query.after.is_some_and(|after| row.seq <= after) {
                continue;
            }
            if messages.len() == limit || bytes > PAGE_BYTES_MAX {
                more = true;
                continue;
            }
            // An answer stands after its question: most rows need not be read.
            if asked_at.is_some_and(|asked| row.seq < asked) {
                continue;
            }
            let Some(stored) = self.stored(row.seq) else {
                continue;
            };
            if let Some(question) = query.reply_to
                && !answers(&stored.entry, question)
            {
                continue;
            }
            let message = self.enveloped(
                &stored.entry,
                row.maybe_shown
                    || matches!(
                        row.state,
                        DeliveryState::Confirmed | DeliveryState::Ambiguous
                    ),
            );
            bytes += message.text.len();
            messages.push(message);
        }
        let cursor = messages.last().filter(|_| more).map(|last| last.seq);
        MessagePage {
            messages,
            unread,
            cursor,
            timed_out: false,
            acked: Vec::new(),
        }
    }

    /// Whether a message may reach an agent that did not ask for it.
    pub(super) fn may_be_offered(&self, row: &Delivery) -> bool {
        self.outbox.backlog.may_be_offered(row)
    }

    /// These bodies are on their way to somebody who asked: they are not offered by another way
    /// until it is known whether they arrived.
    ///
    /// # Errors
    ///
    /// When the rows that say so cannot be written; the page must not leave then.
    pub(super) fn claim(&mut self, page: &MessagePage) -> Result<(), Refusal> {
        let at = self.moment();
        let until = at.now_ms + CLAIM_MS;
        let mut effects = Vec::new();
        for message in &page.messages {
            let id = &message.message_id;
            self.outbox
                .backlog
                .hand_out(id, &at.attempt, until, at.now_ms, &mut effects);
        }
        let stored = self.perform(effects);
        if stored.is_err() {
            for message in &page.messages {
                self.outbox.backlog.take_back(&message.message_id);
            }
        }
        stored
    }

    /// Answers with a page, once what it holds is noted as handed out.
    pub(super) fn answer_page(&mut self, reply: Answer, page: MessagePage) {
        let claimed = self.claim(&page);
        answer(reply, claimed.map(|()| Reply::Messages(page)));
    }

    /// Whoever asked went away without taking them.
    pub(super) fn expire_claims(&mut self) {
        let expired = self.outbox.backlog.expire_claims(self.clock.now_ms());
        if expired.is_empty() {
            return;
        }
        for id in expired {
            if self
                .outbox
                .get(&id)
                .is_some_and(|row| row.to == Agent::Codex)
            {
                self.codex_input(CodexInput::ClaimEnded { id });
            }
        }
        self.pump();
    }

    /// An entry from memory or from disk.
    pub(super) fn stored(&self, seq: Seq) -> Option<std::sync::Arc<crate::store::ledger::Stored>> {
        if let Ok(at) = self
            .recent
            .binary_search_by_key(&seq, |stored| stored.entry.seq)
        {
            return self.recent.get(at).map(std::sync::Arc::clone);
        }
        match self.ledger.read(seq) {
            Ok(found) => found.map(std::sync::Arc::new),
            Err(error) => {
                tracing::warn!(%error, %seq, "an entry could not be read");
                None
            }
        }
    }

    /// The message as its receiver gets it.
    pub(super) fn enveloped(&self, entry: &Entry, repeat: bool) -> InboxMessage {
        let (require_reply, in_reply_to, reason, context_refs, kind) = match &entry.kind {
            EntryKind::Message(message) => (
                message.require_reply,
                message.in_reply_to.clone(),
                None,
                Vec::new(),
                if message.from_turn.is_some() {
                    "answer"
                } else if message.in_reply_to.is_some() {
                    "reply"
                } else {
                    "message"
                },
            ),
            EntryKind::Handoff(handoff) => (
                false,
                None,
                Some(handoff.reason.clone()),
                handoff.context_refs.clone(),
                "handoff",
            ),
            _ => (false, None, None, Vec::new(), "message"),
        };
        let age_s = (now_ms() - entry.timestamp_ms).max(0) / 1000;
        let text = wrap(
            &Envelope {
                id: &entry.id,
                from: &entry.source,
                kind,
                age_s,
                repeat,
                require_reply,
                reason: reason.as_deref(),
                context_refs: &context_refs,
            },
            &self.whole_text(entry),
        );
        InboxMessage {
            message_id: entry.id.clone(),
            seq: entry.seq,
            from: entry.source.as_str().to_owned(),
            kind: kind.to_owned(),
            sent_at: entry.timestamp_ms,
            age_s,
            repeat,
            require_reply,
            in_reply_to,
            handles: entry.handles().to_vec(),
            text,
            reason,
            context_refs,
        }
    }

    /// Answers whoever has something to get now.
    pub(super) fn answer_waiters(&mut self) {
        let mut index = 0;
        while index < self.waiters.len() {
            match self.ready(&self.waiters[index]) {
                _ if self.waiters[index].reply.is_closed() => {
                    self.waiters.swap_remove(index);
                }
                Some(reply) => {
                    let waiter = self.waiters.swap_remove(index);
                    match reply {
                        Reply::Messages(page) => self.answer_page(waiter.reply, page),
                        reply => answer(waiter.reply, Ok(reply)),
                    }
                }
                None => index += 1,
            }
        }
    }

    fn ready(&self, waiter: &Waiter) -> Option<Reply> {
        match &waiter.wants {
            Wants::Messages {
                agent,
                runtime_session,
                after,
                reply_to,
            } => {
                let page = self.inbox(&Query {
                    agent: *agent,
                    runtime_session,
                    after: *after,
                    reply_to: reply_to.as_ref(),
                    limit: None,
                    unasked: false,
                });
                (!page.messages.is_empty()).then_some(Reply::Messages(page))
            }
            Wants::Receipt(sent) => {
                let outcome = self.codex.receipts.get(&sent.message_id)?;
                Some(Reply::Sent(Sent {
                    outcome: *outcome,
                    delivery_attempt_id: self.codex.last_attempt(&sent.message_id),
                    ..sent.clone()
                }))
            }
        }
    }

    /// Answers whoever has waited long enough.
    pub(super) fn expire_waiters(&mut self) {
        let now = Instant::now();
        let (expired, waiting): (Vec<_>, Vec<_>) = self
            .waiters
            .drain(..)
            .partition(|waiter| waiter.deadline <= now);
        self.waiters = waiting;
        for waiter in expired {
            let reply = match waiter.wants {
                Wants::Messages {
                    agent,
                    runtime_session,
                    ..
                } => Reply::Messages(self.nothing_yet(agent, &runtime_session)),
                Wants::Receipt(sent) => {
                    let attempt = self
                        .outbox
                        .get(&sent.message_id)
                        .and_then(|row| row.attempt.clone());
                    Reply::Sent(Sent {
                        outcome: Outcome::QueuedForNextTurn,
                        delivery_attempt_id: attempt,
                        ..sent
                    })
                }
            };
            answer(waiter.reply, Ok(reply));
        }
    }

    /// The answer to whoever waited in vain.
    pub(super) fn nothing_yet(
        &self,
        agent: Agent,
        runtime_session: &RuntimeSession,
    ) -> MessagePage {
        let page = self.inbox(&Query {
            agent,
            runtime_session,
            after: Some(Seq(u64::MAX)),
            reply_to: None,
            limit: None,
            unasked: false,
        });
        MessagePage {
            timed_out: true,
            ..page
        }
    }

    /// The text of what became of a message, for its delivery entry.
    pub(super) fn delivery_text(to: Agent, result: DeliveryResult, rung: Option<&str>) -> String {
        let to = to.title();
        let by = rung.map(|rung| format!(" by {rung}")).unwrap_or_default();
        match result {
            DeliveryResult::Confirmed => format!("{to} has it{by}"),
            DeliveryResult::Acknowledged => format!("{to} acknowledged it"),
            DeliveryResult::Rejected => format!("{to} was busy: rejected as asked"),
            DeliveryResult::Expired => "it waited too long".to_owned(),
            DeliveryResult::Ambiguous => {
                format!("nobody can know whether {to} has it; only the operator sends it again")
            }
            DeliveryResult::Cancelled => "the operator took it back".to_owned(),
            DeliveryResult::Requeued => "the operator asked for another try".to_owned(),
        }
    }
}

/// Whether an entry answers a message or handoff.
fn answers(entry: &Entry, question: &EntryId) -> bool {
    entry.handles().contains(question)
        || matches!(&entry.kind, EntryKind::Message(message)
            if message.in_reply_to.as_ref() == Some(question))
}

/// The operator is a party too, but nobody's peer.
pub(super) fn sender(from: Option<Agent>) -> Party {
    from.map_or(Party::Human, Party::Agent)
}
