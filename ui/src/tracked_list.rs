//! [`TrackedList`]: the order of a list's rows, and a cursor that stays on its row whatever comes,
//! goes or moves.

use crate::widgets::ListState;

/// The rows of a list as they stand on the screen.
#[derive(Debug, Clone, Default)]
pub(crate) struct TrackedList {
    pub(crate) list: ListState,
    /// What a row is (its entry's line in the record), and where the view has it.
    rows: Vec<(u64, usize)>,
    /// What the cursor stood on when the last message was done.
    selected: Option<u64>,
}

impl TrackedList {
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Where the view has the row at a place of the screen.
    pub(crate) fn row(&self, index: usize) -> Option<usize> {
        self.rows.get(index).map(|(_, row)| *row)
    }

    /// Takes another order. The cursor stays on its row and on its line of the screen; where nobody
    /// looks, a list at its beginning stays at its beginning.
    pub(crate) fn arrange(
        &mut self,
        order: Vec<usize>,
        key: impl Fn(usize) -> u64,
        is_looked_at: bool,
    ) {
        self.rows = order.into_iter().map(|row| (key(row), row)).collect();
        if self.list == ListState::default() && !is_looked_at {
            return;
        }
        let found = self
            .selected
            .and_then(|selected| self.rows.iter().position(|(key, _)| *key == selected));
        if let Some(index) = found {
            let below_top = self.list.selected.saturating_sub(self.list.top);
            self.list.selected = index;
            self.list.top = index.saturating_sub(below_top);
        }
    }

    /// The cursor is where it is meant to be.
    pub(crate) fn remember(&mut self) {
        self.selected = self.rows.get(self.list.selected).map(|(key, _)| *key);
    }
}

#[cfg(test)]
mod tests {
    use super::TrackedList;
    use crate::widgets::ListState;

    #[test]
    fn the_cursor_stays_on_its_row_and_on_its_line() {
        let mut tracked = TrackedList::default();
        let keys = [7, 5, 3, 1];
        tracked.arrange((0..4).collect(), |row| keys[row], true);
        tracked.list = ListState {
            selected: 2,
            top: 1,
        };
        tracked.remember();
        let keys = [9, 8, 7, 5, 3, 1];
        tracked.arrange((0..6).collect(), |row| keys[row], true);
        assert_eq!((tracked.list.selected, tracked.list.top), (4, 3));
        let keys = [5, 1];
        tracked.arrange((0..2).collect(), |row| keys[row], true);
        assert_eq!(tracked.list.selected, 4, "settled once its room is known");
    }

    #[test]
    fn what_nobody_looks_at_stays_at_its_beginning() {
        let mut tracked = TrackedList::default();
        for (is_looked_at, selected) in [(false, 0), (true, 1)] {
            tracked.arrange(vec![0], |_| 1, false);
            tracked.remember();
            tracked.arrange(vec![0, 1], |row| [2, 1][row], is_looked_at);
            assert_eq!(tracked.list.selected, selected);
        }
    }
}
