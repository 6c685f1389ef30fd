//! Findings of reviews: which were imported, who works on one, what the operator says of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::agent::Party;
use crate::entry::{Entry, FindingFacts, FindingRecord, FindingStep};
use crate::id::FindingId;
use crate::kept_text::{brief, cut};
use crate::review::is_inside;
use crate::snapshot::{
    FINDINGS_MAX, FindingClaim, FindingSnapshot, FindingState, FindingVerdict, Snapshot,
};

/// What the operator had imported, which is recorded as the system's because nobody must take it for
/// the operator's words, and what the operator says of it. An agent's artifact of this kind is none.
pub(super) fn fold_finding(world: &mut Snapshot, entry: &Entry, record: &FindingRecord) {
    let is_ours = matches!(entry.source, Party::Human | Party::System);
    if !is_ours || !FindingId::is_well_formed(record.finding.as_str()) {
        return;
    }
    let is_known = world.findings.contains_key(&record.finding);
    let is_said = matches!(record.step, FindingStep::Imported | FindingStep::Changed);
    match (&record.facts, is_known) {
        (Some(facts), true) if is_said => {
            let findings = Arc::make_mut(&mut world.findings);
            if let Some(finding) = findings.get_mut(&record.finding) {
                take_facts(finding, entry, facts);
            }
        }
        (Some(facts), false) if is_said => {
            let findings = Arc::make_mut(&mut world.findings);
            if make_room(findings) {
                findings.insert(record.finding.clone(), begun(entry, facts));
            }
        }
        (_, true) => {
            let findings = Arc::make_mut(&mut world.findings);
            if let Some(finding) = findings.get_mut(&record.finding) {
                take_step(finding, entry, &record.step);
            }
        }
        _ => {}
    }
}

/// An agent's note that it has a finding in hand.
pub(super) fn claim_finding(world: &mut Snapshot, entry: &Entry) {
    let (Some(id), Some(by)) = (entry.claimed_finding(), entry.source.agent()) else {
        return;
    };
    if !world
        .findings
        .get(&id)
        .is_some_and(FindingSnapshot::is_live)
    {
        return;
    }
    if let Some(finding) = Arc::make_mut(&mut world.findings).get_mut(&id) {
        finding.state = FindingState::Claimed;
        finding.head = entry.seq;
        finding.claim = Some(FindingClaim { by, seq: entry.seq });
    }
}

fn begun(entry: &Entry, facts: &FindingFacts) -> FindingSnapshot {
    FindingSnapshot {
        id: entry.id.clone(),
        first: entry.seq,
        seq: entry.seq,
        at_ms: entry.timestamp_ms,
        head: entry.seq,
        state: match facts.resolved {
            true => FindingState::Resolved,
            false => FindingState::Open,
        },
        facts: kept(facts),
        claim: None,
        verdict: None,
        missing: None,
        task: entry.task(),
    }
}

/// Of a record that somebody else wrote nothing is longer than what an import takes.
fn kept(facts: &FindingFacts) -> FindingFacts {
    FindingFacts {
        review: brief(&facts.review),
        title: brief(&facts.title),
        author: brief(&facts.author),
        path: facts.path.as_deref().map(cut),
        folder: facts
            .folder
            .as_deref()
            .filter(|folder| is_inside(folder))
            .map(cut),
        commit: facts.commit.as_deref().map(brief),
        url: facts.url.as_deref().map(cut),
        digest: brief(&facts.digest),
        ..facts.clone()
    }
}

/// What the review says by now. What the operator said of it stays.
fn take_facts(finding: &mut FindingSnapshot, entry: &Entry, facts: &FindingFacts) {
    finding.facts = kept(facts);
    finding.seq = entry.seq;
    finding.head = entry.seq;
    finding.missing = None;
    if finding.verdict.is_some() {
        return;
    }
    finding.state = match (facts.resolved, &finding.claim) {
        (true, _) => FindingState::Resolved,
        // What was taken up and is not resolved is still in somebody's hand.
        (false, Some(_)) if finding.state == FindingState::Claimed => FindingState::Claimed,
        (false, _) => {
            finding.claim = None;
            FindingState::Open
        }
    };
}

fn take_step(finding: &mut FindingSnapshot, entry: &Entry, step: &FindingStep) {
    if *step == FindingStep::Missing {
        if finding.is_blocking() {
            finding.head = entry.seq;
            finding.missing = Some(entry.seq);
        }
        return;
    }
    let state = match step {
        FindingStep::Gone if finding.verdict.is_none() => FindingState::Gone,
        FindingStep::Resolved if entry.source == Party::Human => FindingState::Resolved,
        FindingStep::Dismissed if entry.source == Party::Human => FindingState::Dismissed,
        _ => return,
    };
    finding.head = entry.seq;
    if state == FindingState::Gone {
        finding.claim = None;
    } else {
        finding.verdict = Some(FindingVerdict {
            seq: entry.seq,
            reason: cut(&entry.content),
        });
    }
    finding.state = state;
}

/// Of those that do not stand any more the one that changed first is forgotten. Whether there is
/// room then.
fn make_room(findings: &mut BTreeMap<FindingId, FindingSnapshot>) -> bool {
    if findings.len() < FINDINGS_MAX {
        return true;
    }
    let settled = findings.iter().filter(|(_, finding)| !finding.is_live());
    let oldest = settled.min_by_key(|(_, finding)| finding.head);
    let Some(oldest) = oldest.map(|(id, _)| id.clone()) else {
        return false;
    };
    findings.remove(&oldest);
    true
}

#[cfg(test)]
mod tests;
