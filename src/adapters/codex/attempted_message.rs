//! [`AttemptedMessage`]: a message that the previous process gave to Codex, not proven yet.

use crate::core::id::{AttemptId, EntryId, ThreadId, TurnId};

/// A message that the previous process handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptedMessage {
    pub message_id: EntryId,
    /// For the log; where none is known it is followed by its id alone.
    pub attempt: Option<AttemptId>,
    /// As with [`CodexRequest::Deliver`](super::request::CodexRequest::Deliver).
    pub cut_off_in: Vec<TurnId>,
    /// As with [`CodexRequest::Deliver`](super::request::CodexRequest::Deliver); where it is not
    /// known, that of when this process began.
    pub thread: Option<ThreadId>,
    /// Nobody is to get it any more: it is taken out of Codex's queue before that goes on.
    pub is_unwanted: bool,
}
