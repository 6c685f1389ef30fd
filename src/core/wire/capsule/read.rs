//! [`read`]: a file's bytes as a capsule, when it is one.

use serde::Deserialize as _;
use serde_json::Value;

use super::lines::changed_place;
use super::strict::parse;
use super::{
    BadCapsule, DIGEST, FILE_BYTES_MAX, LINES_BYTES_MAX, OUTPUTS_BYTES_MAX, PATCH_BYTES_MAX,
    canonical, digest,
};
use crate::capsule::{CAPSULE_BYTES_MAX, CAPSULE_SCHEMA, Capsule, is_within, patch_files};
use crate::id::CapsuleId;
use crate::wire::line::is_hash;

/// How much of a value of somebody's is told again, in characters.
const TOLD_CHARS_MAX: usize = 40;

/// Takes a capsule that is whole, unchanged and within every limit.
///
/// # Errors
///
/// What is wrong first, with its place. Nothing of a file that is refused is to be believed.
pub fn read(bytes: &[u8]) -> Result<Capsule, BadCapsule> {
    if bytes.len() > FILE_BYTES_MAX {
        let why = format!("longer than {FILE_BYTES_MAX} bytes");
        return Err(BadCapsule::new("", why));
    }
    let value = parse(bytes)?;
    check_schema(&value)?;
    check_form(bytes, &value)?;
    let value = check_digest(value)?;
    let capsule: Capsule = serde_path_to_error::deserialize(&value).map_err(|bad| {
        let place = bad.path().to_string();
        let place = if place == "." { String::new() } else { place };
        BadCapsule::new(place, bad.inner().to_string())
    })?;
    let again =
        serde_json::to_value(&capsule).map_err(|bad| BadCapsule::new("", bad.to_string()))?;
    if let Some(place) = first_difference(&value, &again, String::new()) {
        return Err(BadCapsule::new(place, "not in the form of this version"));
    }
    check_names(&capsule)?;
    check_sizes(value, &capsule)?;
    check_along(&capsule)?;
    Ok(capsule)
}

fn check_schema(value: &Value) -> Result<(), BadCapsule> {
    match value.get("schema").and_then(Value::as_str) {
        Some(CAPSULE_SCHEMA) => Ok(()),
        Some(other) => {
            let other: String = other.chars().take(TOLD_CHARS_MAX).collect();
            let why = format!("`{other}`; this version reads `{CAPSULE_SCHEMA}`");
            Err(BadCapsule::new("schema", why))
        }
        None => Err(BadCapsule::new(
            "schema",
            "not there, so this is no capsule",
        )),
    }
}

/// The bytes are the only ones that the value has.
fn check_form(bytes: &[u8], value: &Value) -> Result<(), BadCapsule> {
    let canonical = canonical(value);
    let canonical = canonical.as_bytes();
    if canonical == bytes {
        return Ok(());
    }
    let same = canonical.iter().zip(bytes).take_while(|(a, b)| a == b);
    let why = format!(
        "not in canonical form at byte {}: keys sorted, no spaces, one newline at the end",
        same.count()
    );
    Err(BadCapsule::new("", why))
}

/// The digest is that of all the rest.
fn check_digest(mut value: Value) -> Result<Value, BadCapsule> {
    let claimed = match value.get(DIGEST) {
        Some(Value::String(claimed)) if is_hash(claimed) => claimed.clone(),
        Some(_) => return Err(BadCapsule::new(DIGEST, "no SHA-256 in lower-case hex")),
        None => return Err(BadCapsule::new(DIGEST, "not there")),
    };
    if let Value::Object(members) = &mut value {
        let found = digest(members);
        if found != claimed {
            let why = format!("the file was changed: its bytes have {found}, it claims {claimed}");
            return Err(BadCapsule::new(told_place(value), why));
        }
        members.insert(DIGEST.to_owned(), Value::String(claimed));
    }
    Ok(value)
}

/// Where a file was changed whose digest is another one. The digest is of all of it; what comes along
/// and the cited lines have hashes of their own, and the lines tell what they are cited for.
fn told_place(value: Value) -> String {
    let place = || {
        let capsule = Capsule::deserialize(&value).ok()?;
        check_sizes(value, &capsule).ok()?;
        match check_along(&capsule) {
            Ok(()) => changed_place(&capsule),
            Err(bad) => Some(bad.place),
        }
    };
    place().unwrap_or_else(|| DIGEST.to_owned())
}

/// Where two values differ first.
fn first_difference(a: &Value, b: &Value, place: String) -> Option<String> {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            let mut keys = keys.map(|key| {
                let dot = if place.is_empty() { "" } else { "." };
                (key, format!("{place}{dot}{key}"))
            });
            keys.find_map(|(key, place)| match (a.get(key), b.get(key)) {
                (Some(a), Some(b)) => first_difference(a, b, place),
                _ => Some(place),
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.find_map(|(at, (a, b))| first_difference(a, b, format!("{place}[{at}]")))
        }
        _ => (a != b).then_some(place),
    }
}

/// What comes along is what it says, and a patch of the form that may be put in.
fn check_along(capsule: &Capsule) -> Result<(), BadCapsule> {
    const OTHER: &str = "no base64 of what its SHA-256 says";
    if let Some(patch) = &capsule.patch {
        let bytes = patch.bytes();
        let bytes = bytes.ok_or_else(|| BadCapsule::new("patch.data", OTHER))?;
        patch_files(&bytes).map_err(|why| BadCapsule::new("patch.data", why))?;
    }
    let mut outputs = capsule.outputs.iter();
    match outputs.position(|output| output.bytes().is_none()) {
        Some(at) => Err(BadCapsule::new(format!("outputs[{at}].data"), OTHER)),
        None => Ok(()),
    }
}

/// Ids that may name a file, and paths that stay in the project.
fn check_names(capsule: &Capsule) -> Result<(), BadCapsule> {
    if !CapsuleId::is_well_formed(capsule.id.as_str()) {
        return Err(BadCapsule::new("id", "not `cap_` and 12 hex digits"));
    }
    if capsule.title.contains('\n') {
        return Err(BadCapsule::new("title", "more than one line"));
    }
    match capsule.paths().find(|(_, path)| !is_within(path)) {
        Some((place, _)) => Err(BadCapsule::new(place, "a path that leaves the project")),
        None => Ok(()),
    }
}

fn check_sizes(mut value: Value, capsule: &Capsule) -> Result<(), BadCapsule> {
    let lines: usize = capsule.origin.lines.iter().map(String::len).sum();
    let patch = capsule.patch.as_ref().map_or(0, |patch| patch.data.len());
    let outputs: usize = capsule.outputs.iter().map(|output| output.data.len()).sum();
    if let Value::Object(members) = &mut value {
        members.shift_remove("patch");
        members.shift_remove("outputs");
    }
    if let Some(Value::Array(lines)) = value.pointer_mut("/origin/lines") {
        lines.clear();
    }
    let sizes = [
        ("", canonical(&value).len(), CAPSULE_BYTES_MAX),
        ("origin.lines", lines, LINES_BYTES_MAX),
        ("patch.data", patch, PATCH_BYTES_MAX),
        ("outputs", outputs, OUTPUTS_BYTES_MAX),
    ];
    match sizes.into_iter().find(|(_, bytes, max)| bytes > max) {
        Some((place, bytes, max)) => {
            let why = format!("{bytes} bytes, at most {max} have room");
            Err(BadCapsule::new(place, why))
        }
        None => Ok(()),
    }
}
