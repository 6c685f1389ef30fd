//! [`LineGaps`]: the lines of the record that no page has an entry of.

use std::collections::BTreeMap;

/// Runs of lines that could not be read as entries. A run is one however long it is: a forged number
/// can name a gap of any length.
#[derive(Debug, Default)]
pub struct LineGaps {
    /// The last line of each, by its first one.
    runs: BTreeMap<u64, u64>,
}

impl LineGaps {
    /// Between these two lines, both of them read or an end of the record, stands no entry. Returns
    /// whether there is a line at all.
    pub(super) fn note_between(&mut self, lower: u64, upper: u64) -> bool {
        let is_gap = upper.saturating_sub(lower) > 1;
        if is_gap {
            self.runs.insert(lower + 1, upper - 1);
        }
        is_gap
    }

    /// What stands before this line is not loaded any more.
    pub(super) fn forget_before(&mut self, line: u64) {
        self.runs = self.runs.split_off(&line);
    }

    pub(super) fn clear(&mut self) {
        self.runs.clear();
    }

    /// First and last line of each run, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.runs.iter().map(|(first, last)| (*first, *last))
    }
}
