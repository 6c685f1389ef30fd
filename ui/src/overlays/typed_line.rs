//! [`TypedLine`]: a line that is typed in a box of its own, over the overlay that asks for it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::key_footer::KeyFooter;
use super::sheet::{box_inner, draw_box, foot, overlay_area};
use crate::action::Action;
use crate::deck::Deck;
use crate::theme::ThemeRole;
use crate::widgets::TextField;

/// What is typed, and the words around it.
pub(super) struct TypedLine<'f> {
    pub(super) title: &'static str,
    pub(super) field: &'f TextField,
    /// What `enter` does.
    pub(super) does: &'static str,
    /// Who reads it, or where it goes.
    pub(super) goes: &'static str,
}

impl TypedLine<'_> {
    fn area(screen: Rect) -> Rect {
        overlay_area(screen, 84, 5)
    }

    /// Its keys, and where they stand.
    pub(super) fn keys(&self, deck: &Deck, screen: Rect) -> (Rect, KeyFooter) {
        let keys = [(Action::Open, self.does), (Action::Back, "back")];
        let inner = box_inner(Self::area(screen));
        let rows = u16::from(inner.height >= 3);
        (foot(inner, rows), KeyFooter::new(deck, &keys))
    }

    pub(super) fn draw(&self, deck: &Deck, screen: Rect, buf: &mut Buffer) {
        let theme = &deck.theme;
        let inner = draw_box(
            deck,
            Self::area(screen),
            buf,
            Line::styled(self.title, theme.style(ThemeRole::TitleFocus)),
            Line::styled(self.goes, theme.style(ThemeRole::TextFaint)),
        );
        if inner.height < 1 {
            return;
        }
        let line = Rect { height: 1, ..inner };
        self.field.draw(line, buf, theme, true);
        let (place, keys) = self.keys(deck, screen);
        keys.draw(place, buf);
    }
}
