//! [`PlaceLine`]: an entry's number or a time to go to, typed on the bottom line.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget as _};

use crate::deck::Deck;
use crate::theme::ThemeRole;
use crate::widgets::{TextField, fit_line, width_of};

/// A place being typed.
#[derive(Debug, Clone)]
pub(crate) struct PlaceLine {
    pub(crate) field: TextField,
    /// What is wrong with what was typed.
    pub(crate) fault: Option<String>,
}

impl PlaceLine {
    pub(crate) fn new() -> Self {
        Self {
            field: TextField::line("an entry's number, or a time: 14:05, yesterday 9:00, -2h"),
            fault: None,
        }
    }

    /// Where it is typed.
    pub(super) fn area(screen: Rect) -> Rect {
        let height = screen.height.min(1);
        Rect {
            y: screen.bottom() - height,
            height,
            ..screen
        }
    }

    pub(crate) fn draw(&self, deck: &Deck, screen: Rect, buf: &mut Buffer) {
        let theme = &deck.theme;
        if screen.height == 0 {
            return;
        }
        let line = Self::area(screen);
        if let Some(fault) = &self.fault
            && screen.height > 1
        {
            let above = Rect {
                y: line.y - 1,
                ..line
            };
            Clear.render(above, buf);
            buf.set_style(above, theme.style(ThemeRole::Screen));
            let style = theme.style(ThemeRole::OutcomeFailed);
            let words = Line::from(Span::styled(format!(" {fault}"), style));
            let words = fit_line(words, usize::from(above.width));
            buf.set_line(above.x, above.y, &words, above.width);
        }
        Clear.render(line, buf);
        buf.set_style(line, theme.style(ThemeRole::Screen));
        buf.set_style(line, theme.style(ThemeRole::Header));
        let label = Line::from(Span::styled(" # ", theme.style(ThemeRole::Key)));
        let width = width_of(&label) as u16;
        buf.set_line(line.x, line.y, &label, line.width);
        let field = Rect {
            x: line.x + width,
            width: line.width.saturating_sub(width),
            ..line
        };
        self.field.draw(field.intersection(line), buf, theme, true);
    }
}
