//! The part of a card about what was run: gates, their last words, and what stands in the way.

use ratatui::text::{Line, Span};

use super::card_sheet::{bullets, heading};
use super::sheet::paragraphs;
use crate::deck::Deck;
use crate::model::{GateRow, GateState, InboxCard};
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{fit_line, spread};

/// What the gates' key does now, in a few words.
pub(super) fn gates_key(card: &InboxCard) -> &'static str {
    if card.gates.iter().any(GateRow::is_running) {
        "stop the gates"
    } else {
        "run the gates"
    }
}

/// What `enter` is asked for after it.
pub(super) fn gates_question(card: &InboxCard) -> String {
    if card.gates.iter().any(GateRow::is_running) {
        return "Stop the gates? What did not run to its end proves nothing.".to_owned();
    }
    let names: Vec<String> = card
        .gates
        .iter()
        .map(|gate| sanitize::line(&gate.name))
        .collect();
    format!(
        "Run {} in the project's folder? The commands are those that you trusted; what they run \
         may have been written by an agent.",
        names.join(", ")
    )
}

/// What was run, and what stands against it.
pub(super) fn checks(deck: &Deck, card: &InboxCard, columns: usize) -> Vec<Line<'static>> {
    let theme = &deck.theme;
    let muted = theme.style(ThemeRole::TextMuted);
    let mut out = vec![heading(
        deck,
        "Gates",
        if card.gates.is_empty() {
            ""
        } else {
            "run by the daemon on that tree"
        },
    )];
    if card.gates.is_empty() {
        out.extend(paragraphs(
            "none were run: what stands here is what the agents claim",
            columns,
            2,
            muted,
        ));
    }
    for gate in &card.gates {
        let style = theme.style(match gate.state {
            GateState::Passed => ThemeRole::OutcomeDone,
            GateState::Failed => ThemeRole::OutcomeFailed,
            GateState::Running => ThemeRole::StateBusy,
            GateState::Missing => ThemeRole::OutcomeAttention,
            GateState::Skipped => ThemeRole::TextMuted,
        });
        out.push(spread(
            Line::from(vec![
                Span::styled(format!("  {} ", deck.glyphs.gate(gate.state)), style),
                Span::styled(
                    text::pad(&sanitize::line(&gate.name), 9),
                    theme.style(ThemeRole::Text),
                ),
                Span::styled(format!(" {}", sanitize::line(&gate.command)), muted),
            ]),
            Line::from(Span::styled(sanitize::line(&gate.result), muted)),
            columns,
        ));
        for line in &gate.output {
            let line = Line::from(vec![
                Span::raw("    "),
                Span::styled(sanitize::line(line), theme.style(ThemeRole::TextFaint)),
            ]);
            out.push(fit_line(line, columns));
        }
    }
    out.push(Line::default());
    out.push(heading(deck, "Blockers", ""));
    if card.blockers.is_empty() {
        out.extend(paragraphs("none open", columns, 2, muted));
    }
    for blocker in &card.blockers {
        out.extend(bullets(
            deck,
            deck.glyphs.wrong(),
            theme.style(ThemeRole::OutcomeAttention),
            blocker,
            columns,
        ));
    }
    out
}
