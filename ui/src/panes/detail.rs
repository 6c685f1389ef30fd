//! What the cursor is on, read beside the panes.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::deck::Deck;
use crate::layout::Layout;
use crate::overlays::{SheetText, Subject};
use crate::theme::ThemeRole;
use crate::widgets::{beside, draw_frame, draw_thumb};

/// Columns free at either side of the text.
const MARGIN: u16 = 1;

fn text(deck: &Deck, area: Rect) -> SheetText {
    let columns = usize::from(area.width.saturating_sub(2 + 2 * MARGIN));
    match Subject::selected(deck) {
        Some(subject) => subject.text(deck, columns),
        None => SheetText {
            title: Line::styled("Detail", deck.theme.style(ThemeRole::Title)),
            lines: vec![Line::from(Span::styled(
                "What is selected is read here.",
                deck.theme.style(ThemeRole::TextMuted),
            ))],
            ..SheetText::default()
        },
    }
}

fn rows(area: Rect) -> usize {
    usize::from(area.height.saturating_sub(2))
}

/// Keeps the scroll position within what there is to read.
pub(crate) fn settle_detail(deck: &mut Deck, layout: &Layout) {
    if deck.detail.scroll > 0 {
        let lines = text(deck, layout.detail).lines.len();
        let last = lines.saturating_sub(rows(layout.detail));
        deck.detail.scroll = deck.detail.scroll.min(last);
    }
}

pub(crate) fn draw_detail(deck: &Deck, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let text = text(deck, area);
    let border = deck.theme.style(ThemeRole::Border);
    let inner = draw_frame(area, buf, deck.glyphs, border, text.title, text.mark);
    let room = inner.width.saturating_sub(2 * MARGIN);
    let scroll = deck.detail.scroll;
    for (row, line) in text.lines.iter().skip(scroll).take(rows(area)).enumerate() {
        buf.set_line(inner.x + MARGIN, inner.y + row as u16, line, room);
    }
    let style = deck.theme.style(ThemeRole::TextFaint);
    draw_thumb(
        beside(area),
        buf,
        deck.glyphs,
        style,
        scroll,
        rows(area),
        text.lines.len(),
    );
}
