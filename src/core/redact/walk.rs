//! The walk over a ledger line: every string, every key, and what a key says of its value.

use serde_json::{Map, Value};

use super::assign::{flag_class, is_secret_pair};
use super::mark::mark;
use super::name::classify;
use super::value::is_placeholder;
use super::{ROUNDS_MAX, RuleSet};

/// What the protocol itself puts on a line. Made by us or, in `type`, one of our words; a mask
/// there would only break references and the chain.
const PROTOCOL: [&str; 8] = [
    "schema",
    "id",
    "timestamp",
    "sessionId",
    "type",
    "seq",
    "prev",
    "hash",
];

/// Deeper values than this are not descended into but replaced: no honest entry is so deep, and
/// no reader would take it.
const DEPTH_MAX: usize = 100;

pub(super) fn entry(rules: &RuleSet, line: &mut Value) -> u32 {
    let Value::Object(object) = line else {
        return value(rules, line, 0);
    };
    // Again after a find: a mark in a value may change what its name makes of it.
    let mut marks = 0;
    for _ in 0..ROUNDS_MAX {
        let set = pass(rules, object);
        if set == 0 {
            break;
        }
        marks += set;
    }
    if marks > 0 {
        let meta = object
            .entry("meta")
            .or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(meta) = meta {
            meta.insert("redacted".to_owned(), Value::Bool(true));
        }
    }
    marks
}

fn pass(rules: &RuleSet, object: &mut Map<String, Value>) -> u32 {
    let mut marks = 0;
    for (key, field) in object.iter_mut() {
        if !PROTOCOL.contains(&key.as_str()) {
            marks += value(rules, field, 1);
        }
    }
    marks + keys(rules, object, &PROTOCOL)
}

fn value(rules: &RuleSet, found: &mut Value, depth: usize) -> u32 {
    match found {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => string(rules, text),
        _ if depth >= DEPTH_MAX => {
            *found = Value::String(mark("TOO_DEEP"));
            1
        }
        Value::Array(items) => array(rules, items, depth),
        Value::Object(object) => {
            let mut marks = named(rules, object);
            for field in object.values_mut() {
                marks += value(rules, field, depth + 1);
            }
            marks + keys(rules, object, &[])
        }
    }
}

fn string(rules: &RuleSet, text: &mut String) -> u32 {
    let (masked, marks) = rules.redact_text(text);
    if marks > 0 {
        *text = masked.into_owned();
    }
    marks
}

/// A list: each item for itself, and what stands after a flag such as `--token`.
fn array(rules: &RuleSet, items: &mut [Value], depth: usize) -> u32 {
    let mut marks = 0;
    let mut flagged = None;
    for item in items {
        let class = flagged.take();
        if let Value::String(text) = item {
            flagged = flag_class(text);
            if let Some(class) = class
                && !text.starts_with('-')
                && !is_placeholder(text)
                && !rules.own.allow().has(text, 0..text.len())
            {
                *text = mark(class.mark());
                marks += 1;
            }
        }
        marks += value(rules, item, depth + 1);
    }
    marks
}

/// Masks what keys say of their values: `{"password": "x"}`, `{"tokens": …}` not, and
/// `{"name": "DB_PASSWORD", "value": "x"}`.
fn named(rules: &RuleSet, object: &mut Map<String, Value>) -> u32 {
    let mut marks = 0;
    for (key, field) in object.iter_mut() {
        match field {
            Value::String(text) => marks += mask_pair(rules, key, text),
            Value::Array(items) if classify(key).is_some() => {
                for item in items {
                    if let Value::String(text) = item {
                        marks += mask_pair(rules, key, text);
                    }
                }
            }
            _ => {}
        }
    }
    let name = ["name", "key"]
        .iter()
        .find_map(|name| object.get(*name).and_then(Value::as_str))
        .filter(|name| classify(name).is_some())
        .map(str::to_owned);
    if let Some(name) = name
        && let Some(Value::String(text)) = object.get_mut("value")
    {
        marks += mask_pair(rules, &name, text);
    }
    marks
}

fn mask_pair(rules: &RuleSet, name: &str, text: &mut String) -> u32 {
    match is_secret_pair(name, text) {
        Some(class) if !rules.own.allow().has(text, 0..text.len()) => {
            *text = mark(class.mark());
            1
        }
        _ => 0,
    }
}

/// Masks secrets that are keys. Keeps the order, and every value: two keys that become the same
/// mark are told apart by a number.
fn keys(rules: &RuleSet, object: &mut Map<String, Value>, keep: &[&str]) -> u32 {
    let hit = |key: &String| !keep.contains(&key.as_str()) && rules.redact_text(key).1 > 0;
    if !object.keys().any(hit) {
        return 0;
    }
    let mut marks = 0;
    let mut renamed = Map::with_capacity(object.len());
    for (key, field) in std::mem::take(object) {
        let (masked, set) = if keep.contains(&key.as_str()) {
            (key.clone(), 0)
        } else {
            let (masked, set) = rules.redact_text(&key);
            (masked.into_owned(), set)
        };
        marks += set;
        let mut name = masked.clone();
        let mut number = 2;
        while renamed.contains_key(&name) {
            name = format!("{masked} {number}");
            number += 1;
        }
        renamed.insert(name, field);
    }
    *object = renamed;
    marks
}
