//! [`BlobCheck`]: whether the long texts that a ledger refers to are present and unaltered.
//!
//! The chain covers their hashes, so a text with the right hash is the text that was recorded.

use std::io;
use std::path::Path;

use crate::blobs::{BlobError, Blobs};
use crate::dirs::open_private;
use ctxrelay_core::whole::Whole;
use ctxrelay_core::wire::line::parse;

use super::check::{ChainFault, Reason};
use super::lines::Lines;

/// How the field begins on a line. Inside of a string its quotes would have a backslash, so that
/// a line without these bytes has no such field, and most lines need no reading.
const FIELD: &str = "\"whole\":{";

/// Hands the name of every long text that a ledger speaks of to `each`, be its line damaged or of
/// no chain: who asks wants to know what may still be needed.
///
/// # Errors
///
/// When the file cannot be read.
pub fn whole_texts(ledger: &Path, mut each: impl FnMut(String)) -> io::Result<()> {
    let mut lines = Lines::new(open_private(ledger)?, 0);
    while let Some(line) = lines.next(|_| {})? {
        if let Some(whole) = line.text.and_then(whole) {
            each(whole.sha256);
        }
    }
    Ok(())
}

fn whole(text: &[u8]) -> Option<Whole> {
    // Searched as text, which is many times faster than piece by piece.
    let is_there = match std::str::from_utf8(text) {
        Ok(text) => text.contains(FIELD),
        Err(_) => true,
    };
    is_there.then(|| parse(text).ok()?.entry.whole).flatten()
}

/// The findings about the long texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlobReport {
    /// Entries whose whole text is kept beside the ledger.
    pub texts: u64,
    /// Those of them whose text is missing.
    pub missing: u64,
    /// Those of them whose file contains something else.
    pub altered: u64,
}

/// Checks the long texts of a ledger, line by line.
#[derive(Debug)]
pub(super) struct BlobCheck {
    blobs: Blobs,
    report: BlobReport,
    first_bad: Option<ChainFault>,
    unreadable: Option<io::Error>,
}

impl BlobCheck {
    pub(super) fn new(ledger: &Path) -> Self {
        Self {
            blobs: Blobs::of_ledger(ledger),
            report: BlobReport::default(),
            first_bad: None,
            unreadable: None,
        }
    }

    /// Takes an entry's line in.
    pub(super) fn line(&mut self, text: &[u8], seq: u64, line: u64) {
        let Some(whole) = whole(text) else {
            return;
        };
        self.report.texts += 1;
        let reason = match self.blobs.check(&whole.sha256) {
            Ok(()) => return,
            Err(BlobError::Missing) => {
                self.report.missing += 1;
                Reason::BlobMissing
            }
            Err(BlobError::Altered) => {
                self.report.altered += 1;
                Reason::BlobAltered
            }
            Err(BlobError::Io(error)) => {
                self.unreadable.get_or_insert(error);
                return;
            }
        };
        self.first_bad
            .get_or_insert(ChainFault { seq, line, reason });
    }

    /// What was found, and the first fault of all. A fault of the chain is the earlier one when
    /// both are of the same entry: what an edited line says of a text means nothing.
    ///
    /// # Errors
    ///
    /// When a text is there and the disk does not give it: that is no verdict on the record.
    pub(super) fn finish(
        self,
        chain: Option<ChainFault>,
    ) -> io::Result<(BlobReport, Option<ChainFault>)> {
        if let Some(error) = self.unreadable {
            return Err(error);
        }
        let first = match (chain, self.first_bad) {
            (Some(chain), Some(blob)) if blob.seq < chain.seq => Some(blob),
            (chain, blob) => chain.or(blob),
        };
        Ok((self.report, first))
    }
}
