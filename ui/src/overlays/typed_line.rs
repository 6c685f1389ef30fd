//! [`TypedLine`]: a line typed in its own box at the foot of an overlay, so that what it is about
//! stays readable above it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::key_footer::KeyFooter;
use super::sheet::{box_inner, draw_box, foot, overlay_area};
use crate::action::Action;
use crate::deck::Deck;
use crate::theme::ThemeRole;
use crate::widgets::{TextField, fit_line};

/// What can be chosen besides, below the line.
pub(super) struct Ticks {
    pub(super) title: &'static str,
    /// Whether it is chosen, and what it is.
    pub(super) of: [(bool, &'static str); 2],
}

/// What is typed, and the words around it.
pub(super) struct TypedLine<'f> {
    pub(super) title: &'static str,
    pub(super) field: &'f TextField,
    pub(super) ticks: Option<Ticks>,
    /// What `enter` does.
    pub(super) does: &'static str,
    /// Who reads it, or where it goes.
    pub(super) goes: &'static str,
}

impl TypedLine<'_> {
    /// Rows of its box.
    fn rows(&self) -> u16 {
        5 + u16::from(self.ticks.is_some())
    }

    /// Where its box stands when nothing else asks for it.
    pub(super) fn alone(&self, screen: Rect) -> Rect {
        overlay_area(screen, 84, self.rows().into())
    }

    /// Where it stands on the sheet that asks for it, whose lower edge is its own.
    pub(super) fn on_sheet(&self, sheet: Rect) -> Rect {
        foot(sheet, self.rows())
    }

    /// Rows that a sheet leaves free for it, below the one that is empty above its foot.
    pub(super) fn rows_on_sheet(&self) -> usize {
        usize::from(self.rows()) - 2
    }

    /// Its keys, and where they stand.
    pub(super) fn keys(&self, deck: &Deck, area: Rect) -> (Rect, KeyFooter) {
        let ticks = self.ticks.as_ref();
        let mut keys = vec![(Action::Open, self.does), (Action::Back, "back")];
        keys.extend(ticks.map(|ticks| (Action::NextField, ticks.title)));
        let inner = box_inner(area);
        let rows = u16::from(inner.height >= 3);
        (foot(inner, rows), KeyFooter::new(deck, &keys))
    }

    pub(super) fn draw(&self, deck: &Deck, area: Rect, buf: &mut Buffer) {
        let theme = &deck.theme;
        let inner = draw_box(
            deck,
            area,
            buf,
            Line::styled(self.title, theme.style(ThemeRole::TitleFocus)),
            Line::styled(self.goes, theme.style(ThemeRole::TextFaint)),
        );
        if inner.height < 1 {
            return;
        }
        let line = Rect { height: 1, ..inner };
        self.field.draw(line, buf, theme, true);
        let (place, keys) = self.keys(deck, area);
        if let Some(ticks) = &self.ticks
            && inner.y + 1 < place.y
        {
            let muted = theme.style(ThemeRole::TextMuted);
            let mut spans = vec![Span::styled(format!("{} ", ticks.title), muted)];
            spans.extend(ticks.of.map(|(is_on, name)| match is_on {
                true => {
                    let mark = format!(" {}{name} ", deck.glyphs.well());
                    Span::styled(mark, theme.style(ThemeRole::TextStrong))
                }
                false => Span::styled(format!("  {name} "), muted),
            }));
            let ticks = fit_line(Line::from(spans), usize::from(inner.width));
            buf.set_line(inner.x, inner.y + 1, &ticks, inner.width);
        }
        keys.draw(place, buf);
    }
}
