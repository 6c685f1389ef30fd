//! [`ElicitationForm`]: what an MCP server wants to know, as far as one choice can answer it.

use serde_json::{Value, json};

use crate::cut_text::cut_apart;

/// The most choices of a form: more are a list to fill in, and nothing that one picks at a glance.
const CHOICES_MAX: usize = 7;

/// The most that a choice says, in characters.
const LABEL_CHARS_MAX: usize = 300;

/// What a schema may have that asks for nothing.
const PLAIN_KEYS: [&str; 6] = [
    "$schema",
    "additionalProperties",
    "description",
    "properties",
    "title",
    "type",
];

/// The form of an elicitation (MCP 2025-06-18, `requestedSchema`).
#[derive(Debug, PartialEq)]
pub(super) enum ElicitationForm {
    /// Yes or no, and nothing to fill in.
    Empty,
    /// One field with few values.
    Choice {
        /// Its name in the answer.
        field: String,
        /// What it is about, in the server's words.
        about: String,
        /// Each value, and how a person reads it.
        values: Vec<(Value, String)>,
    },
    /// Anything else.
    Other,
}

impl ElicitationForm {
    /// Of an elicitation of this mode. Any mode but MCP's own form wants more than a yes: a proof of
    /// the device, for example (Codex 0.169.0, its schema).
    pub(super) fn of(mode: Option<&str>, schema: Option<&Value>) -> Self {
        if mode.is_some_and(|mode| mode != "form") {
            return Self::Other;
        }
        let Some(schema) = schema else {
            return Self::Empty;
        };
        if asks_for_nothing(schema) {
            return Self::Empty;
        }
        let fields = schema["properties"].as_object();
        let mut named = fields.into_iter().flatten();
        let (Some((name, field)), None) = (named.next(), named.next()) else {
            return Self::Other;
        };
        let values = values(field);
        if values.is_empty() || values.len() > CHOICES_MAX {
            return Self::Other;
        }
        let said = [&field["title"], &field["description"]];
        let said: Vec<&str> = said.into_iter().filter_map(Value::as_str).collect();
        Self::Choice {
            field: name.clone(),
            about: match said.is_empty() {
                true => name.clone(),
                false => said.join(": "),
            },
            values,
        }
    }
}

/// Whether nothing but an object without members is wanted.
fn asks_for_nothing(schema: &Value) -> bool {
    let Some(members) = schema.as_object() else {
        return false;
    };
    let has_fields = match &schema["properties"] {
        Value::Null => false,
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    };
    let is_plain = |(key, value): (&String, &Value)| match value {
        Value::Null => true,
        Value::Array(list) if key == "required" => list.is_empty(),
        _ => PLAIN_KEYS.contains(&key.as_str()),
    };
    schema["type"] == "object" && !has_fields && members.iter().all(is_plain)
}

/// What a field takes, where that is a list.
fn values(field: &Value) -> Vec<(Value, String)> {
    if field["type"] == "boolean" {
        return vec![
            (json!(true), "yes".to_owned()),
            (json!(false), "no".to_owned()),
        ];
    }
    if field["type"] != "string" {
        return Vec::new();
    }
    let list = |key: &str| field[key].as_array().map_or(&[][..], Vec::as_slice);
    let label = |title: Option<&Value>, value: &Value| {
        let title = title.and_then(Value::as_str).or_else(|| value.as_str());
        cut_apart(title.unwrap_or_default().to_owned(), LABEL_CHARS_MAX)
    };
    let titled = list("oneOf")
        .iter()
        .map(|it| (&it["const"], it.get("title")));
    let names = list("enumNames");
    let plain = list("enum").iter().enumerate();
    let plain = plain.map(|(at, value)| (value, names.get(at)));
    let all = titled.chain(plain);
    let all = all.filter(|(value, _)| value.is_string());
    all.map(|(value, title)| (value.clone(), label(title, value)))
        .collect()
}
