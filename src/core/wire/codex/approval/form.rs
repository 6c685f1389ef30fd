//! [`ElicitationForm`]: what an MCP server wants to know, as far as one choice can answer it.

use serde_json::{Value, json};

use super::cut;

/// The most choices of a form: more are a list to fill in, and nothing that one picks at a glance.
const CHOICES_MAX: usize = 7;

/// The most that a choice says, in characters.
const LABEL_CHARS_MAX: usize = 300;

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
    pub(super) fn of(schema: Option<&Value>) -> Self {
        let Some(fields) = schema.map(|it| &it["properties"]) else {
            return Self::Empty;
        };
        let mut named = match fields {
            Value::Null => return Self::Empty,
            Value::Object(fields) => fields.iter(),
            _ => return Self::Other,
        };
        let (Some((name, field)), None) = (named.next(), named.next()) else {
            return match fields.as_object().is_some_and(serde_json::Map::is_empty) {
                true => Self::Empty,
                false => Self::Other,
            };
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
        cut(title.unwrap_or_default().to_owned(), LABEL_CHARS_MAX)
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
