//! The Handoffs pane: each handoff with what became of it, newest first.

use ratatui::text::{Line, Span};

use super::party::direction;
use crate::action::Action;
use crate::deck::Deck;
use crate::model::HandoffState;
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{RowLines, blank, fit_line, spread};

/// Columns of the state.
const STATE: usize = 11;
/// Below this width the state's word stands in the second line.
const WORDY: usize = 58;

pub(super) fn len(deck: &Deck) -> usize {
    deck.view.handoffs.len()
}

pub(super) fn row(deck: &Deck, index: usize, columns: usize) -> RowLines {
    let Some(handoff) = deck.view.handoffs.get(index) else {
        return RowLines::default();
    };
    let theme = &deck.theme;
    let state = theme.handoff(handoff.state);
    let wordy = columns >= WORDY;
    let mut spans = vec![
        Span::styled(deck.glyphs.handoff(handoff.state), state),
        blank(1),
    ];
    if wordy {
        spans.push(Span::styled(
            text::pad(handoff.state.as_str(), STATE),
            state,
        ));
        spans.push(blank(1));
    }
    spans.push(Span::styled(
        text::fill(&sanitize::line(&handoff.id_short), 4),
        theme.style(ThemeRole::TextMuted),
    ));
    spans.push(blank(1));
    spans.extend(direction(deck, &handoff.from, Some(&handoff.to)));
    spans.push(blank(1));
    let indent: usize = spans.iter().map(|span| text::width(&span.content)).sum();
    spans.push(Span::styled(
        sanitize::line(&handoff.ask),
        theme.style(ThemeRole::Text),
    ));
    let age = match handoff.state {
        HandoffState::Open => text::running(deck.view.now_ms, handoff.since_ms),
        _ => text::age(deck.view.now_ms, handoff.since_ms),
    };
    let mut lines = vec![spread(
        Line::from(spans),
        Line::from(Span::styled(age, theme.style(ThemeRole::TextFaint))),
        columns,
    )];
    let below = if !handoff.answer.is_empty() {
        format!("{} {}", deck.glyphs.to(), sanitize::line(&handoff.answer))
    } else if handoff.reason.is_empty() {
        String::new()
    } else {
        sanitize::line(&handoff.reason)
    };
    let mut second = vec![blank(if wordy { indent } else { 2 })];
    if !wordy {
        second.push(Span::styled(handoff.state.as_str(), state));
        second.push(blank(2));
    }
    if !wordy || !below.is_empty() {
        second.push(Span::styled(below, theme.style(ThemeRole::TextMuted)));
        lines.push(fit_line(Line::from(second), columns));
    }
    RowLines::from(lines)
}

pub(super) fn empty(deck: &Deck) -> Vec<String> {
    vec![
        "No handoffs yet.".to_owned(),
        format!("{} hands work to an agent.", deck.key(Action::Handoff)),
    ]
}
