//! [`TaskList`]: the cursor of the Tasks pane, as one list and as a board.

use std::sync::Arc;

use crate::model::{HandoffRow, TaskColumn, Tasks};
use crate::tracked_list::TrackedList;
use crate::widgets::ListState;

/// Something that the cursor can stand on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskItem<'t> {
    Row(&'t Arc<HandoffRow>),
    /// The line of a column that is folded, or was.
    Fold(TaskColumn),
}

/// What tells the items apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskKey {
    Row(u64),
    Fold(TaskColumn),
}

impl TaskItem<'_> {
    fn key(self) -> TaskKey {
        match self {
            Self::Row(row) => TaskKey::Row(row.seq),
            Self::Fold(column) => TaskKey::Fold(column),
        }
    }
}

/// Whether a column is one line until it is opened.
pub(crate) fn folds(column: TaskColumn) -> bool {
    matches!(column, TaskColumn::Stale | TaskColumn::Done)
}

/// Where the Tasks pane is.
#[derive(Debug, Clone, Default)]
pub(crate) struct TaskList {
    list: TrackedList<TaskKey>,
    /// Of the columns that fold: whether its rows are shown.
    opened: [bool; 5],
    /// The pane is shown as a board.
    is_board: bool,
    /// The column of the board that has the cursor.
    column: usize,
    board: [TrackedList<u64>; 5],
}

impl TaskList {
    /// Whether the rows of a column stand in the list.
    pub(crate) fn is_opened(&self, column: TaskColumn) -> bool {
        !folds(column) || self.opened[column.index()]
    }

    /// Opens a column that is folded, or folds it.
    pub(crate) fn toggle(&mut self, column: TaskColumn) {
        let opened = &mut self.opened[column.index()];
        *opened = !*opened;
    }

    /// Lines of the list that a column has.
    fn items(&self, tasks: &Tasks, column: TaskColumn) -> usize {
        let rows = tasks.column(column).len();
        let shown = if self.is_opened(column) { rows } else { 0 };
        shown + usize::from(folds(column) && tasks.count(column) > 0)
    }

    /// Items of the list.
    pub(crate) fn len(&self, tasks: &Tasks) -> usize {
        let items = |column| self.items(tasks, column);
        TaskColumn::ALL.into_iter().map(items).sum()
    }

    /// The item at a place of the list, and its place in its column.
    pub(crate) fn item<'t>(&self, tasks: &'t Tasks, index: usize) -> Option<(TaskItem<'t>, usize)> {
        let mut left = index;
        for column in TaskColumn::ALL {
            let items = self.items(tasks, column);
            if left >= items {
                left -= items;
                continue;
            }
            if folds(column) && left == 0 {
                return Some((TaskItem::Fold(column), 0));
            }
            let row = tasks
                .column(column)
                .get(left - usize::from(folds(column)))?;
            return Some((TaskItem::Row(row), left));
        }
        None
    }

    /// The rows that may be on the screen: so many from the first one of the list on, and of each
    /// column of the board.
    pub(crate) fn rows_from_top(
        &self,
        tasks: &Tasks,
        count: usize,
    ) -> Vec<(TaskColumn, Arc<HandoffRow>)> {
        if self.is_board {
            let columns = TaskColumn::ALL.into_iter().zip(&self.board);
            let rows = columns.flat_map(|(column, of)| {
                let top = of.list.top;
                let rows = (top..top + count).map_while(move |at| tasks.column(column).get(at));
                rows.map(move |row| (column, Arc::clone(row)))
            });
            return rows.collect();
        }
        let top = self.list.list.top;
        let items = (top..top + count).map_while(|at| self.item(tasks, at));
        let rows = items.filter_map(|(item, _)| match item {
            TaskItem::Row(row) => Some((row.column, Arc::clone(row))),
            TaskItem::Fold(_) => None,
        });
        rows.collect()
    }

    fn place_of(&self, tasks: &Tasks, key: TaskKey) -> Option<usize> {
        let mut before = 0;
        for column in TaskColumn::ALL {
            let fold = usize::from(folds(column) && tasks.count(column) > 0);
            match key {
                TaskKey::Fold(wanted) if wanted == column && fold > 0 => return Some(before),
                TaskKey::Row(seq) if self.is_opened(column) => {
                    if let Some(place) = tasks.column(column).place_of(seq) {
                        return Some(before + fold + place);
                    }
                }
                _ => {}
            }
            before += self.items(tasks, column);
        }
        None
    }

    /// What the cursor stands on.
    pub(crate) fn selected<'t>(&self, tasks: &'t Tasks) -> Option<TaskItem<'t>> {
        if self.is_board {
            let list = &self.board[self.column].list;
            return tasks.columns[self.column]
                .get(list.selected)
                .map(TaskItem::Row);
        }
        self.item(tasks, self.list.list.selected)
            .map(|(item, _)| item)
    }

    /// The list's selection and scroll.
    pub(crate) fn list(&self) -> ListState {
        self.list.list
    }

    /// Selection and scroll of the list, or of the board's column that has the cursor.
    pub(crate) fn list_in_use(&self) -> ListState {
        match self.is_board {
            true => self.board[self.column].list,
            false => self.list.list,
        }
    }

    /// To be settled and clicked into.
    pub(crate) fn list_mut(&mut self) -> &mut ListState {
        &mut self.list.list
    }

    /// The column of the board that has the cursor.
    pub(crate) fn board_column(&self) -> usize {
        self.column
    }

    /// Selection and scroll of a column of the board.
    pub(crate) fn board_list(&self, column: usize) -> ListState {
        self.board[column].list
    }

    /// To be settled and clicked into; the cursor does not move there by that.
    pub(crate) fn board_list_mut(&mut self, column: usize) -> &mut ListState {
        &mut self.board[column].list
    }

    /// The cursor goes to this column of the board.
    pub(crate) fn focus_column(&mut self, column: usize) {
        self.column = column.min(TaskColumn::ALL.len() - 1);
    }

    /// Shown as a board or as a list from now on; the cursor stays on its task.
    pub(crate) fn show_as(&mut self, tasks: &Tasks, is_board: bool) {
        if self.is_board == is_board {
            return;
        }
        let selected = self.selected(tasks).map(TaskItem::key);
        self.is_board = is_board;
        match selected {
            Some(TaskKey::Fold(column)) => self.column = column.index(),
            Some(TaskKey::Row(seq)) if is_board => {
                let places = tasks.columns.iter().map(|rows| rows.place_of(seq));
                let found = places
                    .enumerate()
                    .find_map(|(at, place)| Some((at, place?)));
                if let Some((column, place)) = found {
                    self.column = column;
                    self.board[column].list.selected = place;
                }
            }
            Some(TaskKey::Row(seq)) => {
                let column = TaskColumn::ALL[self.column];
                if folds(column) {
                    self.opened[self.column] = true;
                }
                if let Some(place) = self.place_of(tasks, TaskKey::Row(seq)) {
                    self.list.list.selected = place;
                }
            }
            None => {}
        }
    }

    /// Moves by rows.
    pub(crate) fn step(&mut self, tasks: &Tasks, rows: isize) {
        if self.is_board {
            let len = tasks.columns[self.column].len();
            self.board[self.column].list.step(rows, len);
        } else {
            let len = self.len(tasks);
            self.list.list.step(rows, len);
        }
    }

    /// To the next column, or the one before: of the list the first row of it.
    pub(crate) fn step_column(&mut self, tasks: &Tasks, forward: bool) {
        if self.is_board {
            let board = TaskColumn::BOARD.map(TaskColumn::index);
            let at = board.iter().position(|index| *index == self.column);
            let at = at.unwrap_or(0);
            let to = at.saturating_add_signed(if forward { 1 } else { -1 });
            return self.focus_column(board[to.min(board.len() - 1)]);
        }
        let mut begins = Vec::new();
        let mut before = 0;
        for column in TaskColumn::ALL {
            let items = self.items(tasks, column);
            if items > 0 {
                begins.push(before);
            }
            before += items;
        }
        let at = self.list.list.selected;
        let to = if forward {
            begins.into_iter().find(|begin| *begin > at)
        } else {
            begins.into_iter().rev().find(|begin| *begin < at)
        };
        if let Some(to) = to {
            self.list.list.selected = to;
        }
    }

    /// Other tasks have come.
    pub(crate) fn arrange(&mut self, tasks: &Tasks, is_looked_at: bool) {
        let mut list = std::mem::take(&mut self.list);
        list.arrange(|key| self.place_of(tasks, key), is_looked_at);
        self.list = list;
        for (list, rows) in self.board.iter_mut().zip(&tasks.columns) {
            list.arrange(|seq| rows.place_of(seq), is_looked_at);
        }
    }

    /// The cursor is where it is meant to be.
    pub(crate) fn remember(&mut self, tasks: &Tasks) {
        let item = self.item(tasks, self.list.list.selected);
        self.list.remember(item.map(|(item, _)| item.key()));
        for (list, rows) in self.board.iter_mut().zip(&tasks.columns) {
            let row = rows.get(list.list.selected);
            list.remember(row.map(|row| row.seq));
        }
    }
}
