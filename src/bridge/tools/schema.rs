//! JSON schemas of arguments, kept as short as possible: both agents pay for every character of
//! them in every request.

use serde_json::{Map, Value, json};

/// An object with these properties and no others.
pub(super) fn object<const N: usize>(
    required: &[&str],
    properties: [(&str, Value); N],
) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    let properties = properties
        .into_iter()
        .map(|(name, property)| (name.to_owned(), property))
        .collect();
    schema.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}

/// Any text.
pub(super) fn string() -> Value {
    json!({"type": "string"})
}

/// A text with a word about it.
pub(super) fn string_about(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

/// One of these words.
pub(super) fn one_of(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

/// Texts.
pub(super) fn strings() -> Value {
    json!({"type": "array", "items": {"type": "string"}})
}

/// Texts with a word about them.
pub(super) fn strings_about(description: &str) -> Value {
    json!({"type": "array", "items": {"type": "string"}, "description": description})
}

/// Yes or no.
pub(super) fn boolean_about(description: &str) -> Value {
    json!({"type": "boolean", "description": description})
}

/// A number within bounds.
pub(super) fn integer(minimum: u64, maximum: u64) -> Value {
    json!({"type": "integer", "minimum": minimum, "maximum": maximum})
}
