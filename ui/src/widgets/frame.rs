//! The frame of a pane or overlay, with its titles and its scroll mark.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Widget as _};

use super::line::{fit_line, spans_of, width_of};
use crate::glyph::Glyphs;

/// Draws a frame with a title at the left and one at the right; gives the inside.
pub(crate) fn draw_frame(
    area: Rect,
    buf: &mut Buffer,
    glyphs: Glyphs,
    border: Style,
    left: Line<'static>,
    right: Line<'static>,
) -> Rect {
    let block = Block::bordered()
        .border_set(glyphs.border())
        .border_style(border);
    let inner = block.inner(area);
    block.render(area, buf);
    let room = usize::from(area.width.saturating_sub(4));
    if room == 0 || area.height == 0 {
        return inner;
    }
    let left = fit_line(left, room);
    let mark_room = mark_room(area, &left);
    put(buf, area.x + 1, area.y, left);
    let right_width = width_of(&right);
    if right_width > 0 && right_width <= mark_room {
        let x = area.right().saturating_sub(3 + right_width as u16);
        put(buf, x, area.y, right);
    }
    inner
}

/// Columns of a title at the right that has room beside this one at the left.
pub(crate) fn mark_room(area: Rect, left: &Line<'_>) -> usize {
    usize::from(area.width).saturating_sub(4 + width_of(left) + 4)
}

/// The frame beside what stands in it.
pub(crate) fn beside(area: Rect) -> Rect {
    Rect {
        y: area.y + 1.min(area.height),
        height: area.height.saturating_sub(2),
        ..area
    }
}

/// A title with a space at either side.
fn put(buf: &mut Buffer, x: u16, y: u16, title: Line<'static>) {
    if width_of(&title) == 0 {
        return;
    }
    let mut spans = vec![Span::raw(" ")];
    spans.extend(spans_of(title));
    spans.push(Span::raw(" "));
    let line = Line::from(spans);
    let width = width_of(&line) as u16;
    buf.set_line(x, y, &line, width);
}

/// Shows in the last column which part of `len` rows is seen, when not all of them are.
pub(crate) fn draw_thumb(
    track: Rect,
    buf: &mut Buffer,
    glyphs: Glyphs,
    style: Style,
    first: usize,
    shown: usize,
    len: usize,
) {
    let rows = usize::from(track.height);
    if rows == 0 || track.width == 0 || shown >= len || len == 0 {
        return;
    }
    let size = (rows * shown / len).clamp(1, rows);
    let room = rows - size;
    let hidden = len - shown;
    let start = if first >= hidden {
        room
    } else {
        room * first / hidden
    };
    let x = track.right() - 1;
    for row in start..start + size {
        let y = track.y + row as u16;
        buf.set_string(x, y, glyphs.thumb(), style);
    }
}
