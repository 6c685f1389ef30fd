//! [`Blocker`]: one thing that blocks a proposal.

use std::fmt;

use super::{
    ArtifactSnapshot, BlockerSnapshot, FindingSnapshot, HandoffSnapshot, QuestionSnapshot,
};
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
    pub(super) fn seq(&self) -> Option<Seq> {
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
