//! The timeline's scroll bar: where the rows are in the whole record, and what stands out in it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::deck::Deck;
use crate::layout::Layout;
use crate::model::{OutcomeState, TimelineGo};
use crate::pane::Pane;
use crate::theme::ThemeRole;

/// Where the bar is drawn: on the frame at the right, or in the column that no text has.
pub(crate) fn scroll_bar(deck: &Deck, layout: &Layout) -> Option<Rect> {
    let area = layout.pane(Pane::Timeline)?;
    let inner = layout.inner(area);
    let window = &deck.view.window;
    let is_part = window.has_older
        || window.has_newer
        || deck.timeline.list.shown < deck.timeline.order.len();
    let has_room = inner.height > 2 && area.width > 0;
    (is_part && has_room && window.head > 0).then(|| Rect {
        x: area.right() - 1,
        y: inner.y,
        width: 1,
        height: inner.height,
    })
}

/// The line on the bar at which a line of the record stands.
fn height_of(deck: &Deck, bar: Rect, line: u64) -> u16 {
    let head = deck.view.window.head.max(1);
    let line = line.clamp(1, head);
    let from_top = if deck.timeline.newest_first() {
        head - line
    } else {
        line - 1
    };
    let rows = u64::from(bar.height.saturating_sub(1));
    let down = u128::from(from_top) * u128::from(rows) / u128::from(head.max(2) - 1);
    bar.y + u16::try_from(down).unwrap_or(u16::MAX).min(bar.height - 1)
}

/// The place of the record at this height.
pub(crate) fn place_on_bar(deck: &Deck, bar: Rect, y: u16) -> TimelineGo {
    let rows = u64::from(bar.height.saturating_sub(1)).max(1);
    let down = u64::from(y.clamp(bar.y, bar.bottom() - 1) - bar.y);
    let from_top = if deck.timeline.newest_first() {
        down
    } else {
        rows - down
    };
    let head = deck.view.window.head;
    match from_top {
        0 => TimelineGo::Newest,
        _ if from_top == rows => TimelineGo::Oldest,
        _ => {
            let back = u128::from(head) * u128::from(from_top) / u128::from(rows);
            TimelineGo::Line((head - u64::try_from(back).unwrap_or(head)).max(1))
        }
    }
}

/// Draws it: marks first, and the part that is seen over them.
pub(crate) fn draw_scroll_bar(deck: &Deck, layout: &Layout, shown: usize, buf: &mut Buffer) {
    let Some(bar) = scroll_bar(deck, layout) else {
        return;
    };
    let theme = &deck.theme;
    let window = &deck.view.window;
    // A failure is seen also where a decision stands.
    for failed in [false, true] {
        let state = if failed {
            OutcomeState::Failed
        } else {
            OutcomeState::Done
        };
        let marks = window.marks.iter().filter(|mark| mark.failed == failed);
        for mark in marks {
            let y = height_of(deck, bar, mark.line);
            buf.set_string(bar.x, y, deck.glyphs.outcome(state), theme.outcome(state));
        }
    }
    let timeline = &deck.timeline;
    let rows = &deck.view.timeline;
    let line_at = |index: usize| timeline.row(rows, index).map(|row| row.seq);
    let top = timeline.list.top;
    let (Some(first), Some(last)) = (line_at(top), line_at(top + shown.max(1) - 1)) else {
        return;
    };
    let (from, to) = (height_of(deck, bar, first), height_of(deck, bar, last));
    let style = theme.style(if deck.focus == Pane::Timeline {
        ThemeRole::BorderFocus
    } else {
        ThemeRole::TextFaint
    });
    for y in from.min(to)..=from.max(to) {
        buf.set_string(bar.x, y, deck.glyphs.thumb(), style);
    }
}
