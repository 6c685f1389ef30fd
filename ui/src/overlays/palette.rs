//! [`Palette`]: every command of every pane, found by a few of its letters.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::sheet::{draw_box, overlay_area};
use crate::action::Action;
use crate::deck::Deck;
use crate::fuzzy::score;
use crate::keymap::{Binding, KeyContext};
use crate::theme::ThemeRole;
use crate::why_not::why_not;
use crate::widgets::{ListState, TextField, blank, draw_thumb, fit_line, spread};

/// Most commands shown at once.
const ROWS_MAX: usize = 14;
/// Its width.
const COLUMNS: u16 = 72;
/// Rows above the commands: the field and a gap.
const HEAD: u16 = 2;

/// Moving about is not listed: inside the palette these keys move its own selection.
fn is_command(action: Action) -> bool {
    !matches!(
        action,
        Action::Palette
            | Action::FocusNext
            | Action::FocusPrev
            | Action::MoveDown
            | Action::MoveUp
            | Action::MoveFirst
            | Action::MoveLast
            | Action::HalfDown
            | Action::HalfUp
            | Action::Open
            | Action::Back
    )
}

/// A command that was found.
#[derive(Debug)]
pub(crate) struct PaletteRow<'d> {
    pub(crate) binding: &'d Binding,
    key: Option<String>,
    /// Where its key counts, when not here.
    context: Option<KeyContext>,
    /// Why it would do nothing now.
    pub(crate) why_not: Option<String>,
}

/// The command palette.
#[derive(Debug, Clone)]
pub(crate) struct Palette {
    pub(crate) field: TextField,
    pub(crate) list: ListState,
    /// The context of the pane in focus.
    here: KeyContext,
}

impl Palette {
    pub(crate) fn new(here: KeyContext) -> Self {
        Self {
            field: TextField::line("what do you want to do?"),
            list: ListState::default(),
            here,
        }
    }

    /// What the letters typed so far stand for: what can be done now first, of that what was done
    /// last, then what stands in the hint bar.
    pub(crate) fn found<'d>(&self, deck: &'d Deck) -> Vec<PaletteRow<'d>> {
        let typed = self.field.text();
        let mut rows: Vec<(i32, PaletteRow<'d>)> = Vec::new();
        let here = [self.here, KeyContext::Global];
        for context in here.into_iter().chain(KeyContext::PANES) {
            for binding in deck.keymap.bindings(context) {
                let is_known =
                    |(_, row): &(i32, PaletteRow<'d>)| row.binding.action == binding.action;
                if !is_command(binding.action) || rows.iter().any(is_known) {
                    continue;
                }
                let by_words = score(&binding.desc, &typed);
                let Some(score) = by_words.max(score(binding.action.name(), &typed)) else {
                    continue;
                };
                let is_here = here.contains(&context);
                let there = [context, KeyContext::Global];
                let contexts = if is_here { here } else { there };
                let row = PaletteRow {
                    binding,
                    key: deck.keymap.key_of(&contexts, binding.action),
                    context: (!is_here).then_some(context),
                    why_not: why_not(deck, binding.action),
                };
                rows.push((score, row));
            }
        }
        let last_used = |action| {
            let place = deck.recent.iter().position(|recent| *recent == action);
            place.unwrap_or(usize::MAX)
        };
        rows.sort_by_key(|(score, row)| {
            let binding = row.binding;
            (
                row.why_not.is_some(),
                -score,
                last_used(binding.action),
                binding.hint.is_none(),
            )
        });
        rows.into_iter().map(|(_, row)| row).collect()
    }

    /// Where it stands.
    pub(crate) fn area(screen: Rect) -> Rect {
        overlay_area(screen, COLUMNS, ROWS_MAX + 4)
    }

    /// The rows that are shown: the first one, and how many fit.
    fn window(&self, len: usize, inner: Rect) -> (usize, usize) {
        let rows = usize::from(inner.height.saturating_sub(HEAD));
        let selected = self.list.selected.min(len.saturating_sub(1));
        ((selected + 1).saturating_sub(rows), rows)
    }

    /// Which of the found commands a click on this cell means.
    pub(crate) fn row_at(&self, deck: &Deck, screen: Rect, x: u16, y: u16) -> Option<usize> {
        let area = Self::area(screen);
        let inner = Rect {
            x: area.x + 1,
            y: area.y + 1,
            width: area.width.saturating_sub(2),
            height: area.height.saturating_sub(2),
        };
        let len = self.found(deck).len();
        let (top, rows) = self.window(len, inner);
        let row = usize::from(y.checked_sub(inner.y + HEAD)?);
        let is_inside = (inner.x..inner.right()).contains(&x) && row < rows;
        (is_inside && top + row < len).then_some(top + row)
    }

    pub(crate) fn draw(&self, deck: &Deck, screen: Rect, buf: &mut Buffer) {
        let theme = &deck.theme;
        let found = self.found(deck);
        let area = Self::area(screen);
        let can = found.iter().filter(|row| row.why_not.is_none()).count();
        let title = Line::styled("Commands", theme.style(ThemeRole::TitleFocus));
        let mark = Line::styled(format!("{can} now"), theme.style(ThemeRole::TextFaint));
        let inner = draw_box(deck, area, buf, title, mark);
        if inner.height == 0 {
            return;
        }
        self.field
            .draw(Rect { height: 1, ..inner }, buf, theme, true);
        let (top, rows) = self.window(found.len(), inner);
        if found.is_empty() && rows > 0 {
            let line = Line::styled(
                "no command has these letters",
                theme.style(ThemeRole::TextFaint),
            );
            buf.set_line(inner.x, inner.y + HEAD, &line, inner.width);
        }
        let selected = self.list.selected.min(found.len().saturating_sub(1));
        for (at, row) in found.iter().skip(top).take(rows).enumerate() {
            let y = inner.y + HEAD + at as u16;
            let is_selected = top + at == selected;
            let line = row_line(deck, row, is_selected, usize::from(inner.width));
            buf.set_line(inner.x, y, &line, inner.width);
            if is_selected {
                let bar = Rect {
                    x: area.x + 1,
                    y,
                    width: area.width.saturating_sub(2),
                    height: 1,
                };
                buf.set_style(bar, theme.style(ThemeRole::SelectionFocus));
            }
        }
        draw_thumb(
            Rect {
                x: area.x,
                y: inner.y + HEAD.min(inner.height),
                width: area.width,
                height: inner.height.saturating_sub(HEAD),
            },
            buf,
            deck.glyphs,
            theme.style(ThemeRole::OverlayBorder),
            top,
            rows,
            found.len(),
        );
    }
}

fn row_line(deck: &Deck, row: &PaletteRow<'_>, is_selected: bool, width: usize) -> Line<'static> {
    let theme = &deck.theme;
    let words = match (&row.why_not, is_selected) {
        (Some(_), _) => ThemeRole::TextFaint,
        (None, true) => ThemeRole::TextStrong,
        (None, false) => ThemeRole::Text,
    };
    let left = Line::from(vec![
        deck.row_cursor(is_selected),
        blank(1),
        Span::styled(row.binding.desc.clone(), theme.style(words)),
    ]);
    let right = match (&row.why_not, &row.key, row.context) {
        (Some(why), ..) => Line::styled(why.clone(), theme.style(ThemeRole::TextFaint)),
        (None, None, _) => Line::default(),
        (None, Some(key), context) => {
            let key = deck.glyphs.key(key);
            let place = context.map_or_else(String::new, |context| format!("{} ", context.title()));
            Line::from(vec![
                Span::styled(place, theme.style(ThemeRole::TextFaint)),
                Span::styled(key, theme.style(ThemeRole::TextMuted)),
            ])
        }
    };
    spread(left, fit_line(right, width / 2), width)
}
