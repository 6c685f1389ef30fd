//! [`ImportPlan`]: what an import of a review changes in the record; [`ReviewChanged`]: the result.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::comment::ImportedFinding;
use crate::entry::{FindingRecord, FindingStep};
use crate::id::{FindingId, Seq};
use crate::snapshot::{FINDINGS_MAX, FindingState, Snapshot};

/// What an import changes: the same import twice changes nothing the second time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportPlan {
    /// What is to be recorded, each with its content.
    pub records: Vec<(FindingRecord, String)>,
    /// What its recording comes to.
    pub comes_to: ReviewChanged,
}

/// What an import, or the operator's word on a finding, came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ReviewChanged {
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
    /// Those of them that would keep work from being done.
    #[serde(default)]
    pub left_out_blocking: Vec<FindingId>,
    /// Findings that stand under another pull request or file, and stay as they are.
    pub refused: u64,
    /// Values that were no comment with a name and words.
    #[serde(default)]
    pub unread: u64,
    /// What kept work from being done, and is resolved now.
    pub settled: Vec<FindingId>,
    /// What goes on keeping work from being done, though its review does not say it any more or rates
    /// it lower.
    pub held: Vec<FindingId>,
    /// The last entry that says so; none where nothing changed.
    pub seq: Option<Seq>,
}

/// All that a review says, as far as names go.
#[derive(Debug, Clone, Copy)]
pub struct WholeReview<'a> {
    pub review: &'a str,
    pub findings: &'a [FindingId],
}

/// How the name of a review begins that a file holds and no pull request is named for.
pub const FILE_REVIEW: &str = "file:";

/// How much of a digest tells one file's path from another's, in hex digits: they stand behind the
/// file's name and a `#`.
pub const FILE_APART_DIGITS: usize = 8;

/// How the name of a finding begins that stands on GitHub.
const OF_GITHUB: &str = "gh:";

impl ImportPlan {
    /// Of findings that were read; where there is no room for all, the worst are taken. With `whole`, what that review does not say any more is gone; with
    /// `asked`, their origin itself said it and no file.
    pub fn of(
        world: &Snapshot,
        mut read: Vec<ImportedFinding>,
        whole: Option<WholeReview<'_>>,
        asked: bool,
    ) -> Self {
        let mut plan = Self::default();
        let mut met = BTreeSet::new();
        let mut room = FINDINGS_MAX.saturating_sub(world.live_findings().count());
        if room < read.len() {
            read.sort_by_key(ImportedFinding::rank);
        }
        for mut read in read {
            if let Some(before) = named_before(world, &read.finding, &read.facts.review) {
                read.finding = before;
            }
            if !met.insert(read.finding.clone()) {
                continue;
            }
            let known = world.findings.get(&read.finding);
            if let Some(known) = known {
                let (of, said_by) = (&known.facts.review, &read.facts.review);
                // Versions before named a file without its folder: another one may have that name.
                let is_by_name = said_by.starts_with(FILE_REVIEW) && of != said_by;
                let would_settle = known.is_blocking() && read.facts.resolved;
                if !may_change(&read.finding, of, said_by, asked) || is_by_name && would_settle {
                    plan.comes_to.refused += 1;
                    continue;
                }
                // Under a name that differs in case alone nothing has changed.
                if known.facts.review.eq_ignore_ascii_case(&read.facts.review) {
                    read.facts.review.clone_from(&known.facts.review);
                }
                read.keep_unsaid(known);
            }
            let step = match known {
                None if room == 0 => {
                    plan.comes_to.left_out += 1;
                    if read.would_block() {
                        plan.comes_to.left_out_blocking.push(read.finding);
                    }
                    continue;
                }
                None => {
                    room -= 1;
                    plan.comes_to.imported += 1;
                    FindingStep::Imported
                }
                Some(known)
                    if known.facts == read.facts
                        && known.state != FindingState::Gone
                        && known.missing.is_none() =>
                {
                    plan.comes_to.same += 1;
                    continue;
                }
                Some(known) => {
                    plan.comes_to.changed += 1;
                    let facts = &read.facts;
                    if known.is_blocking() && facts.resolved {
                        plan.comes_to.settled.push(read.finding.clone());
                    }
                    if facts.lowered_from.is_some() && known.facts.lowered_from.is_none() {
                        plan.comes_to.held.push(read.finding.clone());
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
        let said = whole.findings.iter();
        let said =
            said.map(|id| named_before(world, id, whole.review).unwrap_or_else(|| id.clone()));
        let said: BTreeSet<FindingId> = said.collect();
        let known = world.findings.iter();
        let gone = known.filter(|(id, finding)| {
            let is_of_review =
                is_same_review(&finding.facts.review, whole.review) && !said.contains(*id);
            let is_new = finding.state != FindingState::Gone && finding.missing.is_none();
            is_of_review && is_new && finding.verdict.is_none()
        });
        for (id, finding) in gone {
            // That a comment was deleted is not the operator's word: it clears no blocker.
            let step = match finding.is_blocking() {
                true => {
                    self.comes_to.held.push(id.clone());
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
            self.comes_to.gone += 1;
            self.records.push((record, String::new()));
        }
    }
}

/// Whether what one review says may change what stands under another. GitHub itself has the last word
/// on what it says: under a repository's new name too, and of what came by a file before.
fn may_change(finding: &FindingId, known: &str, read: &str, asked: bool) -> bool {
    let is_file = |review: &str| review.starts_with(FILE_REVIEW);
    let server = |review: &str| review.split('/').next().map(str::to_ascii_lowercase);
    is_same_review(known, read)
        || match (is_file(known), is_file(read)) {
            (_, true) => false,
            // Versions before gave what a file holds names of GitHub's, which are its pull request's.
            (true, false) => asked || finding.as_str().starts_with(OF_GITHUB),
            (false, false) => asked && server(known) == server(read),
        }
}

/// Whether what stands under a review is of the one that was read. Case makes no other pull request,
/// and versions before named a file without what tells it from others of its name.
fn is_same_review(known: &str, read: &str) -> bool {
    if !read.starts_with(FILE_REVIEW) {
        return known.eq_ignore_ascii_case(read);
    }
    let is_of_before = || {
        let apart = read.strip_prefix(known);
        apart.is_some_and(|apart| apart.len() == 1 + FILE_APART_DIGITS && is_told_apart(apart))
            && !is_told_apart(known)
    };
    known == read || is_of_before()
}

/// Whether a file's review has in its name what tells it from others.
fn is_told_apart(review: &str) -> bool {
    let apart = review.rsplit_once('#').map(|(_, apart)| apart);
    let is_digit = |digit: u8| digit.is_ascii_hexdigit();
    apart.is_some_and(|apart| apart.len() == FILE_APART_DIGITS && apart.bytes().all(is_digit))
}

/// The name under which a version before recorded what a file says of a number alone: as one of
/// GitHub's.
fn named_before(world: &Snapshot, finding: &FindingId, review: &str) -> Option<FindingId> {
    if !review.starts_with(FILE_REVIEW) || world.findings.contains_key(finding) {
        return None;
    }
    let of_file = finding.as_str().strip_prefix(FILE_REVIEW)?;
    let (_, number) = of_file.split_once(':')?;
    let before = FindingId::new(format!("{OF_GITHUB}{number}"));
    let known = world.findings.get(&before)?;
    is_same_review(&known.facts.review, review).then_some(before)
}
