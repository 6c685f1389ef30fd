//! [`WorkRows`]: the rows of Tasks and Handoffs, including those that have just gone.
//!
//! A handoff that is closed, or moves to another column, stays in its place, dimmed, for a moment:
//! nothing may slide under the cursor while the operator reaches for a key.

use std::sync::Arc;

use crate::inbox_rows::GONE_MS;
use crate::model::{DeckView, HandoffRow, HandoffRows, TaskColumn, Tasks};
use crate::task_list::TaskList;
use crate::widgets::ListState;

/// Rows of a list that are looked at, from the first on that is shown. More do not fit a screen.
const ROWS_LOOKED_AT: usize = 100;

/// A row that is gone, and until when it is still shown, ms since the epoch. Without a column it is
/// one of Handoffs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct GoneRow {
    column: Option<TaskColumn>,
    row: Arc<HandoffRow>,
    until_ms: i64,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct WorkRows {
    pub(crate) tasks: Tasks,
    pub(crate) handoffs: HandoffRows,
    gone: Vec<GoneRow>,
}

impl WorkRows {
    /// Takes the rows of a new view. Of those that are gone the ones stay that are on the screen.
    pub(crate) fn take(&mut self, view: &DeckView, cursor: &TaskList, handoffs: ListState) {
        let now_ms = view.now_ms;
        let mut shown: Vec<(Option<TaskColumn>, Arc<HandoffRow>)> = Vec::new();
        let tasks = cursor.rows_from_top(&self.tasks, ROWS_LOOKED_AT);
        shown.extend(tasks.into_iter().map(|(column, row)| (Some(column), row)));
        let top = handoffs.top;
        let rows = (top..top + ROWS_LOOKED_AT).map_while(|at| self.handoffs.get(at));
        shown.extend(rows.map(|row| (None, Arc::clone(row))));
        let before = std::mem::take(&mut self.gone);
        self.tasks.clone_from(&view.tasks);
        self.handoffs.clone_from(&view.handoffs);
        for (column, row) in shown {
            if self.rows(column).place_of(row.seq).is_some() {
                continue;
            }
            let mut known = before.iter();
            let known = known.find(|gone| gone.column == column && gone.row.seq == row.seq);
            let until_ms = known.map_or(now_ms.saturating_add(GONE_MS), |gone| gone.until_ms);
            if until_ms > now_ms {
                self.rows(column).insert(Arc::clone(&row));
                let gone = GoneRow {
                    column,
                    row,
                    until_ms,
                };
                self.gone.push(gone);
            }
        }
    }

    /// Another record has begun.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Drops what was gone long enough; whether anything was.
    pub(crate) fn expire(&mut self, now_ms: i64) -> bool {
        let (over, left) = std::mem::take(&mut self.gone)
            .into_iter()
            .partition(|gone: &GoneRow| gone.until_ms <= now_ms);
        self.gone = left;
        let over: Vec<GoneRow> = over;
        for gone in &over {
            self.rows(gone.column).remove(gone.row.seq);
        }
        !over.is_empty()
    }

    fn rows(&mut self, column: Option<TaskColumn>) -> &mut HandoffRows {
        match column {
            Some(column) => &mut self.tasks.columns[column.index()],
            None => &mut self.handoffs,
        }
    }

    /// Whether a row is only still shown; without a column it is one of Handoffs.
    pub(crate) fn is_gone(&self, column: Option<TaskColumn>, seq: u64) -> bool {
        let mut gone = self.gone.iter();
        gone.any(|gone| gone.column == column && gone.row.seq == seq)
    }

    /// The clock was put back.
    pub(crate) fn put_back(&mut self, by_ms: i64) {
        for gone in &mut self.gone {
            gone.until_ms = gone.until_ms.saturating_sub(by_ms);
        }
    }

    /// When the next row goes, ms since the epoch.
    pub(crate) fn next_gone_ms(&self) -> Option<i64> {
        self.gone.iter().map(|gone| gone.until_ms).min()
    }
}
