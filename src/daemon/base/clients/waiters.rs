//! [`Waiters`]: calls that are answered when there is something to tell, or when their time is up.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use tokio::time::Instant;

use super::Clients;
use crate::core::agent::Agent;
use crate::core::delivery::MessageCursor;
use crate::core::id::{EntryId, RuntimeSession, Seq};
use crate::daemon::reply::ReplySender;
use crate::wire::control::{Refusal, RefusalCode, Sent};

/// How many calls may wait at once. Far more than two agents ask; each of their messages looks
/// through all of them.
pub(in crate::daemon) const WAITERS_MAX: usize = 512;

/// A call that waits for something, until a deadline.
#[derive(Debug)]
pub(in crate::daemon) struct Waiter {
    /// When it is answered in any case.
    pub deadline: Instant,
    /// What it waits for.
    pub wants: Wants,
    pub reply: ReplySender,
}

/// What a call waits for.
#[derive(Debug)]
pub(in crate::daemon) enum Wants {
    /// Messages for an agent.
    Messages {
        agent: Agent,
        runtime_session: RuntimeSession,
        /// Only what is left after this position.
        after: Option<MessageCursor>,
        /// Only answers to this entry.
        reply_to: Option<EntryId>,
        /// The position of that entry, if known: every check of the call needs it, and finding it
        /// may take a read of the disk.
        asked_at: Option<Seq>,
    },
    /// The outcome of a message that was just sent.
    Receipt(Sent),
}

/// Identifies a waiting call; in the order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::daemon) struct WaiterId(u64);

/// All of them, at most [`WAITERS_MAX`].
#[derive(Debug, Default)]
pub(in crate::daemon) struct Waiters {
    waiting: BTreeMap<WaiterId, Waiter>,
    /// Calls whose messages are being read.
    read: BTreeSet<WaiterId>,
    next: u64,
}

impl Waiters {
    /// How many somebody still reads.
    pub fn count(&self) -> usize {
        let waiting = self.waiting.values();
        waiting.filter(|known| !known.reply.is_closed()).count()
    }

    /// The first that came after this one, is still read by somebody, and can be looked at.
    pub fn next_after(&self, last: Option<WaiterId>) -> Option<WaiterId> {
        let from = last.map_or(Bound::Unbounded, Bound::Excluded);
        let mut later = self.waiting.range((from, Bound::Unbounded));
        let (id, _) =
            later.find(|(id, waiter)| !waiter.reply.is_closed() && !self.read.contains(id))?;
        Some(*id)
    }

    /// What this one wants, while it waits and is read by somebody.
    pub fn wants(&self, id: WaiterId) -> Option<&Wants> {
        let waiter = self.waiting.get(&id)?;
        (!waiter.reply.is_closed()).then_some(&waiter.wants)
    }

    /// When the next one is answered in any case.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.waiting.values().map(|waiter| waiter.deadline).min()
    }

    /// Whether a sender waits to hear what becomes of this message.
    pub fn awaits_receipt(&self, id: &EntryId) -> bool {
        let mut waiting = self.waiting.values();
        waiting.any(|waiter| {
            let is_its = matches!(&waiter.wants, Wants::Receipt(sent) if sent.message_id == *id);
            is_its && !waiter.reply.is_closed()
        })
    }

    fn take_those(&mut self, which: impl Fn(&Waiter) -> bool) -> Vec<Waiter> {
        let taken = self.waiting.extract_if(.., |_, waiter| which(waiter));
        taken.map(|(_, waiter)| waiter).collect()
    }
}

impl Clients {
    /// One more call that waits. Gives it back where every place is taken, those of calls that
    /// nobody reads any more apart.
    #[must_use]
    pub fn add_waiter(&mut self, waiter: Waiter) -> Option<Waiter> {
        if self.waiters.waiting.len() >= WAITERS_MAX {
            self.forget_closed_waiters();
        }
        let waiters = &mut self.waiters;
        if waiters.waiting.len() >= WAITERS_MAX {
            return Some(waiter);
        }
        waiters.waiting.insert(WaiterId(waiters.next), waiter);
        waiters.next += 1;
        None
    }

    /// Forgets the calls that nobody reads any more.
    pub fn forget_closed_waiters(&mut self) {
        let waiting = &mut self.waiters.waiting;
        waiting.retain(|_, known| !known.reply.is_closed());
    }

    /// It is being read what this call gets.
    pub fn begin_read(&mut self, id: WaiterId) {
        self.waiters.read.insert(id);
    }

    /// That was read.
    pub fn end_read(&mut self, id: WaiterId) {
        self.waiters.read.remove(&id);
    }

    /// This call waits no longer.
    pub fn take_waiter(&mut self, id: WaiterId) -> Option<Waiter> {
        self.waiters.waiting.remove(&id)
    }

    /// The calls that have waited long enough.
    pub fn take_expired_waiters(&mut self, now: Instant) -> Vec<Waiter> {
        self.waiters.take_those(|waiter| waiter.deadline <= now)
    }

    /// The calls that wait to hear what becomes of one of these messages.
    pub fn take_receipts_of(&mut self, ids: &[EntryId]) -> Vec<(Sent, ReplySender)> {
        let taken = self.waiters.take_those(
            |waiter| matches!(&waiter.wants, Wants::Receipt(sent) if ids.contains(&sent.message_id)),
        );
        let receipts = taken.into_iter().filter_map(|waiter| match waiter.wants {
            Wants::Receipt(sent) => Some((sent, waiter.reply)),
            Wants::Messages { .. } => None,
        });
        receipts.collect()
    }

    /// The calls that wait for an answer that does not come any more, with the words that `ended`
    /// has for the agent that waits and for what it waits for.
    pub fn take_ended_waiters(
        &mut self,
        ended: impl Fn(Agent, &EntryId) -> Option<String>,
    ) -> Vec<(Waiter, String)> {
        let mut words = Vec::new();
        let taken = self.waiters.waiting.extract_if(.., |_, waiter| {
            let Wants::Messages {
                agent,
                reply_to: Some(id),
                ..
            } = &waiter.wants
            else {
                return false;
            };
            let ended = ended(*agent, id);
            let is_over = ended.is_some();
            words.extend(ended);
            is_over
        });
        let taken: Vec<Waiter> = taken.map(|(_, waiter)| waiter).collect();
        taken.into_iter().zip(words).collect()
    }

    /// All calls that wait.
    pub fn take_all_waiters(&mut self) -> Vec<Waiter> {
        self.waiters.take_those(|_| true)
    }

    /// The places behind which calls wait have moved; `None` is the beginning.
    pub fn move_cursors(&mut self, moved: impl Fn(MessageCursor) -> Option<MessageCursor>) {
        for waiter in self.waiters.waiting.values_mut() {
            if let Wants::Messages {
                after, asked_at, ..
            } = &mut waiter.wants
            {
                *after = after.take().and_then(&moved);
                // An answer may be carried on to a place before its question.
                *asked_at = None;
            }
        }
    }

    /// The time of these calls is up.
    #[cfg(test)]
    pub fn make_due(&mut self, which: impl Fn(&Wants) -> bool) {
        let waiting = self.waiters.waiting.values_mut();
        let due = waiting.filter(|it| which(&it.wants));
        due.for_each(|waiter| waiter.deadline = Instant::now());
    }
}

/// Refuses a call that would wait while every place is taken.
pub(in crate::daemon) fn too_many_waiters() -> Refusal {
    Refusal::new(
        RefusalCode::TooManyWaiters,
        format!("{WAITERS_MAX} calls wait for messages already"),
        "end the ones that nobody reads, or ask with `get_messages`, which does not wait",
    )
}
