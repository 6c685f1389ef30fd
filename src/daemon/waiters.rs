//! [`Waiter`]s: calls that are answered when there is something, or when their time is up.

use tokio::time::Instant;

use super::event::Answer;
use super::inbox::Query;
use super::run::{Daemon, answer};
use crate::core::agent::Agent;
use crate::core::delivery::Outcome;
use crate::core::id::{EntryId, RuntimeSession, Seq};
use crate::wire::control::{MessagePage, Refusal, Reply, Sent};

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

impl Waiter {
    pub(super) fn refuse(self, refusal: &Refusal) {
        answer(self.reply, Err(refusal.clone()));
    }
}

impl Daemon {
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
                let page = self.inbox(&Query {
                    agent: *agent,
                    runtime_session,
                    after: *after,
                    reply_to: reply_to.as_ref(),
                    limit: None,
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
                } => {
                    let page = self.inbox(&Query {
                        agent,
                        runtime_session: &runtime_session,
                        after: Some(Seq(u64::MAX)),
                        reply_to: None,
                        limit: None,
                    });
                    Reply::Messages(MessagePage {
                        timed_out: true,
                        ..page
                    })
                }
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
}
