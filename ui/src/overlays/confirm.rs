//! [`Confirm`]: an act that requires a typed word first.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::key_footer::KeyFooter;
use super::sheet::{box_inner, draw_box, first_lines, foot, overlay_area};
use crate::action::Action;
use crate::deck::Deck;
use crate::effect::Effect;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{TextField, draw_thumb, fit_line};

/// A confirmation.
#[derive(Debug, Clone)]
pub(crate) struct Confirm {
    pub(crate) title: &'static str,
    /// What will happen.
    pub(crate) lines: Vec<String>,
    /// The word to be typed.
    pub(crate) word: String,
    field: TextField,
    /// What it does; `None` once that cannot be done any more.
    pub(crate) effect: Option<Effect>,
    /// The first line of its words that is shown.
    pub(crate) scroll: usize,
}

impl Confirm {
    /// Asks for `word`, with nothing typed yet.
    pub(crate) fn new(
        title: &'static str,
        lines: Vec<String>,
        (word, hint): (String, &'static str),
        effect: Effect,
    ) -> Self {
        Self {
            title,
            lines,
            word,
            field: TextField::line(hint),
            effect: Some(effect),
            scroll: 0,
        }
    }

    /// What it asks cannot be done any more. It says why and stays until `esc`: the rest of the word may
    /// be on its way, and its letters are commands on what lies below.
    pub(crate) fn take_back(&mut self, why: &str) {
        self.title = "Over";
        self.lines = vec![why.to_owned()];
        self.effect = None;
        self.scroll = 0;
    }

    /// The field for the word, as long as one is asked for.
    pub(super) fn field_mut(&mut self) -> Option<&mut TextField> {
        self.effect.is_some().then_some(&mut self.field)
    }

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

    /// Lines of its words that have room.
    fn rows(&self, screen: Rect) -> usize {
        let (area, body) = self.area(screen);
        let height = usize::from(box_inner(area).height);
        // What is asked, the field and the keys; an empty line above these where nothing is cut for it.
        match height.saturating_sub(4) {
            rows if rows < body.len() => height.saturating_sub(3),
            rows => rows,
        }
    }

    /// The largest scroll position that still fills it.
    pub(super) fn scroll_max(&self, screen: Rect) -> usize {
        let (_, body) = self.area(screen);
        body.len().saturating_sub(self.rows(screen))
    }

    /// Its keys, and where they stand.
    pub(super) fn keys(&self, deck: &Deck, screen: Rect) -> (Rect, KeyFooter) {
        let mut keys = vec![(Action::Open, "do it")];
        if self.effect.is_none() {
            keys = vec![(Action::Back, "close")];
        } else if self.scroll_max(screen) > 0 {
            keys.push((Action::MoveDown, "read on"));
            keys.push((Action::Back, "leave it"));
        } else {
            keys.push((Action::Back, "leave everything as it is"));
        }
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
        let width = usize::from(inner.width);
        let rows = self.rows(screen);
        let shown = first_lines(body.get(self.scroll..).unwrap_or_default(), rows, width);
        for (line, y) in shown.iter().zip(inner.y..) {
            buf.set_stringn(inner.x, y, line, width, theme.style(ThemeRole::Text));
        }
        draw_thumb(
            // On the frame, one column out from the inside.
            Rect {
                width: inner.width + 2,
                height: rows as u16,
                ..inner
            },
            buf,
            deck.glyphs,
            theme.style(ThemeRole::OverlayBorder),
            self.scroll,
            rows,
            body.len(),
        );
        let has_gap = usize::from(inner.height) >= rows + 4;
        let bottom = inner.bottom() + u16::from(!has_gap);
        let (place, keys) = self.keys(deck, screen);
        keys.draw(place, buf);
        if self.effect.is_none() {
            return;
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
