//! What stands in the way of a proposal by the record alone.

use std::collections::BTreeSet;
use std::fmt;

use super::{
    ArtifactSnapshot, BlockerSnapshot, FindingSnapshot, HandoffSnapshot, QuestionSnapshot,
    Snapshot, ToldBlockers,
};
use crate::entry::{DeliveryResult, FinalityProposal};
use crate::id::{EntryId, FindingId, Seq};

/// How much of an artifact's title a blocker repeats, in characters.
pub(super) const TITLE_CHARS: usize = 80;

/// One thing that stands in the way of a proposal. As text it has whole ids, for agents and the
/// command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocker<'a> {
    /// A blocker note that stands.
    Note(&'a BlockerSnapshot),
    /// A handoff that is open.
    Handoff(&'a HandoffSnapshot),
    /// A question without an answer, and its place in the ledger.
    Question(Seq, &'a QuestionSnapshot),
    /// A message of which nobody knows whether it arrived.
    Ambiguous(&'a EntryId),
    /// An artifact that says that something failed.
    Artifact(&'a ArtifactSnapshot),
    /// A finding of a review that keeps work from being done.
    Finding(&'a FindingId, &'a FindingSnapshot),
    /// So many more of these.
    MoreFindings(usize),
}

impl Blocker<'_> {
    /// The first words of what a handoff asks, on one line.
    pub fn ask(handoff: &HandoffSnapshot) -> String {
        let words = handoff.ask.split_whitespace().take(TITLE_CHARS);
        let words: Vec<&str> = words.collect();
        words.join(" ").chars().take(TITLE_CHARS).collect()
    }

    /// Where in the record a note or an artifact stands.
    fn seq(&self) -> Option<Seq> {
        match self {
            Self::Note(note) => Some(note.seq),
            Self::Artifact(claim) => Some(claim.seq),
            _ => None,
        }
    }

    /// How many things this stands for.
    pub fn count(&self) -> usize {
        match self {
            Self::MoreFindings(count) => *count,
            Self::Note(_)
            | Self::Handoff(_)
            | Self::Question(..)
            | Self::Ambiguous(_)
            | Self::Artifact(_)
            | Self::Finding(..) => 1,
        }
    }

    /// The status and the beginning of the title of an artifact.
    pub fn claim(artifact: &ArtifactSnapshot) -> String {
        let artifact = &artifact.artifact;
        let title: String = artifact.title.chars().take(TITLE_CHARS).collect();
        format!("{}: {title}", artifact.status.as_str())
    }
}

impl fmt::Display for Blocker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Note(BlockerSnapshot { id, by, text, .. }) => {
                write!(f, "blocker note {id} by {by} stands: {text}")
            }
            Self::Handoff(handoff) => {
                write!(f, "handoff {} is open: {}", handoff.id, Self::ask(handoff))
            }
            Self::Question(_, question) => {
                let QuestionSnapshot {
                    id, from, to, text, ..
                } = question;
                write!(f, "question {id} of {from} to {to} has no answer: {text}")
            }
            Self::Ambiguous(id) => write!(f, "delivery of {id} is ambiguous"),
            Self::Artifact(claim) => {
                let ArtifactSnapshot { id, by, .. } = claim;
                write!(f, "artifact {id} by {by} is {}", Self::claim(claim))
            }
            Self::Finding(id, finding) => f.write_str(&finding.blocker(id)),
            Self::MoreFindings(count) => {
                write!(f, "{count} more review findings are critical or high")
            }
        }
    }
}

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

    /// Whether the operator had seen this entry when they approved last.
    pub fn is_judged(&self, seq: Seq) -> bool {
        seq <= self.judged_through()
    }

    /// The last entry that an approval judged.
    pub(crate) fn judged_through(&self) -> Seq {
        self.seen_through.unwrap_or(self.approved_through)
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
