//! [`Waiter`]s: calls that are answered when there is something, or when their time is up.

use tokio::time::Instant;

use super::event::ReplySender;
use super::message_page::PageQuery;
use super::run::{Daemon, answer};
use crate::core::agent::Agent;
use crate::core::delivery::{MessageCursor, Outcome};
use crate::core::id::{EntryId, RuntimeSession};
use crate::wire::control::{MessagePage, Refusal, RefusalCode, Reply, Sent};

/// How many calls may wait at once. Far more than two agents ask; each of their messages looks
/// through all of them.
pub(super) const WAITERS_MAX: usize = 512;

/// Somebody waits for something, until a deadline.
#[derive(Debug)]
pub struct Waiter {
    /// When it is answered in any case.
    pub deadline: Instant,
    /// What it waits for.
    pub wants: Wants,
    /// The answer.
    pub reply: ReplySender,
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
        /// Only what is left at this place.
        after: Option<MessageCursor>,
        /// Only what answers this.
        reply_to: Option<EntryId>,
    },
    /// What becomes of a message that was just sent.
    Receipt(Sent),
}

impl Daemon {
    /// Has somebody wait. With every place taken whoever wants messages is refused, and a sender
    /// hears at once what it would hear at its deadline: its message is recorded.
    pub(super) fn wait(&mut self, waiter: Waiter) {
        if self.waiters.len() >= WAITERS_MAX {
            self.waiters.retain(|known| !known.reply.is_closed());
        }
        if self.waiters.len() < WAITERS_MAX {
            return self.waiters.push(waiter);
        }
        match waiter.wants {
            Wants::Messages { .. } => answer(waiter.reply, Err(too_many_waiters())),
            Wants::Receipt(_) => self.answer_expired(waiter),
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
                    match (reply, waiter.wants) {
                        (Reply::Messages(page), Wants::Messages { agent, .. }) => {
                            self.answer_page(waiter.reply, page, agent);
                        }
                        (reply, _) => answer(waiter.reply, Ok(reply)),
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
                let page = self.message_page(&PageQuery {
                    agent: *agent,
                    runtime_session,
                    after: after.as_ref(),
                    reply_to: reply_to.as_ref(),
                    limit: None,
                    reserved: 0,
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
            self.answer_expired(waiter);
        }
    }

    fn answer_expired(&self, waiter: Waiter) {
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

    /// The answer to whoever waited in vain.
    pub(super) fn nothing_yet(
        &self,
        agent: Agent,
        runtime_session: &RuntimeSession,
    ) -> MessagePage {
        MessagePage {
            messages: Vec::new(),
            unread: self.unread(agent, runtime_session),
            cursor: None,
            more: false,
            timed_out: true,
            acked: Vec::new(),
            unfinished: Vec::new(),
        }
    }
}

fn too_many_waiters() -> Refusal {
    Refusal::new(
        RefusalCode::TooManyWaiters,
        format!("{WAITERS_MAX} calls wait for messages already"),
        "end the ones that nobody reads, or ask with `get_messages`, which does not wait",
    )
}
