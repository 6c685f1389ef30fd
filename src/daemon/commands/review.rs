//! Findings of reviews: the operator has them recorded, and decides what becomes of them. A finding
//! is compared with the current file beside the loop, because that runs git.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::checks::unreadable;
use super::checks::{check_length, check_text, not_found};
use super::to_record::ToRecord;
use crate::adapters::finding_place::FindingPlaces;
use crate::core::agent::Party;
use crate::core::entry::{Entry, EntryKind, FINDING, FindingStep};
use crate::core::id::{FindingId, RuntimeSession, Seq};
use crate::core::review::{
    CLEAN_BYTES_MAX, ImportPlan, ImportedFinding, WholeReview, quoted, unquoted,
};
use crate::core::snapshot::{FINDINGS_MAX, FINDINGS_NAMED_MAX, FindingSnapshot, Snapshot};
use crate::daemon::attach::ConnId;
use crate::daemon::base::readers::Readers;
use crate::daemon::base::recorder::Recorder;
use crate::daemon::decisions::imports::Imports;
use crate::daemon::reply::{ReplySender, too_much};
use crate::wire::control::{
    FindingText, IMPORT_BATCH_MAX, PlacedFinding, ReadFindingParams, ReadFindingPlacesParams,
    Refusal, Reply, ReviewChange, ReviewChanged,
};

/// How long it is looked where findings stand: an agent waits for it, for 3 s. What is left then is
/// not told, and of one that was asked for by itself its place is one that nobody knows.
const PLACES_TIME: Duration = Duration::from_secs(2);

/// What is to be recorded of a change of what reviews say.
pub(super) fn change_review<T>(
    recorder: &Recorder<T>,
    imports: &Imports,
    session: &RuntimeSession,
    change: ReviewChange,
) -> Result<ToRecord, Refusal> {
    let Some(under_way) = imports.begin() else {
        // What is being recorded is not folded yet: the same finding would be recorded twice.
        return Err(too_much("what another import found is being recorded"));
    };
    let (mut changed, entries) = review_steps(recorder, change, session)?;
    // Findings that stand are counted there.
    let is_status = !entries.is_empty();
    let wish = ToRecord::new(entries, move |stored| {
        drop(under_way);
        changed.seq = stored.last().map(|stored| stored.entry.seq);
        Reply::Review(changed)
    });
    Ok(wish.for_status(is_status))
}

/// What is to be recorded, and how much of it there is.
fn review_steps<T>(
    recorder: &Recorder<T>,
    change: ReviewChange,
    session: &RuntimeSession,
) -> Result<(ReviewChanged, Vec<Entry>), Refusal> {
    let world = recorder.world();
    let step = |step: FindingStep, id: FindingId, said: String| {
        let kind = step.of(id);
        recorder.entry(Party::Human, None, kind, said, Some(session.clone()))
    };
    match change {
        ReviewChange::Import {
            findings,
            whole,
            read_at,
        } => {
            check_import(
                &findings,
                whole.as_ref().map_or(0, |whole| whole.findings.len()),
            )?;
            let whole = whole.as_ref().map(|whole| WholeReview {
                review: &whole.review,
                findings: &whole.findings,
            });
            if let Some(read_at) = read_at {
                let review = whole.as_ref().map(|whole| whole.review);
                let first = findings.first().map(|first| &*first.facts.review);
                check_newest(world, review.or(first), read_at)?;
            }
            let plan = ImportPlan::of(world, findings, whole, read_at.is_some());
            let entries = plan.records.into_iter().map(|(record, words)| {
                // Somebody else's words: neither the operator's, nor to be read without a mark.
                let said = match &record.facts {
                    Some(facts) => quoted(&record.finding, facts, &words),
                    None => words,
                };
                let kind = EntryKind::Finding(record);
                recorder.entry(Party::System, None, kind, said, Some(session.clone()))
            });
            Ok((plan.comes_to, entries.collect()))
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

/// Reads a finding, beside the loop. `root`: the project.
pub(super) fn read_finding<T>(
    recorder: &Recorder<T>,
    readers: &Readers,
    root: PathBuf,
    conn: ConnId,
    params: ReadFindingParams,
    reply: ReplySender,
) {
    let world = Arc::clone(recorder.world());
    let ledger = recorder.ledger().clone();
    let redactor = Arc::clone(recorder.redactor());
    readers.read_with_git(conn, reply, PLACES_TIME, move |deadline| {
        let finding = known(&world, &params.finding)?;
        let stored = ledger
            .read(finding.seq)
            .map_err(|error| unreadable(&error))?;
        let entry = stored.map(|stored| stored.entry);
        let suggestions = entry.as_ref().map(|entry| match &entry.kind {
            EntryKind::Finding(record) => record.suggestions.clone(),
            _ => Vec::new(),
        });
        let place = FindingPlaces::open(&root, deadline).shown(&finding.facts, &redactor);
        Ok(Reply::Finding(FindingText {
            finding: params.finding,
            text: entry.map_or_else(String::new, |entry| unquoted(&entry.content)),
            suggestions: suggestions.unwrap_or_default(),
            place,
        }))
    });
}

/// Reads where findings stand in the work tree of now, beside the loop. `root`: the project.
pub(super) fn read_places<T>(
    recorder: &Recorder<T>,
    readers: &Readers,
    root: PathBuf,
    conn: ConnId,
    params: ReadFindingPlacesParams,
    reply: ReplySender,
) {
    let world = Arc::clone(recorder.world());
    readers.read_with_git(conn, reply, PLACES_TIME, move |deadline| {
        let mut asked = params.findings;
        if asked.is_empty() {
            let mut findings = world.findings_in_order();
            findings.retain(|(_, finding)| finding.is_blocking());
            let named = findings.into_iter().take(FINDINGS_NAMED_MAX);
            asked = named.map(|(id, _)| id.clone()).collect();
        }
        asked.truncate(FINDINGS_MAX);
        asked.retain(|id| world.findings.contains_key(id));
        if asked.is_empty() {
            return Ok(Reply::FindingPlaces(Vec::new()));
        }
        let places = FindingPlaces::open(&root, deadline);
        let asked = asked.into_iter().take_while(|_| !deadline.is_over());
        let placed = asked.filter_map(|finding| {
            let place = places.of(&world.findings.get(&finding)?.facts);
            Some(PlacedFinding { finding, place })
        });
        Ok(Reply::FindingPlaces(placed.collect()))
    });
}

/// Puts into a note's `meta` the finding that its author has in hand. Refuses one that there is
/// not, or about which nothing is to be done any more.
pub(super) fn claim_finding(
    world: &Snapshot,
    entry: &mut Entry,
    named: &str,
) -> Result<(), Refusal> {
    let found = world.finding(named).map(|(id, _)| id.clone());
    let id = found.unwrap_or_else(|| FindingId::new(named));
    check_live(world, &id)?;
    entry.meta.insert(FINDING.to_owned(), id.as_str().into());
    Ok(())
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
    Err(Refusal::wrong_state(
        format!("review finding {id} is {}", finding.state),
        "nothing was recorded; nothing is to be done about it any more",
    ))
}

/// What was read before another import recorded what the same review says would take that back.
fn check_newest(world: &Snapshot, review: Option<&str>, read_at: Seq) -> Result<(), Refusal> {
    let is_newer = |review: &str| world.review_was_read_after(review, read_at);
    // A new session counts its entries from 1.
    if world.seq >= read_at && !review.is_some_and(is_newer) {
        return Ok(());
    }
    Err(Refusal::wrong_state(
        "another import recorded what this review says while it was being read",
        "import it again: the newer one stays as it is",
    ))
}

fn check_import(findings: &[ImportedFinding], named: usize) -> Result<(), Refusal> {
    let refused = |why: String| Err(Refusal::invalid(why, IMPORT));
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
