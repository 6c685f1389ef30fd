//! Malformed files, tested against what every reader of a capsule relies on: [`check`]. For tests
//! and fuzzing.
#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::Value;

use super::samples::forged;
use super::{BadCapsule, check_lines, read, uncited, write};
use crate::capsule::{
    Capsule, Freshness, RenderTarget, RenderTerms, Rendering, StandsNow, is_within,
};
use crate::hidden::has_hidden;
use crate::id::CapsuleId;
use crate::plain_value::PlainValue;

/// The longest text for an agent that [`check`] has made of a capsule, in characters.
const RENDERED_CHARS_MAX: usize = 8_000;

/// The longest sentence about what is wrong, in bytes.
const REFUSAL_BYTES_MAX: usize = 4 * 1024;

/// Reads a file and, where it is a JSON object, the same with the digest that it should have: what is
/// taken holds, and what is refused says why and where.
///
/// # Panics
///
/// When something does not hold.
pub fn check(bytes: &[u8]) {
    check_one(bytes);
    // So that the reader gets behind the digest.
    if let Ok(PlainValue(value @ Value::Object(_))) = serde_json::from_slice(bytes) {
        check_one(&forged(value));
    }
}

fn check_one(bytes: &[u8]) {
    match read(bytes) {
        Ok(taken) => check_taken(bytes, taken),
        Err(bad) => check_refusal(&bad),
    }
}

/// It has a place and a reason, in a line that is short enough to be read.
///
/// # Panics
///
/// When it has not.
pub fn check_refusal(bad: &BadCapsule) {
    assert!(!bad.place.is_empty() && !bad.why.is_empty(), "{bad:?}");
    let told = bad.to_string();
    assert!(
        told.len() < REFUSAL_BYTES_MAX,
        "{} bytes: {told}",
        told.len()
    );
    assert!(!told.contains(char::is_control), "{told:?}");
    assert!(!has_hidden(&told), "{told:?}");
}

/// What is taken holds what every reader of a capsule relies on.
fn check_taken(bytes: &[u8], mut taken: Capsule) {
    let (again, digest) = write(&taken).unwrap();
    assert_eq!(
        String::from_utf8_lossy(&again),
        String::from_utf8_lossy(bytes)
    );
    assert_eq!(digest, taken.digest);
    assert!(CapsuleId::is_well_formed(taken.id.as_str()));
    let outside = taken.paths().find(|(_, path)| !is_within(path));
    assert!(outside.is_none(), "{outside:?}");
    if let Err(bad) = check_lines(&taken) {
        check_refusal(&bad);
    }
    let (bare, all) = uncited(&taken);
    assert!(bare <= all);
    let terms = RenderTerms {
        target: RenderTarget::Codex,
        stands: &StandsNow::plain(Freshness::Unknown),
        is_foreign: true,
        chars_max: RENDERED_CHARS_MAX,
        found: &[],
    };
    let told = Rendering::of(&taken, terms).text;
    assert!(told.chars().count() <= RENDERED_CHARS_MAX, "{told}");
    let mut unseen = None;
    taken.each_text(&mut |text| {
        if has_unseen(text) {
            unseen = Some(text.clone());
        }
    });
    assert!(unseen.is_none(), "{unseen:?}");
    assert!(!has_unseen(&told), "{told:?}");
}

fn has_unseen(text: &str) -> bool {
    let is_control = |letter: char| letter.is_control() && letter != '\n' && letter != '\t';
    text.contains(is_control) || has_hidden(text)
}
