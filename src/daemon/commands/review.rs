//! What reviews say: the operator has it recorded, and says what becomes of it. What it says beside
//! the file as it is now is read beside the loop: git is asked.

use std::sync::Arc;

use super::checks::{check_length, check_text, not_found};
use super::ledger::unreadable;
use crate::adapters::finding_place::FindingPlaces;
use crate::core::agent::Party;
use crate::core::entry::{Entry, EntryKind, FINDING, FindingStep};
use crate::core::id::{FindingId, RuntimeSession};
use crate::core::review::{
    CLEAN_BYTES_MAX, ImportPlan, ImportedFinding, WholeReview, quoted, unquoted,
};
use crate::core::snapshot::{FINDINGS_MAX, FindingSnapshot, Snapshot};
use crate::daemon::attach::ConnId;
use crate::daemon::owners::Daemon;
use crate::daemon::reply::{ReplySender, answer, too_much};
use crate::wire::control::{
    FindingText, IMPORT_BATCH_MAX, ReadFindingParams, Refusal, RefusalCode, Reply, ReviewChange,
    ReviewChanged, ReviewParams,
};

impl Daemon {
    pub(super) fn change_review(&mut self, conn: ConnId, params: ReviewParams, reply: ReplySender) {
        if self.is_importing {
            // What is being recorded is not folded yet: the same finding would be recorded twice.
            let busy = "what another import found is being recorded";
            return answer(reply, Err(too_much(busy)));
        }
        let session = self.runtime_session(conn, params.runtime_session_id);
        let (mut changed, entries) = match self.review_steps(params.change, &session) {
            Ok(steps) => steps,
            Err(refusal) => return answer(reply, Err(refusal)),
        };
        if entries.is_empty() {
            return answer(reply, Ok(Reply::Review(changed)));
        }
        self.is_importing = true;
        self.record(
            entries,
            Box::new(move |daemon, result| {
                daemon.is_importing = false;
                let recorded = result.map(|stored| {
                    changed.seq = stored.last().map(|stored| stored.entry.seq);
                    Reply::Review(changed)
                });
                // Findings that stand are counted there.
                daemon.status_changed();
                answer(reply, recorded.map_err(Clone::clone));
            }),
        );
    }

    /// What is to be recorded, and how much of it there is.
    fn review_steps(
        &self,
        change: ReviewChange,
        session: &RuntimeSession,
    ) -> Result<(ReviewChanged, Vec<Entry>), Refusal> {
        let world = self.recorder.world();
        let step = |step: FindingStep, id: FindingId, said: String| {
            let kind = step.of(id);
            self.entry(Party::Human, None, kind, said, Some(session.clone()))
        };
        match change {
            ReviewChange::Import { findings, whole } => {
                check_import(
                    &findings,
                    whole.as_ref().map_or(0, |whole| whole.findings.len()),
                )?;
                let whole = whole.as_ref().map(|whole| WholeReview {
                    review: &whole.review,
                    findings: &whole.findings,
                });
                let plan = ImportPlan::of(world, findings, whole);
                let changed = ReviewChanged {
                    imported: plan.imported,
                    changed: plan.changed,
                    same: plan.same,
                    gone: plan.gone,
                    left_out: plan.left_out,
                    seq: None,
                };
                let entries = plan.records.into_iter().map(|(record, words)| {
                    // Somebody else's words: neither the operator's, nor to be read without a mark.
                    let said = match &record.facts {
                        Some(facts) => quoted(&record.finding, facts, &words),
                        None => words,
                    };
                    let kind = EntryKind::Finding(record);
                    self.entry(Party::System, None, kind, said, Some(session.clone()))
                });
                Ok((changed, entries.collect()))
            }
            ReviewChange::Resolve { finding, reason } => {
                check_live(world, &finding)?;
                let reason = reason.unwrap_or_default();
                check_length("reason", &reason)?;
                let resolved = step(FindingStep::Resolved, finding, reason);
                Ok((ReviewChanged::default(), vec![resolved]))
            }
            ReviewChange::Dismiss { finding, reason } => {
                check_live(world, &finding)?;
                check_text("reason", &reason)?;
                let dismissed = step(FindingStep::Dismissed, finding, reason);
                Ok((ReviewChanged::default(), vec![dismissed]))
            }
        }
    }

    pub(super) fn read_finding(&self, conn: ConnId, params: ReadFindingParams, reply: ReplySender) {
        let world = Arc::clone(self.recorder.world());
        let ledger = self.recorder.ledger().clone();
        let redactor = Arc::clone(self.recorder.redactor());
        let root = self.dirs.root.clone();
        self.readers.read(conn, reply, move || {
            let finding = known(&world, &params.finding)?;
            let stored = ledger
                .read(finding.seq)
                .map_err(|error| unreadable(&error))?;
            let entry = stored.map(|stored| stored.entry);
            let suggestions = entry.as_ref().map(|entry| match &entry.kind {
                EntryKind::Finding(record) => record.suggestions.clone(),
                _ => Vec::new(),
            });
            let mut place = FindingPlaces::open(&root).of(&finding.facts);
            for line in &mut place.lines {
                // A file may hold what is masked everywhere else.
                *line = redactor.redact_text(line).0.into_owned();
            }
            Ok(Reply::Finding(FindingText {
                finding: params.finding,
                text: entry.map_or_else(String::new, |entry| unquoted(&entry.content)),
                suggestions: suggestions.unwrap_or_default(),
                place,
            }))
        });
    }

    /// Puts into a note's `meta` the finding that its author has in hand. Refuses one that there is
    /// not, or about which nothing is to be done any more.
    pub(super) fn claim_finding(&self, entry: &mut Entry, named: &str) -> Result<(), Refusal> {
        let world = self.recorder.world();
        let found = world.finding(named).map(|(id, _)| id.clone());
        let id = found.unwrap_or_else(|| FindingId::new(named));
        check_live(world, &id)?;
        entry.meta.insert(FINDING.to_owned(), id.as_str().into());
        Ok(())
    }
}

fn known<'a>(world: &'a Snapshot, id: &FindingId) -> Result<&'a FindingSnapshot, Refusal> {
    let name: String = id.as_str().chars().take(FindingId::BYTES_MAX).collect();
    let found = world.findings.get(id);
    found.ok_or_else(|| not_found(&format!("review finding `{name}`"), "see the list of them"))
}

fn check_live(world: &Snapshot, id: &FindingId) -> Result<(), Refusal> {
    let finding = known(world, id)?;
    if finding.is_live() {
        return Ok(());
    }
    Err(Refusal::new(
        RefusalCode::WrongState,
        format!("review finding {id} is {}", finding.state),
        "nothing was recorded; nothing is to be done about it any more",
    ))
}

fn check_import(findings: &[ImportedFinding], named: usize) -> Result<(), Refusal> {
    let refused = |why: String| Err(Refusal::new(RefusalCode::InvalidArguments, why, IMPORT));
    if findings.len() > IMPORT_BATCH_MAX || named > FINDINGS_MAX {
        return refused(format!("more than {IMPORT_BATCH_MAX} findings at once"));
    }
    let is_wrong = |read: &&ImportedFinding| {
        !FindingId::is_well_formed(read.finding.as_str()) || read.text.len() > CLEAN_BYTES_MAX
    };
    match findings.iter().find(is_wrong) {
        Some(_) => refused("a finding without a name, or longer than one is".to_owned()),
        None => Ok(()),
    }
}

/// How findings come in.
const IMPORT: &str = "use `ctxrelay review import`";
