//! A place in the middle of a very long record.

use super::long_session;
use super::pieces::ago;
use crate::model::{DeckView, FoldedRows, TimelineMark, TimelineRow, TimelineWindow};

/// How long that record is.
const LINES: u64 = 1_000_000;

/// Rows of yesterday in a record of a million entries, with two folded ones among them.
pub fn far_back() -> DeckView {
    let mut view = long_session();
    view.timeline.truncate(40);
    for row in &mut view.timeline {
        row.seq += 400_000;
    }
    let last = view.timeline.last().map_or(1, |row| row.seq);
    let folded = |first: u64, count: u64, text: &str| {
        let last = first + count - 1;
        TimelineRow::of_folded(first, ago(24_000), FoldedRows { last, count }, text)
    };
    let machine = "daemon started · 2 more of the daemon and agents · 8 on messages' way";
    view.timeline.push(folded(last + 1, 11, machine));
    view.timeline.push(TimelineRow {
        kind: "finding".to_owned(),
        ..folded(
            last + 12,
            1_000,
            "1 000 findings of reviews, new or changed",
        )
    });
    view.ledger.entries = LINES;
    let mark = |line, failed| TimelineMark { line, failed };
    view.window = TimelineWindow {
        has_older: true,
        has_newer: true,
        head: LINES,
        marks: vec![
            mark(120_000, false),
            mark(560_000, true),
            mark(700_000, false),
            mark(890_000, true),
        ],
        ..TimelineWindow::default()
    };
    view
}
