//! A sheet: an overlay that is text with a title, and a footer that does not scroll.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget as _};

use crate::deck::Deck;
use crate::theme::ThemeRole;
use crate::widgets::{blank, draw_frame, draw_thumb, fit_line};

/// Widest sheet: lines longer than this are hard to read.
const COLUMNS_MAX: u16 = 116;

/// What stands on a sheet.
#[derive(Debug, Clone, Default)]
pub(crate) struct SheetText {
    pub(crate) title: Line<'static>,
    pub(crate) mark: Line<'static>,
    pub(crate) lines: Vec<Line<'static>>,
    pub(crate) footer: Vec<Line<'static>>,
}

/// Where an overlay of this many lines stands: in the middle, never outside the screen.
pub(crate) fn overlay_area(screen: Rect, columns: u16, rows: usize) -> Rect {
    let width = columns
        .min(screen.width.saturating_sub(2))
        .max(1)
        .min(screen.width);
    let rows = u16::try_from(rows).unwrap_or(u16::MAX);
    let height = rows
        .min(screen.height.saturating_sub(2))
        .max(1)
        .min(screen.height);
    Rect {
        x: screen.x + (screen.width - width) / 2,
        // A little above the middle, where eyes are.
        y: screen.y + (screen.height - height) * 2 / 5,
        width,
        height,
    }
}

/// Clears an overlay's area and draws its frame; gives the inside, one column in from the frame.
pub(crate) fn draw_box(
    deck: &Deck,
    area: Rect,
    buf: &mut Buffer,
    title: Line<'static>,
    mark: Line<'static>,
) -> Rect {
    Clear.render(area, buf);
    buf.set_style(area, deck.theme.style(ThemeRole::Screen));
    buf.set_style(area, deck.theme.style(ThemeRole::Overlay));
    let inner = draw_frame(
        area,
        buf,
        deck.glyphs,
        deck.theme.style(ThemeRole::OverlayBorder),
        title,
        mark,
    );
    Rect {
        x: inner.x + u16::from(inner.width > 4),
        width: inner
            .width
            .saturating_sub(if inner.width > 4 { 2 } else { 0 }),
        ..inner
    }
}

fn columns(screen: Rect) -> u16 {
    COLUMNS_MAX.min(screen.width.saturating_sub(2)).max(1)
}

/// Room for text inside.
fn text_columns(screen: Rect) -> usize {
    usize::from(columns(screen).saturating_sub(4))
}

fn sheet_area(screen: Rect, text: &SheetText) -> Rect {
    let footer = if text.footer.is_empty() {
        0
    } else {
        text.footer.len() + 1
    };
    overlay_area(screen, columns(screen), text.lines.len() + footer + 2)
}

fn rows_shown(area: Rect, text: &SheetText) -> usize {
    let footer = if text.footer.is_empty() {
        0
    } else {
        text.footer.len() + 1
    };
    usize::from(area.height.saturating_sub(2)).saturating_sub(footer)
}

pub(crate) fn sheet_scroll_max(screen: Rect, text: impl Fn(usize) -> Option<SheetText>) -> usize {
    text(text_columns(screen)).map_or(0, |text| {
        text.lines
            .len()
            .saturating_sub(rows_shown(sheet_area(screen, &text), &text))
    })
}

/// Where a sheet stands.
pub(crate) fn sheet_place(screen: Rect, text: impl Fn(usize) -> Option<SheetText>) -> Option<Rect> {
    text(text_columns(screen)).map(|text| sheet_area(screen, &text))
}

/// Lines of a sheet that are shown at once.
pub(crate) fn sheet_rows(screen: Rect, text: impl Fn(usize) -> Option<SheetText>) -> usize {
    text(text_columns(screen)).map_or(0, |text| rows_shown(sheet_area(screen, &text), &text))
}

/// Draws a sheet. Gives the rows of its footer, for a field that is drawn into it.
pub(crate) fn draw_sheet(
    deck: &Deck,
    screen: Rect,
    buf: &mut Buffer,
    scroll: usize,
    text: impl Fn(usize) -> Option<SheetText>,
) -> Rect {
    let Some(text) = text(text_columns(screen)) else {
        return Rect::ZERO;
    };
    let area = sheet_area(screen, &text);
    let rows = rows_shown(area, &text);
    let scroll = scroll.min(text.lines.len().saturating_sub(rows));
    let inner = draw_box(deck, area, buf, text.title, text.mark);
    for (row, line) in text.lines.iter().skip(scroll).take(rows).enumerate() {
        buf.set_line(inner.x, inner.y + row as u16, line, inner.width);
    }
    draw_thumb(
        Rect {
            height: rows as u16 + 2,
            ..area
        },
        buf,
        deck.glyphs,
        deck.theme.style(ThemeRole::OverlayBorder),
        scroll,
        rows,
        text.lines.len(),
    );
    if text.footer.is_empty() || inner.height < 2 {
        return Rect::ZERO;
    }
    let footer_rows = (text.footer.len() as u16).min(inner.height);
    let footer = Rect {
        y: inner.bottom() - footer_rows,
        height: footer_rows,
        ..inner
    };
    for (row, line) in text
        .footer
        .into_iter()
        .take(usize::from(footer_rows))
        .enumerate()
    {
        buf.set_line(
            footer.x,
            footer.y + row as u16,
            &fit_line(line, usize::from(footer.width)),
            footer.width,
        );
    }
    footer
}

/// `[a] approve`: a key with what it does.
pub(crate) fn key_label(deck: &Deck, key: &str, label: &str) -> Vec<Span<'static>> {
    vec![
        Span::styled(key.to_owned(), deck.theme.style(ThemeRole::Key)),
        Span::raw(" "),
        Span::styled(label.to_owned(), deck.theme.style(ThemeRole::TextMuted)),
    ]
}

/// The keys of an overlay as its footer, from the resolved map; `words` replaces a hint by
/// something longer.
pub(crate) fn key_footer(deck: &Deck, actions: &[(crate::action::Action, &str)]) -> Line<'static> {
    let contexts = deck.contexts();
    let mut spans = Vec::new();
    for (action, label) in actions {
        let Some(key) = deck.keymap.key_of(&contexts, *action) else {
            continue;
        };
        if !spans.is_empty() {
            spans.push(blank(3));
        }
        spans.extend(key_label(
            deck,
            &crate::hint_bar::key_text(deck, &key),
            label,
        ));
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use ratatui::layout::Rect;

    use super::overlay_area;

    #[test]
    fn an_overlay_never_leaves_the_screen() {
        for width in 0..130 {
            for height in 0..40 {
                let screen = Rect::new(0, 0, width, height);
                let area = overlay_area(screen, 80, 30);
                assert_eq!(area.intersection(screen), area, "{screen}");
            }
        }
    }
}
