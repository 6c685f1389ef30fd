//! [`ListState`]: selection and scroll of rows that may have different heights.

use ratatui::text::Line;

/// One row as lines; the first `heading` of them stand above the row and are not highlighted.
#[derive(Debug, Clone, Default)]
pub(crate) struct RowLines {
    pub(crate) lines: Vec<Line<'static>>,
    pub(crate) heading: usize,
}

impl From<Vec<Line<'static>>> for RowLines {
    fn from(lines: Vec<Line<'static>>) -> Self {
        Self { lines, heading: 0 }
    }
}

/// What is selected and what stands on top.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ListState {
    /// Selected row.
    pub(crate) selected: usize,
    /// First row on the screen.
    pub(crate) top: usize,
    /// Rows that are wholly on the screen, as it was last settled.
    pub(crate) shown: usize,
}

impl ListState {
    /// Moves the selection by rows, not past the ends.
    pub(crate) fn step(&mut self, rows: isize, len: usize) {
        self.selected = self
            .selected
            .saturating_add_signed(rows)
            .min(len.saturating_sub(1));
    }

    /// Brings selection and scroll back into a list of `len` rows on `room` lines: the selected
    /// row is visible, and no room is left empty below while rows are hidden above.
    pub(crate) fn settle(&mut self, len: usize, room: usize, height: impl Fn(usize) -> usize) {
        self.selected = self.selected.min(len.saturating_sub(1));
        self.top = self.top.min(self.selected);
        self.shown = 0;
        if len == 0 || room == 0 {
            self.top = 0;
            return;
        }
        // Walk up from the selection until the room is full: nothing above that can be the top.
        let highest_top = reach_up(self.selected, room, &height);
        self.top = self.top.max(highest_top);
        // Rows below may have gone away or shrunk; then pull the list down to fill the room.
        let last_top = reach_up(len - 1, room, &height);
        self.top = self.top.min(last_top);
        let mut left = room;
        let fits = |index: &usize| {
            let height = height(*index);
            let fits = height <= left;
            left = left.saturating_sub(height);
            fits
        };
        self.shown = (self.top..len).take_while(fits).count();
    }

    /// Neither moved nor scrolled.
    pub(crate) fn is_at_beginning(&self) -> bool {
        (self.selected, self.top) == (0, 0)
    }

    /// Half of the rows that are shown.
    pub(crate) fn half_page(&self) -> isize {
        isize::try_from(self.shown / 2).unwrap_or(isize::MAX).max(1)
    }
}

/// The smallest top from which row `last` is wholly visible in `room` lines.
fn reach_up(last: usize, room: usize, height: &impl Fn(usize) -> usize) -> usize {
    let mut used = height(last);
    let mut top = last;
    while top > 0 {
        used += height(top - 1);
        if used > room {
            break;
        }
        top -= 1;
    }
    top
}

#[cfg(test)]
mod tests {
    use super::ListState;

    fn settled(
        selected: usize,
        top: usize,
        len: usize,
        room: usize,
        height: usize,
    ) -> (usize, usize) {
        let mut state = ListState {
            selected,
            top,
            shown: 0,
        };
        state.settle(len, room, |_| height);
        (state.selected, state.top)
    }

    #[test]
    fn the_selection_is_always_visible() {
        assert_eq!(settled(9, 0, 10, 4, 1), (9, 6));
        assert_eq!(settled(2, 5, 10, 4, 1), (2, 2));
        assert_eq!(settled(5, 0, 10, 4, 2), (5, 4));
    }

    #[test]
    fn half_a_page_is_half_of_the_rows_that_are_shown() {
        let half_page = |room, height| {
            let mut state = ListState::default();
            state.settle(40, room, |_| height);
            state.half_page()
        };
        assert_eq!(half_page(10, 1), 5);
        assert_eq!(half_page(11, 2), 2);
        assert_eq!(half_page(3, 9), 1);
        assert_eq!(half_page(0, 1), 1);
    }

    #[test]
    fn rows_that_are_gone_leave_no_hole() {
        assert_eq!(settled(9, 8, 3, 4, 1), (2, 0));
        assert_eq!(settled(0, 0, 0, 4, 1), (0, 0));
        assert_eq!(settled(3, 3, 10, 0, 1), (3, 0));
        assert_eq!(settled(3, 3, 5, 1, 9), (3, 3));
    }
}
