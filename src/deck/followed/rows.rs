//! The rows of the timeline, and what became of each message.

use std::collections::BTreeMap;
use std::sync::Arc;

use ctxrelay_ui::model as ui;
use ctxrelay_ui::text::{grouped, tokens};

use crate::core::agent::Agent;
use crate::core::delivery::{DeliveryWay, OnBusy};
use crate::core::entry::{
    ArtifactStatus, CompactionTrigger, ContinuityFact, DeliveryResult, Entry, EntryKind, ReloadStep,
};
use crate::core::id::EntryId;
use crate::core::signing::{NotSigned, SignedProposal};
use crate::deck::followed::own_messages::OwnMessages;
use crate::deck::followed::queue_wait::{QueueWait, waits_for};
use crate::deck::followed::row_facts::{RowFacts, is_cut_off};
use crate::deck::followed::row_words::{is_foreign, of_artifact, of_finding, words};
use crate::deck::followed::work::handoff_name;
use crate::deck::party::party_of;
use crate::wire::window::MachineRun;

/// The longest text that a timeline row carries; opening it asks for the rest.
const ROW_CHARS_MAX: usize = 400;

/// The row of an entry; `is_cut`: there is more of its text than it holds.
pub(in crate::deck) fn row(facts: &RowFacts<'_>, entry: &Entry, is_cut: bool) -> ui::TimelineRow {
    let said = said(&entry.kind).or_else(|| of_finding(facts.world, entry));
    let is_whole = match &said {
        // The text of the entry is what is read when it is opened.
        Some(_) => entry.content.is_empty(),
        None => entry.content.chars().nth(ROW_CHARS_MAX).is_none(),
    };
    let said = said.or_else(|| of_artifact(entry));
    let text = said.unwrap_or_else(|| entry.content.chars().take(ROW_CHARS_MAX).collect());
    let (kind, mark) = match not_signed(facts, entry) {
        Some(_) => ("decision".to_owned(), Some("no effect".to_owned())),
        None => words(facts.world, entry),
    };
    ui::TimelineRow {
        seq: entry.seq.0,
        id: entry.id.to_string(),
        at_ms: entry.timestamp_ms,
        from: party_of(&entry.source),
        to: entry.target.as_ref().map(party_of),
        kind,
        sort: row_sort(&entry.kind),
        text_cut: is_cut || !is_whole,
        text,
        verdict: verdict(entry),
        mark,
        is_foreign: is_foreign(facts.world, entry),
        thread: thread(facts, entry),
        outcome: outcome(facts, entry),
        bad_lines: None,
        folded: None,
    }
}

fn row_sort(kind: &EntryKind) -> ui::RowSort {
    match kind {
        EntryKind::Handoff(_) => ui::RowSort::Handoff,
        EntryKind::Error { .. } => ui::RowSort::Error,
        _ => ui::RowSort::Other,
    }
}

/// What a row says of an entry whose own text is another one, or that has none.
fn said(kind: &EntryKind) -> Option<String> {
    let EntryKind::Continuity(record) = kind else {
        return None;
    };
    Some(match &record.fact {
        ContinuityFact::Compacted(compaction) => {
            let before = compaction.tokens_before.map(|n| (n, "before"));
            let after = compaction.tokens_after.map(|n| (n, "after"));
            let figures = [before, after].into_iter().flatten();
            let figures = figures.map(|(n, when)| format!("{} {when}", tokens(n)));
            let figures: Vec<String> = figures.collect();
            let why = match compaction.trigger {
                CompactionTrigger::Manual => "its context was compacted, as asked",
                CompactionTrigger::Auto => "its context was full and was compacted",
                CompactionTrigger::Unknown | CompactionTrigger::Other(_) => {
                    "its context was compacted"
                }
            };
            match figures.is_empty() {
                true => why.to_owned(),
                false => format!("{why}: {} (tokens)", figures.join(", ")),
            }
        }
        ContinuityFact::Reloaded(reload) => match &reload.step {
            ReloadStep::Offered { .. } => {
                "it is given what the record holds of its work".to_owned()
            }
            ReloadStep::Given => "it has what the record holds of its work".to_owned(),
            ReloadStep::NotGiven { why } => {
                format!("it was not given what the record holds of its work: {why}")
            }
            ReloadStep::Unknown { why } => {
                format!("nobody knows whether it has what the record holds of its work: {why}")
            }
        },
        _ => return None,
    })
}

/// Why a decision has no effect while decisions are signed. Of one from before another key signed
/// nothing is known here; the alarm of then stays in the record.
fn not_signed(facts: &RowFacts<'_>, entry: &Entry) -> Option<NotSigned> {
    let EntryKind::FinalityDecision(decision) = &entry.kind else {
        return None;
    };
    let signing = facts.world.signing.as_ref()?;
    let signing = (entry.seq > signing.since).then_some(signing)?;
    if decision.is_auto() {
        return Some(NotSigned::Missing);
    }
    let proposal = facts.world.proposal(&decision.proposal_id);
    let proposal = proposal.map(|proposal| SignedProposal {
        head: proposal.hash.as_deref(),
        handles: &proposal.proposal.handles,
    });
    signing.check(decision, proposal).err()
}

/// The name of the handoff that an entry is, or belongs to. Of those that were closed only the
/// latest are known.
fn thread(facts: &RowFacts<'_>, entry: &Entry) -> Option<String> {
    // What ContextRelay 3 wrote has no number.
    if matches!(entry.kind, EntryKind::Handoff(_)) {
        return (entry.seq.0 > 0).then(|| format!("h{}", entry.seq));
    }
    let world = facts.world;
    entry.belongs_to().into_iter().find_map(|id| {
        let mut closed = world.closed_handoffs.iter();
        let handoff = world.open_handoffs.get(id).map(Arc::as_ref);
        let handoff = handoff.or_else(|| closed.find(|handoff| handoff.id == *id))?;
        (handoff.seq.0 > 0).then(|| handoff_name(handoff))
    })
}

/// What a folded row says: the latest news in it, and how many of what there are.
pub(in crate::deck) fn machine_text(run: &MachineRun, news: &str) -> String {
    let count = |n: u64, one: &str, many: &str| match n {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{} {many}", grouped(n))),
    };
    let told = (!news.is_empty()).then(|| news.to_owned());
    let rest = run.news - u64::from(told.is_some() && run.news > 0);
    let parts = [
        told,
        count(
            rest,
            "more of the daemon and agents",
            "more of the daemon and agents",
        ),
        count(run.deliveries, "on a message's way", "on messages' way"),
        count(run.steps, "on a turn", "on turns"),
        count(
            run.findings,
            "finding of a review, new or changed",
            "findings of reviews, new or changed",
        ),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn verdict(entry: &Entry) -> Option<ui::Verdict> {
    let EntryKind::Artifact(artifact) = &entry.kind else {
        return None;
    };
    Some(verdict_of(artifact.status))
}

/// What an artifact came to.
pub(in crate::deck) fn verdict_of(status: ArtifactStatus) -> ui::Verdict {
    match status {
        ArtifactStatus::Passed => ui::Verdict::Passed,
        ArtifactStatus::Failed => ui::Verdict::Failed,
        ArtifactStatus::Blocked => ui::Verdict::Blocked,
        ArtifactStatus::Unknown => ui::Verdict::Unknown,
        ArtifactStatus::Skipped => ui::Verdict::Skipped,
        ArtifactStatus::TimedOut => ui::Verdict::TimedOut,
    }
}

fn outcome(facts: &RowFacts<'_>, entry: &Entry) -> Option<ui::RowOutcome> {
    match &entry.kind {
        EntryKind::Error { code } => Some(ui::RowOutcome::new(
            ui::OutcomeState::Attention,
            code.to_string().replace('_', " "),
        )),
        EntryKind::FinalityDecision(_) => not_signed(facts, entry)
            .map(|why| ui::RowOutcome::new(ui::OutcomeState::Attention, format!("{why}"))),
        EntryKind::FinalityProposal(_) => {
            let decided = facts
                .world
                .decided_proposals
                .iter()
                .find(|proposal| proposal.id == entry.id)
                .and_then(|proposal| proposal.decision.as_ref());
            Some(match decided {
                Some((decision, _)) if decision.is_auto() => {
                    ui::RowOutcome::new(ui::OutcomeState::Done, "approved by its gates: mode auto")
                }
                Some((decision, _)) if decision.approved => {
                    ui::RowOutcome::new(ui::OutcomeState::Done, "approved by you")
                }
                Some(_) => ui::RowOutcome::new(ui::OutcomeState::Failed, "rejected by you"),
                None => match facts.world.proposal(&entry.id)? {
                    waits if waits.is_pending() => {
                        ui::RowOutcome::new(ui::OutcomeState::Attention, "waits for you")
                    }
                    over => ui::RowOutcome::new(ui::OutcomeState::Plain, over.state().to_string()),
                },
            })
        }
        EntryKind::Message(_) | EntryKind::Handoff(_) => delivery(facts, entry),
        _ => None,
    }
}

fn delivery(facts: &RowFacts<'_>, entry: &Entry) -> Option<ui::RowOutcome> {
    outcome_of(facts, &entry.id, entry.receiver()?, entry.timestamp_ms)
}

/// What became of the operator's last messages. One that nothing is told of any more was settled
/// while the record was being read again.
pub(in crate::deck) fn sent(facts: &RowFacts<'_>, own: &OwnMessages) -> Vec<ui::SentMessage> {
    let own = own.iter().map(|(line, message)| {
        let outcome = outcome_of(facts, &message.id, message.to, message.at_ms);
        let settled = || ui::RowOutcome::new(ui::OutcomeState::Plain, "settled");
        ui::SentMessage {
            line,
            outcome: outcome.unwrap_or_else(settled),
        }
    });
    own.collect()
}

fn outcome_of(
    facts: &RowFacts<'_>,
    id: &EntryId,
    to: Agent,
    sent_ms: i64,
) -> Option<ui::RowOutcome> {
    if is_cut_off(facts.world, &facts.status.agents.claude.cut_off_ids, id) {
        // It was there, and its turn died or was stopped: how it came says nothing any more.
        return Some(ui::RowOutcome::new(
            ui::OutcomeState::Attention,
            format!("its turn was cut off; send it again from {}", to.title()),
        ));
    }
    let records = facts.deliveries.get(id);
    let last = records.and_then(|records| records.last_key_value());
    let Some((_, (last, at_ms))) = last else {
        let message = facts.world.unsettled.get(id)?;
        // What joins the turn that runs does not wait for its end.
        let joins = message.on_busy == OnBusy::Steer;
        let waits = waits_for(facts, to);
        let waits = waits.filter(|wait| !(joins && *wait == QueueWait::RunningTurn));
        let text = waits.map_or_else(
            || format!("no proof yet that {} has it", to.title()),
            |wait| wait.to_string(),
        );
        return Some(ui::RowOutcome {
            state: ui::OutcomeState::Unconfirmed,
            text,
            since_ms: Some(sent_ms),
            took_ms: None,
        });
    };
    let mut earlier = records.into_iter().flat_map(BTreeMap::values).rev().skip(1);
    let before = earlier.next().map(|(record, _)| record.result);
    let first_proof = records
        .into_iter()
        .flat_map(BTreeMap::values)
        .find(|(record, _)| record.result == DeliveryResult::Confirmed);
    let took_ms = first_proof.map(|(_, proven_ms)| u64::try_from(proven_ms - sent_ms).unwrap_or(0));
    let by = first_proof.and_then(|(record, _)| record.rung.clone());
    let (state, text) = match last.result {
        DeliveryResult::Confirmed if to == Agent::Codex && by == Some(DeliveryWay::Steer) => {
            (ui::OutcomeState::Done, "joined its running turn".to_owned())
        }
        DeliveryResult::Confirmed if to == Agent::Codex && by == Some(DeliveryWay::Queue) => {
            (ui::OutcomeState::Done, "started a turn".to_owned())
        }
        DeliveryResult::Confirmed => {
            // A compaction carries on that it arrived, and not how.
            let by = by.map_or_else(String::new, |by| format!(" by {by}"));
            (
                ui::OutcomeState::Done,
                format!("{} has it{by}, not acknowledged", to.title()),
            )
        }
        DeliveryResult::Acknowledged => {
            let to = to.title();
            let text = if last.is_settled_by_turn() {
                format!("shown to {to}, whose turn ended")
            } else {
                format!("acknowledged by {to}")
            };
            (ui::OutcomeState::Done, text)
        }
        // It was offered all the same: not taken for what it is.
        DeliveryResult::Rejected if last.attempt_id.is_some() => (
            ui::OutcomeState::Failed,
            format!("rejected: {} did not take it", to.title()),
        ),
        DeliveryResult::Rejected => (
            ui::OutcomeState::Failed,
            format!("rejected: {} could not take it at once", to.title()),
        ),
        DeliveryResult::Expired => (ui::OutcomeState::Failed, "expired".to_owned()),
        DeliveryResult::Cancelled if first_proof.is_some() => (
            ui::OutcomeState::Done,
            format!("{} has it; you took it off the queue", to.title()),
        ),
        DeliveryResult::Cancelled if last.may_have_arrived(before) => (
            ui::OutcomeState::Attention,
            format!(
                "taken back; nobody can know whether {} has read it",
                to.title()
            ),
        ),
        // By you, or by its sender: its entry says by whom.
        DeliveryResult::Cancelled => (ui::OutcomeState::Failed, "taken back".to_owned()),
        DeliveryResult::Ambiguous => (
            ui::OutcomeState::Attention,
            format!("nobody can know whether {} has it", to.title()),
        ),
        DeliveryResult::Requeued => (ui::OutcomeState::Unconfirmed, "queued again".to_owned()),
    };
    let since_ms = (state == ui::OutcomeState::Unconfirmed).then_some(*at_ms);
    Some(ui::RowOutcome {
        state,
        text,
        since_ms,
        took_ms: took_ms.filter(|_| state == ui::OutcomeState::Done),
    })
}

#[cfg(test)]
mod scene_tests;
#[cfg(test)]
mod tests;
