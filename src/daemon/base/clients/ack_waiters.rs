//! [`AckWaiters`]: calls that reported messages as arrived or read, answered once the record says
//! so.

use std::collections::BTreeSet;

use super::Clients;
use crate::core::entry::DeliveryResult;
use crate::core::id::EntryId;
use crate::daemon::attach::ConnId;
use crate::daemon::reply::ReplySender;
use crate::wire::control::{AckedPartly, GetMessagesParams, Refusal, RefusalCode};

/// How many may wait for the record at once. It is written within milliseconds.
pub(in crate::daemon) const ACK_WAITERS_MAX: usize = 512;

/// A caller to be answered, and how.
#[derive(Debug)]
pub(in crate::daemon) struct AckWaiter {
    pub when: When,
    pub reply: ReplySender,
}

/// The answer to give once the record has it.
#[derive(Debug)]
pub(in crate::daemon) enum When {
    /// A plain success.
    Done,
    /// These were acknowledged.
    Acked(AckedPartly),
    /// These were acknowledged, and the caller asks for what else waits.
    Page {
        conn: ConnId,
        params: GetMessagesParams,
        /// What was acknowledged with it.
        acked: AckedPartly,
    },
}

/// A caller that waits for the record.
#[derive(Debug)]
struct AckWait {
    /// The messages that the record does not show as acknowledged yet.
    left: BTreeSet<EntryId>,
    result: DeliveryResult,
    waiter: AckWaiter,
}

/// All of them, at most [`ACK_WAITERS_MAX`].
#[derive(Debug, Default)]
pub(super) struct AckWaiters {
    waiting: Vec<AckWait>,
}

impl Clients {
    /// One more, who waits until the record has this result of all of these. Gives it back where
    /// every place is taken, those of calls that nobody reads any more apart.
    #[must_use]
    pub fn add_ack_waiter(
        &mut self,
        left: BTreeSet<EntryId>,
        result: DeliveryResult,
        waiter: AckWaiter,
    ) -> Option<AckWaiter> {
        let waiting = &mut self.ack_waiters.waiting;
        waiting.retain(|it| !it.waiter.reply.is_closed());
        if waiting.len() >= ACK_WAITERS_MAX {
            return Some(waiter);
        }
        waiting.push(AckWait {
            left,
            result,
            waiter,
        });
        None
    }

    /// The record has this result. The callers who have waited for nothing else.
    pub fn take_ack_waiters_of(&mut self, id: &EntryId, result: DeliveryResult) -> Vec<AckWaiter> {
        let of_this = |it: &&mut AckWait| it.result == result;
        for wait in self.ack_waiters.waiting.iter_mut().filter(of_this) {
            wait.left.remove(id);
        }
        self.ack_waiters.take_those(|wait| wait.left.is_empty())
    }

    /// The record does not take what it was to say of these. The callers who wait for it.
    pub fn take_refused_ack_waiters(&mut self, ids: &[EntryId]) -> Vec<AckWaiter> {
        self.ack_waiters
            .take_those(|wait| ids.iter().any(|id| wait.left.contains(id)))
    }
}

impl AckWaiters {
    fn take_those(&mut self, which: impl Fn(&AckWait) -> bool) -> Vec<AckWaiter> {
        let taken = self.waiting.extract_if(.., |wait| which(wait));
        taken.map(|wait| wait.waiter).collect()
    }
}

/// Refuses a call that would wait while every place is taken.
pub(in crate::daemon) fn too_many_ack_waiters() -> Refusal {
    Refusal::new(
        RefusalCode::TooManyWaiters,
        format!("{ACK_WAITERS_MAX} calls wait for the record already"),
        "what you said is being recorded; go on",
    )
}
