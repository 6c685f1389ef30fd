//! [`Staged`]: an append on its way into the file, turned into lines or refused.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use serde_json::Value;

use ctxrelay_core::entry::{Entry, EntryKind};
use ctxrelay_core::id::Seq;
use ctxrelay_core::wire::line::{GENESIS, LINE_MAX, is_hash, parse, seal, serialize};

use super::super::Stored;
use super::super::error::LedgerError;
use super::super::keep::{keep_raw, keep_whole};
use super::{Next, Writer};

/// One append, turned into lines or refused.
pub(super) struct Staged {
    pub token: u64,
    /// The round of a fact, which its sender sends again if it fails.
    pub fact: Option<u64>,
    pub answer: Option<SyncSender<Result<Vec<Arc<Stored>>, LedgerError>>>,
    pub result: Result<Vec<Placed>, LedgerError>,
}

/// An entry and its position, counted from the beginning of the write.
pub(super) struct Placed {
    pub stored: Arc<Stored>,
    pub offset: usize,
}

impl Writer {
    /// Turns the entries of one append into lines. On an error nothing of them is left behind.
    pub(super) fn stage(
        &self,
        entries: Vec<Entry>,
        is_fact: bool,
        text: &mut Vec<u8>,
        next: &mut Next,
    ) -> Result<Vec<Placed>, LedgerError> {
        let (len, before) = (text.len(), next.clone());
        let mut placed = Vec::with_capacity(entries.len());
        for entry in entries {
            match self.line(entry, is_fact, next) {
                Ok(stored) => {
                    let offset = text.len();
                    text.extend_from_slice(stored.line.as_bytes());
                    text.push(b'\n');
                    next.seq += 1;
                    next.prev = Some(stored.hash.clone());
                    placed.push(Placed {
                        stored: Arc::new(stored),
                        offset,
                    });
                }
                Err(error) => {
                    text.truncate(len);
                    *next = before;
                    return Err(error);
                }
            }
        }
        Ok(placed)
    }

    fn line(&self, mut entry: Entry, is_fact: bool, next: &Next) -> Result<Stored, LedgerError> {
        entry.seq = Seq(next.seq);
        let prev = match (&next.prev, &entry.kind) {
            (Some(prev), _) => prev.clone(),
            (
                None,
                EntryKind::SessionStarted {
                    predecessor: Some(before),
                },
            ) if is_hash(&before.head) => before.head.clone(),
            (None, _) => GENESIS.to_owned(),
        };
        let mut object = Value::Object(serialize(&entry));
        self.redactor.redact_entry(&mut object);
        let Value::Object(mut object) = object else {
            return Err(LedgerError::Refused("redaction left no object".to_owned()));
        };
        // What comes with its whole text named is cut already: a compaction carries it.
        if entry.whole.is_none() {
            keep_whole(&self.blobs, &mut object, is_fact)?;
        }
        keep_raw(&self.blobs, &mut object)?;
        let sealed = seal(object, next.seq, &prev)
            .map_err(|error| LedgerError::Refused(error.to_string()))?;
        if sealed.line.len() > LINE_MAX {
            return Err(LedgerError::Refused(format!(
                "it is {} bytes long, and {LINE_MAX} is the most",
                sealed.line.len()
            )));
        }
        // Read back before it is written: what is acknowledged can be read, and what is shown and
        // delivered is what lies in the file.
        let parsed =
            parse(sealed.line.as_bytes()).map_err(|bad| LedgerError::Refused(bad.to_string()))?;
        Ok(Stored {
            entry: parsed.entry,
            line: sealed.line,
            hash: sealed.hash,
        })
    }
}
