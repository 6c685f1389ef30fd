//! [`KeyFooter`]: the keys of an overlay at its foot, from the resolved map; a click does what the
//! key does.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::action::Action;
use crate::deck::Deck;
use crate::theme::ThemeRole;
use crate::widgets::{blank, fit_line, width_of};

/// Columns between two keys.
const GAP: usize = 3;

/// Lines at most: more would stand in place of what the keys are about. On the smallest screen an agent
/// with all its keys takes three.
const LINES_MAX: usize = 3;

/// A key with what it does.
#[derive(Debug, Clone)]
struct Hint {
    action: Action,
    line: Line<'static>,
}

/// Where a key stands, from the first cell of the footer.
struct Placed<'f> {
    hint: &'f Hint,
    line: usize,
    x: usize,
}

/// The keys that do something now.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeyFooter(Vec<Hint>);

impl KeyFooter {
    /// Those of the overlay in front; the words say what each does here. What has no key is left
    /// out.
    pub(crate) fn new(deck: &Deck, actions: &[(Action, &str)]) -> Self {
        let contexts = deck.contexts();
        let theme = &deck.theme;
        let hint = |(action, words): &(Action, &str)| {
            let key = deck.keymap.key_of(&contexts, *action)?;
            let line = Line::from(vec![
                Span::styled(deck.glyphs.key(&key), theme.style(ThemeRole::Key)),
                blank(1),
                Span::styled((*words).to_owned(), theme.style(ThemeRole::TextMuted)),
            ]);
            Some(Hint {
                action: *action,
                line,
            })
        };
        Self(actions.iter().filter_map(hint).collect())
    }

    /// Each in its place in so many columns. What has no room in the last line is cut there.
    fn placed(&self, columns: usize) -> Vec<Placed<'_>> {
        let mut placed: Vec<Placed<'_>> = Vec::new();
        let (mut line, mut x) = (0, 0);
        for hint in &self.0 {
            let width = width_of(&hint.line);
            if x > 0 && x + width > columns && line + 1 < LINES_MAX {
                (line, x) = (line + 1, 0);
            }
            placed.push(Placed { hint, line, x });
            x += width + GAP;
        }
        placed
    }

    /// How many lines they need in so many columns.
    pub(crate) fn rows(&self, columns: usize) -> u16 {
        let placed = self.placed(columns);
        placed.last().map_or(0, |last| last.line as u16 + 1)
    }

    /// Draws as many lines as the area has.
    pub(crate) fn draw(&self, area: Rect, buf: &mut Buffer) {
        let columns = usize::from(area.width);
        let placed = self.placed(columns);
        for (at, y) in (area.y..area.bottom()).enumerate() {
            let mut spans = Vec::new();
            for hint in placed.iter().filter(|placed| placed.line == at) {
                if hint.x > 0 {
                    spans.push(blank(GAP));
                }
                spans.extend(hint.hint.line.spans.iter().cloned());
            }
            let line = fit_line(Line::from(spans), columns);
            buf.set_line(area.x, y, &line, area.width);
        }
    }

    /// What a click on this cell means, when the footer stands in this area.
    pub(crate) fn action_at(&self, area: Rect, at: Position) -> Option<Action> {
        if !area.contains(at) {
            return None;
        }
        let (x, line) = (usize::from(at.x - area.x), usize::from(at.y - area.y));
        let placed = self.placed(usize::from(area.width));
        let hit = placed.iter().find(|placed| {
            let end = placed.x + width_of(&placed.hint.line);
            placed.line == line && (placed.x..end).contains(&x)
        });
        hit.map(|placed| placed.hint.action)
    }
}
