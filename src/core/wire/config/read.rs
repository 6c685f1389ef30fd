//! [`read`]: a file's JSON as a [`Config`]. One wrong value never costs more than itself.

use serde_json::{Map, Value};

use super::gate_list::{GateList, UnreadableGate};
use super::keys::{Allowed, Config};
use super::schema::schema;
use crate::cut_text::cut_text;
use crate::redact::OwnRules;

/// The key of the gates, of which no entry is left out.
const GATES: &str = "gates";

/// How much of a rule's name is told, in characters.
const NAME_CHARS_MAX: usize = 40;

/// How much of an unknown key is told, in characters: a file can have any.
const KEY_CHARS_MAX: usize = 120;

/// How many problems are told where there are many.
const TOLD_MAX: usize = 5;

/// What is wrong with one key. Names the key and never its value: that may be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The key, dotted: `redaction.rules[2]`; empty for the file as a whole.
    pub key: String,
    /// What is wrong, as a fragment.
    pub why: String,
}

impl Problem {
    /// Of a key that means nothing here.
    pub fn unknown(key: &str) -> Self {
        Self {
            key: cut_text(key, KEY_CHARS_MAX).into_owned(),
            why: "no such key is known, so it does nothing".to_owned(),
        }
    }

    /// The first of them in words, and how many more there are.
    pub fn told<'a>(problems: impl IntoIterator<Item = &'a Self>) -> Vec<String> {
        let mut problems = problems.into_iter();
        let first = problems.by_ref().take(TOLD_MAX);
        let mut told: Vec<String> = first.map(ToString::to_string).collect();
        match problems.count() {
            0 => {}
            more => told.push(format!("and {more} more")),
        }
        told
    }

    /// Whether it is about this key, or something below it.
    pub fn is_within(&self, key: &str) -> bool {
        let rest = self.key.strip_prefix(key);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[', ' ']))
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.key.as_str() {
            "" => f.write_str(&self.why),
            key => write!(f, "{key}: {}", self.why),
        }
    }
}

/// Takes every key that has a value of its type, and the default for every other.
pub fn read(file: &Map<String, Value>) -> (Config, Vec<Problem>) {
    // The file is laid over the defaults value by value, so that each is judged by itself.
    let mut accepted = serde_json::to_value(Config::default()).unwrap_or_default();
    let mut problems = Vec::new();
    lay_over(&mut accepted, &mut Vec::new(), file, &mut problems);
    let mut config: Config = serde_json::from_value(accepted).unwrap_or_default();
    if let Some(gates) = file.get(GATES) {
        let gates = GateList::read(gates);
        problems.extend(gates.unreadable.iter().map(unreadable));
        config.set_gates(gates);
    }
    (config, problems)
}

fn lay_over(
    root: &mut Value,
    path: &mut Vec<String>,
    file: &Map<String, Value>,
    problems: &mut Vec<Problem>,
) {
    let known: Vec<String> = at(root, path)
        .as_object()
        .map(|group| group.keys().cloned().collect())
        .unwrap_or_default();
    for key in known {
        if path.is_empty() && key == GATES {
            continue;
        }
        let Some(found) = file.get(&key) else {
            continue;
        };
        path.push(key);
        match (&*at(root, path), found) {
            (Value::Object(_), Value::Object(group)) => lay_over(root, path, group, problems),
            // A list would pass for a group, with its items as values of the keys in turn.
            (Value::Object(_), _) => problems.push(wrong(&path.join("."))),
            (Value::Array(_), Value::Array(items)) => {
                for (number, item) in items.iter().enumerate() {
                    let mut longer = at(root, path).clone();
                    if let Value::Array(list) = &mut longer {
                        list.push(item.clone());
                    }
                    if !take(root, path, longer) {
                        problems.push(wrong(&format!("{}[{number}]", path.join("."))));
                    }
                }
            }
            _ => {
                if !take(root, path, found.clone()) {
                    problems.push(wrong(&path.join(".")));
                }
            }
        }
        path.pop();
    }
}

/// An entry of the gates that is none is not ignored: once trusted it counts as a gate.
fn unreadable(gate: &UnreadableGate) -> Problem {
    let then = match gate.required {
        true => "so this gate can never be green, and nothing is approved with it",
        false => "so this gate never runs",
    };
    Problem {
        key: gate.key.clone(),
        why: format!("{}, {then}", gate.why),
    }
}

fn at<'a>(root: &'a mut Value, path: &[String]) -> &'a mut Value {
    path.iter()
        .fold(root, |value, key| &mut value[key.as_str()])
}

/// Puts a value in if the whole is still a configuration.
fn take(root: &mut Value, path: &[String], value: Value) -> bool {
    let before = std::mem::replace(at(root, path), value);
    let fits = serde_json::from_value::<Config>(root.clone()).is_ok();
    if !fits {
        *at(root, path) = before;
    }
    fits
}

fn wrong(key: &str) -> Problem {
    let why = match wanted(key) {
        Some(wanted) => format!("it has to be {wanted}, so it is ignored"),
        None => "it is no value that `ctxrelay config schema` allows, so it is ignored".to_owned(),
    };
    Problem {
        key: key.to_owned(),
        why,
    }
}

/// What the schema allows at a key, in words.
fn wanted(key: &str) -> Option<String> {
    let schema = schema();
    let mut found = &schema;
    for part in key.split('.') {
        found = match part.split_once('[') {
            Some((list, _)) => &resolve(&schema, &found["properties"][list])["items"],
            None => &found["properties"][part],
        };
        found = resolve(&schema, found);
    }
    if let Some(words) = found["enum"].as_array() {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        return Some(format!("one of {}", words.join(", ")));
    }
    match (
        found["type"].as_str()?,
        &found["minimum"],
        &found["maximum"],
    ) {
        ("integer", Value::Number(min), Value::Number(max)) => {
            Some(format!("a whole number from {min} to {max}"))
        }
        ("integer", ..) => Some("a whole number".to_owned()),
        ("boolean", ..) => Some("true or false".to_owned()),
        ("string", ..) => Some("a text".to_owned()),
        ("array", ..) => Some("a list".to_owned()),
        ("object", ..) => match found["required"].as_array() {
            Some(keys) => {
                let keys: Vec<&str> = keys.iter().filter_map(Value::as_str).collect();
                Some(format!("a group with {}", keys.join(" and ")))
            }
            None => Some("a group of keys".to_owned()),
        },
        _ => None,
    }
}

/// Follows `$ref` to its definition.
fn resolve<'a>(schema: &'a Value, found: &'a Value) -> &'a Value {
    found["$ref"]
        .as_str()
        .and_then(|path| schema.pointer(path.strip_prefix('#')?))
        .unwrap_or(found)
}

/// The keys that mean nothing here and are not kept for another version either, dotted: most often
/// ones that are not spelled right. What is no plain word is quoted, so that `"permissions.git"` is not
/// taken for the key `git` of `permissions`.
pub fn unknown_keys(file: &Map<String, Value>) -> Vec<String> {
    let schema = schema();
    let mut unknown = Vec::new();
    let file = file.iter().filter(|(key, _)| *key != "$schema");
    for (key, value) in file {
        match schema["properties"].get(key) {
            Some(known) => find_unknown(&mut unknown, key, value, known, &schema),
            None => unknown.push(as_part(key)),
        }
    }
    unknown
}

/// A key of the file as one part of a dotted key.
fn as_part(key: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-$".contains(letter);
    match !key.is_empty() && key.chars().all(is_plain) {
        true => key.to_owned(),
        false => format!("{key:?}"),
    }
}

/// `known`: what the schema says of the value at `path`.
fn find_unknown(
    unknown: &mut Vec<String>,
    path: &str,
    value: &Value,
    known: &Value,
    schema: &Value,
) {
    let known = resolve(schema, known);
    match value {
        Value::Object(group) => {
            let Some(properties) = known["properties"].as_object() else {
                return;
            };
            for (key, value) in group {
                let path = format!("{path}.{}", as_part(key));
                match properties.get(key) {
                    Some(known) => find_unknown(unknown, &path, value, known, schema),
                    None => unknown.push(path),
                }
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                let path = format!("{path}[{number}]");
                find_unknown(unknown, &path, item, &known["items"], schema);
            }
        }
        _ => {}
    }
}

/// The rules of a configuration, ready to be used, and what is wrong with them.
pub fn own_rules(config: &Config) -> (OwnRules, Vec<Problem>) {
    let mut rules = OwnRules::default();
    let mut problems = Vec::new();
    let mut note = |key: String, done: Result<(), crate::redact::BadRule>| {
        if let Err(bad) = done {
            let why = format!("{bad}, so it is ignored");
            problems.push(Problem { key, why });
        }
    };
    for rule in &config.redaction.rules {
        let done = rules.add_rule(&rule.name, &rule.pattern);
        // A name may be anything until it was looked at.
        let name: String = rule.name.chars().take(NAME_CHARS_MAX).collect();
        note(format!("redaction.rules {name:?}"), done);
    }
    for (number, allowed) in config.redaction.allow.iter().enumerate() {
        let done = match allowed {
            Allowed::Text(text) => rules.allow_text(text),
            Allowed::Pattern { pattern } => rules.allow_pattern(pattern),
        };
        note(format!("redaction.allow[{number}]"), done);
    }
    (rules, problems)
}

/// The keys whose values differ, dotted: of two files, or of two configurations.
pub fn changed_keys(before: &Map<String, Value>, after: &Map<String, Value>) -> Vec<String> {
    let mut changed = Vec::new();
    compare(&mut changed, "", before, after);
    changed
}

fn compare(
    changed: &mut Vec<String>,
    prefix: &str,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) {
    let new = after.keys().filter(|key| !before.contains_key(*key));
    for key in before.keys().chain(new) {
        let name = format!("{prefix}{key}");
        match (before.get(key), after.get(key)) {
            (one, other) if one == other => {}
            (Some(Value::Object(one)), Some(Value::Object(other))) => {
                compare(changed, &format!("{name}."), one, other);
            }
            _ => changed.push(name),
        }
    }
}
