//! The words of a row: the kind of its entry, and the text at its edge.

use crate::core::agent::Party;
use crate::core::entry::{ContinuityFact, Entry, EntryKind};
use crate::core::snapshot::Snapshot;

/// Of each part of an artifact, and of what is said of a finding; a row shows less.
const TEXT_CHARS: usize = 400;

/// What a row says of an artifact: what it came to stands before that, with a sign of its own.
pub(in crate::deck) fn of_artifact(entry: &Entry) -> Option<String> {
    let EntryKind::Artifact(artifact) = &entry.kind else {
        return None;
    };
    let cut = |text: &str| -> String { text.trim().chars().take(TEXT_CHARS).collect() };
    let (kind, title) = (
        cut(artifact.kind.as_str()).replace('_', " "),
        cut(&artifact.title),
    );
    let summary = cut(&artifact.summary);
    Some(match summary.is_empty() {
        true => format!("{kind} · {title}"),
        false => format!("{kind} · {title}\n{summary}"),
    })
}

/// What a row says of a review's finding: how bad it is, its title, and what the operator says.
pub(in crate::deck) fn of_finding(world: &Snapshot, entry: &Entry) -> Option<String> {
    let EntryKind::Finding(record) = &entry.kind else {
        return None;
    };
    let known = || Some(&world.findings.get(&record.finding)?.facts);
    let facts = match &record.facts {
        Some(facts) => facts,
        None => known()?,
    };
    let mut text = match &facts.severity {
        Some(severity) => format!("{severity} · {}", facts.title),
        None => facts.title.clone(),
    };
    // With the facts stand the review's own words: the title is of those.
    if record.facts.is_none() && !entry.content.is_empty() {
        text.push_str(" · ");
        text.extend(entry.content.trim().chars().take(TEXT_CHARS));
    }
    Some(text)
}

pub(in crate::deck) fn words(world: &Snapshot, entry: &Entry) -> (String, Option<String>) {
    let word = |kind: &str| (kind.to_owned(), None);
    match &entry.kind {
        EntryKind::SessionStarted { .. } => word("session"),
        EntryKind::Message(message) if message.from_turn.is_some() => word("answer"),
        EntryKind::Message(_) => word("message"),
        EntryKind::Handoff(_) => word("handoff"),
        EntryKind::Note { note, .. } => ("note".to_owned(), Some(note.as_str().replace('_', " "))),
        EntryKind::Artifact(_) => (
            "artifact".to_owned(),
            Some(vouched(world, entry).to_owned()),
        ),
        EntryKind::FinalityProposal(_) => word("finality"),
        EntryKind::FinalityDecision(decision) => (
            "decision".to_owned(),
            Some(
                if decision.approved {
                    "approved"
                } else {
                    "rejected"
                }
                .to_owned(),
            ),
        ),
        EntryKind::Delivery(_) => word("delivery"),
        EntryKind::AgentChanged(_) => word("agent"),
        EntryKind::Turn(_) => word("turn"),
        EntryKind::Approval(record) => {
            ("approval".to_owned(), Some(record.step.as_str().to_owned()))
        }
        EntryKind::Continuity(record) => match &record.fact {
            ContinuityFact::TurnFiles(_) => word("files"),
            ContinuityFact::Compacted(_) => word("compacted"),
            ContinuityFact::Reloaded(reload) => (
                "packet".to_owned(),
                Some(reload.step.state().as_str().replace('_', " ")),
            ),
            ContinuityFact::RulesChanged(_) => word("rules"),
            ContinuityFact::Inferred(_) => word("inferred"),
            ContinuityFact::Forgotten { .. } => word("forgotten"),
        },
        EntryKind::Finding(record) => ("finding".to_owned(), Some(record.step.to_string())),
        EntryKind::Task(record) => ("task".to_owned(), Some(record.step.to_string())),
        EntryKind::Lifecycle { .. } => word("daemon"),
        EntryKind::Error { .. } => word("error"),
        EntryKind::Other { entry_type, .. } => word(entry_type),
    }
}

/// Whether somebody else wrote it. What leads to an entry of a sealed session, of which no world is
/// known here, is told where it was found.
pub(in crate::deck) fn is_foreign(world: &Snapshot, entry: &Entry) -> bool {
    world.session_id.is_some() && world.is_foreign(entry.seq)
}

/// Whose word an artifact is. In what stands before a place where the record was cut or brought from
/// elsewhere anybody can have written what he likes.
pub(in crate::deck) fn vouched(world: &Snapshot, entry: &Entry) -> &'static str {
    if world.is_foreign(entry.seq) {
        return "claimed";
    }
    match (entry.gate_run(), &entry.source) {
        (Some(_), _) => "run by the daemon",
        (None, Party::System) => "recorded by the daemon",
        (None, _) => "claimed",
    }
}
