//! Members of a JSON object, taken where they have the expected type.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::super::{HANDLES, HANDLES_ONE};
use crate::id::EntryId;

pub(super) fn take_handles(line: &mut Map<String, Value>) -> Vec<EntryId> {
    let one = take_text(line, HANDLES_ONE).map(EntryId::new);
    let mut all = ids(line.shift_remove(HANDLES));
    if let Some(one) = one
        && !one.as_str().is_empty()
        && !all.contains(&one)
    {
        all.push(one);
    }
    all
}

pub(super) fn ids(value: Option<Value>) -> Vec<EntryId> {
    let Some(Value::Array(values)) = value else {
        return Vec::new();
    };
    values
        .into_iter()
        .filter_map(|value| match value {
            Value::String(id) if !id.is_empty() => Some(EntryId::new(id)),
            _ => None,
        })
        .collect()
}

pub(super) fn take<T: DeserializeOwned>(object: &mut Map<String, Value>, key: &str) -> Option<T> {
    object.shift_remove(key).and_then(as_type)
}

/// As [`take`], and leaves it there.
pub(super) fn get<'a, T: Deserialize<'a>>(object: &'a Map<String, Value>, key: &str) -> Option<T> {
    object.get(key).and_then(like)
}

pub(super) fn like<'a, T: Deserialize<'a>>(value: &'a Value) -> Option<T> {
    T::deserialize(value).ok()
}

pub(super) fn as_type<T: DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}

pub(super) fn take_text(object: &mut Map<String, Value>, key: &str) -> Option<String> {
    text(object.shift_remove(key))
}

pub(super) fn text(value: Option<Value>) -> Option<String> {
    match value {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

pub(super) fn take_texts(object: &mut Map<String, Value>, key: &str) -> Vec<String> {
    match object.shift_remove(key) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(values)) => values.into_iter().map(readable).collect(),
        Some(value) => vec![readable(value)],
    }
}

pub(super) fn take_object(line: &mut Map<String, Value>, key: &str) -> Map<String, Value> {
    object(line.shift_remove(key))
}

pub(super) fn object(value: Option<Value>) -> Map<String, Value> {
    match value {
        Some(Value::Object(object)) => object,
        _ => Map::new(),
    }
}

pub(super) fn readable(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Null => String::new(),
        value => value.to_string(),
    }
}
