//! [`HelpSheet`]: every key, from the resolved map.

use ratatui::text::{Line, Span};

use super::sheet::{SheetText, key_footer};
use crate::action::Action;
use crate::deck::Deck;
use crate::glyph::Glyphs;
use crate::keymap::KeyContext;
use crate::model::{Agent, AgentState, OutcomeState, Party};
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{blank, spans_of};

/// Columns for the keys.
const KEYS: usize = 16;
/// From this width on, two columns.
const TWO_COLUMNS: usize = 84;

/// The help.
#[derive(Debug, Clone, Default)]
pub(crate) struct HelpSheet {
    pub(crate) scroll: usize,
}

impl HelpSheet {
    pub(crate) fn text(&self, deck: &Deck, columns: usize) -> SheetText {
        let theme = &deck.theme;
        let two = columns >= TWO_COLUMNS;
        let column = if two { (columns - 3) / 2 } else { columns };
        let mut left = Vec::new();
        let mut right = legend(deck);
        for context in KeyContext::ALL {
            let bindings: Vec<_> = deck
                .keymap
                .bindings(context)
                .iter()
                .filter(|binding| !binding.keys.is_empty())
                .collect();
            if bindings.is_empty() {
                continue;
            }
            let side = if context == KeyContext::Global {
                &mut left
            } else {
                &mut right
            };
            if !side.is_empty() {
                side.push(Line::default());
            }
            side.push(Line::styled(
                context.title(),
                theme.style(ThemeRole::Heading),
            ));
            for binding in bindings {
                let keys = text::pad(&binding.keys_text(), KEYS);
                side.push(Line::from(vec![
                    Span::styled(keys, theme.style(ThemeRole::Key)),
                    Span::raw(" "),
                    Span::styled(
                        text::fit(&binding.desc, column.saturating_sub(KEYS + 1)),
                        theme.style(ThemeRole::TextMuted),
                    ),
                ]));
            }
        }
        let lines = if two {
            beside(left, right, column)
        } else {
            left.into_iter()
                .chain([Line::default()])
                .chain(right)
                .collect()
        };
        SheetText {
            title: Line::styled("Keys and marks", theme.style(ThemeRole::TitleFocus)),
            mark: Line::default(),
            lines,
            footer: vec![key_footer(
                deck,
                &[(Action::MoveDown, "scroll"), (Action::Back, "close")],
            )],
        }
    }
}

/// What the marks mean.
fn legend(deck: &Deck) -> Vec<Line<'static>> {
    let theme = &deck.theme;
    let glyphs: Glyphs = deck.glyphs;
    let muted = theme.style(ThemeRole::TextMuted);
    let row = |parts: Vec<(String, ratatui::style::Style, &'static str)>| {
        let mut spans = Vec::new();
        for (glyph, style, word) in parts {
            spans.push(Span::styled(glyph, style));
            spans.push(Span::raw(" "));
            spans.push(Span::styled(text::pad(word, 12), muted));
        }
        Line::from(spans)
    };
    let party = |party: Party, word| (glyphs.party(&party).to_owned(), theme.party(&party), word);
    let state = |state: AgentState| {
        (
            glyphs.state(state).to_owned(),
            theme.state(state),
            state.as_str(),
        )
    };
    let outcome =
        |state: OutcomeState, word| (glyphs.outcome(state).to_owned(), theme.outcome(state), word);
    vec![
        Line::styled("Marks", theme.style(ThemeRole::Heading)),
        row(vec![
            party(Agent::Claude.into(), "Claude"),
            party(Agent::Codex.into(), "Codex"),
            party(Party::Human, "you"),
        ]),
        row(vec![
            state(AgentState::Idle),
            state(AgentState::Busy),
            state(AgentState::Waiting),
        ]),
        row(vec![
            state(AgentState::Limited),
            state(AgentState::Stale),
            state(AgentState::Offline),
        ]),
        row(vec![
            outcome(OutcomeState::Unconfirmed, "unconfirmed"),
            outcome(OutcomeState::Done, "done"),
            outcome(OutcomeState::Failed, "failed"),
        ]),
        row(vec![outcome(OutcomeState::Attention, "look at it")]),
    ]
}

fn beside(
    left: Vec<Line<'static>>,
    right: Vec<Line<'static>>,
    column: usize,
) -> Vec<Line<'static>> {
    let rows = left.len().max(right.len());
    let mut left = left.into_iter();
    let mut right = right.into_iter();
    (0..rows)
        .map(|_| {
            let mut spans = spans_of(left.next().unwrap_or_default());
            let used: usize = spans.iter().map(|span| text::width(&span.content)).sum();
            spans.push(blank(column.saturating_sub(used) + 3));
            spans.extend(spans_of(right.next().unwrap_or_default()));
            Line::from(spans)
        })
        .collect()
}
