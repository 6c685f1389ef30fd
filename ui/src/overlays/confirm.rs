//! [`Confirm`]: a deed that asks for a typed word first.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::key_footer::KeyFooter;
use super::sheet::{box_inner, draw_box, foot, overlay_area};
use crate::action::Action;
use crate::deck::Deck;
use crate::effect::Effect;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{TextField, fit_line};

/// A confirmation.
#[derive(Debug, Clone)]
pub(crate) struct Confirm {
    pub(crate) title: &'static str,
    /// What will happen.
    pub(crate) lines: Vec<String>,
    /// The word to be typed.
    pub(crate) word: String,
    pub(crate) field: TextField,
    pub(crate) effect: Effect,
}

impl Confirm {
    /// Whether the word stands there.
    pub(crate) fn is_typed(&self) -> bool {
        !self.word.is_empty() && self.field.text().trim() == self.word
    }

    /// Where it stands, and its words.
    pub(super) fn area(&self, screen: Rect) -> (Rect, Vec<String>) {
        let columns = 72.min(screen.width.saturating_sub(2)).max(1);
        let room = usize::from(columns.saturating_sub(4));
        let lines = self.lines.iter();
        let body: Vec<String> = lines.flat_map(|line| text::wrap(line, room)).collect();
        (overlay_area(screen, columns, body.len() + 7), body)
    }

    /// Its keys, and where they stand.
    pub(super) fn keys(&self, deck: &Deck, screen: Rect) -> (Rect, KeyFooter) {
        let keys = [
            (Action::Open, "do it"),
            (Action::Back, "leave everything as it is"),
        ];
        let inner = box_inner(self.area(screen).0);
        (foot(inner, 1), KeyFooter::new(deck, &keys))
    }

    pub(crate) fn draw(&self, deck: &Deck, screen: Rect, buf: &mut Buffer) {
        let theme = &deck.theme;
        let (area, body) = self.area(screen);
        let inner = draw_box(
            deck,
            area,
            buf,
            Line::styled(self.title, theme.style(ThemeRole::TitleFocus)),
            Line::default(),
        );
        let bottom = inner.bottom();
        let text_rows = usize::from(inner.height.saturating_sub(4));
        for (row, line) in body.iter().take(text_rows).enumerate() {
            buf.set_stringn(
                inner.x,
                inner.y + row as u16,
                line,
                usize::from(inner.width),
                theme.style(ThemeRole::Text),
            );
        }
        if inner.height >= 4 {
            let asked = Line::from(vec![
                Span::styled("Type ", theme.style(ThemeRole::TextMuted)),
                Span::styled(self.word.clone(), theme.style(ThemeRole::Wait)),
                Span::styled(" to do it:", theme.style(ThemeRole::TextMuted)),
            ]);
            let asked = fit_line(asked, usize::from(inner.width));
            buf.set_line(inner.x, bottom - 4, &asked, inner.width);
        }
        let (place, keys) = self.keys(deck, screen);
        keys.draw(place, buf);
        if inner.height >= 3 {
            self.field.draw(
                Rect {
                    y: bottom - 3,
                    height: 1,
                    ..inner
                },
                buf,
                theme,
                true,
            );
        }
    }
}
