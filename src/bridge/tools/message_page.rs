//! [`MessagePages`]: as many messages as fit into one result, and the cursor to the rest.
//!
//! An agent always gets the whole text. A message that does not fit into a result of its own is
//! given in parts; it counts as handed over with its last part.

use serde_json::{Map, Value, json};

use super::answer::{PAGE_CHARS_MAX, escaped_chars, escaped_len, json_chars};
use super::argument::invalid;
use crate::core::id::{EntryId, Seq};
use crate::wire::control::{InboxMessage, Refusal};

/// What the fields around a part may take.
const PART_FIELDS_CHARS: usize = 2_000;

/// A place in an agent's messages.
///
/// `17` is after the message at seq 17; `17:400` is within it, 400 characters before its end.
/// Counted from the end because the wrapping at the head of a text tells its age and changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MessageCursor {
    seq: Seq,
    rest: Option<usize>,
}

impl MessageCursor {
    /// Reads a cursor of ours; a bare number is one too.
    pub(super) fn parse(text: &str) -> Result<Self, Refusal> {
        let wrong = || invalid("`after` is not a cursor of an earlier result");
        let (seq, rest) = match text.split_once(':') {
            Some((seq, rest)) => (seq, Some(rest.parse().map_err(|_| wrong())?)),
            None => (text, None),
        };
        let seq = Seq(seq.parse().map_err(|_| wrong())?);
        Ok(Self { seq, rest })
    }

    /// The place after which the daemon is asked.
    pub(super) fn after(self) -> Seq {
        match self.rest {
            Some(_) => Seq(self.seq.0.saturating_sub(1)),
            None => self.seq,
        }
    }
}

/// A result's worth of messages.
#[derive(Debug)]
pub(super) struct MessagePages {
    /// What is shown, oldest first.
    pub(super) messages: Vec<Value>,
    /// Go on from here; `None` when nothing is shown.
    pub(super) cursor: Option<String>,
    /// Something did not fit.
    pub(super) more: bool,
    /// Shown to their last character.
    pub(super) handed: Vec<EntryId>,
    texts: Vec<String>,
}

impl MessagePages {
    /// Shows as many as fit when something else takes `reserved` characters of the result.
    pub(super) fn of(
        messages: Vec<InboxMessage>,
        cursor: Option<MessageCursor>,
        reserved: usize,
    ) -> Self {
        let mut pages = Self {
            messages: Vec::new(),
            cursor: None,
            more: false,
            handed: Vec::new(),
            texts: Vec::new(),
        };
        let page = PAGE_CHARS_MAX.saturating_sub(reserved);
        let mut free = page;
        for message in messages {
            let rest = cursor
                .filter(|cursor| cursor.seq == message.seq)
                .and_then(|cursor| cursor.rest);
            if rest.is_none() {
                let (shown, text) = whole(&message);
                let cost = json_chars(&shown) + escaped_chars(&text) + 4;
                if cost <= free {
                    free -= cost;
                    pages.cursor = Some(message.seq.to_string());
                    pages.handed.push(message.message_id);
                    pages.messages.push(shown);
                    pages.texts.push(text);
                    continue;
                }
                if !pages.messages.is_empty() {
                    pages.more = true;
                    break;
                }
            }
            let part = Part::of(&message, rest, page);
            free = free.saturating_sub(part.cost());
            pages.messages.push(part.to_json(&message));
            pages.texts.push(part.to_text(&message));
            if part.left > 0 {
                pages.cursor = Some(format!("{}:{}", message.seq, part.left));
                pages.more = true;
                break;
            }
            pages.cursor = Some(message.seq.to_string());
            pages.handed.push(message.message_id);
        }
        pages
    }

    /// All of it as text.
    pub(super) fn text(&self) -> String {
        self.texts.join("\n\n")
    }
}

/// A stretch of a long message.
struct Part {
    chunk: String,
    from: usize,
    total: usize,
    left: usize,
}

impl Part {
    /// The stretch that begins `rest` characters before the end, or at the beginning.
    fn of(message: &InboxMessage, rest: Option<usize>, page: usize) -> Self {
        let body = &message.text;
        let total = body.chars().count();
        let from = rest.map_or(0, |rest| total.saturating_sub(rest));
        // Twice: in the structured result and in its text twin.
        let mut budget = page.saturating_sub(PART_FIELDS_CHARS) / 2;
        let chunk: String = body
            .chars()
            .skip(from)
            .take_while(|character| {
                let cost = escaped_len(*character);
                let fits = cost <= budget;
                budget = budget.saturating_sub(cost);
                fits
            })
            .collect();
        let left = total - from - chunk.chars().count();
        Self {
            chunk,
            from,
            total,
            left,
        }
    }

    fn cost(&self) -> usize {
        2 * escaped_chars(&self.chunk) + PART_FIELDS_CHARS
    }

    fn to_json(&self, message: &InboxMessage) -> Value {
        let mut shown = fields(message);
        shown.insert("text".to_owned(), json!(self.chunk));
        shown.insert(
            "part".to_owned(),
            json!({
                "from": self.from,
                "to": self.total - self.left,
                "total": self.total,
            }),
        );
        Value::Object(shown)
    }

    fn to_text(&self, message: &InboxMessage) -> String {
        format!(
            "(characters {} to {} of {} of {})\n{}",
            self.from,
            self.total - self.left,
            self.total,
            message.message_id,
            self.chunk
        )
    }
}

/// The text stands in its envelope, with all else that the sender wrote.
fn whole(message: &InboxMessage) -> (Value, String) {
    let mut shown = fields(message);
    shown.insert("text".to_owned(), json!(message.text));
    (Value::Object(shown), message.text.clone())
}

/// What is short about a message; absent means no.
fn fields(message: &InboxMessage) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("message_id", json!(message.message_id));
    put("seq", json!(message.seq));
    put("from", json!(message.from));
    put("kind", json!(message.kind));
    put("sent_at", json!(message.sent_at));
    put("age_s", json!(message.age_s));
    put("repeat", json!(message.repeat));
    if message.require_reply {
        put("require_reply", json!(true));
    }
    if let Some(id) = &message.in_reply_to {
        put("in_reply_to", json!(id));
    }
    if !message.handles.is_empty() {
        put("handles", json!(message.handles));
    }
    fields
}

#[cfg(test)]
mod tests;
