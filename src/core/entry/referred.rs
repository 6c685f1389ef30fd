//! [`Entry::handles`], [`Entry::belongs_to`], [`Entry::answer_to`]: the entries that one refers to.

use super::{Entry, EntryKind, NoteKind};
use crate::agent::Party;
use crate::id::EntryId;

impl Entry {
    /// The handoffs that this entry says it answers.
    pub fn handles(&self) -> &[EntryId] {
        match &self.kind {
            EntryKind::Message(message) => &message.handles,
            EntryKind::Handoff(handoff) => &handoff.handles,
            EntryKind::Note { handles, .. } | EntryKind::Other { handles, .. } => handles,
            EntryKind::FinalityProposal(proposal) => &proposal.handles,
            EntryKind::FinalityDecision(decision) => &decision.handles,
            _ => &[],
        }
    }

    /// What an entry says that it belongs to, the nearest first.
    pub fn belongs_to(&self) -> Vec<&EntryId> {
        let named = match &self.kind {
            EntryKind::Message(message) => message.in_reply_to.as_ref(),
            EntryKind::FinalityDecision(decision) => Some(&decision.proposal_id),
            EntryKind::Note { withdraws, .. } => withdraws.as_ref(),
            _ => None,
        };
        named.into_iter().chain(self.handles()).collect()
    }

    /// What it answers without closing it. What asks back is no answer, and neither is that nothing
    /// came of it.
    pub fn answer_to(&self) -> Option<&EntryId> {
        let EntryKind::Message(message) = &self.kind else {
            return None;
        };
        let is_answer = self.source != Party::System && !message.require_reply;
        message.in_reply_to.as_ref().filter(|_| is_answer)
    }

    /// Takes out of what it closes what is open again: read once more it would close that a second
    /// time. A proposal names what it would close, and a blocker what it blocks: neither closes it.
    pub fn leave_open(&mut self, is_open: impl Fn(&EntryId) -> bool) {
        let handles = match &mut self.kind {
            EntryKind::Message(message) => &mut message.handles,
            EntryKind::Handoff(handoff) => &mut handoff.handles,
            EntryKind::Note { note, handles, .. } if *note != NoteKind::Blocker => handles,
            EntryKind::FinalityDecision(decision) if decision.approved => &mut decision.handles,
            EntryKind::Other { handles, .. } => handles,
            _ => return,
        };
        handles.retain(|id| !is_open(id));
    }
}
