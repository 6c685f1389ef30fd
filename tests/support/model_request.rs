//! `ModelRequest`: one request of an agent to its model, in terms that both services share, and the
//! conditions of rules. It knows neither service's wire format.

use std::collections::BTreeMap;

use serde_json::Value;

/// Whose words a piece of input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The user role: the human, an injected turn, a doorbell.
    User,
    /// The system or developer role: instructions, hook context, a doorbell that came mid-turn.
    System,
    /// The output of a tool call.
    Tool,
}

/// One piece of input text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    pub from: Speaker,
    pub text: String,
}

/// Requests that are not a step of the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Codex's TUI asks for a title of the thread, on a helper thread.
    Title,
    /// The agent asks for a summary of its context.
    Compaction,
}

/// One recorded request to the model.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// 1 for the first step of any conversation on this server; side requests are counted apart.
    pub number: usize,
    pub side: Option<Side>,
    /// Codex's thread id, or Claude's session id.
    pub conversation: Option<String>,
    /// Codex's turn id.
    pub turn: Option<String>,
    /// What is new since the model's last output, in order.
    pub fresh: Vec<Input>,
    /// The names of the tools that are offered, as the wire has them.
    pub tools: Vec<String>,
    pub headers: BTreeMap<String, String>,
    pub body: Value,
}

impl ModelRequest {
    /// The new user-role texts, joined by newlines.
    pub fn user_text(&self) -> String {
        self.fresh_of(Speaker::User)
    }

    /// The new tool outputs, joined by newlines.
    pub fn tool_text(&self) -> String {
        self.fresh_of(Speaker::Tool)
    }

    /// The new system or developer texts, joined by newlines.
    pub fn system_text(&self) -> String {
        self.fresh_of(Speaker::System)
    }

    /// The last piece of input, whoever said it.
    pub fn last_text(&self) -> &str {
        self.fresh.last().map_or("", |input| &input.text)
    }

    /// Whether a text stands anywhere in the request, history and instructions included.
    pub fn mentions(&self, needle: &str) -> bool {
        any_string(&self.body, &mut |text| text.contains(needle))
    }

    /// How many strings of the whole request hold `needle`: the number of times the model sees it.
    pub fn count_of(&self, needle: &str) -> usize {
        let mut count = 0;
        any_string(&self.body, &mut |text| {
            count += text.matches(needle).count();
            false
        });
        count
    }

    /// Whether this is a step of a conversation, not a side request.
    pub fn is_step(&self) -> bool {
        self.side.is_none()
    }

    /// One line for failure messages.
    pub fn summary(&self) -> String {
        let fresh: Vec<String> = self
            .fresh
            .iter()
            .filter(|input| input.from != Speaker::System)
            .map(|input| {
                format!(
                    "{:?} {:?}",
                    input.from,
                    input.text.chars().take(160).collect::<String>()
                )
            })
            .collect();
        format!(
            "#{} side={:?} conversation={:?} fresh=[{}]",
            self.number,
            self.side,
            self.conversation,
            fresh.join(" | ")
        )
    }

    fn fresh_of(&self, from: Speaker) -> String {
        let texts: Vec<&str> = self
            .fresh
            .iter()
            .filter(|input| input.from == from)
            .map(|input| input.text.as_str())
            .collect();
        texts.join("\n")
    }
}

/// New user text holds `needle` (a human's prompt, an injected turn, an idle doorbell).
pub fn says(needle: &str) -> impl Fn(&ModelRequest) -> bool + Send + 'static {
    let needle = needle.to_owned();
    move |request| request.user_text().contains(&needle)
}

/// A new tool output holds `needle`.
pub fn tool_said(needle: &str) -> impl Fn(&ModelRequest) -> bool + Send + 'static {
    let needle = needle.to_owned();
    move |request| request.tool_text().contains(&needle)
}

/// Any new input holds `needle`, whoever said it (a doorbell mid-turn has the system role).
pub fn hears(needle: &str) -> impl Fn(&ModelRequest) -> bool + Send + 'static {
    let needle = needle.to_owned();
    move |request| {
        request
            .fresh
            .iter()
            .any(|input| input.text.contains(&needle))
    }
}

/// The last piece of input holds `needle`.
pub fn last_says(needle: &str) -> impl Fn(&ModelRequest) -> bool + Send + 'static {
    let needle = needle.to_owned();
    move |request| request.last_text().contains(&needle)
}

/// `needle` stands anywhere in the request.
pub fn mentions(needle: &str) -> impl Fn(&ModelRequest) -> bool + Send + 'static {
    let needle = needle.to_owned();
    move |request| request.mentions(&needle)
}

/// The `number`th step of a conversation on this server, from 1.
pub fn step(number: usize) -> impl Fn(&ModelRequest) -> bool + Send + 'static {
    move |request| request.number == number
}

/// Every step of a conversation.
pub fn always() -> impl Fn(&ModelRequest) -> bool + Send + 'static {
    |_| true
}

fn any_string(value: &Value, found: &mut impl FnMut(&str) -> bool) -> bool {
    match value {
        Value::String(text) => found(text),
        Value::Array(items) => items.iter().any(|item| any_string(item, found)),
        Value::Object(fields) => fields.values().any(|field| any_string(field, found)),
        _ => false,
    }
}
