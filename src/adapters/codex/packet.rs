//! [`PacketInThread`]: a packet that was put into the thread, until it is certain that the model
//! has it.
//!
//! The app-server's answer proves nothing. The proof is that the rollout contains the packet and
//! that the model has answered once more after it, with its token usage reported.

use serde::{Deserialize, Serialize};

use crate::core::id::{EntryId, ThreadId};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct PacketInThread {
    pub(super) id: EntryId,
    pub(super) thread: ThreadId,
    /// Of its text, in lower-case hex.
    pub(super) sha256: String,
    /// Its text, for as long as it may have to be put in again.
    pub(super) text: Option<String>,
    /// We put it in ourselves; else our hook is to give it.
    #[serde(default = "put_in")]
    pub(super) is_put_in: bool,
    /// The rollout holds it, or our hook has said it.
    is_seen: bool,
    /// The model has said or done something since.
    is_answered: bool,
    /// How long the rollout was when it was looked at, in bytes.
    pub(super) looked_at: u64,
}

/// What the thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThreadSign {
    /// Something begins or goes on.
    Work,
    /// The model has said something, or called a tool.
    Answer,
    /// How many tokens a request took.
    Tokens,
}

impl PacketInThread {
    pub(super) fn new(id: EntryId, thread: ThreadId, sha256: String, text: Option<String>) -> Self {
        Self {
            id,
            thread,
            sha256,
            text,
            is_put_in: false,
            is_seen: false,
            is_answered: false,
            looked_at: 0,
        }
    }

    /// The rollout holds it, or our hook has said it.
    pub(super) fn seen(&mut self) {
        self.is_seen = true;
        self.text = None;
    }

    pub(super) fn is_seen(&self) -> bool {
        self.is_seen
    }

    /// The thread does something. Returns whether the model has the packet now.
    pub(super) fn takes(&mut self, sign: ThreadSign) -> bool {
        self.is_answered |= self.is_seen && sign == ThreadSign::Answer;
        self.is_answered && sign == ThreadSign::Tokens
    }
}

/// One of an owner that knew of no other way.
fn put_in() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_and_its_tokens_after_the_rollout_held_it_prove_a_packet() {
        let mut packet = PacketInThread::new(
            EntryId::new("P"),
            ThreadId::new("T"),
            String::new(),
            Some("text".to_owned()),
        );
        assert!(!packet.takes(ThreadSign::Answer));
        assert!(!packet.takes(ThreadSign::Tokens));
        packet.seen();
        assert_eq!(packet.text, None);
        // Of the request before, or of the compaction.
        assert!(!packet.takes(ThreadSign::Tokens));
        assert!(!packet.takes(ThreadSign::Work));
        assert!(!packet.takes(ThreadSign::Answer));
        assert!(packet.takes(ThreadSign::Tokens));
    }
}
