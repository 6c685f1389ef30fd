//! [`SharedLedger::window`]: the rows of a timeline around any position in the ledger.
//!
//! Positions come from the index: a row's kind, and whether a query wants it, are known without
//! reading. Only the returned rows are read.

use std::collections::BTreeSet;
use std::io;

use super::shared::SharedLedger;
use super::slots::Slot;
use super::unread_lines::UnreadLines;
use super::window_steps::WindowSteps;
use super::window_walk::{Piece, Sieve, Walk};
use ctxrelay_core::id::Seq;
use ctxrelay_core::wire::window::{
    MARKS_MAX, RecordMark, RowQuery, WINDOW_ROWS_MAX, WindowPage, WindowParams, WindowPlace,
    WindowRow,
};

/// Rows when nobody names a number.
const ROWS: u32 = 200;

/// How many entries one page reads and leaves out before it says how far it came.
const LEFT_OUT_MAX: usize = 2_000;

/// How many bytes of lines one page reads, however few rows they are; one row is always read.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Places that are looked at under one lock, so that appends never wait for a reader.
const LOOK_AT_ONCE: usize = 64 * 1024;

impl SharedLedger {
    /// The rows of a timeline around a place; `waiting` are the lines of what waits for somebody. A
    /// line that cannot be read any more is a row as one that never was an entry.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn window(&self, params: &WindowParams, waiting: &BTreeSet<u64>) -> io::Result<WindowPage> {
        let limit = match params.limit {
            0 => ROWS,
            limit => limit.min(WINDOW_ROWS_MAX),
        };
        let mut reader = WindowReader {
            shared: self,
            query: &params.query,
            waiting,
            unfolded: &params.unfolded,
            left_out: 0,
            bytes: 0,
            unread: UnreadLines::default(),
        };
        // Before the rows: what is appended while they are read is sent to followers, and must not
        // count as known where the rows do not have it.
        let head = self.index().last().map_or(0, |slot| slot.seq.into());
        let mut page = reader.page(params.place, limit as usize)?;
        reader.unread.end()?;
        page.steps = WindowSteps::new(self).of(&page.rows)?;
        page.head = page.rows.last().map_or(head, |row| row.last().max(head));
        if params.marks > 0 {
            page.marks = marks(self, params.marks.min(MARKS_MAX));
        }
        Ok(page)
    }

    /// What keeps of lines those whose entries a query may want, among the entries that are there now.
    pub(crate) fn sieve(
        &self,
        query: &RowQuery,
        waiting: &BTreeSet<u64>,
    ) -> impl Fn(&mut Vec<u64>) {
        let sieve = Sieve::new(query, self.index().words());
        move |lines| {
            let index = self.index();
            lines.retain(|line| {
                let slot = index.get(Seq(*line));
                slot.is_some_and(|slot| sieve.takes(&slot, waiting))
            });
        }
    }
}

struct WindowReader<'a> {
    shared: &'a SharedLedger,
    query: &'a RowQuery,
    waiting: &'a BTreeSet<u64>,
    unfolded: &'a [u64],
    left_out: usize,
    bytes: u64,
    unread: UnreadLines,
}

/// Rows in one direction.
#[derive(Debug, Default)]
struct Side {
    /// In the order of the walk.
    rows: Vec<WindowRow>,
    has_more: bool,
    stopped_at: Option<u64>,
}

impl Side {
    /// Adds a line that cannot be read any more; whether it has a row of its own, and does not stand
    /// in that of its neighbour.
    fn push_bad(&mut self, line: u64, at_ms: i64) -> bool {
        if let Some(WindowRow::Bad { first, last, .. }) = self.rows.last_mut() {
            if *last + 1 == line {
                *last = line;
                return false;
            }
            if line + 1 == *first {
                *first = line;
                return false;
            }
        }
        let (first, last) = (line, line);
        self.rows.push(WindowRow::Bad { first, last, at_ms });
        true
    }
}

impl WindowReader<'_> {
    fn page(&mut self, place: WindowPlace, limit: usize) -> io::Result<WindowPage> {
        let head = self.shared.index().last().map_or(0, |slot| slot.seq.into());
        match place {
            WindowPlace::Newest => {
                let side = self.side(u64::MAX, false, limit)?;
                Ok(backwards(side, false, Some(head)))
            }
            WindowPlace::Oldest => {
                let side = self.side(0, true, limit)?;
                let at = side.rows.first().map(WindowRow::first);
                Ok(forwards(side, false, at))
            }
            WindowPlace::Before(line) => {
                let side = self.side(line, false, limit)?;
                Ok(backwards(side, true, None))
            }
            WindowPlace::After(line) => {
                let side = self.side(line, true, limit)?;
                Ok(forwards(side, true, None))
            }
            WindowPlace::Line(line) => self.around(line, limit),
            WindowPlace::Time(at_ms) => match self.line_at(at_ms) {
                Some(line) => self.around(line, limit),
                None => Ok(WindowPage::default()),
            },
            WindowPlace::LandmarkBefore(line) => self.around_landmark(line, false, limit),
            WindowPlace::LandmarkAfter(line) => self.around_landmark(line, true, limit),
        }
    }

    fn around_landmark(
        &mut self,
        line: u64,
        ascending: bool,
        limit: usize,
    ) -> io::Result<WindowPage> {
        match self.landmark(line, ascending) {
            Some(line) => self.around(line, limit),
            None => Ok(WindowPage::default()),
        }
    }

    fn around(&mut self, line: u64, limit: usize) -> io::Result<WindowPage> {
        let seam = self.seam(line);
        // What was asked for and what comes after it, then what comes before.
        let newer = self.side(seam.saturating_sub(1), true, limit.div_ceil(2))?;
        self.left_out = 0;
        let visible = newer.rows.iter().filter(|row| self.is_shown(row)).count();
        let older = self.side(seam, false, limit.saturating_sub(visible).max(1))?;
        let mut rows = older.rows;
        rows.reverse();
        rows.extend(newer.rows);
        Ok(WindowPage {
            rows,
            at: Some(line),
            has_older: older.has_more,
            has_newer: newer.has_more,
            stopped_at: older.stopped_at,
            newer_stopped_at: newer.stopped_at,
            ..WindowPage::default()
        })
    }

    /// Where the row of this line begins: a folded one must not be cut.
    fn seam(&self, line: u64) -> u64 {
        let index = self.shared.index();
        let slots = index.slots();
        let below = slots.count_below(line.saturating_add(1));
        let Some(place) = below.checked_sub(1) else {
            return 0;
        };
        let slot = slots.at(place);
        if u64::from(slot.seq) != line && self.query.takes_bad_lines() {
            // A line that could not be read: its row begins behind the entry before it.
            return u64::from(slot.seq) + 1;
        }
        let sieve = self.sieve(index.words());
        match sieve.run_start(slots, place) {
            Some(first) if !self.unfolded.contains(&first) => first,
            _ => line,
        }
    }

    fn sieve(&self, words: &super::index::SlotWords) -> Sieve {
        Sieve::new(self.query, words)
    }

    fn is_shown(&self, row: &WindowRow) -> bool {
        match row {
            WindowRow::Machine { run, .. } => self.query.shows_run(run),
            _ => true,
        }
    }

    /// Up to so many rows that are shown beyond this line.
    fn side(&mut self, cursor: u64, ascending: bool, limit: usize) -> io::Result<Side> {
        let mut side = Side::default();
        let mut shown = 0;
        // What belongs to a handoff comes behind it.
        let thread = self.query.thread.as_ref();
        // Where it cannot be read all of the record is looked through.
        let floor = thread.map(|thread| self.shared.seq_of(thread));
        let floor = floor.and_then(Result::ok).flatten();
        let floor = floor.map_or(0, |seq| seq.0);
        let cursor = if ascending {
            cursor.max(floor.saturating_sub(1))
        } else {
            cursor
        };
        let mut walk = Walk::new(cursor, ascending, floor);
        loop {
            let pieces = {
                let index = self.shared.index();
                let sieve = self.sieve(index.words());
                walk.next(&index, &sieve, self.waiting, self.unfolded, LOOK_AT_ONCE)
            };
            for piece in pieces {
                if shown == limit || self.left_out >= LEFT_OUT_MAX {
                    side.has_more = true;
                    if shown < limit {
                        side.stopped_at = Some(piece.near_end(ascending));
                    }
                    return Ok(side);
                }
                match piece {
                    Piece::Entry(slot) => {
                        if self.bytes > BYTES_MAX && shown > 0 {
                            side.has_more = true;
                            return Ok(side);
                        }
                        self.bytes += u64::from(slot.len);
                        let line = u64::from(slot.seq);
                        let waits = || self.waiting.contains(&line);
                        match self.unread.take(line, self.shared.load(slot))? {
                            Some(stored) if self.query.takes(&stored.entry, waits) => {
                                side.rows.push(WindowRow::of(stored.entry));
                                shown += 1;
                            }
                            None if self.query.takes_bad_lines() => {
                                match side.push_bad(line, slot.at_ms) {
                                    true => shown += 1,
                                    false => self.left_out += 1,
                                }
                            }
                            _ => {
                                self.left_out += 1;
                                side.stopped_at = Some(line);
                            }
                        }
                    }
                    Piece::Machine(run) => {
                        let news = run.news_line.and_then(|line| {
                            Some((line, self.shared.read(Seq(line)).transpose()?))
                        });
                        let news = news
                            .map(|(line, news)| self.unread.take(line, news))
                            .transpose()?;
                        let news = news.flatten();
                        let news = news.map(|news| WindowRow::of(news.entry));
                        let text = match news {
                            Some(WindowRow::Entry { entry, .. }) => entry.content,
                            _ => String::new(),
                        };
                        let row = WindowRow::Machine { run, text };
                        shown += usize::from(self.is_shown(&row));
                        side.rows.push(row);
                    }
                    Piece::Bad { first, last, at_ms } => {
                        side.rows.push(WindowRow::Bad { first, last, at_ms });
                        shown += 1;
                    }
                }
            }
            if walk.is_done() {
                side.stopped_at = None;
                return Ok(side);
            }
        }
    }

    /// The entry whose time is the nearest at or after this one, or else the last before it.
    fn line_at(&self, at_ms: i64) -> Option<u64> {
        let mut best: Option<(bool, i64, u64)> = None;
        let mut from = 0;
        loop {
            let index = self.shared.index();
            let slots = index.slots();
            let to = (from + LOOK_AT_ONCE).min(slots.len());
            for slot in slots.range(from..to) {
                let is_before = slot.at_ms < at_ms;
                let far = slot.at_ms.saturating_sub(at_ms).saturating_abs();
                let found = (is_before, far, u64::from(slot.seq));
                let is_better = best.is_none_or(|(before, near, _)| {
                    // Of those before it the last one, of those at or after it the first.
                    (is_before, far) < (before, near) || is_before && (before, near) == (true, far)
                });
                if is_better {
                    best = Some(found);
                }
            }
            if to == slots.len() {
                return best.map(|(_, _, line)| line);
            }
            from = to;
        }
    }

    fn landmark(&self, line: u64, ascending: bool) -> Option<u64> {
        let mut cursor = line;
        loop {
            let index = self.shared.index();
            let sieve = self.sieve(index.words());
            let slots = index.slots();
            let found = |slot: &Slot| sieve.is_landmark(slot) && sieve.takes(slot, self.waiting);
            let (found, last) = if ascending {
                let from = slots.count_below(cursor.saturating_add(1));
                let to = (from + LOOK_AT_ONCE).min(slots.len());
                let hit = slots.range(from..to).find(found);
                (hit, (to < slots.len()).then(|| slots.at(to - 1)))
            } else {
                let to = slots.count_below(cursor);
                let from = to.saturating_sub(LOOK_AT_ONCE);
                let hit = slots.range(from..to).rev().find(found);
                (hit, (from > 0).then(|| slots.at(from)))
            };
            match (found, last) {
                (Some(slot), _) => return Some(slot.seq.into()),
                (None, Some(last)) => cursor = last.seq.into(),
                (None, None) => return None,
            }
        }
    }
}

fn backwards(side: Side, has_newer: bool, at: Option<u64>) -> WindowPage {
    let mut rows = side.rows;
    rows.reverse();
    WindowPage {
        rows,
        at,
        has_older: side.has_more,
        has_newer,
        stopped_at: side.stopped_at,
        ..WindowPage::default()
    }
}

fn forwards(side: Side, has_older: bool, at: Option<u64>) -> WindowPage {
    WindowPage {
        rows: side.rows,
        at,
        has_older,
        has_newer: side.has_more,
        stopped_at: side.stopped_at,
        ..WindowPage::default()
    }
}

/// What stands out in each stretch of the record: one failure and one decision at most.
fn marks(shared: &SharedLedger, stretches: u32) -> Vec<RecordMark> {
    let mut marks: Vec<RecordMark> = Vec::new();
    let mut from = 0;
    let mut last_of = [None::<u64>; 2];
    loop {
        let index = shared.index();
        let slots = index.slots();
        let head: u64 = slots.last().map_or(0, |slot| slot.seq.into());
        let sieve = Sieve::new(&RowQuery::default(), index.words());
        let to = (from + LOOK_AT_ONCE).min(slots.len());
        for slot in slots.range(from..to) {
            let Some(failed) = sieve.mark(&slot) else {
                continue;
            };
            let line = u64::from(slot.seq);
            let stretch = line.saturating_sub(1) * u64::from(stretches) / head.max(1);
            let last = &mut last_of[usize::from(failed)];
            if *last != Some(stretch) {
                *last = Some(stretch);
                marks.push(RecordMark { line, failed });
            }
        }
        if to == slots.len() {
            return marks;
        }
        from = to;
    }
}
