//! Rows as the next process finds them. Its clock starts with the wall, which this one's does not
//! follow.

use super::Outbox;
use crate::core::delivery::Delivery;

impl Outbox {
    /// The machine slept, or its clock was set: the clock of a process that starts now is ahead of
    /// this one's by so much.
    pub(in crate::daemon) fn clock_is_behind(&mut self, ahead_ms: i64) {
        self.ahead_ms = ahead_ms;
    }

    /// The record does not say since when these wait now.
    pub(super) fn keep_since_when(&mut self, rows: Vec<Delivery>) {
        if !rows.is_empty()
            && let Err(error) = self.begin(rows)
        {
            tracing::warn!(%error, "a start would let expire what has not waited for long");
        }
    }

    /// As they are written.
    pub(super) fn on_disk(&self, mut rows: Vec<Delivery>) -> Vec<Delivery> {
        for row in &mut rows {
            row.changed_ms = row.changed_ms.saturating_add(self.ahead_ms);
        }
        rows
    }
}
