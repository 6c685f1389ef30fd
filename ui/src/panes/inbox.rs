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
/// Columns before what stands below a row's first line.
const INDENT: usize = 2;
/// From this width on the words of a row stand below each other.
const ROOMY: usize = 64;

pub(super) fn len(deck: &Deck) -> usize {
    deck.inbox.rows.len()
}

/// Cards that still wait.
pub(super) fn waiting(deck: &Deck) -> usize {
    deck.view.waiting()
}

/// `lines`: most lines of its words.
pub(super) fn row(deck: &Deck, index: usize, columns: usize, lines: usize) -> RowLines {
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
        ) {
            ThemeRole::OutcomeAttention
        } else if card.kind.waits() {
            ThemeRole::Wait
        } else {
            ThemeRole::TextMuted
        },
    );
    let age = if gone {
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
    };
    let mut head = vec![
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
    ];
    let before = head.iter().map(|span| text::width(&span.content)).sum();
    let indent = if columns < ROOMY { INDENT } else { before };
    let beside = match text::width(&age) {
        0 => 0,
        columns => columns + 1,
    };
    let words = text::wrap_behind(
        &summary(deck, card),
        before + beside - indent,
        columns.saturating_sub(indent),
        lines,
    );
    let mut out = RowLines::default();
    if is_first_to_know(deck, index) {
        let heading = Span::styled("for you to know", theme.style(ThemeRole::TextMuted));
        out.lines.push(fit_line(Line::from(heading), columns));
        out.heading = 1;
    }
    for (number, words) in words.into_iter().enumerate() {
        let (mut spans, right) = match number {
            0 => (std::mem::take(&mut head), age.clone()),
            _ => (vec![blank(indent)], String::new()),
        };
        spans.push(Span::styled(words, dim(ThemeRole::Text)));
        let right = Line::styled(right, theme.style(ThemeRole::TextFaint));
        out.lines.push(spread(Line::from(spans), right, columns));
    }
    if !gone && card.kind == InboxKind::Finality {
        out.lines.extend(proof(deck, card, columns, lines));
    }
    out
}

/// Whether what waits for nobody begins with this row.
fn is_first_to_know(deck: &Deck, index: usize) -> bool {
    let waits = |index: usize| {
        let row = deck.inbox.rows.get(index);
        row.is_some_and(|row| row.card.kind.waits())
    };
    !waits(index) && index.checked_sub(1).is_none_or(waits)
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

/// The card in a few words: gates, risk, blockers, tree. What may still be wrong has so many lines at
/// most.
fn proof(deck: &Deck, card: &InboxCard, columns: usize, lines: usize) -> Vec<Line<'static>> {
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
    let mut first = vec![blank(INDENT)];
    for (text, role) in parts {
        first.push(Span::styled(text, theme.style(role)));
        first.push(Span::styled(format!(" {} ", deck.glyphs.dot()), muted));
    }
    let risk = card.remaining_risk.trim();
    let risk = match risk.is_empty() {
        true => "no risk named".to_owned(),
        false => format!("risk: {}", sanitize::line(risk)),
    };
    let used: usize = first.iter().map(|span| text::width(&span.content)).sum();
    let room = columns.saturating_sub(INDENT);
    let words = text::wrap_behind(&risk, used - INDENT, room, lines).into_iter();
    let words = words.map(|words| {
        let mut spans = match first.is_empty() {
            true => vec![blank(INDENT)],
            false => std::mem::take(&mut first),
        };
        spans.push(Span::styled(words, muted));
        fit_line(Line::from(spans), columns)
    });
    words.collect()
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
