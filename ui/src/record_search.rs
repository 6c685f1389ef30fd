//! [`RecordSearch`]: the current search, its results, and the earlier searches.

use crate::effect::Effect;
use crate::model::{Chips, FoundEntries, FoundRow, SearchScope};
use crate::text::grouped;

/// So many hits before the end of the list more of them are asked for.
const NEAR_END: usize = 20;

/// Hits that are listed. Of more than so many nobody knows how many there are.
const LISTED_MAX: usize = 10_000;

/// What was asked for and never came may be asked for again after this long, ms: longer than any
/// answer takes.
const ASK_AGAIN_MS: i64 = 10_000;

/// Searches that are remembered.
const HISTORY_MAX: usize = 50;

#[derive(Debug, Clone, Default)]
pub(crate) struct RecordSearch {
    place: SearchScope,
    /// How often was asked: an answer to an earlier question is not looked at.
    asked: u64,
    found: Option<FoundEntries>,
    /// What the last question was narrowed to.
    chips: Chips,
    /// When the hits behind those that are listed were asked for.
    more_asked_ms: Option<i64>,
    selected: usize,
    /// The latest last.
    history: Vec<String>,
    /// All of it as it was when the search was opened, until something of it is gone to.
    before: Option<Box<RecordSearch>>,
}

impl RecordSearch {
    /// Something else is searched for from now on, narrowed so; the number of the question.
    pub(crate) fn ask(&mut self, chips: &Chips) -> u64 {
        self.asked += 1;
        self.chips.clone_from(chips);
        self.more_asked_ms = None;
        self.asked
    }

    /// The question for the hits behind those that are listed, once the cursor comes near their end.
    pub(crate) fn asks_more(&mut self, now_ms: i64) -> Option<Effect> {
        let found = self.found.as_ref()?;
        // Of another question, or not all of it: asking for more would end what is under way.
        if found.number != self.asked || found.behind > 0 {
            return None;
        }
        let is_near = self.selected + NEAR_END >= found.rows.len();
        if !is_near || self.waits_for_more(now_ms) || found.rows.len() >= LISTED_MAX {
            return None;
        }
        let after = found.cursor.clone()?;
        self.more_asked_ms = Some(now_ms);
        Some(Effect::Search {
            place: self.place,
            words: found.words.clone(),
            chips: self.chips.clone(),
            number: self.asked,
            after: Some(after),
        })
    }

    /// The question that goes on by itself: where much is read a page may come without any hit, and
    /// without being the last one.
    pub(crate) fn asks_on(&mut self, now_ms: i64) -> Option<Effect> {
        let found = self.found.as_ref()?;
        let is_without = found.rows.is_empty() && found.fault.is_none();
        is_without.then(|| self.asks_more(now_ms)).flatten()
    }

    /// Whether hits behind those that are listed are still to come.
    pub(crate) fn waits_for_more(&self, now_ms: i64) -> bool {
        // Not before its time either: a clock may be put back.
        let may_come = |asked_ms| (0..ASK_AGAIN_MS).contains(&(now_ms - asked_ms));
        self.more_asked_ms.is_some_and(may_come)
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
        self.more_asked_ms = None;
        self.found = None;
        self.selected = 0;
    }

    /// The search is opened: [`Self::leave`] has all as it was.
    pub(crate) fn open(&mut self) {
        self.before = None;
        self.before = Some(Box::new(self.clone()));
    }

    /// The search is left. Returns whether the hits that stand again are all that these chips leave;
    /// otherwise they are to be asked for.
    pub(crate) fn leave(&mut self, chips: &Chips) -> bool {
        let Some(before) = self.before.take() else {
            self.clear();
            return false;
        };
        let was_asked = before.asked;
        // What was asked for meanwhile is not waited for any more.
        let asked = self.asked + 1;
        *self = Self {
            asked,
            more_asked_ms: None,
            ..*before
        };
        let Some(found) = &mut self.found else {
            return false;
        };
        let is_answer = std::mem::replace(&mut found.number, asked) == was_asked;
        let is_narrowed = self.place == SearchScope::Record && self.chips != *chips;
        is_answer && found.behind == 0 && !is_narrowed
    }

    /// Another record has begun.
    pub(crate) fn begin_again(&mut self) {
        self.before = None;
        self.clear();
    }

    /// An answer has come. What was found for the words before stands until then.
    pub(crate) fn take(&mut self, found: FoundEntries) {
        if found.number != self.asked {
            return;
        }
        if found.goes_on {
            return self.go_on(found);
        }
        self.more_asked_ms = None;
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

    /// The hits behind those that are listed have come. Where they cannot be read, they may be asked
    /// for again.
    fn go_on(&mut self, more: FoundEntries) {
        // Not twice, where it came after all when it had been asked for again.
        let is_asked = self.more_asked_ms.take().is_some();
        let Some(listed) = self.found.as_mut().filter(|_| is_asked) else {
            return;
        };
        if more.fault.is_some() {
            // Hits that there are stay.
            if listed.rows.is_empty() {
                listed.fault = more.fault;
            }
            return;
        }
        listed.fault = None;
        listed.rows.extend(more.rows);
        listed.cursor = more.cursor;
        // Not every page counts those before it.
        listed.total = listed.total.max(listed.rows.len() as u64);
    }

    pub(crate) fn found(&self) -> Option<&FoundEntries> {
        self.found.as_ref()
    }

    /// The hit under the cursor.
    pub(crate) fn hit(&self) -> Option<&FoundRow> {
        self.found.as_ref()?.rows.get(self.selected)
    }

    /// Which hit of how many; `None` before anything was found out. What is not all searched yet may
    /// have more.
    pub(crate) fn place_in_words(&self) -> Option<String> {
        let found = self.found.as_ref()?;
        let place = match found.rows.is_empty() {
            true => 0,
            false => self.selected + 1,
        };
        let (place, total) = (grouped(place as u64), grouped(found.total));
        let is_at_least = found.total_is_at_least || found.behind > 0;
        let more = if is_at_least { " or more" } else { "" };
        Some(format!("{place} of {total}{more}"))
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
        self.before = None;
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

#[cfg(test)]
mod tests {
    use super::{ASK_AGAIN_MS, RecordSearch};
    use crate::model::{Chips, FoundEntries};

    fn found(number: u64, goes_on: bool) -> FoundEntries {
        FoundEntries {
            number,
            words: "plum".to_owned(),
            cursor: Some("next".to_owned()),
            goes_on,
            ..FoundEntries::default()
        }
    }

    #[test]
    fn a_place_is_one_of_those_that_there_are_and_no_total_is_said_to_be_all_too_early() {
        let mut search = RecordSearch::default();
        assert_eq!(search.place_in_words(), None);
        let number = search.ask(&Chips::default());
        search.take(found(number, false));
        let said = |search: &RecordSearch| search.place_in_words().unwrap_or_default();
        assert_eq!(said(&search), "0 of 0");
        let with = |behind, total_is_at_least| FoundEntries {
            total: 1_204,
            behind,
            total_is_at_least,
            ..found(number, false)
        };
        search.take(with(0, false));
        assert_eq!(said(&search), "0 of 1 204");
        for more in [with(7, false), with(0, true)] {
            search.take(more);
            assert_eq!(said(&search), "0 of 1 204 or more");
        }
    }

    #[test]
    fn further_hits_that_never_came_are_asked_for_again() {
        let mut search = RecordSearch::default();
        let number = search.ask(&Chips::default());
        search.take(found(number, false));
        assert!(search.asks_more(1_000).is_some());
        assert!(search.asks_more(1_000 + ASK_AGAIN_MS - 1).is_none());
        assert!(search.waits_for_more(1_000 + ASK_AGAIN_MS - 1));
        assert!(!search.waits_for_more(1_000 + ASK_AGAIN_MS));
        assert!(search.asks_more(1_000 + ASK_AGAIN_MS).is_some());
        search.take(found(number, true));
        assert!(search.asks_more(1_001 + ASK_AGAIN_MS).is_some(), "it came");
    }
}
