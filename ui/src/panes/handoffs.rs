//! The Handoffs pane: who owes whom an answer, since when, and where it is stuck.

use ratatui::text::{Line, Span};

use super::tasks::{age, dim, gone};
use crate::action::Action;
use crate::deck::Deck;
use crate::model::{AgentState, HandoffRow, HandoffStage, OutcomeState, Party};
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{RowLines, blank, fit_line, spread};

pub(super) fn len(deck: &Deck) -> usize {
    deck.work.handoffs.len()
}

/// How many answers are owed.
pub(super) fn owed(deck: &Deck) -> usize {
    deck.view.handoffs.len() + deck.view.questions_open
}

/// The questions that have no answer, above what was handed over: they stand in the way of a sign-off
/// as well.
pub(super) fn preface(deck: &Deck, columns: usize) -> Vec<Line<'static>> {
    let view = &deck.view;
    let style = |role| deck.theme.style(role);
    let mut lines: Vec<Line<'static>> = Vec::new();
    for question in &view.questions {
        let mut spans = owes(deck, &question.to, &question.from);
        let place = text::fill(&format!("#{}", question.seq), 5);
        spans.extend([
            Span::styled(place, style(ThemeRole::TextMuted)),
            blank(1),
            Span::styled("asked: ", style(ThemeRole::TextMuted)),
            Span::styled(sanitize::line(&question.ask), style(ThemeRole::Text)),
        ]);
        lines.push(fit_line(Line::from(spans), columns));
    }
    let more = view.questions_open.saturating_sub(view.questions.len());
    if more > 0 {
        let more = format!("and {} more without an answer", text::grouped(more as u64));
        lines.push(Line::styled(more, style(ThemeRole::TextMuted)));
    }
    lines
}

/// Who owes whom.
fn owes(deck: &Deck, to: &Party, from: &Party) -> Vec<Span<'static>> {
    let party = |party: &Party| Span::styled(deck.glyphs.party(party), deck.theme.party(party));
    // The human's own debts read as a sentence too.
    let owes = match to {
        Party::Human => " owe  ",
        _ => " owes ",
    };
    vec![
        party(to),
        Span::styled(owes, deck.theme.style(ThemeRole::TextMuted)),
        party(from),
        blank(2),
    ]
}

pub(super) fn row(deck: &Deck, index: usize, columns: usize) -> RowLines {
    let Some(row) = deck.work.handoffs.get(index) else {
        return RowLines::default();
    };
    let theme = &deck.theme;
    let mut spans = owes(deck, &row.to, &row.from);
    spans.extend([
        Span::styled(
            text::fill(&sanitize::line(&row.id_short), 5),
            theme.style(ThemeRole::TextMuted),
        ),
        blank(1),
        Span::styled(sanitize::line(&row.ask), theme.style(ThemeRole::Text)),
    ]);
    let is_gone = deck.work.is_gone(None, row.seq);
    let age = if is_gone {
        gone(deck, row)
    } else {
        age(deck, row)
    };
    let mut lines = vec![spread(Line::from(spans), age, columns)];
    if is_gone {
        // Where it was stuck is not so any more; its room stays, so that nothing jumps.
        lines.push(Line::default());
        lines.iter_mut().for_each(|line| dim(deck, line));
    } else {
        let stuck = stage_lines(deck, row, columns.saturating_sub(2), 1);
        let mut stuck = stuck.into_iter().next().unwrap_or_default();
        stuck.spans.insert(0, blank(2));
        lines.push(fit_line(stuck, columns));
    }
    RowLines::from(lines)
}

/// `✓ in Codex's turn · no answer yet`, on so many lines at most.
pub(super) fn stage_lines(
    deck: &Deck,
    row: &HandoffRow,
    columns: usize,
    lines: usize,
) -> Vec<Line<'static>> {
    let (state, words) = stage(deck, row);
    let style = deck.theme.outcome(state);
    let text = match state {
        OutcomeState::Failed | OutcomeState::Attention => style,
        _ => deck.theme.style(ThemeRole::TextMuted),
    };
    let mut glyph = Span::styled(deck.glyphs.outcome(state), style);
    let words = text::wrap_to(&words, columns.saturating_sub(2), lines).into_iter();
    words
        .map(|words| {
            let lead = std::mem::replace(&mut glyph, blank(1));
            Line::from(vec![lead, blank(1), Span::styled(words, text)])
        })
        .collect()
}

/// Where it is stuck.
pub(crate) fn stage(deck: &Deck, row: &HandoffRow) -> (OutcomeState, String) {
    let dot = deck.glyphs.dot();
    let name = |party: &Party| match party {
        Party::Other(name) => sanitize::line(name),
        party => party.title().to_owned(),
    };
    let who = name(&row.to);
    let has = match &row.to {
        Party::Human => "have",
        _ => "has",
    };
    let card = match &row.to {
        Party::Agent(agent) => deck.view.agent(*agent),
        _ => None,
    };
    let is_away = card.is_some_and(|card| card.state == AgentState::Offline);
    let waits_for = card.and_then(|card| card.waits_for.as_deref());
    let (state, words) = match row.stage {
        HandoffStage::Unproven if is_away => (
            OutcomeState::Unconfirmed,
            format!("waits until {who} is here"),
        ),
        HandoffStage::Unproven => (
            OutcomeState::Unconfirmed,
            waits_for.map_or_else(
                || format!("no proof yet that {who} {has} it"),
                sanitize::line,
            ),
        ),
        HandoffStage::Ambiguous => (
            OutcomeState::Attention,
            format!("nobody can know whether {who} {has} it"),
        ),
        HandoffStage::Undelivered => (OutcomeState::Failed, format!("never reached {who}")),
        HandoffStage::InTurn => (
            OutcomeState::Done,
            format!("in {who}'s turn {dot} no answer yet"),
        ),
        HandoffStage::Delivered => (
            OutcomeState::Done,
            format!("{who} {has} it {dot} no answer yet"),
        ),
        HandoffStage::CutOff => (
            OutcomeState::Attention,
            format!("{who}'s turn cut off {dot} no answer"),
        ),
        HandoffStage::Answered => (
            OutcomeState::Done,
            format!("{who} wrote back {dot} not closed yet"),
        ),
        HandoffStage::Blocked => (
            OutcomeState::Attention,
            "a blocker note names it".to_owned(),
        ),
        HandoffStage::Closed => (OutcomeState::Done, "closed".to_owned()),
        HandoffStage::ClosedBySender => {
            (OutcomeState::Done, format!("closed by {}", name(&row.from)))
        }
    };
    (state, words)
}

pub(super) fn empty(deck: &Deck) -> Vec<String> {
    if deck.view.questions_open > 0 {
        return Vec::new();
    }
    vec![
        "Nobody owes an answer.".to_owned(),
        format!("{} hands work to an agent.", deck.key(Action::Handoff)),
    ]
}
