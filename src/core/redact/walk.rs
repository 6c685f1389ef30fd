//! The walk over a ledger line: every string, every key, and what a key says of its value.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::assign::{flag_class, is_secret_pair};
use super::mark::mark;
use super::name::classify;
use super::value::is_placeholder;
use super::{ROUNDS_MAX, RuleSet};
use crate::entry::{ANSWERED_TURN, SENT_AGAIN};

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

/// What the protocol's readers need as it is, in the fields of a line: ids, names of parties, words
/// of a closed set. Only the built-in rules look at it: an expression of a project that happens to
/// match there would cut messages from their deliveries. `*` stands for all fields of an object
/// but those that follow with `!`.
const STRUCTURE: [(&str, &[&str]); 13] = [
    ("source", &[]),
    ("target", &[]),
    ("handles_handoff_id", &[]),
    ("handles_handoff_ids", &[]),
    ("noteKind", &[]),
    ("predecessor", &["*"]),
    ("message", &["*"]),
    ("handoff", &["from", "to", "onBusy", "next_speaker"]),
    ("artifact", &["status"]),
    ("finality", &["proposalId", "tree"]),
    ("error", &["code"]),
    ("runtimeEvent", &["*", "!title", "!detail", "!why"]),
    (CARRIED, &["*", "!held"]),
];

/// The field of `meta` by which an entry goes on that was carried over: its turns, sessions and pairs,
/// and the names of files.
const CARRIED: &str = "carriedFrom";

/// The fields of `meta` that are none of its writer's business.
const META: (&str, &[&str]) = (
    "meta",
    &[
        "runtimeSessionId",
        "task",
        "taskOnly",
        ANSWERED_TURN,
        SENT_AGAIN,
    ],
);

/// The longest key that is taken for a name of somebody's program. Such keys are what readers look
/// for, so that a project's own rules leave them.
const NAME_MAX: usize = 32;

/// Deeper values than this are not descended into but replaced: no honest entry is so deep, and
/// no reader would take it.
const DEPTH_MAX: usize = 100;

pub(super) fn entry(rules: &RuleSet, line: &mut Value) -> u32 {
    let Value::Object(object) = line else {
        return value(rules, line, 0, Reach::All);
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
            marks += top(rules, key, field);
        }
    }
    marks + keys(rules, object, &PROTOCOL)
}

/// A field of the line itself.
fn top(rules: &RuleSet, key: &str, found: &mut Value) -> u32 {
    let Value::Object(object) = found else {
        return value(rules, found, 1, reach(key, None));
    };
    let mut marks = named(rules, object);
    for (name, field) in object.iter_mut() {
        marks += match (key, name.as_str()) {
            ("meta", CARRIED) => top(rules, CARRIED, field),
            _ => value(rules, field, 2, reach(key, Some(name))),
        };
    }
    marks + keys(rules, object, &[])
}

/// Which rules look at a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// All of them.
    All,
    /// Not the project's own.
    BuiltIn,
}

fn reach(key: &str, field: Option<&str>) -> Reach {
    let is_structure = match (STRUCTURE.iter().find(|(name, _)| *name == key), field) {
        (None, field) => META.0 == key && field.is_some_and(|field| META.1.contains(&field)),
        (Some((_, fields)), None) => fields.is_empty(),
        (Some((_, fields)), Some(field)) => {
            let is_exempt = fields
                .iter()
                .any(|name| name.strip_prefix('!') == Some(field));
            !is_exempt && fields.iter().any(|name| *name == "*" || *name == field)
        }
    };
    if is_structure {
        Reach::BuiltIn
    } else {
        Reach::All
    }
}

fn value(rules: &RuleSet, found: &mut Value, depth: usize, reach: Reach) -> u32 {
    match found {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => string(rules, text, reach),
        _ if depth >= DEPTH_MAX => {
            *found = Value::String(mark("TOO_DEEP"));
            1
        }
        Value::Array(items) => array(rules, items, depth, reach),
        Value::Object(object) => {
            let mut marks = named(rules, object);
            for field in object.values_mut() {
                marks += value(rules, field, depth + 1, reach);
            }
            marks + keys(rules, object, &[])
        }
    }
}

fn string(rules: &RuleSet, text: &mut String, reach: Reach) -> u32 {
    let (masked, marks) = rules.redact_text(text, reach);
    if marks > 0 {
        *text = masked.into_owned();
    }
    marks
}

/// A list: each item for itself, and what stands after a flag such as `--token`.
fn array(rules: &RuleSet, items: &mut [Value], depth: usize, reach: Reach) -> u32 {
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
        marks += value(rules, item, depth + 1, reach);
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

fn key_reach(key: &str) -> Reach {
    let is_name = key.len() <= NAME_MAX
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    if is_name { Reach::BuiltIn } else { Reach::All }
}

/// Masks secrets that are keys. Keeps the order, and every value: two keys that become the same
/// mark are told apart by a number.
fn keys(rules: &RuleSet, object: &mut Map<String, Value>, keep: &[&str]) -> u32 {
    let hit = |key: &String| {
        !keep.contains(&key.as_str()) && rules.redact_text(key, key_reach(key)).1 > 0
    };
    if !object.keys().any(hit) {
        return 0;
    }
    let mut marks = 0;
    let mut renamed = Map::with_capacity(object.len());
    // Where the next search begins: thousands of keys may become the same mark.
    let mut numbers: HashMap<String, usize> = HashMap::new();
    for (key, field) in std::mem::take(object) {
        let (masked, set) = if keep.contains(&key.as_str()) {
            (key.clone(), 0)
        } else {
            let (masked, set) = rules.redact_text(&key, key_reach(&key));
            (masked.into_owned(), set)
        };
        marks += set;
        let mut name = masked.clone();
        while renamed.contains_key(&name) {
            let number = numbers.entry(masked.clone()).or_insert(1);
            *number += 1;
            name = format!("{masked} {number}");
        }
        renamed.insert(name, field);
    }
    *object = renamed;
    marks
}
