//! [`DetailState`]: how far the detail beside the panes was read, and what was requested of it.

use crate::model::EntryPlace;
use crate::overlays::Subject;

/// What was asked for and never came may be asked for again after this long, ms.
const ASK_AGAIN_MS: i64 = 2_000;

/// The detail beside the panes.
#[derive(Debug, Clone, Default)]
pub(crate) struct DetailState {
    /// What it shows.
    subject: Option<Subject>,
    pub(crate) scroll: usize,
    /// The entry that was asked for last, and when.
    asked: Option<(EntryPlace, i64)>,
}

impl DetailState {
    /// Shows this from now on, from its beginning where it is another thing.
    pub(crate) fn show(&mut self, subject: Option<Subject>) {
        if self.subject != subject {
            self.subject = subject;
            self.scroll = 0;
        }
    }

    /// The text of an entry has come.
    pub(crate) fn came(&mut self, place: &EntryPlace) {
        self.asked.take_if(|(asked, _)| asked == place);
    }

    /// Whether this entry was asked for, and may still come.
    pub(crate) fn waits_for(&self, place: &EntryPlace, now_ms: i64) -> bool {
        let asked = self.asked.as_ref();
        asked.is_some_and(|(asked, at_ms)| asked == place && may_come(*at_ms, now_ms))
    }

    /// The entry whose whole text is to be asked for now. Of those that are only passed while a key
    /// is held down, the next one is read when the one before has come; one that is opened
    /// (`is_opened`) is read at once.
    pub(crate) fn asks(
        &mut self,
        is_here: impl Fn(&EntryPlace) -> bool,
        is_opened: bool,
        now_ms: i64,
    ) -> Option<EntryPlace> {
        let Some(Subject::Entry(place)) = &self.subject else {
            return None;
        };
        let waits = self.asked.as_ref().is_some_and(|(asked, at_ms)| {
            may_come(*at_ms, now_ms) && (asked == place || !is_opened)
        });
        if waits || is_here(place) {
            return None;
        }
        self.asked = Some((place.clone(), now_ms));
        Some(place.clone())
    }
}

/// Whether what was asked for then may still come. Not before its time either: a clock may be put
/// back.
fn may_come(at_ms: i64, now_ms: i64) -> bool {
    (0..ASK_AGAIN_MS).contains(&now_ms.saturating_sub(at_ms))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{ASK_AGAIN_MS, DetailState};
    use crate::model::EntryPlace;
    use crate::overlays::Subject;

    fn place(line: u64) -> EntryPlace {
        EntryPlace {
            session: "s".to_owned(),
            line,
        }
    }

    #[test]
    fn entries_that_are_passed_are_not_read_one_by_one() {
        let mut detail = DetailState::default();
        let mut here = BTreeSet::new();
        detail.show(Some(Subject::Entry(place(1))));
        assert_eq!(
            detail.asks(|place| here.contains(place), false, 0),
            Some(place(1))
        );
        for line in 2..50 {
            detail.show(Some(Subject::Entry(place(line))));
            assert_eq!(detail.asks(|place| here.contains(place), false, 1), None);
        }
        here.insert(place(1));
        detail.came(&place(1));
        let asked = detail.asks(|place| here.contains(place), false, 2);
        assert_eq!(asked, Some(place(49)), "where it stopped");
        detail.show(Some(Subject::Entry(place(50))));
        assert_eq!(detail.asks(|place| here.contains(place), false, 3), None);
        let asked = detail.asks(|place| here.contains(place), false, 3 + ASK_AGAIN_MS);
        assert_eq!(asked, Some(place(50)), "an answer may never come");
        detail.show(Some(Subject::Entry(place(51))));
        let asked = |detail: &mut DetailState| detail.asks(|_| false, true, 4 + ASK_AGAIN_MS);
        assert_eq!(asked(&mut detail), Some(place(51)), "opened");
        assert_eq!(asked(&mut detail), None, "once");
    }

    #[test]
    fn another_subject_begins_at_its_top() {
        let mut detail = DetailState::default();
        detail.show(Some(Subject::Entry(place(1))));
        detail.scroll = 7;
        detail.show(Some(Subject::Entry(place(1))));
        assert_eq!(detail.scroll, 7);
        detail.show(Some(Subject::Entry(place(2))));
        assert_eq!(detail.scroll, 0);
    }
}
