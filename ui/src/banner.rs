//! The banner below the header: what is wrong with all that is shown, and what is to be done.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::deck::Deck;
use crate::model::Level;
use crate::sanitize;
use crate::text;

/// Most lines: what is to be done stands at its end.
const LINES_MAX: usize = 3;

/// Its lines on a screen of so many columns; none where there is none.
pub(crate) fn banner_lines(deck: &Deck, columns: u16) -> Vec<String> {
    let Some(banner) = &deck.view.banner else {
        return Vec::new();
    };
    let glyph = match banner.level {
        Level::Info => deck.glyphs.dot(),
        Level::Warn | Level::Error => deck.glyphs.wrong(),
    };
    let indent = text::width(glyph) + 1;
    let room = usize::from(columns).saturating_sub(2 + indent);
    let words = sanitize::line(&banner.text);
    let lines = text::wrap_to(&words, room, LINES_MAX).into_iter();
    let lines = lines.enumerate().map(|(row, line)| match row {
        0 => format!("{glyph} {line}"),
        _ => format!("{}{line}", " ".repeat(indent)),
    });
    lines.collect()
}

pub(crate) fn draw_banner(deck: &Deck, area: Rect, buf: &mut Buffer) {
    let Some(banner) = deck.view.banner.as_ref().filter(|_| !area.is_empty()) else {
        return;
    };
    let style = deck.theme.level(banner.level);
    buf.set_style(area, style);
    let room = usize::from(area.width).saturating_sub(2);
    for (line, y) in banner_lines(deck, area.width)
        .iter()
        .zip(area.y..area.bottom())
    {
        buf.set_stringn(area.x + 1, y, line, room, style);
    }
}
