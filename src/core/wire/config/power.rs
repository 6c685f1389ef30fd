//! Keys with power: settings that an agent which can write `config.json` must not be able to
//! decide. They count only as the operator last trusted them; the trusted values are outside the
//! project.

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::extract_keys::ExtractKeys;
use super::gate_list::GateList;
use super::keys::Config;
use super::operator_keys::{OperatorKeys, SigningMode};
use super::policy::{set_policy, trusted_policy};
use super::read::read;
use super::sorted::sorted;
use crate::hex::hex;
use crate::managed_block::diff;

/// Whether a program of ours is put into Codex.
const CODEX_HOOK: &str = "continuity.codexHook";

/// The key of the model that is asked what an agent is at.
const EXTRACT: &str = "continuity.extract";

/// The keys with power, whether this version knows what to do with them or not: what is trusted
/// today is shown today.
const POWER_KEYS: [&str; 11] = [
    "gates",
    "collaboration.coordinator",
    "permissions",
    "finality",
    "redaction.allow",
    "autonomy",
    "notify",
    "headless",
    "operator",
    EXTRACT,
    CODEX_HOOK,
];

/// Those of them that this version acts upon.
const ACTS_UPON: [&str; 8] = [
    "redaction.allow",
    "gates",
    "collaboration.coordinator",
    "permissions",
    "finality",
    "operator",
    EXTRACT,
    CODEX_HOOK,
];

/// Whether a dotted key has power, or stands below one that has.
pub fn is_power_key(key: &str) -> bool {
    let mut below = POWER_KEYS
        .iter()
        .filter_map(|power| key.strip_prefix(power));
    below.any(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Keys of which less allows less, so that taking one away, or an entry of a list, needs no trust. A
/// gate that is taken away would allow more.
const LESS_IS_STRICTER: [&str; 3] = ["redaction.allow", EXTRACT, CODEX_HOOK];

/// A key whose value is not the one that was trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The key, dotted.
    pub key: String,
    /// What was trusted.
    pub trusted: Option<Value>,
    /// What the file says; `None` when it no longer says anything.
    pub found: Option<Value>,
}

impl Waiting {
    /// What differs from what was trusted, line by line; `true`: it is new.
    pub fn diff(&self) -> Vec<(bool, String)> {
        diff(&pretty(&self.trusted), &pretty(&self.found))
    }

    /// Whether this version would act differently if it were trusted.
    pub fn matters_now(&self) -> bool {
        ACTS_UPON.contains(&self.key.as_str())
    }
}

fn pretty(value: &Option<Value>) -> String {
    let text = value.as_ref().map(serde_json::to_string_pretty);
    text.and_then(Result::ok).unwrap_or_default()
}

/// The keys with power of a file, dotted, with their values.
pub fn power(file: &Map<String, Value>) -> Map<String, Value> {
    POWER_KEYS
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), find(file, key)?.clone())))
        .collect()
}

fn find<'a>(file: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    let mut parts = key.split('.');
    let first = file.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}

/// What of the file waits for trust. Taking entries of a list away needs none where fewer of them
/// allow less.
pub fn waiting(power: &Map<String, Value>, trusted: &Map<String, Value>) -> Vec<Waiting> {
    let gone = trusted.keys().filter(|key| !power.contains_key(*key));
    power
        .keys()
        .chain(gone)
        .filter_map(|key| {
            let (found, trusted) = (power.get(key), trusted.get(key));
            let is_stricter = LESS_IS_STRICTER.contains(&key.as_str()) && is_less(found, trusted);
            if found == trusted || is_stricter {
                return None;
            }
            Some(Waiting {
                key: key.clone(),
                trusted: trusted.cloned(),
                found: found.cloned(),
            })
        })
        .collect()
}

fn is_less(found: Option<&Value>, trusted: Option<&Value>) -> bool {
    match (found, trusted) {
        (None | Some(Value::Bool(false)), Some(_)) => true,
        (Some(Value::Object(found)), Some(_)) => found.get("everyTurns") == Some(&Value::from(0)),
        (Some(Value::Array(found)), None) => found.is_empty(),
        (Some(Value::Array(found)), Some(Value::Array(trusted))) => {
            found.iter().all(|item| trusted.contains(item))
        }
        _ => false,
    }
}

/// Takes out of a configuration what was never trusted. The gates and the rules for the agents are
/// those that were trusted, also where the file has others by now, or none.
pub fn only_trusted(config: &mut Config, trusted: &Map<String, Value>) {
    set_policy(config, &trusted_policy(trusted));
    config.operator = operator_keys(trusted);
    // A file without the key, or with 0 or false, asks for less.
    if config.continuity.extract.every_turns.get() > 0 {
        config.continuity.extract = extract_keys(trusted);
    }
    config.set_gates(trusted.get("gates").map(GateList::read).unwrap_or_default());
    let hook = trusted.get(CODEX_HOOK).and_then(Value::as_bool);
    config.continuity.codex_hook &= hook.unwrap_or_default();
    let allowed = trusted.get("redaction.allow").and_then(Value::as_array);
    config.redaction.allow.retain(|entry| {
        let entry = serde_json::to_value(entry).unwrap_or_default();
        allowed.is_some_and(|allowed| allowed.contains(&entry))
    });
}

/// What `continuity.extract` is among keys with power, dotted.
fn extract_keys(power: &Map<String, Value>) -> ExtractKeys {
    let extract = power.get("continuity.extract");
    match json!({"continuity": {"extract": extract}}) {
        Value::Object(file) if extract.is_some() => read(&file).0.continuity.extract,
        _ => ExtractKeys::default(),
    }
}

/// What `operator` is among keys with power, dotted.
fn operator_keys(power: &Map<String, Value>) -> OperatorKeys {
    let Some(operator) = power.get("operator") else {
        return OperatorKeys::default();
    };
    let Value::Object(file) = json!({"operator": operator}) else {
        return OperatorKeys::default();
    };
    read(&file).0.operator
}

/// What `operator.signing` is among keys with power, dotted.
pub fn signing_mode(power: &Map<String, Value>) -> SigningMode {
    operator_keys(power).signing
}

/// The SHA-256, in hex, of the keys with power, whatever order they stand in.
pub fn digest(power: &Map<String, Value>) -> String {
    let sorted = sorted(&Value::Object(power.clone()));
    hex(&Sha256::digest(sorted.to_string().as_bytes()))
}
