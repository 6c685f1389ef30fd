//! [`SearchLine`]: the search over the timeline, typed in the bottom line.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget as _};

use crate::deck::Deck;
use crate::text;
use crate::theme::ThemeRole;
use crate::timeline_state::TimelineCursor;
use crate::widgets::{TextField, width_of};

/// A search being typed.
#[derive(Debug, Clone)]
pub(crate) struct SearchLine {
    pub(crate) field: TextField,
    /// Where the timeline stood before, for `esc`.
    pub(crate) before: TimelineCursor,
    /// Whether it followed before.
    pub(crate) followed: bool,
}

impl SearchLine {
    pub(crate) fn draw(&self, deck: &Deck, screen: Rect, buf: &mut Buffer) {
        if screen.height == 0 {
            return;
        }
        let theme = &deck.theme;
        let line = Rect {
            y: screen.bottom() - 1,
            height: 1,
            ..screen
        };
        Clear.render(line, buf);
        buf.set_style(line, theme.style(ThemeRole::Screen));
        buf.set_style(line, theme.style(ThemeRole::Header));
        let label = Line::from(vec![Span::styled(" / ", theme.style(ThemeRole::Key))]);
        buf.set_line(line.x, line.y, &label, line.width);
        let found = match (deck.timeline.search.is_empty(), deck.timeline.found) {
            (true, _) => String::new(),
            (false, 0) => "nothing found ".to_owned(),
            (false, 1) => "1 entry ".to_owned(),
            (false, n) => format!("{} entries ", text::grouped(n as u64)),
        };
        let mark = Line::from(Span::styled(found, theme.style(ThemeRole::TextMuted)));
        let mark_width = width_of(&mark) as u16;
        let room = line.width.saturating_sub(3 + mark_width + 1);
        self.field.draw(
            Rect {
                x: line.x + 3.min(line.width),
                width: room,
                ..line
            }
            .intersection(line),
            buf,
            theme,
            true,
        );
        if room > 0 && mark_width > 0 {
            buf.set_line(line.right() - mark_width, line.y, &mark, mark_width);
        }
    }
}
