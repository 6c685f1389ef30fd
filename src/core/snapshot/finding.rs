//! [`FindingSnapshot`]: a finding of a review, as the record tells it.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Snapshot;
use crate::agent::Agent;
use crate::entry::{FindingFacts, FindingSeverity};
use crate::id::{CapsuleId, EntryId, FindingId, Seq};
use crate::in_quotes::{in_quotes, named};
use crate::word::words;

/// How many findings are kept: those that stand, and the latest of the others.
pub const FINDINGS_MAX: usize = 2_000;

/// How many findings are named as blockers; the rest is counted.
pub const FINDINGS_NAMED_MAX: usize = 20;

words! {
    /// Where a finding stands.
    pub enum FindingState {
        /// Nobody has said anything of it.
        Open = "open",
        /// An agent says that it has it in hand.
        Claimed = "claimed",
        /// It is dealt with.
        Resolved = "resolved",
        /// The operator does not count it.
        Dismissed = "dismissed",
        /// Its review does not say it any more.
        Gone = "gone",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingSnapshot {
    /// The entry that imported it first.
    pub id: EntryId,
    /// Where that stands.
    pub first: Seq,
    /// The latest entry that has its words.
    pub seq: Seq,
    /// When it was imported first, ms since the epoch.
    pub at_ms: i64,
    /// Its latest entry, of whatever step.
    pub head: Seq,
    /// What its review says of it.
    pub facts: FindingFacts,
    /// Where it stands.
    pub state: FindingState,
    /// The agent that has it in hand, and the note that says so.
    pub claim: Option<FindingClaim>,
    /// What the operator said of it at last.
    pub verdict: Option<FindingVerdict>,
    /// The entry by which its review does not say it any more, where it keeps work from being done
    /// all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Seq>,
    /// The task that it was imported for.
    pub task: Option<CapsuleId>,
}

/// An agent has a finding in hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingClaim {
    pub by: Agent,
    /// The place of its note.
    pub seq: Seq,
}

/// What the operator said of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingVerdict {
    /// Its entry.
    pub seq: Seq,
    /// How, or why; may be empty.
    pub reason: String,
}

impl FindingSnapshot {
    /// Whether something is still to be done about it.
    pub fn is_live(&self) -> bool {
        matches!(self.state, FindingState::Open | FindingState::Claimed)
    }

    /// Whether it keeps work from being done. That an agent has it in hand changes nothing: a claim
    /// is no evidence.
    pub fn is_blocking(&self) -> bool {
        self.is_live() && self.facts.weight().is_some_and(FindingSeverity::blocks)
    }

    /// What its review says of it since it keeps work from being done, where that would let it go.
    pub fn since(&self) -> Option<String> {
        if !self.is_live() {
            return None;
        }
        let lowered = self.facts.lowered_from.as_ref().map(|from| {
            let now = self.facts.severity.as_ref();
            let now = now.map_or_else(|| "unrated".to_owned(), |it| named(&it.to_string()));
            format!("lowered since from {from} to {now}")
        });
        match (self.missing.is_some(), lowered) {
            (true, None) => Some("gone since".to_owned()),
            (true, Some(lowered)) => Some(format!("{lowered}, and gone")),
            (false, lowered) => lowered,
        }
    }

    /// How it is named where it stands in the way. Its title is somebody else's text, and quoted.
    pub fn blocker(&self, id: &FindingId) -> String {
        let severity = self.facts.weight();
        let severity = severity.map_or("finding".to_owned(), ToString::to_string);
        let place = self.facts.told_place().map(|place| format!(", {place}"));
        let since = self.since().map(|since| format!(", {since}"));
        format!(
            "review finding {id} is {} ({severity}{}{}), it says: {}",
            self.state,
            place.unwrap_or_default(),
            since.unwrap_or_default(),
            in_quotes(&self.facts.title)
        )
    }

    /// In the order in which findings are looked at: what stands first, then the worst, then by
    /// place, the unrated last.
    pub fn order(&self) -> impl Ord + '_ {
        self.order_at(self.cursor())
    }

    /// Its place in that order, as it is now.
    pub fn cursor(&self) -> FindingCursor {
        let rank = match self.facts.weight() {
            Some(FindingSeverity::Critical) => 0_u8,
            Some(FindingSeverity::High) => 1,
            Some(FindingSeverity::Medium) => 2,
            Some(FindingSeverity::Low) => 3,
            Some(FindingSeverity::Other(_)) | None => 4,
        };
        FindingCursor {
            rank: u8::from(!self.is_live()) * 10 + rank,
            first: self.first,
        }
    }

    fn order_at(&self, cursor: FindingCursor) -> impl Ord + '_ {
        (cursor.rank, (&self.facts.path, self.facts.line), self.first)
    }
}

/// A place in the order in which findings are looked at. It stays where it is when the finding that
/// stood there is resolved meanwhile, which then comes once more, further behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindingCursor {
    rank: u8,
    first: Seq,
}

impl fmt::Display for FindingCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.rank, self.first)
    }
}

impl FindingCursor {
    /// As it was written down; none of a text that is no cursor.
    pub fn read(text: &str) -> Option<Self> {
        let (rank, first) = text.split_once('-')?;
        let (rank, first) = (rank.parse().ok()?, first.parse().ok()?);
        Some(Self {
            rank,
            first: Seq(first),
        })
    }
}

impl Snapshot {
    /// The findings in the order in which they are looked at.
    pub fn findings_in_order(&self) -> Vec<(&FindingId, &FindingSnapshot)> {
        let mut findings: Vec<_> = self.findings.iter().collect();
        findings.sort_by(|(_, one), (_, other)| one.order().cmp(&other.order()));
        findings
    }

    /// Those of them behind a place. Where the finding that stood there is forgotten, those like it
    /// come once more.
    pub fn findings_after(&self, cursor: FindingCursor) -> Vec<(&FindingId, &FindingSnapshot)> {
        let mut findings = self.findings_in_order();
        let mut all = self.findings.values();
        match all.find(|finding| finding.first == cursor.first) {
            Some(there) => {
                let there = there.order_at(cursor);
                findings.retain(|(_, finding)| finding.order_at(finding.cursor()) > there);
            }
            None => findings.retain(|(_, finding)| finding.cursor().rank >= cursor.rank),
        }
        findings
    }

    /// Whether an import recorded behind this entry what a review says.
    pub fn review_was_read_after(&self, review: &str, seq: Seq) -> bool {
        let mut findings = self.findings.values();
        findings.any(|finding| {
            let is_gone = finding.state == FindingState::Gone && finding.head > seq;
            let is_later = finding.seq > seq || finding.missing > Some(seq) || is_gone;
            is_later && finding.facts.review.eq_ignore_ascii_case(review)
        })
    }

    /// The findings about which something is still to be done.
    pub fn live_findings(&self) -> impl Iterator<Item = (&FindingId, &FindingSnapshot)> {
        self.findings
            .iter()
            .filter(|(_, finding)| finding.is_live())
    }

    /// The finding that somebody names, by its name at its origin or by its first entry.
    pub fn finding(&self, name: &str) -> Option<(&FindingId, &FindingSnapshot)> {
        let by_origin = self.findings.get_key_value(&FindingId::new(name));
        by_origin.or_else(|| {
            let mut findings = self.findings.iter();
            findings.find(|(_, finding)| finding.id.as_str() == name)
        })
    }

    /// The findings that keep work from being done.
    pub fn blocking_findings(&self) -> impl Iterator<Item = (&FindingId, &FindingSnapshot)> {
        let findings = self.findings.iter();
        findings.filter(|(_, finding)| finding.is_blocking())
    }

    /// The entries that make the findings what they are which another session needs: those that
    /// stand, and those that the operator does not count, which another import would bring back.
    pub fn entries_of_findings(&self) -> BTreeSet<Seq> {
        let wanted = self.findings.values().filter(|finding| {
            finding.is_live() || finding.verdict.is_some() && finding.state != FindingState::Gone
        });
        wanted.flat_map(FindingSnapshot::entries).collect()
    }
}

impl FindingSnapshot {
    /// The entries that make it what it is.
    pub fn entries(&self) -> impl Iterator<Item = Seq> + use<> {
        let said = [self.claim.as_ref().map(|claim| claim.seq)];
        let verdict = self.verdict.as_ref().map(|verdict| verdict.seq);
        let said = said.into_iter().flatten().chain(verdict);
        let said = said.chain(self.missing);
        [self.first, self.seq].into_iter().chain(said)
    }
}
