//! [`ImportPlan`]: what an import of a review changes in the record.

use std::collections::BTreeSet;

use super::comment::ImportedFinding;
use crate::entry::{FindingRecord, FindingStep};
use crate::id::FindingId;
use crate::snapshot::{FINDINGS_MAX, FindingState, Snapshot};

/// What an import changes: the same import twice changes nothing the second time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportPlan {
    /// What is to be recorded, each with its content.
    pub records: Vec<(FindingRecord, String)>,
    /// Findings that were not there.
    pub imported: u64,
    /// Findings that their review says otherwise by now.
    pub changed: u64,
    /// Findings that are as they were.
    pub same: u64,
    /// Findings that their review does not say any more.
    pub gone: u64,
    /// Findings for which there is no room.
    pub left_out: u64,
    /// Findings that stand under another pull request or file, and stay as they are.
    pub refused: u64,
    /// What kept work from being done, and is resolved now.
    pub settled: Vec<FindingId>,
    /// What keeps work from being done, and goes on doing so though its review does not say it any
    /// more, or rates it lower.
    pub held: Vec<FindingId>,
}

/// All that a review says, as far as names go.
#[derive(Debug, Clone, Copy)]
pub struct WholeReview<'a> {
    pub review: &'a str,
    pub findings: &'a [FindingId],
}

/// How the name of a review begins that a file holds and no pull request is named for.
pub const FILE_REVIEW: &str = "file:";

impl ImportPlan {
    /// Of findings that were read. With `whole`, what that review does not say any more is gone; with
    /// `asked`, their origin itself said it and no file.
    pub fn of(
        world: &Snapshot,
        read: Vec<ImportedFinding>,
        whole: Option<WholeReview<'_>>,
        asked: bool,
    ) -> Self {
        let mut plan = Self::default();
        let mut met = BTreeSet::new();
        let mut room = FINDINGS_MAX.saturating_sub(world.live_findings().count());
        for mut read in read {
            if !met.insert(read.finding.clone()) {
                continue;
            }
            let known = world.findings.get(&read.finding);
            if let Some(known) = known {
                if !may_change(&known.facts.review, &read.facts.review, asked) {
                    plan.refused += 1;
                    continue;
                }
                read.keep_unsaid(known);
            }
            let step = match known {
                None if room == 0 => {
                    plan.left_out += 1;
                    continue;
                }
                None => {
                    room -= 1;
                    plan.imported += 1;
                    FindingStep::Imported
                }
                Some(known)
                    if known.facts == read.facts
                        && known.state != FindingState::Gone
                        && known.missing.is_none() =>
                {
                    plan.same += 1;
                    continue;
                }
                Some(known) => {
                    plan.changed += 1;
                    let facts = &read.facts;
                    if known.is_blocking() && facts.resolved {
                        plan.settled.push(read.finding.clone());
                    }
                    if facts.lowered_from.is_some() && known.facts.lowered_from.is_none() {
                        plan.held.push(read.finding.clone());
                    }
                    FindingStep::Changed
                }
            };
            let record = FindingRecord {
                finding: read.finding,
                step,
                facts: Some(read.facts),
                suggestions: read.suggestions,
                raw: read.raw,
            };
            plan.records.push((record, read.text));
        }
        if let Some(whole) = whole {
            plan.take_gone(world, whole);
        }
        plan
    }

    fn take_gone(&mut self, world: &Snapshot, whole: WholeReview<'_>) {
        let said: BTreeSet<&FindingId> = whole.findings.iter().collect();
        let known = world.findings.iter();
        let gone = known.filter(|(id, finding)| {
            let is_of_review = finding.facts.review == whole.review && !said.contains(id);
            let is_new = finding.state != FindingState::Gone && finding.missing.is_none();
            is_of_review && is_new && finding.verdict.is_none()
        });
        for (id, finding) in gone {
            // Whoever can take a comment back is not the operator.
            let step = match finding.is_blocking() {
                true => {
                    self.held.push(id.clone());
                    FindingStep::Missing
                }
                false => FindingStep::Gone,
            };
            let record = FindingRecord {
                finding: id.clone(),
                step,
                facts: None,
                suggestions: Vec::new(),
                raw: None,
            };
            self.gone += 1;
            self.records.push((record, String::new()));
        }
    }
}

/// Whether what one review says may change what stands under another. A file may say what any file
/// said before, and GitHub itself has the last word on what it says, under a repository's new name too.
fn may_change(known: &str, read: &str, asked: bool) -> bool {
    let is_file = |review: &str| review.starts_with(FILE_REVIEW);
    let server = |review: &str| review.split('/').next().map(str::to_owned);
    match (is_file(known), is_file(read)) {
        (true, _) => true,
        (false, true) => false,
        (false, false) => known == read || (asked && server(known) == server(read)),
    }
}
