//! [`read_kind`]: the kind and details of an entry, by its `type`.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::super::event;
use super::take::{
    as_type, get, ids, like, take, take_handles, take_object, take_text, take_texts,
};
use crate::agent::{Agent, Party};
use crate::base64::decode;
use crate::entry::{
    AgentChanged, ApprovalEnd, ApprovalRecord, ApprovalStep, Artifact, ArtifactKind,
    ContinuityFact, ContinuityRecord, DeliveryRecord, DeliveryResult, Entry, EntryKind, EntryType,
    FinalityDecision, FinalityProposal, FindingRecord, Handoff, Message, Outcome, TaskRecord,
    TurnRecord,
};
use crate::id::{AttemptId, EntryId, TurnId};

/// Reads the details; where the entry lacks something that they have, it is taken from there.
pub(super) fn read_kind(
    entry_type: String,
    mut line: Map<String, Value>,
    entry: &mut Entry,
) -> EntryKind {
    let Some(known) = EntryType::parse(&entry_type) else {
        return other(entry_type, line);
    };
    match known {
        EntryType::SessionStarted => EntryKind::SessionStarted {
            predecessor: take(&mut line, "predecessor"),
        },
        EntryType::Message => read_message(line),
        EntryType::Handoff => read_handoff(line, entry),
        EntryType::Note => EntryKind::Note {
            note: take(&mut line, "noteKind").unwrap_or_default(),
            handles: take_handles(&mut line),
            withdraws: take_text(&mut line, "withdraws").map(EntryId::new),
        },
        EntryType::Artifact | EntryType::ReleaseGate => read_artifact(known, line, entry),
        EntryType::FinalityProposal => read_proposal(line, entry),
        EntryType::FinalityDecision => read_decision(line),
        EntryType::Error => EntryKind::Error {
            code: take_text(&mut take_object(&mut line, "error"), "code")
                .unwrap_or_else(|| "error".to_owned())
                .into(),
        },
        EntryType::RuntimeEvent => {
            read_runtime_event(&line, entry).unwrap_or_else(|| other(entry_type, line))
        }
    }
}

fn other(entry_type: String, mut line: Map<String, Value>) -> EntryKind {
    let handles = take_handles(&mut line);
    EntryKind::Other {
        entry_type,
        detail: line,
        handles,
    }
}

fn read_message(mut line: Map<String, Value>) -> EntryKind {
    let mut object = take_object(&mut line, "message");
    EntryKind::Message(Message {
        on_busy: take(&mut object, "onBusy").unwrap_or_default(),
        require_reply: take(&mut object, "requireReply").unwrap_or(false),
        handles: take_handles(&mut line),
        in_reply_to: take(&mut object, "inReplyTo"),
        from_turn: take(&mut object, "fromTurn"),
        decision: take(&mut object, "decision"),
    })
}

fn read_handoff(mut line: Map<String, Value>, entry: &mut Entry) -> EntryKind {
    let mut object = take_object(&mut line, "handoff");
    if entry.content.is_empty()
        && let Some(ask) = take_text(&mut object, "ask")
    {
        entry.content = ask;
    }
    if entry.target.is_none() {
        entry.target = take_text(&mut object, "to").map(Party::from);
    }
    EntryKind::Handoff(Handoff {
        reason: take_text(&mut object, "reason").unwrap_or_default(),
        context_refs: take_texts(&mut object, "context_refs"),
        on_busy: take(&mut object, "onBusy").unwrap_or_default(),
        handles: take_handles(&mut line),
    })
}

fn read_artifact(entry_type: EntryType, mut line: Map<String, Value>, entry: &Entry) -> EntryKind {
    let mut object = take_object(&mut line, "artifact");
    let fallback = |key: &str| {
        entry
            .meta
            .get(key)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let kind = match entry_type {
        EntryType::ReleaseGate => None,
        _ => take_text(&mut object, "kind").or_else(|| fallback("artifact_kind")),
    };
    let kind = ArtifactKind::from(kind.unwrap_or_else(|| entry_type.to_string()));
    if kind == ArtifactKind::ReviewFinding
        && let Some(record) = read_finding(&object)
    {
        return EntryKind::Finding(record);
    }
    let status = object
        .shift_remove("status")
        .or_else(|| fallback("artifact_status").map(Value::String));
    EntryKind::Artifact(Artifact {
        kind,
        title: take_text(&mut object, "title").unwrap_or_default(),
        summary: take_text(&mut object, "summary").unwrap_or_default(),
        status: status.and_then(as_type).unwrap_or_default(),
        evidence: take_texts(&mut object, "evidence"),
        verified: take(&mut object, "verified"),
        ran: take(&mut object, "ran"),
    })
}

/// What is no finding of ours stays what it says it is: an artifact.
fn read_finding(object: &Map<String, Value>) -> Option<FindingRecord> {
    let facts = match object.get("facts") {
        Some(facts) => Some(like(facts)?),
        None => None,
    };
    Some(FindingRecord {
        finding: get(object, "finding")?,
        step: get(object, "step")?,
        facts,
        suggestions: get(object, "suggestions").unwrap_or_default(),
        raw: None,
    })
}

fn read_proposal(mut line: Map<String, Value>, entry: &Entry) -> EntryKind {
    let handles = take_handles(&mut line);
    let ours = line.contains_key("finality");
    // ContextRelay keeps these in `meta`, in snake case.
    let mut object = if ours {
        take_object(&mut line, "finality")
    } else {
        entry.meta.clone()
    };
    let risk = if ours {
        "remainingRisk"
    } else {
        "remaining_risk"
    };
    EntryKind::FinalityProposal(FinalityProposal {
        summary: take_text(&mut object, "summary").unwrap_or_default(),
        evidence: take_texts(&mut object, "evidence"),
        remaining_risk: take_text(&mut object, risk),
        handles: if handles.is_empty() && !ours {
            ids(object.shift_remove("handled_handoff_ids"))
        } else {
            handles
        },
        tree: take(&mut object, "tree"),
    })
}

fn read_decision(mut line: Map<String, Value>) -> EntryKind {
    // ContextRelay writes a decision only when it finalises by itself, and without this member. Of
    // ours, a yes that cannot be read is none.
    let is_ours = line.contains_key("finality");
    let mut object = take_object(&mut line, "finality");
    EntryKind::FinalityDecision(FinalityDecision {
        proposal_id: take(&mut object, "proposalId").unwrap_or_else(|| EntryId::new("")),
        approved: take(&mut object, "approved").unwrap_or(!is_ours),
        reason: take_text(&mut object, "reason"),
        tree: take(&mut object, "tree"),
        handles: take_handles(&mut line),
        seen: take(&mut object, "seenThrough"),
        tells: take(&mut object, "tells").unwrap_or_default(),
        runs: ids(object.shift_remove("runs")),
        signature: take(&mut object, "signature"),
    })
}

fn read_runtime_event(line: &Map<String, Value>, entry: &Entry) -> Option<EntryKind> {
    let object = line.get("runtimeEvent")?.as_object()?;
    let status = object.get("status")?;
    match object.get("kind")?.as_str()? {
        event::DELIVERY => read_delivery(object, status, entry).map(EntryKind::Delivery),
        event::AGENT => Some(EntryKind::AgentChanged(AgentChanged {
            agent: get(object, "agent")?,
            state: like(status)?,
            pid: get(object, "pid"),
            thread_id: get(object, "threadId"),
            why: get(object, "why"),
            until_ms: get(object, "untilMs"),
        })),
        event::TURN => Some(EntryKind::Turn(TurnRecord {
            thread_id: get(object, "threadId")?,
            turn_id: get(object, "turnId")?,
            status: like(status)?,
            started_by: get(object, "startedBy")?,
            stopped_by: get(object, "stoppedBy"),
        })),
        event::APPROVAL => read_approval(object, status).map(EntryKind::Approval),
        kind @ (event::TURN_FILES
        | event::COMPACTED
        | event::RELOADED
        | event::RULES
        | event::INFERRED
        | event::FORGOTTEN) => {
            let fact = read_continuity(kind, object)?;
            let agent = get(object, "agent")?;
            Some(EntryKind::Continuity(ContinuityRecord { agent, fact }))
        }
        event::TASK => Some(EntryKind::Task(TaskRecord {
            task: get(object, "task")?,
            step: like(status)?,
            handoff: get(object, "handoff"),
            dropped: get(object, "dropped").unwrap_or_default(),
            forgotten: read_numbers(object.get("forgotten")),
        })),
        event::LIFECYCLE => Some(EntryKind::Lifecycle {
            event: get::<String>(object, "event")?.into(),
        }),
        _ => None,
    }
}

/// Each in eight bytes, in base64.
fn read_numbers(value: Option<&Value>) -> BTreeSet<u64> {
    let text = value.and_then(Value::as_str).unwrap_or_default();
    let bytes = decode(text).unwrap_or_default();
    let (numbers, _) = bytes.as_chunks();
    numbers.iter().map(|it| u64::from_be_bytes(*it)).collect()
}

fn read_continuity(kind: &str, object: &Map<String, Value>) -> Option<ContinuityFact> {
    Some(match kind {
        event::TURN_FILES => ContinuityFact::TurnFiles(get(object, "files")?),
        event::COMPACTED => ContinuityFact::Compacted(get(object, "compaction")?),
        event::RELOADED => ContinuityFact::Reloaded(get(object, "reload")?),
        event::RULES => ContinuityFact::RulesChanged(get(object, "rules")?),
        event::INFERRED => ContinuityFact::Inferred(get(object, "inference")?),
        _ => {
            let forgotten = object.get("forgotten")?.as_object()?;
            let what = get(forgotten, "what");
            ContinuityFact::Forgotten { what }
        }
    })
}

fn read_approval(object: &Map<String, Value>, status: &Value) -> Option<ApprovalRecord> {
    let step = match status.as_str()? {
        "asked" => ApprovalStep::Asked(get(object, "request")?),
        "given" => ApprovalStep::Given {
            choice: get(object, "choice")?,
            note: get(object, "note"),
        },
        "undelivered" => ApprovalStep::Undelivered,
        end => ApprovalStep::Ended(ApprovalEnd::parse(end)?),
    };
    Some(ApprovalRecord {
        approval_id: get(object, "approvalId")?,
        agent: get(object, "agent")?,
        step,
    })
}

fn read_delivery(
    object: &Map<String, Value>,
    status: &Value,
    entry: &Entry,
) -> Option<DeliveryRecord> {
    let outcome: Option<Outcome> = get(object, "deliveryOutcome");
    let to = get(object, "to").or_else(|| entry.target.as_ref().and_then(Party::agent));
    let to: Agent = to.or_else(|| get(object, "target"))?;
    let result = like::<DeliveryResult>(status).or_else(|| match outcome? {
        // Older records only say what the sender was told, and their word for "delivered" is
        // all that will ever be known about those messages.
        Outcome::DeliveredLive | Outcome::StartedNewTurn | Outcome::JoinedActiveWork => {
            Some(DeliveryResult::Confirmed)
        }
        Outcome::Rejected => Some(DeliveryResult::Rejected),
        Outcome::Ambiguous => Some(DeliveryResult::Ambiguous),
        Outcome::QueuedForNextTurn => None,
    })?;
    Some(DeliveryRecord {
        message_id: get(object, "messageId")?,
        attempt_id: get::<AttemptId>(object, "deliveryAttemptId"),
        to,
        result,
        outcome,
        rung: get(object, "rung"),
        turn_id: get::<TurnId>(object, "turnId"),
        given: get(object, "given"),
    })
}
