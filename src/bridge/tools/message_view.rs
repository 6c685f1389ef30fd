//! [`MessageView`]: a page of messages as a tool's result shows it. The daemon has cut the page to
//! fit; nothing is left out here.

use serde_json::{Map, Value, json};

use crate::core::id::EntryId;
use crate::core::trace;
use crate::wire::control::MailMessage;

/// Messages as a result shows them.
#[derive(Debug)]
pub(super) struct MessageView {
    /// In the order of the page.
    pub(super) messages: Vec<Value>,
    /// Shown to their last character.
    pub(super) handed: Vec<EntryId>,
    texts: Vec<String>,
}

impl MessageView {
    /// Shows all of them.
    pub(super) fn of(messages: &[MailMessage]) -> Self {
        let ends = messages
            .iter()
            .filter(|message| message.part.is_none_or(|part| part.to == part.total));
        for message in messages {
            trace::message(&message.message_id).in_scope(|| tracing::debug!("fetched"));
        }
        Self {
            messages: messages.iter().map(fields).collect(),
            handed: ends.map(|message| message.message_id.clone()).collect(),
            texts: messages.iter().map(text).collect(),
        }
    }

    /// All of it as text.
    pub(super) fn text(&self) -> String {
        self.texts.join("\n\n")
    }
}

/// The text stands in its envelope, with all else that the sender wrote.
fn text(message: &MailMessage) -> String {
    match message.part {
        None => message.text.clone(),
        Some(part) => format!(
            "(characters {} to {} of {} of {})\n{}",
            part.from, part.to, part.total, message.message_id, message.text
        ),
    }
}

/// The text, and what is short about a message; absent means no.
fn fields(message: &MailMessage) -> Value {
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
    put("text", json!(message.text));
    if let Some(part) = message.part {
        put("part", json!(part));
    }
    Value::Object(fields)
}
