//! The capsule as a file: [`write()`], [`read()`] and [`check_lines`].
//!
//! Canonical JSON: UTF-8, keys sorted by code point, no spaces, integers only, one newline at the
//! end. `digest` is the SHA-256 of these bytes without that member. What is read is written again
//! byte for byte, including members that this version does not know. A digest shows a change; it
//! does not show who made the file.

mod along;
mod canonical;
mod lines;
mod read;
mod strict;
#[cfg(test)]
mod tests;

#[cfg(any(test, feature = "testing"))]
pub mod arbitrary;
#[cfg(any(test, feature = "testing"))]
pub mod hostile;
#[cfg(any(test, feature = "testing"))]
pub mod samples;

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::capsule::Capsule;
use crate::hex::hex;
use crate::hidden::letters;
pub use canonical::canonical;
pub use lines::{check_lines, uncited};
pub use read::read;

/// The longest file that is read, in bytes: a capsule with everything that may be asked for, in
/// base64 and escaped.
pub const FILE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The most of the cited lines, in bytes.
pub const LINES_BYTES_MAX: usize = 256 * 1024;

/// The longest patch, in bytes of base64: 1 MiB of it.
pub const PATCH_BYTES_MAX: usize = 1_398_104;

/// The most of all outputs, in bytes of base64: 256 KiB of them.
pub const OUTPUTS_BYTES_MAX: usize = 349_528;

/// What is wrong with a capsule, and where in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {why}")]
pub struct BadCapsule {
    /// The member, such as `decisions[2].text`; `file` for the whole.
    pub place: String,
    /// What is wrong, as a fragment.
    pub why: String,
}

/// The longest place and the longest reason, in characters: keys and values of the file stand in both.
const TOLD_CHARS_MAX: usize = 300;

impl BadCapsule {
    pub(super) fn new(place: impl Into<String>, why: impl Into<String>) -> Self {
        let place: String = place.into();
        Self {
            place: if place.is_empty() {
                "file".to_owned()
            } else {
                told(place)
            },
            why: told(why.into()),
        }
    }
}

/// The beginning of a text on one line, without hidden characters.
fn told(text: String) -> String {
    let is_odd = |(letter, is_hidden): (char, bool)| letter.is_control() || is_hidden;
    let end = text.char_indices().nth(TOLD_CHARS_MAX).map(|(end, _)| end);
    if end.is_none() && !letters(&text).any(is_odd) {
        return text;
    }
    let beginning = &text[..end.unwrap_or(text.len())];
    let letters = letters(beginning);
    let mut told: String = letters
        .map(|it| if is_odd(it) { ' ' } else { it.0 })
        .collect();
    if end.is_some() {
        told.push('…');
    }
    told
}

/// The bytes of a capsule, and its digest. A digest that it already has is not looked at.
///
/// # Errors
///
/// None for a capsule whose unknown members came from JSON; the error is serde's.
pub fn write(capsule: &Capsule) -> Result<(Vec<u8>, String), serde_json::Error> {
    let Value::Object(mut members) = serde_json::to_value(capsule)? else {
        return Ok((Vec::new(), String::new()));
    };
    let digest = digest(&mut members);
    members.insert(DIGEST.to_owned(), Value::String(digest.clone()));
    Ok((canonical(&Value::Object(members)).into_bytes(), digest))
}

/// The JSON schema of a capsule, in the form that [`read()`] takes: a member that may be absent is so
/// where there is nothing to say, and neither null nor empty.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let settings = settings.with_transform(RecursiveTransform(absent_where_empty));
    let mut schema = settings.into_generator().into_root_schema_for::<Capsule>();
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        // Absent only in one that was not written yet.
        required.push(DIGEST.into());
    }
    schema.to_value()
}

fn absent_where_empty(schema: &mut Schema) {
    let required = schema.get("required").and_then(Value::as_array).cloned();
    let required = required.unwrap_or_default();
    let members = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, member) in members.into_iter().flatten() {
        let is_required = required.iter().any(|it| it == name);
        if let Some(member) = member.as_object_mut().filter(|_| !is_required) {
            not_empty(member);
        }
    }
}

/// Takes null and the empty list out of what a member may be.
fn not_empty(member: &mut Map<String, Value>) {
    let is_null = |kind: &Value| kind == "null" || kind["type"] == "null";
    match member.get_mut("type") {
        Some(Value::Array(kinds)) => {
            kinds.retain(|kind| !is_null(kind));
            if let [kind] = kinds.as_mut_slice() {
                let kind = kind.take();
                member.insert("type".to_owned(), kind);
            }
        }
        Some(kind) if kind == "array" => {
            member.insert("minItems".to_owned(), 1.into());
        }
        _ => {}
    }
    if let Some(Value::Array(kinds)) = member.get_mut("anyOf") {
        kinds.retain(|kind| !is_null(kind));
    }
}

const DIGEST: &str = "digest";

/// The digest of the members without the one that holds it, which is taken out.
fn digest(members: &mut Map<String, Value>) -> String {
    members.shift_remove(DIGEST);
    let rest = Value::Object(std::mem::take(members));
    let digest = hex(&Sha256::digest(canonical(&rest)));
    if let Value::Object(rest) = rest {
        *members = rest;
    }
    digest
}
