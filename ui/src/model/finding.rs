//! [`FindingRow`] and [`FindingView`]: what reviews of a pull request say.

use super::agent::Agent;

/// How bad a finding is, by its author's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum FindingRank {
    /// The worst.
    Critical,
    /// Bad.
    High,
    /// Worth a look.
    Medium,
    /// A nit.
    Low,
    /// It is not said.
    #[default]
    Unrated,
}

impl FindingRank {
    /// The word in the row.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
            Self::Unrated => "unrated",
        }
    }
}

/// Where a finding stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FindingStage {
    /// Nobody has said anything of it.
    #[default]
    Open,
    /// This agent says that it has it in hand.
    Claimed(Agent),
    /// It is dealt with.
    Resolved,
    /// The operator does not count it.
    Dismissed,
    /// Its review does not say it any more.
    Gone,
}

impl FindingStage {
    /// The word in the row.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Claimed(_) => "claimed",
            Self::Resolved => "resolved",
            Self::Dismissed => "dismissed",
            Self::Gone => "gone",
        }
    }

    /// Whether something is still to be done about it.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Open | Self::Claimed(_))
    }
}

/// A finding in the list. Its texts are somebody else's; hostile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FindingRow {
    /// By which it is named.
    pub id: String,
    /// The line of the entry that has its words.
    pub line: Option<u64>,
    /// How bad it is.
    pub severity: FindingRank,
    /// Where it stands.
    pub state: FindingStage,
    /// `src/a.rs:12`, relative to the project; empty where it speaks of no file.
    pub place: String,
    /// The file is outside of the project.
    pub outside: bool,
    /// One line.
    pub title: String,
    /// Who says it.
    pub author: String,
    /// The author is a program.
    pub bot: bool,
    /// The code that it speaks of was changed since, says the review.
    pub outdated: bool,
    /// It keeps work from being signed off.
    pub blocks: bool,
    /// What its review says of it since, where that would let it go: `gone since`; may be empty.
    pub since: String,
    pub review: String,
    /// Where it stands there; may be empty.
    pub url: String,
    /// Why the operator does not count it, or how it was dealt with; may be empty.
    pub reason: String,
}

/// Where a finding stands by now, where that is not what its review names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FindingPlaceNow {
    pub id: String,
    /// What stands beside its place: `43 now`, `changed`.
    pub now: String,
}

/// A finding that was opened. Its texts are somebody else's; hostile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FindingView {
    pub id: String,
    /// What it says.
    pub text: String,
    /// Code that it would have instead.
    pub suggestions: Vec<String>,
    /// What became of its line, in words.
    pub fate: String,
    /// Of several lines the first by now; `None` where it is one.
    pub start_now: Option<u32>,
    /// The line by now, of several the last; `None` where nobody can tell.
    pub line_now: Option<u32>,
    /// The number of the first of `lines`.
    pub first: u32,
    /// The file around its place, as it is now.
    pub lines: Vec<String>,
}
