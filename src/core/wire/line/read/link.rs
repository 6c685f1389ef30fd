//! [`parse_link`]: a line's place in the chain, and no more of it.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::{ChainLink, is_hash};
use super::{BadLine, parse};

/// How deep the thorough reader goes: `serde_json`'s own limit, which its quick look past a value
/// does not have.
const NESTING_MAX: usize = 128;

/// Reads only a line's place in the chain, several times as fast as [`parse`] and with the same
/// verdict on whether it is an entry; but a number too large for anybody passes here.
///
/// # Errors
///
/// As [`parse`].
pub fn parse_link(line: &[u8]) -> Result<Option<ChainLink>, BadLine> {
    // What the quick look does not check, or cannot take, is left to the thorough one: text that
    // is no UTF-8, halves of characters, keys that come twice, and what may be nested too deeply.
    let brackets = line.iter().filter(|byte| matches!(byte, b'[' | b'{'));
    let may_be_deep = brackets.count() >= NESTING_MAX;
    let quick = std::str::from_utf8(line)
        .ok()
        .filter(|text| !may_be_deep && !text.contains("\\ud") && !text.contains("\\uD"))
        .and_then(|text| serde_json::from_str::<Envelope<'_>>(text).ok());
    let Some(envelope) = quick else {
        return parse(line).map(|parsed| parsed.link);
    };
    let is_text = |value: Option<&RawValue>| value.is_some_and(|raw| raw.get().starts_with('"'));
    if !is_text(envelope.id) {
        return Err(BadLine::Missing("id"));
    }
    if !is_text(envelope.entry_type) {
        return Err(BadLine::Missing("type"));
    }
    let seq = envelope.seq.and_then(|seq| seq.get().parse().ok());
    let hash = |value: Option<&RawValue>| {
        let text = value?.get().strip_prefix('"')?.strip_suffix('"')?;
        is_hash(text).then(|| text.to_owned())
    };
    Ok(match (seq, hash(envelope.prev), hash(envelope.hash)) {
        (Some(seq), Some(prev), Some(hash)) => Some(ChainLink { seq, prev, hash }),
        _ => None,
    })
}

/// What [`parse_link`] looks at.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow, rename = "type")]
    entry_type: Option<&'a RawValue>,
    #[serde(borrow)]
    seq: Option<&'a RawValue>,
    #[serde(borrow)]
    prev: Option<&'a RawValue>,
    #[serde(borrow)]
    hash: Option<&'a RawValue>,
}
