//! [`keep_whole`]: cuts a text that is too long for its line and keeps all of it beside the ledger;
//! [`keep_raw`]: keeps the source of a finding there.

use serde_json::{Map, Value};

use super::error::LedgerError;
use crate::blobs::{BLOB_BYTES_MAX, Blobs, PutError};
use ctxrelay_core::whole::{Whole, cut, shorten};
use ctxrelay_core::wire::line::RAW;

/// Cuts a content that is too long for the line, and keeps all of it, masked as it is by now,
/// beside the ledger. On the disk before the line, so that no line ever names a text that was
/// not there; a crash in between leaves a text that nobody names.
///
/// Where there is no room for another long text, or the folder takes none, it is refused. A fact
/// cannot be refused, because it has happened: it is shortened, and says so.
pub(super) fn keep_whole(
    blobs: &Blobs,
    object: &mut Map<String, Value>,
    is_fact: bool,
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
        return Err(LedgerError::Refused(reason));
    }
    let sha256 = match blobs.put(text) {
        Ok(sha256) => sha256,
        Err(error) if is_fact => {
            if let PutError::Io(error) = &error {
                // Else the facts behind it would wait for this folder although the ledger takes them.
                tracing::warn!(%error, dir = %blobs.dir().display(), "a long text is not kept whole");
            }
            let shortened = shorten(text).unwrap_or_default();
            put_content(object, shortened);
            return Ok(());
        }
        Err(error) => return Err(not_kept(blobs, error)),
    };
    put_content(object, cut.content);
    let whole = Whole {
        sha256,
        units: cut.units,
    };
    object.insert("whole".to_owned(), serde_json::json!(whole));
    Ok(())
}

/// Takes the comment that a finding was made of from its line, and keeps it, masked as it is by now,
/// beside the ledger: the line has what was made of it.
pub(super) fn keep_raw(blobs: &Blobs, object: &mut Map<String, Value>) -> Result<(), LedgerError> {
    let artifact = object.get_mut("artifact").and_then(Value::as_object_mut);
    let Some(Value::String(raw)) = artifact.and_then(|artifact| artifact.shift_remove(RAW)) else {
        return Ok(());
    };
    let sha256 = blobs.put(&raw).map_err(|error| not_kept(blobs, error))?;
    let whole = Whole {
        sha256,
        units: raw.encode_utf16().count() as u64,
    };
    object.insert("whole".to_owned(), serde_json::json!(whole));
    Ok(())
}

fn not_kept(blobs: &Blobs, error: PutError) -> LedgerError {
    match error {
        PutError::NoRoom(refusal) => LedgerError::NoRoom(refusal),
        PutError::Io(error) => LedgerError::from_io("keep a long text in", blobs.dir(), error),
    }
}

/// Puts a part of the text in its place.
fn put_content(object: &mut Map<String, Value>, content: String) {
    // A handoff says its ask twice, and a line holds no text twice that is too long for it
    // once.
    if let Some(Value::Object(handoff)) = object.get_mut("handoff")
        && handoff.contains_key("ask")
    {
        handoff.insert("ask".to_owned(), content.clone().into());
    }
    object.insert("content".to_owned(), content.into());
    if let Value::Object(meta) = object
        .entry("meta")
        .or_insert_with(|| Value::Object(Map::new()))
    {
        // The word of ContextRelay 3.13.
        meta.insert("truncated".to_owned(), true.into());
    }
}
