//! A sheet: an overlay that is text with a title, and a footer that does not scroll.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Widget as _};

use super::key_footer::KeyFooter;
use crate::deck::Deck;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{beside, draw_frame, draw_thumb, fit_line};

/// Widest sheet: lines longer than this are hard to read.
const COLUMNS_MAX: u16 = 116;

/// What stands on a sheet.
#[derive(Debug, Clone, Default)]
pub(crate) struct SheetText {
    pub(crate) title: Line<'static>,
    pub(crate) mark: Line<'static>,
    pub(crate) lines: Vec<Line<'static>>,
    /// Which of them has the cursor.
    pub(crate) cursor: Option<usize>,
    /// What is asked, above the keys.
    pub(crate) footer: Vec<Line<'static>>,
    pub(crate) keys: KeyFooter,
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
    let free = screen.height - height;
    Rect {
        x: screen.x + (screen.width - width) / 2,
        // A little above the middle, where eyes are; below the header.
        y: screen.y + (free * 2 / 5).max(free.min(1)),
        width,
        height,
    }
}

/// As many lines as have room; the last of them says where there are more.
pub(super) fn first_lines(lines: &[String], rows: usize, columns: usize) -> Vec<String> {
    let mut shown: Vec<String> = lines.iter().take(rows).cloned().collect();
    if let Some(last) = shown.last_mut().filter(|_| lines.len() > rows) {
        *last = text::fit(&format!("{last} …"), columns);
    }
    shown
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
    draw_frame(
        area,
        buf,
        deck.glyphs,
        deck.theme.style(ThemeRole::OverlayBorder),
        title,
        mark,
    );
    box_inner(area)
}

/// The inside of an overlay's box, one column in from the frame.
pub(crate) fn box_inner(area: Rect) -> Rect {
    let inner = Block::bordered().inner(area);
    Rect {
        x: inner.x + u16::from(inner.width > 4),
        width: inner
            .width
            .saturating_sub(if inner.width > 4 { 2 } else { 0 }),
        ..inner
    }
}

/// The last rows of an overlay's inside, for its keys.
pub(crate) fn foot(inner: Rect, rows: u16) -> Rect {
    let rows = rows.min(inner.height);
    Rect {
        y: inner.bottom() - rows,
        height: rows,
        ..inner
    }
}

fn columns(screen: Rect) -> u16 {
    COLUMNS_MAX.min(screen.width.saturating_sub(2)).max(1)
}

/// Room for text inside.
pub(super) fn text_columns(screen: Rect) -> usize {
    usize::from(columns(screen).saturating_sub(4))
}

/// Rows of what is asked and of the keys.
fn foot_rows(screen: Rect, text: &SheetText) -> usize {
    text.footer.len() + usize::from(text.keys.rows(text_columns(screen)))
}

/// As [`foot_rows`], with the one that is empty above them.
fn foot_room(screen: Rect, text: &SheetText) -> usize {
    match foot_rows(screen, text) {
        0 => 0,
        rows => rows + 1,
    }
}

fn sheet_area(screen: Rect, text: &SheetText) -> Rect {
    let rows = text.lines.len() + foot_room(screen, text) + 2;
    overlay_area(screen, columns(screen), rows)
}

fn rows_shown(screen: Rect, area: Rect, text: &SheetText) -> usize {
    usize::from(area.height.saturating_sub(2)).saturating_sub(foot_room(screen, text))
}

/// Where what is asked and the keys stand.
fn foot_place(screen: Rect, inner: Rect, text: &SheetText) -> Rect {
    foot(
        inner,
        u16::try_from(foot_rows(screen, text)).unwrap_or(u16::MAX),
    )
}

/// The rows of them that the keys have.
fn keys_place(foot: Rect, text: &SheetText) -> Rect {
    let asked = u16::try_from(text.footer.len()).unwrap_or(u16::MAX);
    let asked = asked.min(foot.height);
    Rect {
        y: foot.y + asked,
        height: foot.height - asked,
        ..foot
    }
}

/// The keys of a sheet, and where they stand.
pub(crate) fn sheet_keys(
    screen: Rect,
    text: impl Fn(usize) -> Option<SheetText>,
) -> Option<(Rect, KeyFooter)> {
    let text = text(text_columns(screen))?;
    let inner = box_inner(sheet_area(screen, &text));
    let place = keys_place(foot_place(screen, inner, &text), &text);
    Some((place, text.keys))
}

pub(crate) fn sheet_scroll_max(screen: Rect, text: impl Fn(usize) -> Option<SheetText>) -> usize {
    text(text_columns(screen)).map_or(0, |text| {
        text.lines
            .len()
            .saturating_sub(rows_shown(screen, sheet_area(screen, &text), &text))
    })
}

/// Where a sheet stands.
pub(crate) fn sheet_place(screen: Rect, text: impl Fn(usize) -> Option<SheetText>) -> Option<Rect> {
    text(text_columns(screen)).map(|text| sheet_area(screen, &text))
}

/// Lines of a sheet that are shown at once.
pub(crate) fn sheet_rows(screen: Rect, text: impl Fn(usize) -> Option<SheetText>) -> usize {
    text(text_columns(screen)).map_or(0, |text| {
        rows_shown(screen, sheet_area(screen, &text), &text)
    })
}

/// The line of a sheet that has the cursor.
pub(crate) fn sheet_cursor(
    screen: Rect,
    text: impl Fn(usize) -> Option<SheetText>,
) -> Option<usize> {
    text(text_columns(screen))?.cursor
}

pub(crate) fn draw_sheet(
    deck: &Deck,
    screen: Rect,
    buf: &mut Buffer,
    scroll: usize,
    text: impl Fn(usize) -> Option<SheetText>,
) {
    let Some(text) = text(text_columns(screen)) else {
        return;
    };
    let area = sheet_area(screen, &text);
    let rows = rows_shown(screen, area, &text);
    let scroll = scroll.min(text.lines.len().saturating_sub(rows));
    let inner = draw_box(deck, area, buf, text.title.clone(), text.mark.clone());
    for (row, line) in text.lines.iter().skip(scroll).take(rows).enumerate() {
        buf.set_line(inner.x, inner.y + row as u16, line, inner.width);
    }
    draw_thumb(
        Rect {
            height: rows as u16,
            ..beside(area)
        },
        buf,
        deck.glyphs,
        deck.theme.style(ThemeRole::OverlayBorder),
        scroll,
        rows,
        text.lines.len(),
    );
    if inner.height < 2 {
        return;
    }
    let foot = foot_place(screen, inner, &text);
    let keys = keys_place(foot, &text);
    text.keys.draw(keys, buf);
    for (line, y) in text.footer.into_iter().zip(foot.y..keys.y) {
        let line = fit_line(line, usize::from(foot.width));
        buf.set_line(foot.x, y, &line, foot.width);
    }
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
