//! [`RecordSearch`]: what was searched for, what came of it, and what was searched for before.

use crate::model::{FoundEntries, FoundRow, SearchScope};

/// Searches that are remembered.
const HISTORY_MAX: usize = 50;

#[derive(Debug, Clone, Default)]
pub(crate) struct RecordSearch {
    place: SearchScope,
    /// How often was asked: an answer to an earlier question is not looked at.
    asked: u64,
    found: Option<FoundEntries>,
    selected: usize,
    /// The latest last.
    history: Vec<String>,
}

impl RecordSearch {
    /// Something else is searched for from now on; the number of the question.
    pub(crate) fn ask(&mut self) -> u64 {
        self.asked += 1;
        self.asked
    }

    /// Where.
    pub(crate) fn place(&self) -> SearchScope {
        self.place
    }

    /// In this place from now on, where nothing is found yet.
    pub(crate) fn turn_to(&mut self, place: SearchScope) {
        self.clear();
        self.place = place;
    }

    /// Nothing is searched for.
    pub(crate) fn clear(&mut self) {
        self.asked += 1;
        self.found = None;
        self.selected = 0;
    }

    /// An answer has come. What was found for the words before stands until then.
    pub(crate) fn take(&mut self, found: FoundEntries) {
        if found.number != self.asked {
            return;
        }
        let hit = self.hit();
        self.selected = hit
            .and_then(|hit| {
                let name = |row: &FoundRow| row.task.as_ref().map(|task| task.id.clone());
                let same = |row: &FoundRow| {
                    (row.seq, &row.session) == (hit.seq, &hit.session) && name(row) == name(hit)
                };
                found.rows.iter().position(same)
            })
            .unwrap_or(0);
        self.found = Some(found);
    }

    /// What was found.
    pub(crate) fn found(&self) -> Option<&FoundEntries> {
        self.found.as_ref()
    }

    /// The hit under the cursor.
    pub(crate) fn hit(&self) -> Option<&FoundRow> {
        self.found.as_ref()?.rows.get(self.selected)
    }

    pub(crate) fn selected(&self) -> usize {
        self.selected
    }

    /// To another hit; whether there is one.
    pub(crate) fn step(&mut self, rows: isize) -> bool {
        let len = self.found.as_ref().map_or(0, |found| found.rows.len());
        let to = self
            .selected
            .saturating_add_signed(rows)
            .min(len.saturating_sub(1));
        let moved = to != self.selected;
        self.selected = to;
        moved
    }

    /// These words led somewhere.
    pub(crate) fn remember(&mut self, words: &str) {
        let words = words.trim();
        if words.is_empty() {
            return;
        }
        self.history.retain(|known| known != words);
        if self.history.len() == HISTORY_MAX {
            self.history.remove(0);
        }
        self.history.push(words.to_owned());
    }

    /// Earlier searches, the latest last.
    pub(crate) fn history(&self) -> &[String] {
        &self.history
    }

    /// The search so many before the latest one.
    pub(crate) fn earlier(&self, back: usize) -> Option<&str> {
        let at = self.history.len().checked_sub(back + 1)?;
        Some(&self.history[at])
    }
}
