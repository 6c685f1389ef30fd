//! [`belongs_to`]: what ties an entry to those before it.

use crate::core::entry::{Entry, EntryKind};
use crate::core::id::EntryId;

/// What an entry says that it belongs to, the nearest first.
pub(super) fn belongs_to(entry: &Entry) -> Vec<&EntryId> {
    let named = match &entry.kind {
        EntryKind::Message(message) => message.in_reply_to.as_ref(),
        EntryKind::FinalityDecision(decision) => Some(&decision.proposal_id),
        EntryKind::Note { withdraws, .. } => withdraws.as_ref(),
        _ => None,
    };
    named.into_iter().chain(entry.handles()).collect()
}
