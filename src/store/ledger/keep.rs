//! [`keep_whole`]: cuts a text that is too long for its line and keeps all of it beside the ledger.

use serde_json::{Map, Value};

use super::error::LedgerError;
use crate::core::whole::{Whole, cut};
use crate::store::blobs::{BLOB_BYTES_MAX, Blobs};

/// Cuts a content that is too long for the line, and keeps all of it, masked as it is by now,
/// beside the ledger. On the disk before the line, so that no line ever names a text that was
/// not there; a crash in between leaves a text that nobody names.
pub(super) fn keep_whole(
    blobs: &Blobs,
    object: &mut Map<String, Value>,
) -> Result<(), LedgerError> {
    let Some(text) = object.get("content").and_then(Value::as_str) else {
        return Ok(());
    };
    let Some(cut) = cut(text) else {
        return Ok(());
    };
    if text.len() as u64 > BLOB_BYTES_MAX {
        let reason = format!(
            "its text is {} bytes long, and {BLOB_BYTES_MAX} is the most",
            text.len()
        );
        return Err(LedgerError::Refused { reason });
    }
    let sha256 = blobs
        .put(text)
        .map_err(|error| LedgerError::from_io("keep a long text in", blobs.dir(), error))?;
    // A handoff says its ask twice, and a line holds no text twice that is too long for it
    // once.
    if let Some(Value::Object(handoff)) = object.get_mut("handoff")
        && handoff.contains_key("ask")
    {
        handoff.insert("ask".to_owned(), cut.content.clone().into());
    }
    object.insert("content".to_owned(), cut.content.into());
    if let Value::Object(meta) = object
        .entry("meta")
        .or_insert_with(|| Value::Object(Map::new()))
    {
        // The word of ContextRelay 3.13.
        meta.insert("truncated".to_owned(), true.into());
    }
    let whole = Whole {
        sha256,
        units: cut.units,
    };
    object.insert("whole".to_owned(), serde_json::json!(whole));
    Ok(())
}
