//! [`Batch`]: entries on their way into the index.

use super::error::SearchError;
use super::index::{Mark, Row, SearchIndex};
use super::text::Text;
use crate::ledger::Stored;
use ctxrelay_core::id::SessionId;
use ctxrelay_core::redact::Redactor;

/// The most entries that go in at once. Larger transactions make fewer and larger pieces of the
/// index, this many take some tens of milliseconds.
const ROWS_MAX: usize = 4_096;

/// The most text that is held for it, in bytes.
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// Entries on their way into the index.
#[derive(Debug)]
pub(super) struct Batch<'a> {
    session: &'a SessionId,
    redactor: &'a Redactor,
    rows: Vec<Row>,
    bytes: usize,
    mark: Option<Mark>,
}

impl<'a> Batch<'a> {
    pub(super) fn new(session: &'a SessionId, redactor: &'a Redactor) -> Self {
        Self {
            session,
            redactor,
            rows: Vec::new(),
            bytes: 0,
            mark: None,
        }
    }

    /// Takes the next entry. Returns whether there is enough for a transaction.
    pub(super) fn push(&mut self, stored: &Stored) -> bool {
        let folded = Text::of(&stored.entry, self.redactor).folded();
        self.bytes += folded.len();
        self.rows.push(Row {
            seq: stored.entry.seq.0,
            folded,
        });
        self.mark = Some(Mark::at(self.session, stored));
        self.rows.len() >= ROWS_MAX || self.bytes >= BYTES_MAX
    }

    /// Puts everything into the index. Returns up to where that goes now, if anything was there.
    pub(super) fn put(&mut self, index: &mut SearchIndex) -> Result<Option<u64>, SearchError> {
        let Some(mark) = self.mark.take() else {
            return Ok(None);
        };
        index.add(&self.rows, &mark)?;
        self.rows.clear();
        self.bytes = 0;
        Ok(Some(mark.seq))
    }
}
