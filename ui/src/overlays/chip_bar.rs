//! [`chip_lines`]: the chips in a row, with the chosen ones marked; [`ChipSheet`]: chooses them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::key_footer::KeyFooter;
use super::sheet::{box_inner, draw_box, foot, overlay_area};
use crate::action::Action;
use crate::deck::Deck;
use crate::model::{Chip, Chips, RowSort, ThreadChip};
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::blank;

/// What the timeline and the search show, being chosen.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ChipSheet {
    /// The chip under the cursor, among [`Chip::ALL`]; behind them the handoff.
    pub(crate) at: usize,
}

/// The chip so many steps further, round the end.
pub(crate) fn chip_step(deck: &Deck, at: usize, steps: isize) -> usize {
    let len = Chip::ALL.len() + usize::from(thread_chip(deck).is_some());
    (at as isize + steps).rem_euclid(len as isize) as usize
}

/// The handoff that can be chosen: the one that is, or else the one under the timeline's cursor.
pub(crate) fn thread_chip(deck: &Deck) -> Option<ThreadChip> {
    if let Some(thread) = &deck.timeline.chips.thread {
        return Some(thread.clone());
    }
    let row = deck.timeline.selected(&deck.view.timeline)?;
    (row.sort == RowSort::Handoff).then(|| ThreadChip {
        id: row.id.clone(),
        name: format!("h{}", row.seq),
    })
}

/// The chips, in as many lines as they need.
pub(crate) fn chip_lines(
    deck: &Deck,
    chips: &Chips,
    cursor: Option<usize>,
    columns: usize,
) -> Vec<Line<'static>> {
    let theme = &deck.theme;
    let mut lines: Vec<Vec<Span<'static>>> = vec![Vec::new()];
    let mut used = 0;
    let mut sort = None;
    let mut add = |spans: Vec<Span<'static>>, new_sort: bool| {
        let width: usize = spans.iter().map(|span| text::width(&span.content)).sum();
        let gap = if new_sort { 2 } else { 1 };
        if used > 0 && used + gap + width > columns {
            lines.push(Vec::new());
            used = 0;
        }
        let line = lines.last_mut();
        if let Some(line) = line {
            if used > 0 && new_sort {
                line.extend([
                    blank(1),
                    Span::styled(deck.glyphs.bar(), theme.style(ThemeRole::TextFaint)),
                ]);
            } else if used > 0 {
                line.push(blank(1));
            }
            used += if used > 0 { gap + width } else { width };
            line.extend(spans);
        }
    };
    for (index, chip) in Chip::ALL.into_iter().enumerate() {
        let is_on = chips.on.contains(&chip);
        let style = theme.style(match (cursor == Some(index), is_on) {
            (true, _) => ThemeRole::Key,
            (false, true) => ThemeRole::TextStrong,
            (false, false) => ThemeRole::TextMuted,
        });
        let mark = if is_on { deck.glyphs.well() } else { " " };
        let (open, close) = if cursor == Some(index) {
            ("[", "]")
        } else {
            ("", "")
        };
        let word = format!("{open}{mark}{}{close}", chip.as_str());
        let new_sort = sort.is_some_and(|before| before != chip.sort());
        sort = Some(chip.sort());
        add(vec![Span::styled(word, style)], new_sort);
    }
    if let Some(thread) = thread_chip(deck) {
        let is_on = chips.thread.is_some();
        let at_cursor = cursor == Some(Chip::ALL.len());
        let style = theme.style(match (at_cursor, is_on) {
            (true, _) => ThemeRole::Key,
            (false, true) => ThemeRole::TextStrong,
            (false, false) => ThemeRole::TextMuted,
        });
        let mark = if is_on { deck.glyphs.well() } else { " " };
        let (open, close) = if at_cursor { ("[", "]") } else { ("", "") };
        let word = format!("{open}{mark}{}{close}", sanitize::line(&thread.name));
        add(vec![Span::styled(word, style)], true);
    }
    lines.into_iter().map(Line::from).collect()
}

/// Whether the chip under the cursor stands in one of these lines: brackets are around it alone.
pub(crate) fn is_at_cursor(line: &Line<'_>) -> bool {
    let mut spans = line.spans.iter();
    spans.any(|span| span.content.starts_with('[') && span.content.ends_with(']'))
}

/// Columns of the sheet, and of the chips on it.
fn columns(screen: Rect) -> u16 {
    screen.width.saturating_sub(2).min(84)
}

fn room(screen: Rect) -> usize {
    usize::from(columns(screen).saturating_sub(4))
}

impl ChipSheet {
    pub(super) fn area(deck: &Deck, screen: Rect) -> Rect {
        let lines = chip_lines(deck, &deck.timeline.chips, None, room(screen));
        let keys = usize::from(Self::footer(deck).rows(room(screen)));
        // The cursor's brackets may need a line more.
        overlay_area(screen, columns(screen), lines.len() + keys + 4)
    }

    fn footer(deck: &Deck) -> KeyFooter {
        KeyFooter::new(
            deck,
            &[
                (Action::MoveDown, "next"),
                (Action::ToggleChip, "on or off"),
                (Action::ClearChips, "all off"),
                (Action::Back, "done"),
            ],
        )
    }

    /// Its keys, and where they stand.
    pub(super) fn keys(deck: &Deck, screen: Rect) -> (Rect, KeyFooter) {
        let keys = Self::footer(deck);
        let inner = box_inner(Self::area(deck, screen));
        let rows = keys.rows(usize::from(inner.width));
        (foot(inner, rows.min(inner.height.saturating_sub(1))), keys)
    }

    pub(crate) fn draw(self, deck: &Deck, screen: Rect, buf: &mut Buffer) {
        let area = Self::area(deck, screen);
        let lines = chip_lines(deck, &deck.timeline.chips, Some(self.at), room(screen));
        let title = Line::styled(
            "What the timeline and the search show",
            deck.theme.style(ThemeRole::TitleFocus),
        );
        let inner = draw_box(deck, area, buf, title, Line::default());
        let (place, keys) = Self::keys(deck, screen);
        for (line, y) in lines.iter().zip(inner.y..place.y) {
            buf.set_line(inner.x, y, line, inner.width);
        }
        keys.draw(place, buf);
    }
}
