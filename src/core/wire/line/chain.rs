//! [`ChainLink`] and [`Sealed`]: what links a line to the one before it.
//!
//! `hash = hex(sha256(P ‖ B))`: P is the 64 characters of `prev`, B the line without its newline
//! and with `,"hash":"…"` cut out, so that B ends in `}`. The chain is not keyed: it shows edits to
//! a reader who kept an older head, not to one who has only the file.

use crate::hex::hex;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// The `prev` of the first entry of a ledger that follows no other.
pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What stands between B's last field and the hash on a line.
const HASH_KEY: &[u8] = b",\"hash\":\"";

/// How long `,"hash":"<64 hex>"}` is.
const TAIL_LEN: usize = HASH_KEY.len() + 64 + 2;

/// A line's place in the chain, as the line itself claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainLink {
    /// Its number, counted in physical lines from 1.
    pub seq: u64,
    /// The hash of the line before it, 64 lower-case hex digits.
    pub prev: String,
    /// Its own hash.
    pub hash: String,
}

/// A line ready to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// The JSON text without newline.
    pub line: String,
    pub hash: String,
}

/// Puts `seq`, `prev` and `hash` at the end of a line object.
///
/// # Errors
///
/// Never for a map that came from JSON; the error is serde's.
pub fn seal(
    mut object: Map<String, Value>,
    seq: u64,
    prev: &str,
) -> Result<Sealed, serde_json::Error> {
    for key in ["seq", "prev", "hash"] {
        object.shift_remove(key);
    }
    object.insert("seq".to_owned(), seq.into());
    object.insert("prev".to_owned(), prev.into());
    let mut line = serde_json::to_string(&object)?;
    let hash = digest(prev, &[line.as_bytes()]);
    line.pop();
    line.push_str(",\"hash\":\"");
    line.push_str(&hash);
    line.push_str("\"}");
    Ok(Sealed { line, hash })
}

/// The hash that a line (without newline) should carry, given the `prev` on it; `None` when it
/// does not end in a hash.
pub fn hash_line(line: &[u8], prev: &str) -> Option<String> {
    let body = line.len().checked_sub(TAIL_LEN)?;
    let (body, tail) = line.split_at(body);
    let hash = tail.strip_prefix(HASH_KEY)?.strip_suffix(b"\"}")?;
    std::str::from_utf8(hash)
        .ok()
        .filter(|hash| is_hash(hash))?;
    Some(digest(prev, &[body, b"}"]))
}

/// The `prev` of the first chained line after these bytes of an unchained ledger, fed in pieces.
pub fn prefix_hash<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hasher = Sha256::new();
    for piece in pieces {
        hasher.update(piece);
    }
    hex(&hasher.finalize())
}

/// Whether a text is a SHA-256 in lower-case hex.
pub fn is_hash(text: &str) -> bool {
    text.len() == 64
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

fn digest(prev: &str, body: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    hasher.update(prev.as_bytes());
    for piece in body {
        hasher.update(piece);
    }
    hex(&hasher.finalize())
}
