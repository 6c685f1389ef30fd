//! [`TimelineState`]: which rows are shown in which order, which others are requested, the search,
//! and following.

use crate::model::{Chips, DeckView, TimelineGo, TimelineRow, TimelineWindow, TimelineWish};
use crate::widgets::ListState;

/// Rows at the edge of what is loaded: with the selection among them more is asked for.
const EDGE: usize = 60;

/// What failed to be loaded may be asked for again after this long, ms.
const ASK_AGAIN_MS: i64 = 2_000;

/// Whether that time is not over yet. Not before its time either: a clock may be put back.
fn is_too_soon(at_ms: i64, now_ms: i64) -> bool {
    (0..ASK_AGAIN_MS).contains(&now_ms.saturating_sub(at_ms))
}

/// Folded rows that stand one by one at most; of more nobody remembers which.
const UNFOLDED_MAX: usize = 64;

/// A wish that was not answered yet.
#[derive(Debug, Clone, Copy)]
struct Asked {
    number: u64,
    at_ms: i64,
    go: TimelineGo,
}

#[derive(Debug, Clone)]
pub(crate) struct TimelineState {
    pub(crate) list: ListState,
    /// Indices into the view's rows, in the order of the screen.
    pub(crate) order: Vec<usize>,
    pub(crate) follow: bool,
    pub(crate) chips: Chips,
    /// The first lines of folded rows that stand one by one.
    unfolded: Vec<u64>,
    /// How many wishes there were.
    wishes: u64,
    asked: Option<Asked>,
    /// What is asked for when the wish before it is answered.
    next: Option<TimelineGo>,
    /// When it was told that what was asked for could not be read.
    failed_ms: Option<i64>,
    /// The scroll bar is held.
    pub(crate) is_dragged: bool,
    /// What is marked where it stands; empty when nothing is searched for.
    pub(crate) search: String,
    newest_first: bool,
    /// The newest entry when following was paused.
    paused_at_seq: Option<u64>,
    /// The rows that are meant to stand under the cursor and on top.
    cursor: TimelineCursor,
    /// The rows that did, when that was last settled: others where a filter hides what is meant.
    stood: TimelineCursor,
    /// Where they stood when that was last settled.
    placed: ListState,
}

/// The rows under the cursor and on top, by what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TimelineCursor {
    selected: Option<u64>,
    top: Option<u64>,
}

impl TimelineState {
    pub(crate) fn new(newest_first: bool) -> Self {
        Self {
            list: ListState::default(),
            order: Vec::new(),
            follow: true,
            chips: Chips::default(),
            unfolded: Vec::new(),
            wishes: 0,
            asked: None,
            next: None,
            failed_ms: None,
            is_dragged: false,
            search: String::new(),
            newest_first,
            paused_at_seq: None,
            cursor: TimelineCursor::default(),
            stood: TimelineCursor::default(),
            placed: ListState::default(),
        }
    }

    /// Takes the rows of a new view; the row under the cursor and the one on top stay where they
    /// are unless the timeline follows.
    pub(crate) fn update(&mut self, rows: &[TimelineRow]) {
        self.arrange(rows);
        self.place(rows, self.stood);
        if self.follow {
            self.select_newest();
        }
    }

    fn place(&mut self, rows: &[TimelineRow], cursor: TimelineCursor) {
        if let Some(seq) = cursor.selected {
            self.list.selected = self.position(rows, seq);
        }
        if let Some(seq) = cursor.top {
            self.list.top = self.position(rows, seq);
        }
        self.placed = self.list;
    }

    /// Cursor and top are where they are meant to be.
    pub(crate) fn remember(&mut self, rows: &[TimelineRow]) {
        let seq_at = |index| self.row(rows, index).map(|row| row.seq);
        let cursor = TimelineCursor {
            selected: seq_at(self.list.selected),
            top: seq_at(self.list.top),
        };
        if self.follow
            || self.cursor.selected.is_none()
            || self.list.selected != self.placed.selected
        {
            self.cursor = cursor;
        } else if self.list.top != self.placed.top {
            self.cursor.top = cursor.top;
        }
        self.stood = cursor;
        self.placed = self.list;
    }

    fn arrange(&mut self, rows: &[TimelineRow]) {
        self.order = (0..rows.len()).collect();
        if self.newest_first {
            self.order.reverse();
        }
    }

    /// Where an entry stands on the screen, or the one that comes nearest.
    fn position(&self, rows: &[TimelineRow], seq: u64) -> usize {
        let place = |index: &usize| rows.get(*index).map_or(0, |row| row.seq);
        let found = if self.newest_first {
            self.order.partition_point(|index| place(index) > seq)
        } else {
            self.order.partition_point(|index| place(index) < seq)
        };
        found.min(self.order.len().saturating_sub(1))
    }

    /// Stops following.
    pub(crate) fn pause(&mut self, rows: &[TimelineRow]) {
        self.pause_at(rows.last().map(|row| row.seq));
    }

    /// As [`Self::pause`]: what comes behind this line counts as new.
    fn pause_at(&mut self, newest: Option<u64>) {
        if self.follow {
            self.follow = false;
            self.paused_at_seq = newest;
        }
    }

    /// Follows again, from the newest entry.
    pub(crate) fn resume(&mut self) {
        self.follow = true;
        self.paused_at_seq = None;
        self.select_newest();
    }

    /// Another record has begun.
    pub(crate) fn begin_again(&mut self) {
        self.unfolded.clear();
        self.asked = None;
        self.next = None;
        self.failed_ms = None;
        self.resume();
    }

    /// Asks for the rows at this place.
    pub(crate) fn ask(&mut self, go: TimelineGo, now_ms: i64) -> TimelineWish {
        self.wishes += 1;
        self.asked = Some(Asked {
            number: self.wishes,
            at_ms: now_ms,
            go,
        });
        TimelineWish {
            number: self.wishes,
            go,
            chips: self.chips.clone(),
            unfolded: self.unfolded.clone(),
        }
    }

    /// As [`Self::ask`], once what was asked for before has come: of many that are asked for
    /// meanwhile only the last one.
    pub(crate) fn ask_next(&mut self, go: TimelineGo, now_ms: i64) -> Option<TimelineWish> {
        if self.is_waiting(now_ms) {
            self.next = Some(go);
            return None;
        }
        Some(self.ask(go, now_ms))
    }

    /// What was put off, when it may be asked for now.
    pub(crate) fn take_next(&mut self, now_ms: i64) -> Option<TimelineWish> {
        let next = self.next.take_if(|_| self.asked.is_none())?;
        Some(self.ask(next, now_ms))
    }

    /// Whether rows elsewhere were asked for, and have not come.
    pub(crate) fn is_jumping(&self) -> bool {
        let asked = self.asked.as_ref().map(|asked| asked.go);
        asked.is_some_and(|go| !matches!(go, TimelineGo::Older | TimelineGo::Newer))
    }

    fn is_waiting(&self, now_ms: i64) -> bool {
        let asked = self.asked.as_ref();
        asked.is_some_and(|asked| is_too_soon(asked.at_ms, now_ms))
    }

    /// Asks for more rows when the selection comes near the end of what is loaded.
    pub(crate) fn slide(
        &mut self,
        rows: &[TimelineRow],
        window: &TimelineWindow,
        now_ms: i64,
    ) -> Option<TimelineWish> {
        let len = self.order.len();
        let (first, last) = (
            self.list.selected,
            len.saturating_sub(self.list.selected + 1),
        );
        let (newer, older) = if self.newest_first {
            (first, last)
        } else {
            (last, first)
        };
        if self.is_waiting(now_ms) {
            // Rows that come at one end push those at the other one out, where the selection has
            // gone meanwhile.
            let pushed = match self.asked.as_ref().map(|asked| asked.go) {
                Some(TimelineGo::Newer) => older < EDGE,
                Some(TimelineGo::Older) => newer < EDGE && !self.follow,
                _ => false,
            };
            let line = self.selected(rows).map(|row| row.seq);
            let line = line.filter(|_| pushed && len > 2 * EDGE);
            return line.map(|line| self.ask(TimelineGo::Line(line), now_ms));
        }
        if (self.failed_ms).is_some_and(|failed_ms| is_too_soon(failed_ms, now_ms)) {
            return None;
        }
        let go = match window.has_newer {
            // Rows came that were not told of one by one.
            true if self.follow => TimelineGo::Newest,
            _ if older < EDGE && window.has_older => TimelineGo::Older,
            true if newer < EDGE => TimelineGo::Newer,
            _ => return None,
        };
        Some(self.ask(go, now_ms))
    }

    /// Rows have come: goes where they were asked for. Says so where there is nothing; why rows could
    /// not be read was told already.
    pub(crate) fn answered(
        &mut self,
        rows: &[TimelineRow],
        window: &TimelineWindow,
        now_ms: i64,
    ) -> Option<&'static str> {
        let asked = self
            .asked
            .take_if(|asked| asked.number <= window.answered)?;
        self.failed_ms = window.has_failed.then_some(now_ms);
        if window.has_failed {
            self.next = None;
            return None;
        }
        if matches!(asked.go, TimelineGo::Older | TimelineGo::Newer) {
            return None;
        }
        if asked.go == TimelineGo::Newest {
            self.resume();
            return None;
        }
        let Some(line) = window.line else {
            return Some(match asked.go {
                TimelineGo::LandmarkOlder(_) => {
                    "no decision, failure or message of yours before this"
                }
                TimelineGo::LandmarkNewer(_) => {
                    "no decision, failure or message of yours after this"
                }
                _ => "there is nothing to go to",
            });
        };
        // These rows may end long before the record does.
        let last = rows.last().map_or(0, TimelineRow::last);
        self.pause_at(Some(window.head.max(last)));
        self.list.selected = match asked.go {
            // What happened before it is not what was asked for.
            TimelineGo::Time(_) => self.at_or_after(rows, line),
            _ => self.at_or_before(rows, line),
        };
        // In the middle, where what comes before and after it is seen too.
        self.list.top = self.list.selected.saturating_sub(self.list.shown / 2);
        self.cursor = TimelineCursor::default();
        self.open_for(rows, asked.go);
        self.is_beside(rows, asked.go).then_some(
            "that entry has no row of its own: here is what came before it; \
             `ctxrelay ledger show` with its number has it",
        )
    }

    /// Whether an entry was asked for that no row shows, such as the beginning of a turn.
    fn is_beside(&self, rows: &[TimelineRow], go: TimelineGo) -> bool {
        let row = self.selected(rows);
        matches!(go, TimelineGo::Entry(line) if row.is_some_and(|row| row.last() < line))
    }

    /// Where an entry was asked for and its run has come, its rows one by one are asked for next.
    fn open_for(&mut self, rows: &[TimelineRow], go: TimelineGo) {
        let run = self.selected(rows).filter(|row| row.folded.is_some());
        if let (Some(run), TimelineGo::Entry(line)) = (run, go)
            && (run.seq..=run.last()).contains(&line)
            && !self.unfolded.contains(&run.seq)
        {
            self.unfold(run.seq);
            self.next = Some(go);
        }
    }

    /// Where the row stands that has this line, or the nearest one before it.
    pub(crate) fn at_or_before(&self, rows: &[TimelineRow], line: u64) -> usize {
        let place = |index: &usize| rows.get(*index).map_or(0, |row| row.seq);
        let found = if self.newest_first {
            self.order.partition_point(|index| place(index) > line)
        } else {
            let behind = self.order.partition_point(|index| place(index) <= line);
            behind.saturating_sub(1)
        };
        found.min(self.order.len().saturating_sub(1))
    }

    /// Where the row stands that has this line, or the nearest one after it; the newest one where
    /// nothing comes after it.
    fn at_or_after(&self, rows: &[TimelineRow], line: u64) -> usize {
        let behind = rows.partition_point(|row| row.last() < line);
        let at = behind.min(rows.len().saturating_sub(1));
        match self.newest_first {
            true => rows.len().saturating_sub(1 + at),
            false => at,
        }
    }

    /// Shows the rows that are folded here one by one from now on.
    pub(crate) fn unfold(&mut self, line: u64) {
        if self.unfolded.len() == UNFOLDED_MAX {
            self.unfolded.remove(0);
        }
        self.unfolded.push(line);
    }

    /// Folds everything again; whether there was anything.
    pub(crate) fn fold(&mut self) -> bool {
        !std::mem::take(&mut self.unfolded).is_empty()
    }

    /// Whether the newest row is on top.
    pub(crate) fn newest_first(&self) -> bool {
        self.newest_first
    }

    fn select_newest(&mut self) {
        let last = self.order.len().saturating_sub(1);
        self.list.selected = if self.newest_first { 0 } else { last };
        self.list.top = self.list.selected;
    }

    pub(crate) fn select_oldest(&mut self, rows: &[TimelineRow]) {
        self.pause(rows);
        self.list.selected = match self.newest_first {
            true => self.order.len().saturating_sub(1),
            false => 0,
        };
    }

    /// Rows that came while the timeline was paused and stand beyond the screen.
    pub(crate) fn missed(&self, rows: &[TimelineRow]) -> usize {
        let Some(seq) = self.paused_at_seq else {
            return 0;
        };
        let order = &self.order;
        let is_new = |index: &usize| rows.get(*index).is_some_and(|row| row.seq > seq);
        if self.newest_first {
            let new = order.partition_point(is_new);
            new.min(self.list.top)
        } else {
            let below = (self.list.top + self.list.shown).min(order.len());
            order.len() - order.partition_point(|index| !is_new(index)).max(below)
        }
    }

    pub(crate) fn row<'v>(&self, rows: &'v [TimelineRow], index: usize) -> Option<&'v TimelineRow> {
        rows.get(*self.order.get(index)?)
    }

    pub(crate) fn selected<'v>(&self, rows: &'v [TimelineRow]) -> Option<&'v TimelineRow> {
        self.row(rows, self.list.selected)
    }

    /// The rows that may be on the screen.
    pub(crate) fn shown<'v>(&'v self, view: &'v DeckView) -> impl Iterator<Item = &'v TimelineRow> {
        self.order
            .iter()
            .skip(self.list.top)
            .take(self.list.shown.max(1))
            .filter_map(|index| view.timeline.get(*index))
    }
}

#[cfg(test)]
mod tests;
