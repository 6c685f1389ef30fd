//! `read_context`: a page of the record, newest page first, oldest entry first within a page, with
//! all open handoffs.
//!
//! The daemon's cursor is opaque. A page that does not fit is requested again with a smaller limit,
//! so that a page always ends where the daemon's own cursor continues. Of an entry that is too long
//! for any page the beginning is shown, with the cursor that gives all of it in parts.

use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{PAGE_CHARS_MAX, ToolResult, escaped_chars, json_chars};
use super::call::ToolCall;
use super::context_line::{handoff_line, line};
use super::context_part::{PartPlace, beginning, is_cut, part};
use super::definition::Definition;
use super::{argument, resume, schema};
use crate::core::cut_text::excerpt;
use crate::core::id::EntryId;
use crate::wire::control::{
    Command, ContextPage, ContextView, ReadContextParams, Refusal, RefusalCode,
};

/// How many entries a call gets when it does not say.
const LIMIT_DEFAULT: u32 = 40;

/// The most entries that a call may ask for.
const LIMIT_MAX: u32 = 200;

/// What open handoffs may take of a page with entries.
const HANDOFFS_CHARS_MAX: usize = 14_000;

/// How much of a long ask is shown, in characters. `handoff_id` reads more of it; an entry that is
/// too long for a page has the cursor that reads all.
const ASK_CHARS: usize = 200;

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
    scope: Option<argument::ContextScope>,
}

pub(super) fn definition() -> Definition {
    Definition {
        description: "Read the shared record and open handoffs: summary (messages, notes, \
                      results), recent (every entry), raw; resume: your work as \
                      recorded; instructions: rules not read. cursor goes back; \
                      handoff_id reads that one. Use it first in a new session or after compaction."
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

    /// What has to be given again with a cursor of it.
    fn again(&self) -> Option<&'static str> {
        match (&self.handoff_id, self.all_pairs) {
            (Some(_), _) => Some("Give the same handoff_id with it."),
            (None, true) => Some("Give the same scope with it."),
            (None, false) => None,
        }
    }

    /// How to read on, in words.
    fn way_on(&self, what: &str, cursor: Option<&str>) -> Vec<String> {
        let Some(cursor) = cursor else {
            return Vec::new();
        };
        let way = format!("{what}: read_context with cursor {cursor}.");
        let again = self.again().map(str::to_owned);
        std::iter::once(way).chain(again).collect()
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

async fn entries(
    call: &ToolCall,
    ask: &Ask,
    limit: u32,
    record: Option<String>,
) -> Result<ToolResult, Refusal> {
    let mut limit = limit;
    for _ in 0..SHRINKS_MAX {
        let mut page = ask.page(call, limit, record.clone()).await?;
        let handoffs = Handoffs::of(&page.open_handoffs, 0, HANDOFFS_CHARS_MAX);
        let free = PAGE_CHARS_MAX.saturating_sub(handoffs.cost);
        for entry in &mut page.entries {
            if is_cut(entry) || entry_cost(entry) > free {
                *entry = beginning(entry);
            }
        }
        let count = page.entries.len();
        // A page without an entry would go on where it began.
        let fit = fitting(&page.entries, free).max(1);
        if fit >= count.min(limit as usize) {
            // The handoff that is asked for may stand before those that count: it comes again.
            page.entries.drain(..count.saturating_sub(fit));
            return Ok(answer(ask, page, handoffs));
        }
        limit = u32::try_from(fit).unwrap_or(1);
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
    lines.extend(ask.way_on("More open handoffs", handoffs.cursor.as_deref()));
    lines.extend(ask.way_on("Older entries", page.cursor.as_deref()));
    let goes_on = handoffs.cursor.is_some() || page.cursor.is_some();
    ToolResult::new(
        json!({
            "entries": page.entries,
            "open_handoffs": handoffs.shown,
            "open_handoffs_total": page.open_handoffs.len(),
            "handoffs_cursor": handoffs.cursor,
            "cursor": page.cursor,
            "with_cursor": ask.again().filter(|_| goes_on),
        }),
        lines.join("\n"),
    )
    .leaving_out(page.unread_lines)
}

/// Only open handoffs, from this one on.
async fn handoffs(call: &ToolCall, ask: &Ask, from: usize) -> Result<ToolResult, Refusal> {
    let page = ask.page(call, 1, None).await?;
    let handoffs = Handoffs::of(&page.open_handoffs, from, PAGE_CHARS_MAX);
    let mut lines = handoffs.lines;
    if lines.is_empty() {
        lines.push("No more open handoffs.".to_owned());
    }
    lines.extend(ask.way_on("More", handoffs.cursor.as_deref()));
    Ok(ToolResult::new(
        json!({
            "open_handoffs": handoffs.shown,
            "open_handoffs_total": page.open_handoffs.len(),
            "handoffs_cursor": handoffs.cursor,
            "with_cursor": ask.again().filter(|_| handoffs.cursor.is_some()),
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

/// Every text of a handoff cut to its beginning; its id is the way to more.
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

/// How many of the newest entries fit.
fn fitting(entries: &[Value], free: usize) -> usize {
    let mut free = free;
    entries
        .iter()
        .rev()
        .take_while(|entry| {
            let cost = entry_cost(entry);
            let fits = cost <= free;
            free = free.saturating_sub(cost);
            fits
        })
        .count()
}

/// The raw line is the longer one, whatever the view: a line break is one of three characters in it,
/// and in the other one of two with what indents behind it.
fn entry_cost(entry: &Value) -> usize {
    2 * escaped_chars(&entry.to_string()) + 4
}
