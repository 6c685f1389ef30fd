//! [`Inflight`]: the messages that were delivered to Codex and are not proven yet.

use serde::{Deserialize, Serialize};
use tracing::Span;

use crate::core::delivery::recovery::Unconfirmed;
use crate::core::id::{AttemptId, EntryId, ThreadId, TurnId};
use crate::core::trace;

/// The daemon hands over one at a time; more come only from recovery.
const INFLIGHT_MAX: usize = 256;

/// A message that is to be handed over.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Outgoing {
    pub(super) id: EntryId,
    /// For the log.
    #[serde(default)]
    pub(super) attempt: Option<AttemptId>,
    pub(super) text: String,
    /// The turns that had it and ended early, before it was asked for once more.
    #[serde(default)]
    pub(super) cut_off_in: Vec<TurnId>,
}

/// A message without proof.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Unproven {
    /// The message.
    pub(super) id: EntryId,
    /// For the log.
    #[serde(default)]
    pub(super) attempt: Option<AttemptId>,
    /// Where it went.
    pub(super) thread_id: ThreadId,
    /// What it says; unknown for one that an earlier daemon handed over.
    pub(super) text: Option<String>,
    /// The turn that it was to join. When that ends without it, it is unconfirmed.
    pub(super) steered_into: Option<TurnId>,
    /// Something happened that may have lost it. Passed on under this name.
    #[serde(rename = "doubt")]
    pub(super) unconfirmed: Option<Unconfirmed>,
    /// The turns that had it and ended early, before it was asked for once more: its id in one of
    /// them is of an earlier attempt, and Codex takes an id as often as it comes.
    #[serde(default)]
    pub(super) cut_off_in: Vec<TurnId>,
    /// It is to be taken out of the queue, which no app-server may go on with before that.
    #[serde(default)]
    pub(super) asked_back: bool,
}

impl Outgoing {
    /// The attempt, in the log.
    pub(super) fn following(&self) -> Span {
        trace::attempt(&self.id, self.attempt.as_ref())
    }
}

impl Unproven {
    /// The attempt, in the log.
    pub(super) fn following(&self) -> Span {
        trace::attempt(&self.id, self.attempt.as_ref())
    }

    /// Whether its id in this turn proves that it arrived.
    pub(super) fn is_proven_by(&self, turn_id: &str) -> bool {
        let mut before = self.cut_off_in.iter();
        !before.any(|turn| turn.as_str() == turn_id)
    }
}

/// The messages without proof, oldest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Inflight {
    messages: Vec<Unproven>,
}

impl Inflight {
    /// Adds a message. `false` when there is no room, or it is there already.
    pub(super) fn add(&mut self, message: Unproven) -> bool {
        let fits = self.messages.len() < INFLIGHT_MAX && !self.contains(message.id.as_str());
        if fits {
            self.messages.push(message);
        }
        fits
    }

    /// Whether this id is one of ours without proof.
    pub(super) fn contains(&self, id: &str) -> bool {
        self.messages
            .iter()
            .any(|message| message.id.as_str() == id)
    }

    /// Whether it is one of these, and this turn proves that it arrived.
    pub(super) fn is_proven_by(&self, id: &str, turn_id: &str) -> bool {
        self.messages
            .iter()
            .any(|message| message.id.as_str() == id && message.is_proven_by(turn_id))
    }

    /// Takes a message out.
    pub(super) fn remove(&mut self, id: &str) -> Option<Unproven> {
        let at = self
            .messages
            .iter()
            .position(|message| message.id.as_str() == id)?;
        Some(self.messages.remove(at))
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut Unproven> {
        self.messages
            .iter_mut()
            .find(|message| message.id.as_str() == id)
    }

    /// The attempt at a message's delivery, in the log; its id alone where it is none of these.
    pub(super) fn following(&self, id: &EntryId) -> Span {
        let message = self.messages.iter().find(|message| message.id == *id);
        message.map_or_else(|| trace::message(id), Unproven::following)
    }

    /// It is to be taken out of the queue.
    pub(super) fn ask_back(&mut self, id: &EntryId) {
        if let Some(message) = self.get_mut(id.as_str()) {
            message.asked_back = true;
        }
    }

    /// The connection was lost: everything is unconfirmed.
    pub(super) fn mark_all_unconfirmed(&mut self) {
        for message in &mut self.messages {
            message.steered_into = None;
            message.unconfirmed = Some(Unconfirmed::default());
        }
    }

    /// A turn ended: what was to join it and has no proof is unconfirmed. Whether there was any.
    pub(super) fn mark_steered_unconfirmed(&mut self, turn_id: &str) -> bool {
        let mut any = false;
        for message in &mut self.messages {
            if message
                .steered_into
                .as_ref()
                .is_some_and(|turn| turn.as_str() == turn_id)
            {
                message.steered_into = None;
                message.unconfirmed = Some(Unconfirmed::default());
                any = true;
            }
        }
        any
    }

    /// A turn of this thread ended, behind which its queue goes on: what lies in that may be lost on
    /// its way into the next turn, of which nothing would be told. Whether there is any.
    pub(super) fn mark_queued_unconfirmed(&mut self, thread_id: &ThreadId) -> bool {
        let mut any = false;
        for message in &mut self.messages {
            if message.thread_id == *thread_id && message.steered_into.is_none() {
                message.unconfirmed.get_or_insert_default();
                any = true;
            }
        }
        any
    }

    /// The ids on a thread, all or only the unconfirmed ones.
    pub(super) fn on(&self, thread_id: &ThreadId, only_unconfirmed: bool) -> Vec<EntryId> {
        self.messages
            .iter()
            .filter(|message| message.thread_id == *thread_id)
            .filter(|message| !only_unconfirmed || message.unconfirmed.is_some())
            .map(|message| message.id.clone())
            .collect()
    }

    /// Whether one on this thread may still show up.
    pub(super) fn is_awaited_on(&self, thread_id: &ThreadId) -> bool {
        let mut messages = self.messages.iter();
        messages.any(|message| {
            let unconfirmed = message.unconfirmed.as_ref();
            message.thread_id == *thread_id && !unconfirmed.is_some_and(Unconfirmed::is_given_up)
        })
    }

    /// The threads other than this one that still have messages.
    pub(super) fn threads_besides(&self, thread_id: Option<&ThreadId>) -> Vec<ThreadId> {
        let mut threads: Vec<ThreadId> = Vec::new();
        for message in &self.messages {
            if Some(&message.thread_id) != thread_id && !threads.contains(&message.thread_id) {
                threads.push(message.thread_id.clone());
            }
        }
        threads
    }
}
