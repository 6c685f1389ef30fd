//! [`parse`]: a line back to an entry, of whatever version wrote it.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::members::{Members, Meta, members};
use super::{CARRIED, ChainLink, HANDLES, HANDLES_ONE, WHOLE, event, is_hash};
use crate::agent::{Agent, Party};
use crate::delivery::Outcome;
use crate::entry::{
    AgentChanged, ApprovalEnd, ApprovalRecord, ApprovalStep, Artifact, DeliveryRecord,
    DeliveryResult, Entry, EntryKind, FinalityDecision, FinalityProposal, Handoff, Message,
    TurnRecord,
};
use crate::id::{AttemptId, EntryId, RuntimeSession, Seq, SessionId, TurnId};
use crate::whole::Whole;

/// A line that is an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedLine {
    /// The entry; its `seq` is the one on the line, 0 when there is none.
    pub entry: Entry,
    /// Its place in the chain; `None` for a line of a ledger without one.
    pub link: Option<ChainLink>,
    /// A later version wrote it, in a shape of its own: what is understood of it is taken, and
    /// nobody of this version should write behind it.
    pub is_newer: bool,
}

/// Why a line is no entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadLine {
    /// Neither JSON nor, perhaps, text.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// JSON, but a list, a number, `null`.
    #[error("not an object")]
    NotObject,
    /// An object that lacks what makes it an entry, or has it in another type.
    #[error("no {0}")]
    Missing(&'static str),
    /// Longer than a reader takes.
    #[error("longer than {0} bytes")]
    TooLong(usize),
}

/// Reads one line, with or without its newline.
///
/// Only `id` and `type` have to be there. The fields of the details are taken where they have the
/// expected type and get their default where not: one odd field must not hide an entry.
///
/// # Errors
///
/// When the bytes are not one JSON object with an `id` and a `type`. Never panics, and allocates
/// in proportion to the line.
pub fn parse(line: &[u8]) -> Result<ParsedLine, BadLine> {
    let Members {
        schema,
        id,
        timestamp,
        session_id,
        entry_type,
        source,
        target,
        content,
        meta,
        seq,
        prev,
        hash,
        rest: mut line,
    } = members(line)?;
    let is_newer = schema.is_some_and(|schema| is_newer(&schema));
    let id = text(id).ok_or(BadLine::Missing("id"))?;
    let entry_type = text(entry_type).ok_or(BadLine::Missing("type"))?;
    let timestamp_ms = timestamp.map_or(0, |at| millis(&at));
    let session_id = text(session_id).unwrap_or_default();
    let source = text(source).unwrap_or_else(|| "unknown".to_owned());
    let target = text(target);
    let content = content.map(readable);
    let seq = seq.and_then(|seq| seq.as_u64());
    let prev = text(prev).filter(|prev| is_hash(prev));
    let hash = text(hash).filter(|hash| is_hash(hash));
    let link = match (seq, prev, hash) {
        (Some(seq), Some(prev), Some(hash)) => Some(ChainLink { seq, prev, hash }),
        _ => None,
    };
    let Meta {
        runtime_session,
        rest: mut meta,
    } = meta;
    let runtime_session = runtime_session.map(RuntimeSession::new);
    let carried = meta.get(CARRIED).cloned().and_then(as_type);
    if carried.is_some() {
        meta.shift_remove(CARRIED);
    }
    let mut entry = Entry {
        id: EntryId::new(id),
        timestamp_ms,
        session_id: SessionId::new(session_id),
        source: Party::from(source),
        target: target.map(Party::from),
        content: content.unwrap_or_default(),
        // A name that is no hash names nothing.
        whole: take::<Whole>(&mut line, WHOLE).filter(|whole| is_hash(&whole.sha256)),
        kind: EntryKind::Lifecycle {
            event: String::new().into(),
        },
        runtime_session,
        carried,
        meta,
        seq: Seq(seq.unwrap_or(0)),
    };
    entry.kind = read_kind(entry_type, line, &mut entry);
    Ok(ParsedLine {
        entry,
        link,
        is_newer,
    })
}

/// Whether a `schema` is `v2` or later. What is no version at all says nothing.
fn is_newer(schema: &Value) -> bool {
    schema
        .as_str()
        .and_then(|schema| schema.strip_prefix('v')?.parse::<u64>().ok())
        .is_some_and(|version| version > 1)
}

/// How deep the thorough reader goes: `serde_json`'s own limit, which its quick look past a value
/// does not have.
const NESTING_MAX: usize = 128;

/// Reads only a line's place in the chain, several times as fast as [`parse`] and with the same
/// verdict on whether it is an entry; but a number too large for anybody passes here.
///
/// # Errors
///
/// As [`parse`].
pub fn parse_link(line: &[u8]) -> Result<Option<ChainLink>, BadLine> {
    // What the quick look does not check, or cannot take, is left to the thorough one: text that
    // is no UTF-8, halves of characters, keys that come twice, and what may be nested too deeply.
    let brackets = line.iter().filter(|byte| matches!(byte, b'[' | b'{'));
    let may_be_deep = brackets.count() >= NESTING_MAX;
    let quick = std::str::from_utf8(line)
        .ok()
        .filter(|text| !may_be_deep && !text.contains("\\ud") && !text.contains("\\uD"))
        .and_then(|text| serde_json::from_str::<Envelope<'_>>(text).ok());
    let Some(envelope) = quick else {
        return parse(line).map(|parsed| parsed.link);
    };
    let is_text = |value: Option<&RawValue>| value.is_some_and(|raw| raw.get().starts_with('"'));
    if !is_text(envelope.id) {
        return Err(BadLine::Missing("id"));
    }
    if !is_text(envelope.entry_type) {
        return Err(BadLine::Missing("type"));
    }
    let seq = envelope.seq.and_then(|seq| seq.get().parse().ok());
    let hash = |value: Option<&RawValue>| {
        let text = value?.get().strip_prefix('"')?.strip_suffix('"')?;
        is_hash(text).then(|| text.to_owned())
    };
    Ok(match (seq, hash(envelope.prev), hash(envelope.hash)) {
        (Some(seq), Some(prev), Some(hash)) => Some(ChainLink { seq, prev, hash }),
        _ => None,
    })
}

/// What [`parse_link`] looks at.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow, rename = "type")]
    entry_type: Option<&'a RawValue>,
    #[serde(borrow)]
    seq: Option<&'a RawValue>,
    #[serde(borrow)]
    prev: Option<&'a RawValue>,
    #[serde(borrow)]
    hash: Option<&'a RawValue>,
}

fn read_kind(entry_type: String, mut line: Map<String, Value>, entry: &mut Entry) -> EntryKind {
    match entry_type.as_str() {
        "session_started" => EntryKind::SessionStarted {
            predecessor: take(&mut line, "predecessor"),
        },
        "message" => read_message(line),
        "handoff" => read_handoff(line, entry),
        "note" => EntryKind::Note {
            note: take(&mut line, "noteKind").unwrap_or_default(),
            handles: take_handles(&mut line),
            withdraws: take_text(&mut line, "withdraws").map(EntryId::new),
        },
        "artifact" | "release_gate" => read_artifact(&entry_type, line, entry),
        "finality_proposal" => read_proposal(line, entry),
        "finality_decision" => read_decision(line),
        "error" => EntryKind::Error {
            code: take_text(&mut take_object(&mut line, "error"), "code")
                .unwrap_or_else(|| "error".to_owned())
                .into(),
        },
        "runtime_event" => {
            read_runtime_event(&line, entry).unwrap_or_else(|| other(entry_type, line))
        }
        _ => other(entry_type, line),
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

fn read_artifact(entry_type: &str, mut line: Map<String, Value>, entry: &Entry) -> EntryKind {
    let mut object = take_object(&mut line, "artifact");
    let fallback = |key: &str| {
        entry
            .meta
            .get(key)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let kind = if entry_type == "release_gate" {
        Some(entry_type.to_owned())
    } else {
        take_text(&mut object, "kind").or_else(|| fallback("artifact_kind"))
    };
    let status = object
        .shift_remove("status")
        .or_else(|| fallback("artifact_status").map(Value::String));
    EntryKind::Artifact(Artifact {
        kind: kind.unwrap_or_else(|| entry_type.to_owned()),
        title: take_text(&mut object, "title").unwrap_or_default(),
        summary: take_text(&mut object, "summary").unwrap_or_default(),
        status: status.and_then(as_type).unwrap_or_default(),
        evidence: take_texts(&mut object, "evidence"),
        verified: take(&mut object, "verified"),
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
    let mut object = take_object(&mut line, "finality");
    EntryKind::FinalityDecision(FinalityDecision {
        proposal_id: take(&mut object, "proposalId").unwrap_or_else(|| EntryId::new("")),
        // ContextRelay writes a decision only when it finalises by itself.
        approved: take(&mut object, "approved").unwrap_or(true),
        reason: take_text(&mut object, "reason"),
        tree: take(&mut object, "tree"),
        handles: take_handles(&mut line),
        tells: take(&mut object, "tells").unwrap_or_default(),
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
        event::LIFECYCLE => Some(EntryKind::Lifecycle {
            event: get::<String>(object, "event")?.into(),
        }),
        _ => None,
    }
}

fn read_approval(object: &Map<String, Value>, status: &Value) -> Option<ApprovalRecord> {
    let step = match status.as_str()? {
        "asked" => ApprovalStep::Asked(get(object, "request")?),
        "given" => ApprovalStep::Given {
            choice: get(object, "choice")?,
            note: get(object, "note"),
        },
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

fn take_handles(line: &mut Map<String, Value>) -> Vec<EntryId> {
    let one = take_text(line, HANDLES_ONE).map(EntryId::new);
    let mut all = ids(line.shift_remove(HANDLES));
    if let Some(one) = one
        && !one.as_str().is_empty()
        && !all.contains(&one)
    {
        all.push(one);
    }
    all
}

fn ids(value: Option<Value>) -> Vec<EntryId> {
    let Some(Value::Array(values)) = value else {
        return Vec::new();
    };
    values
        .into_iter()
        .filter_map(|value| match value {
            Value::String(id) if !id.is_empty() => Some(EntryId::new(id)),
            _ => None,
        })
        .collect()
}

fn take<T: DeserializeOwned>(object: &mut Map<String, Value>, key: &str) -> Option<T> {
    object.shift_remove(key).and_then(as_type)
}

/// As [`take`], and leaves it there.
fn get<'a, T: Deserialize<'a>>(object: &'a Map<String, Value>, key: &str) -> Option<T> {
    object.get(key).and_then(like)
}

fn like<'a, T: Deserialize<'a>>(value: &'a Value) -> Option<T> {
    T::deserialize(value).ok()
}

fn as_type<T: DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}

fn take_text(object: &mut Map<String, Value>, key: &str) -> Option<String> {
    text(object.shift_remove(key))
}

fn text(value: Option<Value>) -> Option<String> {
    match value {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

fn take_texts(object: &mut Map<String, Value>, key: &str) -> Vec<String> {
    match object.shift_remove(key) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(values)) => values.into_iter().map(readable).collect(),
        Some(value) => vec![readable(value)],
    }
}

fn take_object(line: &mut Map<String, Value>, key: &str) -> Map<String, Value> {
    object(line.shift_remove(key))
}

fn object(value: Option<Value>) -> Map<String, Value> {
    match value {
        Some(Value::Object(object)) => object,
        _ => Map::new(),
    }
}

fn readable(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Null => String::new(),
        value => value.to_string(),
    }
}

fn millis(value: &Value) -> i64 {
    value
        .as_i64()
        .or_else(|| value.as_f64().map(|at| at as i64))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::super::serialize;
    use super::*;
    use crate::delivery::DeliveryWay;

    fn delivery(rung: Option<DeliveryWay>) -> Entry {
        Entry {
            id: EntryId::new("1"),
            timestamp_ms: 1,
            session_id: SessionId::new("session"),
            source: Party::System,
            target: Some(Agent::Codex.into()),
            content: "Codex has it by queue".to_owned(),
            whole: None,
            kind: EntryKind::Delivery(DeliveryRecord {
                message_id: EntryId::new("0"),
                attempt_id: None,
                to: Agent::Codex,
                result: DeliveryResult::Confirmed,
                outcome: None,
                rung,
                turn_id: None,
                given: None,
            }),
            runtime_session: None,
            carried: None,
            meta: Map::new(),
            seq: Seq(2),
        }
    }

    #[test]
    fn a_delivery_without_an_outcome_reads_back_as_one() {
        let entry = delivery(Some(DeliveryWay::Queue));
        let line = Value::Object(serialize(&entry)).to_string();
        assert_eq!(parse(line.as_bytes()).unwrap().entry, entry);
    }

    #[test]
    fn the_way_of_a_delivery_is_the_word_on_its_line_also_one_that_this_version_does_not_know() {
        let ways = DeliveryWay::ALL.iter().map(ToString::to_string);
        for word in ways.chain(["pigeon", "", "Queue", "hook "].map(str::to_owned)) {
            let mut line = serialize(&delivery(None));
            line["runtimeEvent"]["rung"] = word.clone().into();
            let line = Value::Object(line).to_string();
            let read = parse(line.as_bytes()).unwrap().entry;
            assert_eq!(read, delivery(Some(DeliveryWay::from(word.as_str()))));
            assert_eq!(
                Value::Object(serialize(&read)).to_string(),
                line,
                "{word:?}"
            );
        }
        assert!(
            !serialize(&delivery(None))["runtimeEvent"]
                .to_string()
                .contains("rung")
        );
    }
}
