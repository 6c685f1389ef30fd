//! `read_context`: a page of the record, newest first to be asked for, oldest first in a page,
//! with all open handoffs.
//!
//! The daemon's cursor is opaque. What does not fit is asked for again with a smaller limit, so
//! that a page always ends where the daemon's own cursor goes on; an entry that does not fit
//! alone is given in parts.

use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{PAGE_CHARS_MAX, ToolResult, escaped_chars, escaped_len, json_chars};
use super::call::ToolCall;
use super::context_line::{handoff_line, line};
use super::definition::Definition;
use super::{argument, resume, schema};
use crate::client::ClientError;
use crate::core::cut_text::excerpt;
use crate::core::id::EntryId;
use crate::wire::control::{
    Command, ContextPage, ContextView, EntryLine, EntryPage, ReadContextParams, Refusal,
    RefusalCode, Reply,
};
use crate::wire::line::is_carried_foreign;

/// How many entries a call gets when it does not say.
const LIMIT_DEFAULT: u32 = 40;

/// The most entries that a call may ask for.
const LIMIT_MAX: u32 = 200;

/// What open handoffs may take of a page with entries.
const HANDOFFS_CHARS_MAX: usize = 14_000;

/// How much of a long ask is shown, in characters; the whole is behind `handoff_id`.
const ASK_CHARS: usize = 200;

/// What the fields around a part of an entry may take, in characters.
const PART_FIELDS_CHARS: usize = 1_000;

/// How often a page is asked for again with a smaller limit. New entries may arrive in between.
const SHRINKS_MAX: usize = 8;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(default)]
    view: ContextView,
    limit: Option<u32>,
    cursor: Option<String>,
    handoff_id: Option<String>,
    scope: Option<ContextScope>,
}

/// How far a reading goes.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ContextScope {
    /// To the pairs of the other Claudes too.
    All,
}

pub(super) fn definition() -> Definition {
    Definition {
        description: "Read the shared record and open handoffs: summary (messages, notes, \
                      results), recent (every entry), raw; resume: your work as \
                      recorded; instructions: rules not read. cursor goes back; \
                      handoff_id reads one whole. Use it first in a new session or after compaction."
            .to_owned(),
        schema: schema::object(
            &[],
            [
                (
                    "view",
                    schema::one_of(&["summary", "recent", "raw", "resume", "instructions"]),
                ),
                ("limit", schema::integer(1, LIMIT_MAX.into())),
                ("cursor", schema::string()),
                ("handoff_id", schema::string()),
                ("scope", schema::one_of(&["all"])),
            ],
        ),
        read_only: true,
    }
}

pub(super) async fn call(call: &ToolCall) -> Result<ToolResult, Refusal> {
    let arguments: Arguments = argument::parse(&call.arguments)?;
    let limit = arguments.limit.unwrap_or(LIMIT_DEFAULT);
    if !(1..=LIMIT_MAX).contains(&limit) {
        return Err(argument::invalid(format!(
            "`limit` is {limit}, it must be 1 to {LIMIT_MAX}"
        )));
    }
    if let ContextView::Resume | ContextView::Instructions = arguments.view {
        return resume::page(call, arguments.view, arguments.cursor.as_deref()).await;
    }
    let cursor = ContextCursor::parse(arguments.cursor.as_deref());
    let ask = Ask {
        view: arguments.view,
        handoff_id: argument::ids("handoff_id", arguments.handoff_id)?.pop(),
        all_pairs: arguments.scope.is_some(),
    };
    match cursor {
        ContextCursor::Part(place) => part(call, place).await,
        ContextCursor::Handoffs { from } => handoffs(call, &ask, from).await,
        ContextCursor::Record(record) => entries(call, &ask, limit, record).await,
    }
}

/// What is the same in every page of one reading.
struct Ask {
    view: ContextView,
    handoff_id: Option<EntryId>,
    all_pairs: bool,
}

impl Ask {
    async fn page(
        &self,
        call: &ToolCall,
        limit: u32,
        cursor: Option<String>,
    ) -> Result<ContextPage, Refusal> {
        let command = Command::ReadContext(ReadContextParams {
            view: self.view,
            limit: Some(limit),
            cursor,
            handoff_id: self.handoff_id.clone(),
            all_pairs: self.all_pairs,
        });
        call.ask_for(command).await
    }
}

/// A place in the record, or in something of it that is too long for one result.
#[derive(Debug, PartialEq, Eq)]
enum ContextCursor {
    /// As the daemon gave it; `None` is the newest page.
    Record(Option<String>),
    /// Within one entry.
    Part(PartPlace),
    /// Within the list of open handoffs.
    Handoffs { from: usize },
}

/// A place within one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PartPlace {
    /// The character of its JSON.
    from: usize,
    /// The entry.
    id: String,
    /// Where the record goes on after it.
    then: Option<String>,
}

impl ContextCursor {
    fn parse(text: Option<&str>) -> Self {
        let Some(text) = text else {
            return Self::Record(None);
        };
        if let Some(from) = text.strip_prefix("handoffs:").and_then(|n| n.parse().ok()) {
            return Self::Handoffs { from };
        }
        match PartPlace::parse(text) {
            Some(place) => Self::Part(place),
            None => Self::Record(Some(text.to_owned())),
        }
    }
}

impl PartPlace {
    /// `part:FROM:LENGTH:` and then the id, LENGTH bytes, and the cursor: both are opaque.
    fn parse(text: &str) -> Option<Self> {
        let (from, rest) = text.strip_prefix("part:")?.split_once(':')?;
        let (length, rest) = rest.split_once(':')?;
        let (id, then) = rest.split_at_checked(length.parse().ok()?)?;
        Some(Self {
            from: from.parse().ok()?,
            id: id.to_owned(),
            then: (!then.is_empty()).then(|| then.to_owned()),
        })
    }

    fn to_cursor(&self) -> String {
        let then = self.then.as_deref().unwrap_or_default();
        format!("part:{}:{}:{}{then}", self.from, self.id.len(), self.id)
    }
}

/// The cursor of `read_context` that gives one entry whole, in parts if it is long.
pub(super) fn whole_entry(id: &EntryId) -> String {
    let place = PartPlace {
        from: 0,
        id: id.to_string(),
        then: None,
    };
    place.to_cursor()
}

async fn entries(
    call: &ToolCall,
    ask: &Ask,
    limit: u32,
    record: Option<String>,
) -> Result<ToolResult, Refusal> {
    let mut limit = limit;
    for _ in 0..SHRINKS_MAX {
        let page = ask.page(call, limit, record.clone()).await?;
        let handoffs = Handoffs::of(&page.open_handoffs, 0, HANDOFFS_CHARS_MAX);
        let free = PAGE_CHARS_MAX.saturating_sub(handoffs.cost);
        let fit = fitting(&page.entries, free);
        if fit == page.entries.len() {
            return Ok(answer(ask, page, handoffs));
        }
        if fit == 0 {
            // Not even the newest of them: it is read in parts, then it goes on before it.
            if page.entries.len() > 1 {
                limit = 1;
                continue;
            }
            let id = page.entries[0].get("id").and_then(Value::as_str);
            let place = PartPlace {
                from: 0,
                id: id.unwrap_or_default().to_owned(),
                then: page.cursor,
            };
            return part(call, place).await;
        } else {
            limit = u32::try_from(fit).unwrap_or(1);
        }
    }
    Err(Refusal::new(
        RefusalCode::Busy,
        "the record grows faster than it can be read",
        "call again with a smaller limit",
    ))
}

fn answer(ask: &Ask, page: ContextPage, handoffs: Handoffs) -> ToolResult {
    let mut lines: Vec<String> = page.entries.iter().map(|e| line(ask.view, e)).collect();
    if let Some((from, to)) = page.looked_at {
        let besides = if lines.is_empty() { "" } else { "else " };
        lines.push(format!("Nothing {besides}among entries {from} to {to}."));
    } else if lines.is_empty() {
        lines.push("No entries here.".to_owned());
    }
    lines.extend(handoffs.lines);
    if let Some(cursor) = &handoffs.cursor {
        lines.push(format!(
            "More open handoffs: read_context with cursor {cursor}."
        ));
    }
    if let Some(cursor) = &page.cursor {
        lines.push(format!("Older entries: read_context with cursor {cursor}."));
        if ask.handoff_id.is_some() {
            lines.push("Give the same handoff_id with it.".to_owned());
        }
    }
    ToolResult::new(
        json!({
            "entries": page.entries,
            "open_handoffs": handoffs.shown,
            "open_handoffs_total": page.open_handoffs.len(),
            "handoffs_cursor": handoffs.cursor,
            "cursor": page.cursor,
        }),
        lines.join("\n"),
    )
    .leaving_out(page.unread_lines)
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
fn is_cut(entry: &Value) -> bool {
    entry.get("whole").is_some() && entry["artifact"]["finding"].is_null()
}

/// A stretch of one entry.
async fn part(call: &ToolCall, place: PartPlace) -> Result<ToolResult, Refusal> {
    let (entry, lost) = whole(call, &place.id).await?;
    let json = entry.to_string();
    let total = json.chars().count();
    // Twice in the result, and the JSON of the entry is a string in the JSON of the result.
    let mut budget = PAGE_CHARS_MAX / 2 - PART_FIELDS_CHARS;
    let chunk: String = json
        .chars()
        .skip(place.from)
        .take_while(|character| {
            let cost = escaped_len(*character);
            let fits = cost <= budget;
            budget = budget.saturating_sub(cost);
            fits
        })
        .collect();
    let from = place.from.min(total);
    let to = from + chunk.chars().count();
    let id = &place.id;
    let cursor = if to < total {
        let next = PartPlace {
            from: to,
            ..place.clone()
        };
        Some(next.to_cursor())
    } else {
        place.then.clone()
    };
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
        json!({
            "entries": [],
            "part": part,
            "open_handoffs": [],
            "handoffs_cursor": "handoffs:0",
            "cursor": cursor,
        }),
        text,
    ))
}

/// Only open handoffs, from this one on.
async fn handoffs(call: &ToolCall, ask: &Ask, from: usize) -> Result<ToolResult, Refusal> {
    let page = ask.page(call, 1, None).await?;
    let handoffs = Handoffs::of(&page.open_handoffs, from, PAGE_CHARS_MAX);
    let mut lines = handoffs.lines;
    if let Some(cursor) = &handoffs.cursor {
        lines.push(format!("More: read_context with cursor {cursor}."));
    }
    Ok(ToolResult::new(
        json!({
            "entries": [],
            "open_handoffs": handoffs.shown,
            "open_handoffs_total": page.open_handoffs.len(),
            "handoffs_cursor": handoffs.cursor,
            "cursor": null,
        }),
        lines.join("\n"),
    ))
}

/// Open handoffs as far as they fit: whole if all do, otherwise with the beginning of the ask.
struct Handoffs {
    shown: Vec<Value>,
    lines: Vec<String>,
    cost: usize,
    cursor: Option<String>,
}

impl Handoffs {
    fn of(all: &[Value], from: usize, max: usize) -> Self {
        let rest = all.get(from..).unwrap_or_default();
        let whole: usize = rest.iter().map(|h| cost(h, &handoff_line(h))).sum();
        let mut handoffs = Self {
            shown: Vec::new(),
            lines: Vec::new(),
            cost: 0,
            cursor: None,
        };
        for (index, handoff) in rest.iter().enumerate() {
            let shown = if whole <= max {
                handoff.clone()
            } else {
                shortened(handoff)
            };
            let line = handoff_line(&shown);
            let cost = cost(&shown, &line);
            if handoffs.cost + cost > max && index > 0 {
                handoffs.cursor = Some(format!("handoffs:{}", from + index));
                break;
            }
            handoffs.cost += cost;
            handoffs.lines.push(line);
            handoffs.shown.push(shown);
        }
        handoffs
    }
}

fn cost(value: &Value, line: &str) -> usize {
    json_chars(value) + escaped_chars(line) + 4
}

/// Every text of a handoff cut to its beginning, with the way to the whole.
fn shortened(handoff: &Value) -> Value {
    let Value::Object(fields) = handoff else {
        return handoff.clone();
    };
    let mut short: serde_json::Map<String, Value> = fields
        .iter()
        .filter(|(_, value)| !value.is_object() && !value.is_array())
        .map(|(name, value)| {
            let value = value
                .as_str()
                .map_or_else(|| value.clone(), |text| json!(excerpt(text, ASK_CHARS)));
            (name.clone(), value)
        })
        .collect();
    short.insert("shortened".to_owned(), json!(true));
    Value::Object(short)
}

/// How many of the newest entries fit. One whose text is cut here does not: it is read in parts.
fn fitting(entries: &[Value], free: usize) -> usize {
    let mut free = free;
    entries
        .iter()
        .rev()
        .take_while(|entry| {
            // The raw line is the longer one, whatever the view: a line break is one of three
            // characters in it, and in the other one of two with what indents behind it.
            let cost = 2 * escaped_chars(&entry.to_string()) + 4;
            let fits = cost <= free && !is_cut(entry);
            free = free.saturating_sub(cost);
            fits
        })
        .count()
}
