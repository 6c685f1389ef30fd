//! [`Card`]: an entry as people read it, before it becomes Markdown or HTML.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::Value;

use super::content::Content;
use crate::core::alarm::Alarm;
use crate::store::ledger::{SignedEntry, Stored};

/// What the card shows in its own place.
const ENVELOPE: [&str; 11] = [
    "schema",
    "id",
    "timestamp",
    "sessionId",
    "type",
    "source",
    "target",
    "content",
    "seq",
    "prev",
    "hash",
];

/// How deep objects are taken apart; what lies deeper is shown as JSON.
const DEPTH_MAX: usize = 3;

/// An entry to be read. Everything in it is as hostile as the record.
#[derive(Debug)]
pub(super) struct Card<'a> {
    pub(super) seq: u64,
    pub(super) id: &'a str,
    pub(super) kind: &'a str,
    pub(super) source: &'a str,
    pub(super) target: Option<&'a str>,
    /// UTC, RFC 3339.
    pub(super) at: String,
    pub(super) hash: &'a str,
    pub(super) content: Cow<'a, str>,
    /// Names with dots between them, and their texts; everything that the line says beside.
    pub(super) details: Vec<(String, String)>,
}

impl<'a> Card<'a> {
    pub(super) fn of(
        stored: &'a Stored,
        content: Content<'a>,
        signed: Option<Result<SignedEntry, Alarm>>,
    ) -> Self {
        let entry = &stored.entry;
        let mut details = Vec::new();
        if let Value::Object(fields) = stored.to_value() {
            for (name, value) in fields {
                if !ENVELOPE.contains(&name.as_str()) {
                    push(&name, &value, DEPTH_MAX, &mut details);
                }
            }
        }
        // A handoff says its ask twice.
        details.retain(|(_, text)| !text.is_empty() && *text != entry.content);
        if let Some(signed) = signed {
            let text = match signed {
                Ok(signed) => format!("{}, by the key {}", signed.what.text(), signed.signer),
                Err(alarm) => alarm.text(),
            };
            details.insert(0, ("signed".to_owned(), text));
        }
        if let Some(remark) = content.remark {
            details.insert(0, ("remark".to_owned(), remark));
        }
        Self {
            seq: entry.seq.0,
            id: entry.id.as_str(),
            kind: entry.kind.type_name(),
            source: entry.source.as_str(),
            target: entry.target.as_ref().map(|target| target.as_str()),
            at: Timestamp::from_millisecond(entry.timestamp_ms).map_or_else(
                |_| format!("{} ms", entry.timestamp_ms),
                |at| at.to_string(),
            ),
            hash: &stored.hash,
            content: content.text,
            details,
        }
    }
}

/// Takes a detail apart: objects into their fields, lists of texts into lines.
fn push(name: &str, value: &Value, depth: usize, into: &mut Vec<(String, String)>) {
    let text = match value {
        Value::Object(fields) if depth > 0 => {
            for (field, value) in fields {
                push(&format!("{name}.{field}"), value, depth - 1, into);
            }
            return;
        }
        Value::Array(values) if values.iter().all(Value::is_string) => {
            let lines: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            lines.join("\n")
        }
        Value::String(text) => text.clone(),
        Value::Null => return,
        value => value.to_string(),
    };
    into.push((name.to_owned(), text));
}
