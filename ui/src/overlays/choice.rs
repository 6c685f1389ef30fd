//! [`Choice`]: a question with a few answers, one of them always "do nothing".

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::sheet::{draw_box, key_footer, overlay_area};
use crate::action::Action;
use crate::deck::Deck;
use crate::effect::Effect;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{ListState, blank, fit_line};

/// What an answer does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pick {
    /// Closes the question.
    Nothing,
    /// Asks the caller for this.
    Effect(Effect),
    /// Asks for a typed word before the session's record is archived, or deleted for good.
    Clear {
        /// Deleted.
        discard: bool,
    },
    /// Uses this theme.
    Theme(String),
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChoiceOption {
    pub(crate) label: String,
    pub(crate) desc: String,
    pub(crate) pick: Pick,
}

impl ChoiceOption {
    pub(crate) fn new(label: impl Into<String>, desc: impl Into<String>, pick: Pick) -> Self {
        Self {
            label: label.into(),
            desc: desc.into(),
            pick,
        }
    }
}

/// A question.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) title: String,
    /// What the operator should know before answering.
    pub(crate) lines: Vec<String>,
    pub(crate) options: Vec<ChoiceOption>,
    pub(crate) list: ListState,
    /// The theme to go back to when a choice of themes is left without an answer.
    pub(crate) theme_before: Option<String>,
}

impl Choice {
    pub(crate) fn new(
        title: impl Into<String>,
        lines: Vec<String>,
        options: Vec<ChoiceOption>,
    ) -> Self {
        Self {
            title: title.into(),
            lines,
            options,
            list: ListState::default(),
            theme_before: None,
        }
    }

    /// The answer under the cursor.
    pub(crate) fn picked(&self) -> Option<&Pick> {
        self.options
            .get(self.list.selected)
            .map(|option| &option.pick)
    }

    fn label_columns(&self) -> usize {
        self.options
            .iter()
            .map(|option| text::width(&option.label))
            .max()
            .unwrap_or(0)
            .min(30)
    }

    /// Where it stands, and its words.
    pub(super) fn area(&self, screen: Rect) -> (Rect, Vec<String>) {
        let label = self.label_columns();
        let widest = self
            .options
            .iter()
            .map(|option| label + 5 + text::width(&option.desc))
            .chain(self.lines.iter().map(|line| text::width(line).min(72)))
            .chain([text::width(&self.title) + 2, 36])
            .max()
            .unwrap_or(0);
        let columns = u16::try_from(widest + 4).unwrap_or(u16::MAX).min(92);
        let room = usize::from(
            columns
                .min(screen.width.saturating_sub(2))
                .saturating_sub(4),
        );
        let body: Vec<String> = self
            .lines
            .iter()
            .flat_map(|line| text::wrap(line, room))
            .collect();
        let gap = usize::from(!body.is_empty());
        (
            overlay_area(screen, columns, body.len() + gap + self.options.len() + 4),
            body,
        )
    }

    /// First row of the options and how many fit.
    fn options_area(&self, screen: Rect) -> Rect {
        let (area, body) = self.area(screen);
        let inner_height = area.height.saturating_sub(2);
        let footer = if inner_height > 3 { 2 } else { 0 };
        let wanted = self.options.len() as u16;
        let above = (body.len() as u16 + u16::from(!body.is_empty()))
            .min(inner_height.saturating_sub(footer + wanted.min(3)));
        Rect {
            x: area.x + 1,
            y: area.y + 1 + above,
            width: area.width.saturating_sub(2),
            height: inner_height.saturating_sub(above + footer).min(wanted),
        }
    }

    /// Which option a click on this cell means.
    pub(crate) fn option_at(&self, screen: Rect, x: u16, y: u16) -> Option<usize> {
        let area = self.options_area(screen);
        let inside = (area.x..area.right()).contains(&x) && (area.y..area.bottom()).contains(&y);
        inside
            .then(|| self.top(area) + usize::from(y - area.y))
            .filter(|index| *index < self.options.len())
    }

    fn top(&self, area: Rect) -> usize {
        (self.list.selected + 1).saturating_sub(usize::from(area.height).max(1))
    }

    pub(crate) fn draw(&self, deck: &Deck, screen: Rect, buf: &mut Buffer) {
        let theme = &deck.theme;
        let (area, body) = self.area(screen);
        let inner = draw_box(
            deck,
            area,
            buf,
            Line::styled(self.title.clone(), theme.style(ThemeRole::TitleFocus)),
            Line::default(),
        );
        let options = self.options_area(screen);
        for (row, line) in body
            .iter()
            .take(usize::from(options.y.saturating_sub(inner.y)))
            .enumerate()
        {
            buf.set_stringn(
                inner.x,
                inner.y + row as u16,
                line,
                usize::from(inner.width),
                theme.style(ThemeRole::Text),
            );
        }
        let label = self.label_columns();
        let top = self.top(options);
        for (row, (index, option)) in self
            .options
            .iter()
            .enumerate()
            .skip(top)
            .take(usize::from(options.height))
            .enumerate()
        {
            let y = options.y + row as u16;
            let selected = index == self.list.selected;
            let line = Line::from(vec![
                Span::styled(
                    if selected { deck.glyphs.cursor() } else { " " },
                    theme.style(ThemeRole::Key),
                ),
                blank(1),
                Span::styled(
                    text::pad(&option.label, label),
                    theme.style(if selected {
                        ThemeRole::TextStrong
                    } else {
                        ThemeRole::Text
                    }),
                ),
                blank(2),
                Span::styled(option.desc.clone(), theme.style(ThemeRole::TextMuted)),
            ]);
            buf.set_line(
                inner.x,
                y,
                &fit_line(line, usize::from(inner.width)),
                inner.width,
            );
            if selected {
                buf.set_style(
                    Rect {
                        y,
                        height: 1,
                        ..options
                    },
                    theme.style(ThemeRole::SelectionFocus),
                );
            }
        }
        if options.bottom() < inner.bottom() {
            let keys = key_footer(deck, &[(Action::Open, "choose"), (Action::Back, "close")]);
            buf.set_line(
                inner.x,
                inner.bottom() - 1,
                &fit_line(keys, usize::from(inner.width)),
                inner.width,
            );
        }
    }
}
