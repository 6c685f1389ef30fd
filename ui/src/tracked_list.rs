//! [`TrackedList`]: a cursor that stays on its row when rows appear, disappear or move.

use crate::widgets::ListState;

/// The cursor of a list whose rows are told apart by a key.
#[derive(Debug, Clone)]
pub(crate) struct TrackedList<K> {
    pub(crate) list: ListState,
    /// What the cursor stood on when the last message was done.
    selected: Option<K>,
}

impl<K> Default for TrackedList<K> {
    fn default() -> Self {
        Self {
            list: ListState::default(),
            selected: None,
        }
    }
}

impl<K: Copy + PartialEq> TrackedList<K> {
    /// The rows are others, or in another order. The cursor stays on its row and on its line of the
    /// screen; where nobody looks, a list at its beginning stays at its beginning.
    pub(crate) fn arrange(&mut self, place: impl Fn(K) -> Option<usize>, is_looked_at: bool) {
        if self.list.is_at_beginning() && !is_looked_at {
            return;
        }
        if let Some(index) = self.selected.and_then(place) {
            let below_top = self.list.selected.saturating_sub(self.list.top);
            self.list.selected = index;
            self.list.top = index.saturating_sub(below_top);
        }
    }

    /// The cursor is where it is meant to be, on the row of this key.
    pub(crate) fn remember(&mut self, key: Option<K>) {
        self.selected = key;
    }
}

#[cfg(test)]
mod tests {
    use super::TrackedList;
    use crate::widgets::ListState;

    fn arrange(tracked: &mut TrackedList<u64>, keys: &[u64], is_looked_at: bool) {
        let place = |key| keys.iter().position(|known| *known == key);
        tracked.arrange(place, is_looked_at);
    }

    #[test]
    fn the_cursor_stays_on_its_row_and_on_its_line() {
        let mut tracked = TrackedList {
            list: ListState {
                selected: 2,
                top: 1,
                shown: 0,
            },
            selected: Some(3),
        };
        arrange(&mut tracked, &[9, 8, 7, 5, 3, 1], true);
        assert_eq!((tracked.list.selected, tracked.list.top), (4, 3));
        arrange(&mut tracked, &[5, 1], true);
        assert_eq!(tracked.list.selected, 4, "settled once its room is known");
    }

    #[test]
    fn what_nobody_looks_at_stays_at_its_beginning() {
        for (is_looked_at, selected) in [(false, 0), (true, 1)] {
            let mut tracked = TrackedList::default();
            arrange(&mut tracked, &[1], false);
            tracked.remember(Some(1));
            arrange(&mut tracked, &[2, 1], is_looked_at);
            assert_eq!(tracked.list.selected, selected);
        }
    }
}
