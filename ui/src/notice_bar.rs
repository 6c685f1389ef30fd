//! The lines above the hint bar, in which a notice stands for a while, or what became of the last
//! message.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::deck::Deck;
use crate::model::Level;
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;

/// Most lines of a notice. They cover the ends of the panes until the next key.
const NOTICE_LINES_MAX: usize = 3;
/// On fewer rows than these it has one line less.
const ROWS_FOR_MORE: u16 = 24;

/// Draws the notice, or what became of the last message, if there is one of them.
pub(crate) fn draw_notice(deck: &Deck, area: Rect, buf: &mut Buffer) {
    if deck.notice.is_none()
        && let Some(receipt) = &deck.receipt
    {
        return receipt.draw(deck, area, buf);
    }
    let Some(notice) = deck.notice.as_ref().filter(|_| !area.is_empty()) else {
        return;
    };
    ratatui::widgets::Widget::render(ratatui::widgets::Clear, area, buf);
    let style = deck.theme.level(notice.level);
    buf.set_style(area, deck.theme.style(ThemeRole::Screen));
    buf.set_style(area, style);
    let room = usize::from(area.width).saturating_sub(2);
    let lines = notice_lines(deck, area.width, usize::from(area.height));
    for (line, y) in lines.iter().zip(area.y..area.bottom()) {
        buf.set_stringn(area.x + 1, y, line, room, style);
    }
}

/// How many lines the notice needs on this screen. What to do stands at its end, so it is wrapped
/// rather than cut.
pub(crate) fn notice_rows(deck: &Deck, screen: Rect) -> u16 {
    let most = match screen.height {
        0..ROWS_FOR_MORE => 2,
        _ => NOTICE_LINES_MAX,
    };
    let lines = notice_lines(deck, screen.width, most).len();
    // What became of a message has one line.
    u16::try_from(lines.max(1)).unwrap_or(1)
}

fn notice_lines(deck: &Deck, columns: u16, most: usize) -> Vec<String> {
    let Some(notice) = &deck.notice else {
        return Vec::new();
    };
    let glyph = match notice.level {
        Level::Info => deck.glyphs.dot(),
        Level::Warn | Level::Error => deck.glyphs.wrong(),
    };
    let indent = text::width(glyph) + 1;
    let room = usize::from(columns).saturating_sub(2 + indent);
    let words = sanitize::line(&notice.text);
    let lines = text::wrap_to(&words, room, most).into_iter();
    let lines = lines.enumerate().map(|(row, line)| match row {
        0 => format!("{glyph} {line}"),
        _ => format!("{}{line}", " ".repeat(indent)),
    });
    lines.collect()
}
