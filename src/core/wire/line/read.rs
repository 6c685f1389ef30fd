//! [`parse`]: a line back to an entry, whichever version wrote it.

mod kind;
mod link;
mod take;

use serde_json::Value;

use super::bad_line::BadLine;
use super::members::{Members, Meta, members};
use super::{CARRIED, ChainLink, WHOLE, is_hash};
use crate::agent::Party;
use crate::entry::{Entry, EntryKind};
use crate::id::{EntryId, RuntimeSession, Seq, SessionId};
use crate::whole::Whole;
use kind::read_kind;
pub use link::parse_link;
use take::{as_type, readable, take, text};

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

fn millis(value: &Value) -> i64 {
    value
        .as_i64()
        .or_else(|| value.as_f64().map(|at| at as i64))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::super::serialize;
    use super::*;
    use crate::agent::Agent;
    use crate::entry::{DeliveryRecord, DeliveryResult, DeliveryWay};

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
