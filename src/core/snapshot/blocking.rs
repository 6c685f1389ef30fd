//! What blocks a proposal, by the record alone.

use std::collections::BTreeSet;

use super::{Blocker, FINDINGS_NAMED_MAX, Snapshot, ToldBlockers};
use crate::entry::{DeliveryResult, FinalityProposal};
use crate::id::{EntryId, Seq};

impl Snapshot {
    /// What stands in the way of a proposal by the record alone: blocker notes, open handoffs that
    /// it does not close, open questions, messages whose fate nobody knows, what failed since the
    /// last approval, and findings of reviews that are critical or high. The gates are told by [`Self::gate_blockers`].
    pub fn blockers(&self, proposal: &FinalityProposal) -> Vec<String> {
        self.blockers_except(&proposal.handles)
    }

    /// As [`Self::blockers`], for a proposal that would close these handoffs.
    pub fn blockers_except(&self, closed: &[EntryId]) -> Vec<String> {
        self.told_blockers(closed).into_rows()
    }

    /// As [`Self::blockers_except`], with how many things each row stands for.
    pub fn told_blockers(&self, closed: &[EntryId]) -> ToldBlockers {
        let ambiguous = self.unsettled.iter();
        let ambiguous = ambiguous
            .filter(|(_, message)| message.result == Some(DeliveryResult::Ambiguous))
            .map(|(id, _)| id);
        self.blockers_with(closed, ambiguous).collect()
    }

    /// What an approval ends, and was recorded behind this entry: blocker notes, and artifacts that say
    /// that something failed.
    pub fn blockers_since(&self, seen: Seq) -> impl Iterator<Item = Blocker<'_>> {
        let notes = self.open_blockers.iter();
        let notes = notes.filter(move |note| note.seq > seen).map(Blocker::Note);
        let claims = self.failed_artifacts();
        let claims = claims.filter(move |claim| claim.seq > seen);
        notes.chain(claims.map(Blocker::Artifact))
    }

    /// The places of the notes and artifacts that stand in the way of every proposal.
    pub fn entries_of_blockers(&self) -> impl Iterator<Item = Seq> {
        self.blockers_since(Seq(0)).filter_map(|it| it.seq())
    }

    /// As [`Self::entries_of_blockers`], without the notes that handoffs end: where those do not go on,
    /// such a note never ends.
    pub fn entries_of_own_blockers(&self) -> impl Iterator<Item = Seq> {
        let own = self.blockers_since(Seq(0)).filter(|it| match it {
            Blocker::Note(note) => note.holds_up.is_empty(),
            _ => true,
        });
        own.filter_map(|it| it.seq())
    }

    /// The order in which a compaction carries entries on: what the last approval did not end stands
    /// behind it.
    pub fn place_when_carried(&self, seq: Seq) -> (Seq, Seq) {
        let is_before = seq < self.approved_through && !self.is_judged(seq);
        if is_before && self.blockers_since(Seq(0)).any(|it| it.seq() == Some(seq)) {
            return (self.approved_through, seq);
        }
        (seq, Seq(0))
    }

    /// As [`Self::blockers_except`], one after the other, for who keeps the messages whose fate
    /// nobody knows (`ambiguous`).
    pub fn blockers_with<'a>(
        &'a self,
        closed: &'a [EntryId],
        ambiguous: impl Iterator<Item = &'a EntryId> + 'a,
    ) -> impl Iterator<Item = Blocker<'a>> + 'a {
        let standing = self.standing_handoffs();
        let handoffs = standing.filter(|handoff| !closed.contains(&handoff.id));
        let questions = self.open_questions.iter();
        self.open_blockers
            .iter()
            .map(Blocker::Note)
            .chain(handoffs.map(|handoff| Blocker::Handoff(handoff)))
            .chain(questions.map(|(seq, question)| Blocker::Question(*seq, question)))
            .chain(ambiguous.map(Blocker::Ambiguous))
            .chain(self.failed_artifacts().map(Blocker::Artifact))
            .chain(self.finding_blockers())
    }

    /// The findings that keep work from being done, named; behind so many of them a count.
    fn finding_blockers(&self) -> impl Iterator<Item = Blocker<'_>> {
        let mut blocking: Vec<_> = self.blocking_findings().collect();
        blocking.sort_by(|(_, one), (_, other)| one.order().cmp(&other.order()));
        let more = blocking.len().saturating_sub(FINDINGS_NAMED_MAX);
        let rest = (more > 0).then_some(Blocker::MoreFindings(more));
        let named = blocking.into_iter().take(FINDINGS_NAMED_MAX);
        named
            .map(|(id, finding)| Blocker::Finding(id, finding))
            .chain(rest)
    }

    /// How many [`Self::blockers_with`] stands for with so many of those messages: those that are
    /// only counted there too.
    pub fn blocker_count(&self, closed: &[EntryId], ambiguous: usize) -> usize {
        let closed: BTreeSet<&EntryId> = closed.iter().collect();
        let standing = self.standing_handoffs();
        let handoffs = standing.filter(|handoff| !closed.contains(&handoff.id));
        self.open_blockers.len()
            + handoffs.count()
            + self.open_questions.len()
            + ambiguous
            + self.failed_artifacts().count()
            + self.blocking_findings().count()
    }
}
