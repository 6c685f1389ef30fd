//! The lines above the hint bar, which show a notice for a while, or the outcome of the last
//! message.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::banner::{draw_level_lines, level_lines};
use crate::deck::Deck;
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
    buf.set_style(area, deck.theme.style(ThemeRole::Screen));
    let lines = notice_lines(deck, area.width, usize::from(area.height));
    draw_level_lines(&lines, deck.theme.level(notice.level), area, buf);
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
    let notice = deck.notice.as_ref();
    notice.map_or_else(Vec::new, |notice| {
        level_lines(deck, notice.level, &notice.text, columns, most)
    })
}
