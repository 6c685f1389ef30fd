//! The lines above the hint bar, which show a notice for a while, or the outcome of the last
//! message.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::banner::{draw_level_lines, level_lines};
use crate::deck::Deck;
use crate::theme::ThemeRole;

/// Rows that a notice never takes: the header and the hints.
const ROWS_KEPT: u16 = 2;

/// Of more rows than these it may stand before what a card asks.
const ROWS_BESIDE: u16 = 3;

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

/// How many lines the notice needs on this screen. What to do stands at its end, and nowhere else can
/// it be read, so it has as many as it needs: they cover the panes until the next key.
pub(crate) fn notice_rows(deck: &Deck, screen: Rect) -> u16 {
    let most = screen.height.saturating_sub(ROWS_KEPT).max(1);
    let lines = notice_lines(deck, screen.width, most.into()).len();
    // What became of a message has one line.
    u16::try_from(lines.max(1)).unwrap_or(1)
}

/// Whether a notice hides what is in front, which a key would act on.
pub(crate) fn hides_front(deck: &Deck) -> bool {
    let screen = Rect::new(0, 0, deck.size.0, deck.size.1);
    deck.is_covered() && deck.notice.is_some() && notice_rows(deck, screen) > ROWS_BESIDE
}

fn notice_lines(deck: &Deck, columns: u16, most: usize) -> Vec<String> {
    let notice = deck.notice.as_ref();
    notice.map_or_else(Vec::new, |notice| {
        level_lines(deck, notice.level, &notice.text, columns, most)
    })
}
