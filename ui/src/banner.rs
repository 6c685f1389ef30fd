//! The banner below the header: what is wrong with everything that is shown, and what to do about
//! it. A notice is drawn in the same way.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::deck::Deck;
use crate::model::Level;
use crate::sanitize;
use crate::text;

/// Most lines: what is to be done stands at its end.
const LINES_MAX: usize = 3;

/// Its lines on a screen of so many columns; none where there is none.
pub(crate) fn banner_lines(deck: &Deck, columns: u16) -> Vec<String> {
    let banner = deck.view.banner.as_ref();
    banner.map_or_else(Vec::new, |banner| {
        level_lines(deck, banner.level, &banner.text, columns, LINES_MAX)
    })
}

pub(crate) fn draw_banner(deck: &Deck, area: Rect, buf: &mut Buffer) {
    let Some(banner) = deck.view.banner.as_ref().filter(|_| !area.is_empty()) else {
        return;
    };
    let lines = banner_lines(deck, area.width);
    draw_level_lines(&lines, deck.theme.level(banner.level), area, buf);
}

/// A sentence behind the mark of its level, wrapped to a screen of so many columns.
pub(crate) fn level_lines(
    deck: &Deck,
    level: Level,
    sentence: &str,
    columns: u16,
    most: usize,
) -> Vec<String> {
    let glyph = match level {
        Level::Info => deck.glyphs.dot(),
        Level::Warn | Level::Error => deck.glyphs.wrong(),
    };
    let indent = text::width(glyph) + 1;
    let room = usize::from(columns).saturating_sub(2 + indent);
    let lines = text::wrap_to(&sanitize::line(sentence), room, most).into_iter();
    let lines = lines.enumerate().map(|(row, line)| match row {
        0 => format!("{glyph} {line}"),
        _ => format!("{}{line}", " ".repeat(indent)),
    });
    lines.collect()
}

/// Draws what [`level_lines`] made.
pub(crate) fn draw_level_lines(lines: &[String], style: Style, area: Rect, buf: &mut Buffer) {
    buf.set_style(area, style);
    let room = usize::from(area.width).saturating_sub(2);
    for (line, y) in lines.iter().zip(area.y..area.bottom()) {
        buf.set_stringn(area.x + 1, y, line, room, style);
    }
}
