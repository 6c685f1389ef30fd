//! What stands in the way of a proposal by the record alone.

use std::collections::BTreeSet;

use super::{QuestionSnapshot, Snapshot};
use crate::entry::{DeliveryResult, FinalityProposal};
use crate::id::EntryId;

impl Snapshot {
    /// What stands in the way of a proposal by the record alone: blocker notes, open handoffs that
    /// it does not close, open questions, messages whose fate nobody knows, what failed since the
    /// last approval, and findings of reviews that are critical or high. The gates are told by [`Self::gate_blockers`].
    pub fn blockers(&self, proposal: &FinalityProposal) -> Vec<String> {
        self.blockers_except(&proposal.handles)
    }

    /// As [`Self::blockers`], for a proposal that would close these handoffs.
    pub fn blockers_except(&self, closed: &[EntryId]) -> Vec<String> {
        let ambiguous = self.unsettled.iter();
        let ambiguous = ambiguous
            .filter(|(_, message)| message.result == Some(DeliveryResult::Ambiguous))
            .map(|(id, _)| id);
        self.blockers_with(closed, ambiguous).collect()
    }

    /// As [`Self::blockers_except`], one after the other, for who keeps the messages whose fate
    /// nobody knows (`ambiguous`).
    pub fn blockers_with<'a>(
        &'a self,
        closed: &'a [EntryId],
        ambiguous: impl Iterator<Item = &'a EntryId> + 'a,
    ) -> impl Iterator<Item = String> + 'a {
        let notes = self.open_blockers.iter().map(|blocker| {
            let (id, by) = (&blocker.id, &blocker.by);
            format!("blocker note {id} by {by} stands: {}", blocker.text)
        });
        let handoffs = self
            .open_handoffs
            .keys()
            .filter(|id| !closed.contains(id))
            .map(|id| format!("handoff {id} is open"));
        let questions = self.open_questions.values().map(|question| {
            let QuestionSnapshot { id, from, to, .. } = question;
            format!(
                "question {id} of {from} to {to} has no answer: {}",
                question.text
            )
        });
        let ambiguous = ambiguous.map(|id| format!("delivery of {id} is ambiguous"));
        notes
            .chain(handoffs)
            .chain(questions)
            .chain(ambiguous)
            .chain(self.failed_artifacts())
            .chain(self.finding_blockers())
    }

    /// How many [`Self::blockers_with`] gives with so many of those messages.
    pub fn blocker_count(&self, closed: &[EntryId], ambiguous: usize) -> usize {
        let closed: BTreeSet<&EntryId> = closed.iter().collect();
        let closed = closed
            .into_iter()
            .filter(|id| self.open_handoffs.contains_key(*id));
        self.open_blockers.len() + self.open_handoffs.len() - closed.count()
            + self.open_questions.len()
            + ambiguous
            + self.failed_artifacts().count()
            + self.finding_blocker_count()
    }
}
