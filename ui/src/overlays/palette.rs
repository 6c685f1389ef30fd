//! [`Palette`]: every command by its words.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::sheet::{draw_box, overlay_area};
use crate::action::Action;
use crate::deck::Deck;
use crate::keymap::{Binding, KeyContext};
use crate::text;
use crate::theme::ThemeRole;
use crate::update::applies;
use crate::widgets::{ListState, TextField, blank, spread};

/// Most commands shown at once.
const ROWS_MAX: usize = 14;

/// Moving about is no command: whoever has the palette open has moved here.
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

/// The command palette.
#[derive(Debug, Clone)]
pub(crate) struct Palette {
    pub(crate) field: TextField,
    pub(crate) list: ListState,
    /// The contexts that were in front when it was opened.
    contexts: Vec<KeyContext>,
}

impl Palette {
    pub(crate) fn new(contexts: Vec<KeyContext>) -> Self {
        Self {
            field: TextField::line("what do you want to do?"),
            list: ListState::default(),
            contexts,
        }
    }

    /// What matches the words typed so far and can be done now.
    pub(crate) fn found<'d>(&self, deck: &'d Deck) -> Vec<&'d Binding> {
        let typed = self.field.text().to_lowercase();
        let words: Vec<&str> = typed.split_whitespace().collect();
        let mut found: Vec<&Binding> = deck
            .keymap
            .reachable(&self.contexts)
            .into_iter()
            .filter(|binding| is_command(binding.action) && applies(deck, binding.action))
            .filter(|binding| {
                let text = format!("{} {}", binding.desc.to_lowercase(), binding.action.name());
                words.iter().all(|word| text.contains(word))
            })
            .collect();
        // What stands in the hint bar is what is wanted most.
        found.sort_by_key(|binding| binding.hint.is_none());
        found
    }

    /// The command under the cursor.
    pub(crate) fn picked(&self, deck: &Deck) -> Option<Action> {
        let found = self.found(deck);
        found
            .get(self.list.selected.min(found.len().saturating_sub(1)))
            .map(|binding| binding.action)
    }

    pub(crate) fn draw(&self, deck: &Deck, screen: Rect, buf: &mut Buffer) {
        let theme = &deck.theme;
        let found = self.found(deck);
        let area = overlay_area(screen, 64, ROWS_MAX + 4);
        let title = Line::styled("Commands", theme.style(ThemeRole::TitleFocus));
        let mark = Line::styled(
            format!("{}", found.len()),
            theme.style(ThemeRole::TextFaint),
        );
        let inner = draw_box(deck, area, buf, title, mark);
        if inner.height == 0 {
            return;
        }
        self.field
            .draw(Rect { height: 1, ..inner }, buf, theme, true);
        let rows = usize::from(inner.height.saturating_sub(2));
        if found.is_empty() && rows > 0 {
            let line = Line::styled(
                "no command has these words",
                theme.style(ThemeRole::TextFaint),
            );
            buf.set_line(inner.x, inner.y + 2, &line, inner.width);
        }
        let selected = self.list.selected.min(found.len().saturating_sub(1));
        let top = (selected + 1).saturating_sub(rows);
        for (row, binding) in found.iter().skip(top).take(rows).enumerate() {
            let y = inner.y + 2 + row as u16;
            let is_selected = top + row == selected;
            let key = binding
                .keys
                .first()
                .map(ToString::to_string)
                .unwrap_or_default();
            let line = spread(
                Line::from(vec![
                    Span::styled(
                        if is_selected {
                            deck.glyphs.cursor()
                        } else {
                            " "
                        },
                        theme.style(ThemeRole::Key),
                    ),
                    blank(1),
                    Span::styled(
                        binding.desc.clone(),
                        theme.style(if is_selected {
                            ThemeRole::TextStrong
                        } else {
                            ThemeRole::Text
                        }),
                    ),
                ]),
                Line::from(Span::styled(
                    text::fit(&key, 12),
                    theme.style(ThemeRole::TextMuted),
                )),
                usize::from(inner.width),
            );
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
    }
}
