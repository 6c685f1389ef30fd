//! [`serialize`]: an entry as a line object.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{CARRIED, ENVELOPE, HANDLES, HANDLES_ONE, RAW, RUNTIME_SESSION, SCHEMA, WHOLE, event};
use crate::agent::Party;
use crate::base64::encode;
use crate::entry::{
    AgentChanged, ApprovalRecord, ApprovalStep, Artifact, ArtifactKind, ContinuityFact,
    ContinuityRecord, DeliveryRecord, Entry, EntryKind, FinalityDecision, FinalityProposal,
    FindingRecord, Handoff, Message, TaskRecord, TurnRecord,
};
use crate::id::EntryId;

/// The entry as a line object, keys in the order in which they are written.
///
/// `seq` is left out while it is 0; `prev` and `hash` come with [`super::seal`].
pub fn serialize(entry: &Entry) -> Map<String, Value> {
    let mut line = Map::new();
    put(&mut line, "schema", SCHEMA);
    put(&mut line, "id", entry.id.as_str());
    put(&mut line, "timestamp", entry.timestamp_ms);
    put(&mut line, "sessionId", entry.session_id.as_str());
    put(&mut line, "type", entry.kind.type_name());
    put(&mut line, "source", entry.source.as_str());
    put_some(
        &mut line,
        "target",
        &entry.target.as_ref().map(Party::as_str),
    );
    put(&mut line, "content", entry.content.as_str());
    put_detail(&mut line, entry);

    let mut meta = Map::new();
    put_some(&mut meta, RUNTIME_SESSION, &entry.runtime_session);
    put_some(&mut meta, CARRIED, &entry.carried);
    // The typed fields are the truth; a stray key must not replace them.
    let stray = |key: &str| {
        (key == RUNTIME_SESSION && entry.runtime_session.is_some())
            || (key == CARRIED && entry.carried.is_some())
    };
    for (key, value) in entry.meta.iter().filter(|(key, _)| !stray(key)) {
        put(&mut meta, key, value.clone());
    }
    if !meta.is_empty() {
        put(&mut line, "meta", meta);
    }
    put_some(&mut line, WHOLE, &entry.whole);
    if entry.seq.0 != 0 {
        put(&mut line, "seq", entry.seq.0);
    }
    line
}

fn put_detail(line: &mut Map<String, Value>, entry: &Entry) {
    match &entry.kind {
        EntryKind::SessionStarted { predecessor } => {
            put_some(line, "predecessor", predecessor);
        }
        EntryKind::Message(message) => {
            put(line, "message", message_object(message));
            put_handles(line, &message.handles);
        }
        EntryKind::Handoff(handoff) => {
            put(line, "handoff", handoff_object(entry, handoff));
            put_handles(line, &handoff.handles);
        }
        EntryKind::Note {
            note,
            handles,
            withdraws,
        } => {
            put(line, "noteKind", note.as_str());
            put_handles(line, handles);
            put_some(line, "withdraws", withdraws);
        }
        EntryKind::Artifact(artifact) => put(line, "artifact", artifact_object(artifact)),
        EntryKind::Finding(record) => put(line, "artifact", finding_object(record)),
        EntryKind::FinalityProposal(proposal) => {
            put(line, "finality", proposal_object(proposal));
            put_handles(line, &proposal.handles);
        }
        EntryKind::FinalityDecision(decision) => {
            put(line, "finality", decision_object(decision));
            put_handles(line, &decision.handles);
        }
        EntryKind::Delivery(record) => put(line, "runtimeEvent", delivery_object(record)),
        EntryKind::AgentChanged(change) => put(line, "runtimeEvent", agent_object(change)),
        EntryKind::Turn(turn) => put(line, "runtimeEvent", turn_object(turn)),
        EntryKind::Approval(record) => put(line, "runtimeEvent", approval_object(record)),
        EntryKind::Continuity(record) => put(line, "runtimeEvent", continuity_object(record)),
        EntryKind::Task(record) => put(line, "runtimeEvent", task_object(record)),
        EntryKind::Lifecycle { event: word } => {
            let word = word.to_string();
            let mut object = runtime_event(event::LIFECYCLE, &word, word.replace('_', " "));
            put(&mut object, "event", word);
            put(line, "runtimeEvent", object);
        }
        EntryKind::Error { code } => put(line, "error", json!({ "code": code })),
        EntryKind::Other {
            detail, handles, ..
        } => {
            for (key, value) in detail {
                if !ENVELOPE.contains(&key.as_str()) && key != HANDLES_ONE {
                    put(line, key, value.clone());
                }
            }
            put_handles(line, handles);
        }
    }
}

fn message_object(message: &Message) -> Map<String, Value> {
    let mut object = Map::new();
    put(&mut object, "onBusy", message.on_busy.as_str());
    put(&mut object, "requireReply", message.require_reply);
    put_some(&mut object, "inReplyTo", &message.in_reply_to);
    put_some(&mut object, "fromTurn", &message.from_turn);
    put_some(&mut object, "decision", &message.decision);
    object
}

fn handoff_object(entry: &Entry, handoff: &Handoff) -> Map<String, Value> {
    let mut object = Map::new();
    put(&mut object, "from", entry.source.as_str());
    put_some(&mut object, "to", &entry.target.as_ref().map(Party::as_str));
    put(&mut object, "reason", handoff.reason.as_str());
    // Said twice, because readers of the v1 shape look for the ask here.
    put(&mut object, "ask", entry.content.as_str());
    put(&mut object, "context_refs", handoff.context_refs.clone());
    put(&mut object, "onBusy", handoff.on_busy.as_str());
    object
}

fn artifact_object(artifact: &Artifact) -> Map<String, Value> {
    let mut object = Map::new();
    put(&mut object, "kind", artifact.kind.as_str());
    put(&mut object, "title", artifact.title.as_str());
    put(&mut object, "summary", artifact.summary.as_str());
    put(&mut object, "status", artifact.status.as_str());
    put(&mut object, "evidence", artifact.evidence.clone());
    put_some(&mut object, "verified", &artifact.verified);
    put_some(&mut object, "ran", &artifact.ran);
    object
}

/// As an artifact, for readers who know nothing of findings.
fn finding_object(record: &FindingRecord) -> Map<String, Value> {
    let mut object = Map::new();
    let facts = record.facts.as_ref();
    put(&mut object, "kind", ArtifactKind::ReviewFinding.as_str());
    put(&mut object, "title", facts.map_or("", |facts| &facts.title));
    put(
        &mut object,
        "summary",
        format!("{} {}", record.finding, record.step),
    );
    put(&mut object, "status", "unknown");
    put(&mut object, "finding", record.finding.as_str());
    put(&mut object, "step", record.step.to_string());
    put_some(&mut object, "facts", &record.facts);
    if !record.suggestions.is_empty() {
        put(&mut object, "suggestions", record.suggestions.clone());
    }
    put_some(&mut object, RAW, &record.raw);
    object
}

fn proposal_object(proposal: &FinalityProposal) -> Map<String, Value> {
    let mut object = Map::new();
    put(&mut object, "summary", proposal.summary.as_str());
    put(&mut object, "evidence", proposal.evidence.clone());
    put_some(&mut object, "remainingRisk", &proposal.remaining_risk);
    if let Some(tree) = &proposal.tree {
        put(&mut object, "tree", tree_object(tree));
    }
    object
}

fn decision_object(decision: &FinalityDecision) -> Map<String, Value> {
    let mut object = Map::new();
    put(&mut object, "proposalId", decision.proposal_id.as_str());
    put(&mut object, "approved", decision.approved);
    put_some(&mut object, "reason", &decision.reason);
    if let Some(tree) = &decision.tree {
        put(&mut object, "tree", tree_object(tree));
    }
    put_some(&mut object, "seenThrough", &decision.seen);
    if !decision.tells.is_empty() {
        put(&mut object, "tells", json!(decision.tells));
    }
    if decision.is_auto() {
        put(&mut object, "mode", "auto");
        put(&mut object, "runs", json!(decision.runs));
    }
    put_some(&mut object, "signature", &decision.signature);
    object
}

fn tree_object(tree: &crate::entry::WorkTree) -> Map<String, Value> {
    let mut object = Map::new();
    put_some(&mut object, "commit", &tree.commit);
    put(&mut object, "tree", tree.tree.as_str());
    put(&mut object, "changed", tree.changed);
    object
}

fn delivery_object(record: &DeliveryRecord) -> Map<String, Value> {
    let result = record.result.as_str();
    let title = if record.is_settled_by_turn() {
        format!("message to {}, whose turn with it ended", record.to)
    } else {
        format!("message to {} {result}", record.to)
    };
    let mut object = runtime_event(event::DELIVERY, result, title);
    put(&mut object, "messageId", record.message_id.as_str());
    put_some(&mut object, "deliveryAttemptId", &record.attempt_id);
    put_some(&mut object, "deliveryOutcome", &record.outcome);
    put(&mut object, "to", record.to.as_str());
    put_some(&mut object, "rung", &record.rung);
    put_some(&mut object, "turnId", &record.turn_id);
    put_some(&mut object, "given", &record.given);
    object
}

fn agent_object(change: &AgentChanged) -> Map<String, Value> {
    let state = change.state.as_str();
    let title = format!("{} {state}", change.agent.title());
    let mut object = runtime_event(event::AGENT, state, title);
    put(&mut object, "agent", change.agent.as_str());
    put_some(&mut object, "pid", &change.pid);
    put_some(&mut object, "threadId", &change.thread_id);
    put_some(&mut object, "why", &change.why);
    put_some(&mut object, "untilMs", &change.until_ms);
    object
}

fn turn_object(turn: &TurnRecord) -> Map<String, Value> {
    let status = turn.status.as_str();
    let mut object = runtime_event(event::TURN, status, format!("turn {status}"));
    put(&mut object, "threadId", turn.thread_id.as_str());
    put(&mut object, "turnId", turn.turn_id.as_str());
    put(&mut object, "startedBy", turn.started_by.as_str());
    put_some(
        &mut object,
        "stoppedBy",
        &turn.stopped_by.as_ref().map(Party::as_str),
    );
    object
}

fn approval_object(record: &ApprovalRecord) -> Map<String, Value> {
    let status = record.step.as_str();
    let title = format!("approval for {} {status}", record.agent.title());
    let mut object = runtime_event(event::APPROVAL, status, title);
    put(&mut object, "approvalId", record.approval_id.as_str());
    put(&mut object, "agent", record.agent.as_str());
    match &record.step {
        ApprovalStep::Asked(request) => put(&mut object, "request", json!(request)),
        ApprovalStep::Given { choice, note } => {
            put(&mut object, "choice", choice.as_str());
            put_some(&mut object, "note", note);
        }
        ApprovalStep::Undelivered | ApprovalStep::Ended(_) => {}
    }
    object
}

fn continuity_object(record: &ContinuityRecord) -> Map<String, Value> {
    let ContinuityRecord { agent, fact } = record;
    let name = agent.title();
    let (kind, status, title, key, value) = match fact {
        ContinuityFact::TurnFiles(files) => {
            let title = format!("what {name}'s turn touched");
            (event::TURN_FILES, "recorded", title, "files", json!(files))
        }
        ContinuityFact::Compacted(compaction) => {
            let title = format!("{name}'s context was compacted");
            (
                event::COMPACTED,
                "completed",
                title,
                "compaction",
                json!(compaction),
            )
        }
        ContinuityFact::Reloaded(reload) => {
            let title = format!("{name}'s packet: {}", reload.step.state().as_str());
            (
                event::RELOADED,
                reload.step.state().as_str(),
                title,
                "reload",
                json!(reload),
            )
        }
        ContinuityFact::RulesChanged(change) => {
            let title = format!("rules that {name} was told");
            (event::RULES, "recorded", title, "rules", json!(change))
        }
        ContinuityFact::Inferred(inference) => {
            let (status, title) = match &inference.failure {
                Some(_) => ("failed", format!("{name}'s words could not be read")),
                None => ("completed", format!("what {name}'s words say of its work")),
            };
            (
                event::INFERRED,
                status,
                title,
                "inference",
                json!(inference),
            )
        }
        ContinuityFact::Forgotten { what } => {
            let title = format!("forgotten of {name}");
            (
                event::FORGOTTEN,
                "recorded",
                title,
                "forgotten",
                json!({ "what": what }),
            )
        }
    };
    let mut object = runtime_event(kind, status, title);
    put(&mut object, "agent", agent.as_str());
    put(&mut object, key, value);
    object
}

fn task_object(record: &TaskRecord) -> Map<String, Value> {
    let step = record.step.to_string();
    let title = format!("task {step}");
    let mut object = runtime_event(event::TASK, &step, title);
    put(&mut object, "task", record.task.as_str());
    put_some(&mut object, "handoff", &record.handoff);
    if !record.dropped.is_empty() {
        put(&mut object, "dropped", json!(record.dropped));
    }
    if !record.forgotten.is_empty() {
        // Up to a thousand of them.
        let bytes = record
            .forgotten
            .iter()
            .flat_map(|number| number.to_be_bytes());
        put(&mut object, "forgotten", encode(&bytes.collect::<Vec<_>>()));
    }
    object
}

fn runtime_event(kind: &str, status: &str, title: String) -> Map<String, Value> {
    let mut object = Map::new();
    put(&mut object, "kind", kind);
    put(&mut object, "status", status);
    put(&mut object, "title", title);
    object
}

fn put_handles(line: &mut Map<String, Value>, handles: &[EntryId]) {
    if let Some(first) = handles.first() {
        put(line, HANDLES_ONE, first.as_str());
        let all: Vec<_> = handles.iter().map(EntryId::as_str).collect();
        put(line, HANDLES, all);
    }
}

fn put(object: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    object.insert(key.to_owned(), value.into());
}

fn put_some(object: &mut Map<String, Value>, key: &str, value: &Option<impl Serialize>) {
    if let Some(value) = value {
        put(object, key, json!(value));
    }
}
