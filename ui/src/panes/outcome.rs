//! The outcome of an entry, as a line.

use ratatui::text::{Line, Span};

use crate::counted_seconds::of_outcome;
use crate::deck::Deck;
use crate::model::{OutcomeState, RowOutcome};
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::spread;

/// `✓ started a new turn                      3 ms`.
pub(crate) fn outcome_line(deck: &Deck, outcome: &RowOutcome, columns: usize) -> Line<'static> {
    let style = deck.theme.outcome(outcome.state);
    let time = match (of_outcome(outcome), outcome.took_ms) {
        (Some(since), _) => text::running(deck.view.now_ms, since),
        (None, Some(ms)) => text::took(ms),
        (None, None) => String::new(),
    };
    let words = match outcome.state {
        // The glyph carries the colour; calm words read better than a green line.
        OutcomeState::Done | OutcomeState::Plain | OutcomeState::Unconfirmed => {
            deck.theme.style(ThemeRole::TextMuted)
        }
        OutcomeState::Failed | OutcomeState::Attention => style,
    };
    spread(
        Line::from(vec![
            Span::styled(deck.glyphs.outcome(outcome.state), style),
            Span::raw(" "),
            Span::styled(sanitize::line(&outcome.text), words),
        ]),
        Line::from(Span::styled(time, deck.theme.style(ThemeRole::TextFaint))),
        columns,
    )
}
