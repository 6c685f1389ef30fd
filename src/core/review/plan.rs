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
}

/// All that a review says, as far as names go.
#[derive(Debug, Clone, Copy)]
pub struct WholeReview<'a> {
    pub review: &'a str,
    pub findings: &'a [FindingId],
}

impl ImportPlan {
    /// Of findings that were read. With `whole`, what that review does not say any more is gone.
    pub fn of(
        world: &Snapshot,
        read: Vec<ImportedFinding>,
        whole: Option<WholeReview<'_>>,
    ) -> Self {
        let mut plan = Self::default();
        let mut met = BTreeSet::new();
        let mut room = FINDINGS_MAX.saturating_sub(world.live_findings().count());
        for mut read in read {
            if !met.insert(read.finding.clone()) {
                continue;
            }
            if let Some(known) = world.findings.get(&read.finding) {
                read.keep_unsaid(&known.facts);
            }
            let step = match world.findings.get(&read.finding) {
                None if room == 0 => {
                    plan.left_out += 1;
                    continue;
                }
                None => {
                    room -= 1;
                    plan.imported += 1;
                    FindingStep::Imported
                }
                Some(known) if known.facts == read.facts && known.state != FindingState::Gone => {
                    plan.same += 1;
                    continue;
                }
                Some(_) => {
                    plan.changed += 1;
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
            is_of_review && finding.state != FindingState::Gone && finding.verdict.is_none()
        });
        for (id, _) in gone {
            let record = FindingRecord {
                finding: id.clone(),
                step: FindingStep::Gone,
                facts: None,
                suggestions: Vec::new(),
                raw: None,
            };
            self.gone += 1;
            self.records.push((record, String::new()));
        }
    }
}
