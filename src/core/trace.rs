//! The spans by which one message is followed through the logs of all processes: its id, and the
//! attempt at its delivery; and the span by which one request for approval is followed through the
//! log of the daemon: its id. None of their text.
//!
//! The daemon and the Codex adapter know the attempt. To Claude's side the protocol carries only
//! the id, so what `bridge` logs of a message there (pushed, rung, printed, fetched) has no
//! attempt: it belongs to the one in the preceding line of the daemon.

use tracing::{Span, debug_span};

use super::id::{AttemptId, EntryId};

/// Of a message that is not being delivered, or by somebody who does not know the attempt.
pub fn message(id: &EntryId) -> Span {
    debug_span!("message", %id)
}

/// Of one attempt at its delivery, if there was one.
pub fn attempt(id: &EntryId, attempt: Option<&AttemptId>) -> Span {
    let attempt = attempt.map(tracing::field::display);
    debug_span!("message", %id, attempt)
}

/// Of a request for approval, by the entry that asks.
pub fn approval(id: &EntryId) -> Span {
    debug_span!("approval", %id)
}

/// A way to Claude brought no proof of a message, and the next one is tried.
pub(crate) fn descends(id: &EntryId, to: &str) {
    message(id).in_scope(|| tracing::debug!(to, "no proof: the next way to claude"));
}
