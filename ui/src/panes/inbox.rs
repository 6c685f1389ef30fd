//! The Inbox pane: what waits for the operator.

use ratatui::text::{Line, Span};

use crate::deck::Deck;
use crate::model::{GateState, InboxCard, InboxKind, Party};
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{RowLines, blank, fit_line, spread};

/// Columns of the kind.
const KIND: usize = 8;

pub(super) fn len(deck: &Deck) -> usize {
    deck.inbox.rows.len()
}

/// Cards that still wait.
pub(super) fn waiting(deck: &Deck) -> usize {
    deck.view.waiting()
}

pub(super) fn row(deck: &Deck, index: usize, columns: usize) -> RowLines {
    let Some(row) = deck.inbox.rows.get(index) else {
        return RowLines::default();
    };
    let theme = &deck.theme;
    let card = &row.card;
    let gone = row.gone_until_ms.is_some();
    let dim = |role: ThemeRole| theme.style(if gone { ThemeRole::TextFaint } else { role });
    let wait = dim(
        if matches!(
            card.kind,
            InboxKind::Alarm
                | InboxKind::Tampering
                | InboxKind::Stuck
                | InboxKind::CutOff
                | InboxKind::Trouble
                | InboxKind::Full
                | InboxKind::Setup
        ) {
            ThemeRole::OutcomeAttention
        } else if matches!(card.kind, InboxKind::Limited | InboxKind::Notice) {
            ThemeRole::TextMuted
        } else {
            ThemeRole::Wait
        },
    );
    let indent = 2;
    let mut lines = vec![spread(
        Line::from(vec![
            Span::styled(deck.glyphs.card(card.kind), wait),
            blank(1),
            Span::styled(text::pad(card.kind.as_str(), KIND), wait),
            blank(1),
            Span::styled(
                deck.glyphs.party(&card.by),
                if gone {
                    dim(ThemeRole::Text)
                } else {
                    theme.party(&card.by)
                },
            ),
            blank(1),
            Span::styled(summary(deck, card), dim(ThemeRole::Text)),
        ]),
        Line::from(Span::styled(
            if gone {
                // Of others nobody here knows what became: each may have been taken back too.
                match card.is_given() {
                    true => "answered".to_owned(),
                    false => "over".to_owned(),
                }
            } else if card.kind.is_state() {
                // It is so now; since when is not known.
                String::new()
            } else {
                text::age(deck.view.now_ms, card.at_ms)
            },
            theme.style(ThemeRole::TextFaint),
        )),
        columns,
    )];
    if !gone && card.kind == InboxKind::Finality {
        let mut spans = vec![blank(indent)];
        spans.extend(proof(deck, card));
        lines.push(fit_line(Line::from(spans), columns));
    }
    RowLines::from(lines)
}

/// What a row says; a limit counts down.
fn summary(deck: &Deck, card: &InboxCard) -> String {
    let limit = match &card.by {
        Party::Agent(agent) if card.kind == InboxKind::Limited => deck.view.agent(*agent),
        _ => None,
    };
    match limit.and_then(|agent| agent.limit.as_ref()) {
        Some(limit) => {
            let words = super::limit_words(deck, limit);
            // The row's own word has said it.
            let rest = words.trim_start_matches("limit").trim_start_matches(':');
            rest.trim_start().to_owned()
        }
        None => sanitize::line(&card.summary),
    }
}

/// The card in a few words: gates, risk, blockers, tree.
fn proof(deck: &Deck, card: &InboxCard) -> Vec<Span<'static>> {
    let theme = &deck.theme;
    let muted = theme.style(ThemeRole::TextMuted);
    let mut parts: Vec<(String, ThemeRole)> = Vec::new();
    if card.gates.is_empty() {
        let claims = card.evidence.len();
        parts.push((
            format!("{claims} claim{}", if claims == 1 { "" } else { "s" }),
            ThemeRole::TextMuted,
        ));
    } else {
        let required: Vec<_> = card
            .gates
            .iter()
            .filter(|gate| gate.state != GateState::Skipped)
            .collect();
        let green = required
            .iter()
            .filter(|gate| gate.state == GateState::Passed)
            .count();
        let role = if green == required.len() {
            ThemeRole::TextMuted
        } else {
            ThemeRole::OutcomeAttention
        };
        parts.push((format!("gates {green}/{}", required.len()), role));
    }
    match card.blocker_count() {
        0 => {}
        n => parts.push((
            format!(
                "{} blocker{}",
                text::grouped(n),
                if n == 1 { "" } else { "s" }
            ),
            ThemeRole::OutcomeAttention,
        )),
    }
    if card.tree_still_same == Some(false) {
        parts.push(("tree changed".to_owned(), ThemeRole::OutcomeAttention));
    }
    let risk = card.remaining_risk.trim();
    parts.push((
        if risk.is_empty() {
            "no risk named".to_owned()
        } else {
            format!("risk: {}", sanitize::line(risk))
        },
        ThemeRole::TextMuted,
    ));
    let mut out = Vec::new();
    for (index, (text, role)) in parts.into_iter().enumerate() {
        if index > 0 {
            out.push(Span::styled(format!(" {} ", deck.glyphs.dot()), muted));
        }
        out.push(Span::styled(text, theme.style(role)));
    }
    out
}

pub(super) fn empty(deck: &Deck) -> Vec<String> {
    let first = match deck.view.banner {
        // The row comes with the next view.
        Some(_) => "Look at the line above.",
        None => "Nothing waits for you.",
    };
    vec![
        first.to_owned(),
        "Proposals, approvals, questions, trust and alarms come here.".to_owned(),
    ]
}
