//! [`part`]: a stretch of one entry, which is given whole over several; [`beginning`]: what a page
//! shows of an entry that is too long for it, with the way there.

use serde_json::{Map, Value, json};

use super::answer::{PAGE_CHARS_MAX, ToolResult, escaped_stretch};
use super::call::ToolCall;
use crate::client::ClientError;
use crate::core::cut_text::excerpt;
use crate::core::id::EntryId;
use crate::wire::control::{Command, EntryLine, EntryPage, Refusal, Reply};
use crate::wire::line::is_carried_foreign;

/// What the fields around a part of an entry may take, in characters.
const FIELDS_CHARS: usize = 1_000;

/// How much of a long entry's text is shown, in characters.
const TEXT_CHARS: usize = 1_000;

/// How much of any other text of it.
const WORD_CHARS: usize = 100;

/// What is shown of a long entry, as the views and the raw line name it.
const SHOWN: [&str; 11] = [
    "id",
    "seq",
    "at",
    "timestamp",
    "type",
    "from",
    "source",
    "to",
    "target",
    "reason",
    "foreign",
];

/// A place within one entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PartPlace {
    /// The character of its JSON.
    from: usize,
    /// The entry.
    id: String,
}

impl PartPlace {
    /// `part:FROM:` and then the id, which is opaque.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (from, id) = text.strip_prefix("part:")?.split_once(':')?;
        Some(Self {
            from: from.parse().ok()?,
            id: id.to_owned(),
        })
    }
}

/// As [`PartPlace`] reads it.
fn cursor(from: usize, id: &str) -> String {
    format!("part:{from}:{id}")
}

/// The cursor of `read_context` that gives one entry whole, in parts if it is long.
pub(super) fn whole_entry(id: &EntryId) -> String {
    cursor(0, id.as_str())
}

/// Who says what to whom in an entry, as far as a page can have it.
pub(super) fn beginning(entry: &Value) -> Value {
    let mut shown = Map::new();
    let mut keep = |name: &str, chars| {
        match &entry[name] {
            Value::String(text) => shown.insert(name.to_owned(), excerpt(text, chars).into()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
            plain => shown.insert(name.to_owned(), plain.clone()),
        };
    };
    for name in SHOWN {
        keep(name, WORD_CHARS);
    }
    for name in ["text", "content"] {
        keep(name, TEXT_CHARS);
    }
    shown.insert("shortened".to_owned(), true.into());
    let id = entry["id"].as_str().unwrap_or_default();
    shown.insert("read_context_cursor".to_owned(), cursor(0, id).into());
    Value::Object(shown)
}

/// An entry as on disk, with all of its text; where that is lost, as much as there is, and why.
async fn whole(call: &ToolCall, id: &str) -> Result<(Value, Option<String>), Refusal> {
    let show = |full| Command::LedgerShow {
        entry: id.to_owned(),
        full,
        placed: true,
    };
    let kept = marked(call.ask(show(false)).await?)?;
    if !is_cut(&kept) {
        return Ok((kept, None));
    }
    match call.ask(show(true)).await.and_then(marked) {
        Err(refusal) if refusal.code.is_lost_text() => Ok((kept, Some(refusal.message))),
        entry => Ok((entry?, None)),
    }
}

/// The only entry of a reply, with whether it is somebody else's. A daemon of an earlier build does
/// not say where it stands.
fn marked(reply: Reply) -> Result<Value, Refusal> {
    let mut page = match reply {
        Reply::Entry(line) => return Ok(line.into_value()),
        other => EntryPage::try_from(other)
            .map_err(|other| ClientError::of_reply(&other).to_refusal())?,
    };
    let is_before = page.places.iter().any(|at| *at <= page.foreign_through);
    let mut entry = page
        .entries
        .pop()
        .map_or(Value::Null, EntryLine::into_value);
    if (is_before || is_carried_foreign(&entry)) && entry.is_object() {
        entry["foreign"] = true.into();
    }
    Ok(entry)
}

/// Whether more of its text is kept elsewhere. What is kept of a review's finding is what stood in the
/// comment before it was cleaned: no agent reads that.
pub(super) fn is_cut(entry: &Value) -> bool {
    entry.get("whole").is_some() && entry["artifact"]["finding"].is_null()
}

/// A stretch of one entry.
pub(super) async fn part(call: &ToolCall, place: PartPlace) -> Result<ToolResult, Refusal> {
    let PartPlace { from, id } = place;
    let (entry, lost) = whole(call, &id).await?;
    let json = entry.to_string();
    let total = json.chars().count();
    // Twice in the result, and the JSON of the entry is a string in the JSON of the result.
    let chunk = escaped_stretch(&json, from, PAGE_CHARS_MAX / 2 - FIELDS_CHARS);
    let from = from.min(total);
    let to = from + chunk.chars().count();
    let cursor = (to < total).then(|| cursor(to, &id));
    let mut text = format!("entry {id} as JSON, characters {from} to {to} of {total}:\n{chunk}");
    let mut part = json!({"entry_id": id, "from": from, "to": to, "total": total, "json": chunk});
    if let Some(lost) = lost {
        text.push_str(&format!("\nOnly its beginning is left: {lost}."));
        part["lost"] = lost.into();
    }
    if let Some(cursor) = &cursor {
        text.push_str(&format!("\nGo on: read_context with cursor {cursor}."));
    }
    Ok(ToolResult::new(
        json!({"part": part, "cursor": cursor}),
        text,
    ))
}
