//! The Agents pane: who is doing what, and how messages reach it.

use ratatui::text::{Line, Span};

use super::attention;
use crate::counted_seconds::counts_seconds;
use crate::deck::Deck;
use crate::model::{AgentCard, AgentState, ContextUse, OutcomeState, RunningTool, WorkedMinute};
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{RowLines, blank, fit_line, spread};

/// Cells of the context meter.
const METER: usize = 10;
/// Detail lines of a card; the sheet has them all.
const DETAIL_MAX: usize = 2;

pub(super) fn len(deck: &Deck) -> usize {
    deck.view.agents.len()
}

pub(super) fn row(deck: &Deck, index: usize, columns: usize) -> RowLines {
    let Some(card) = deck.view.agents.get(index) else {
        return RowLines::default();
    };
    let theme = &deck.theme;
    let glyphs = deck.glyphs;
    let muted = theme.style(ThemeRole::TextMuted);
    let (shown, word) = card.shown_state();
    let mut state = format!("{} {word}", glyphs.state(shown));
    if let Some(since) = since(deck, card) {
        state.push(' ');
        state.push_str(&since);
    }
    let mut lines = vec![spread(
        Line::from(vec![
            Span::styled(glyphs.agent(card.agent), theme.agent(card.agent)),
            blank(1),
            Span::styled(text::pad(card.agent.title(), 7), theme.agent(card.agent)),
            blank(1),
            Span::styled(state, theme.state(shown)),
        ]),
        rung(deck, card),
        columns,
    )];
    let indent = 2;
    let room = columns.saturating_sub(indent);
    let mut put = |spans: Vec<Span<'static>>| {
        let mut all = vec![blank(indent)];
        all.extend(spans);
        lines.push(fit_line(Line::from(all), columns));
    };
    if let Some(hint) = &card.hint {
        for line in text::wrap_to(&sanitize::line(hint), room, 2) {
            put(vec![Span::styled(
                line,
                theme.style(ThemeRole::OutcomeAttention),
            )]);
        }
    }
    if card.state == AgentState::Offline && card.hint.is_none() {
        if card.installed {
            put(vec![
                Span::styled("start it with ", muted),
                Span::styled(
                    sanitize::line(&card.start_command),
                    theme.style(ThemeRole::Key),
                ),
            ]);
        } else {
            put(vec![Span::styled("not installed (not on the PATH)", muted)]);
        }
    }
    for line in attention::lines(deck, card) {
        put(line);
    }
    for line in waiting(card, deck, room) {
        put(line);
    }
    let details = card.detail.iter().map(|detail| sanitize::line(detail));
    for detail in details.take(DETAIL_MAX) {
        put(vec![Span::styled(detail, muted)]);
    }
    if let Some(tool) = &card.tool {
        let line = tool.act.in_words(&sanitize::line(&tool.text));
        let age = tool_age(deck, card, tool).unwrap_or_default();
        let line = spread(
            Line::styled(line, theme.style(ThemeRole::Text)),
            Line::styled(age, muted),
            room,
        );
        put(line.spans);
    } else if matches!(card.state, AgentState::Busy | AgentState::Waiting) {
        // What stands below does not move with each command.
        put(Vec::new());
    }
    if let Some(context) = card.context {
        put(meter(deck, context, room));
    }
    if card.worked() != (0, 0) {
        let line = spread(Line::from(activity(deck, card)), minutes(deck, card), room);
        put(line.spans);
    }
    if index + 1 < len(deck) {
        lines.push(Line::default());
    }
    RowLines::from(lines)
}

/// How long the state has held.
pub(crate) fn since(deck: &Deck, card: &AgentCard) -> Option<String> {
    let (now_ms, at_ms) = (deck.view.now_ms, card.since_ms?);
    match card.state {
        state if counts_seconds(state) => Some(text::running(now_ms, at_ms)),
        // Since when it compacts nobody tells.
        AgentState::Idle if card.compacting || at_ms > now_ms || text::is_now(now_ms, at_ms) => {
            None
        }
        AgentState::Idle => Some(text::age(now_ms, at_ms)),
        _ => None,
    }
}

/// For how long a tool has run. What waits for a person's yes has not begun.
pub(crate) fn tool_age(deck: &Deck, card: &AgentCard, tool: &RunningTool) -> Option<String> {
    let has_begun = card.state != AgentState::Waiting;
    has_begun.then(|| text::running(deck.view.now_ms, tool.since_ms))
}

/// When the agent last wrote a note.
pub(crate) fn last_note(deck: &Deck, card: &AgentCard) -> Option<String> {
    let (now_ms, at_ms) = (deck.view.now_ms, card.last_note_ms?);
    Some(match text::is_now(now_ms, at_ms) {
        true => "wrote a note just now".to_owned(),
        false => format!("last note {}", text::ago(now_ms, at_ms)),
    })
}

/// `doorbell ✓`: how messages reach it, and whether that is proved.
fn rung(deck: &Deck, card: &AgentCard) -> Line<'static> {
    if card.rung.is_empty() || !card.state.is_attached() {
        return Line::default();
    }
    let state = if card.proven {
        OutcomeState::Done
    } else {
        OutcomeState::Unconfirmed
    };
    Line::from(vec![
        Span::styled(
            text::fit(&sanitize::line(&card.rung), 12),
            deck.theme.style(ThemeRole::TextMuted),
        ),
        Span::raw(" "),
        Span::styled(deck.glyphs.outcome(state), deck.theme.outcome(state)),
    ])
}

/// `▁▂▁▁▅▇`: what it did in each of the last minutes.
pub(crate) fn activity(deck: &Deck, card: &AgentCard) -> Vec<Span<'static>> {
    let theme = &deck.theme;
    let minutes = card.activity.iter().map(|minute| {
        let style = if *minute == WorkedMinute::default() {
            theme.style(ThemeRole::TextFaint)
        } else {
            theme.agent(card.agent)
        };
        Span::styled(deck.glyphs.minute(*minute), style)
    });
    minutes.collect()
}

fn minutes(deck: &Deck, card: &AgentCard) -> Line<'static> {
    let muted = deck.theme.style(ThemeRole::TextMuted);
    Line::styled(format!("{} min", card.activity.len()), muted)
}

/// What waits for the agent and when it last wrote a note, in as many lines as it takes to cut
/// none of it.
fn waiting(card: &AgentCard, deck: &Deck, columns: usize) -> Vec<Vec<Span<'static>>> {
    let theme = &deck.theme;
    let mut lines: Vec<Vec<Span<'static>>> = Vec::new();
    let mut used = 0;
    let mut say = |count: String, role: ThemeRole| {
        let dot = format!(" {} ", deck.glyphs.dot());
        let (width, gap) = (text::width(&count), text::width(&dot));
        let count = Span::styled(count, theme.style(role));
        match lines.last_mut() {
            Some(line) if used + gap + width <= columns => {
                line.push(Span::styled(dot, theme.style(ThemeRole::TextFaint)));
                line.push(count);
                used += gap + width;
            }
            _ => {
                lines.push(vec![count]);
                used = width;
            }
        }
    };
    let mut add = |n: u32, word: &str, role: ThemeRole| {
        if n > 0 {
            say(format!("{} {word}", text::grouped(u64::from(n))), role);
        }
    };
    add(card.unread, "unread", ThemeRole::Text);
    let (queued, unconfirmed) = card.queued_and_unconfirmed();
    add(queued, "queued", ThemeRole::TextMuted);
    add(unconfirmed, "unconfirmed", ThemeRole::TextMuted);
    add(
        card.queue.ambiguous,
        "ambiguous",
        ThemeRole::OutcomeAttention,
    );
    add(card.cut_off, "cut off", ThemeRole::OutcomeAttention);
    if let Some(note) = last_note(deck, card) {
        say(note, ThemeRole::TextMuted);
    }
    lines
}

/// `context 38% ━━━━────── 98k of 258k`; the bar gives way, the figures do not.
fn meter(deck: &Deck, context: ContextUse, columns: usize) -> Vec<Span<'static>> {
    let theme = &deck.theme;
    let muted = theme.style(ThemeRole::TextMuted);
    let share = |of: u64| {
        (u128::from(context.used) * u128::from(of) / u128::from(context.window.max(1))) as u64
    };
    let percent = format!("context {}% ", share(100).min(100));
    let (used, window) = (text::tokens(context.used), text::tokens(context.window));
    let figures = format!(" {used} of {window}");
    let words = text::width(&percent) + text::width(&figures);
    let cells = columns.saturating_sub(words).min(METER);
    let full = (share(cells as u64) as usize).min(cells);
    let (on, off) = deck.glyphs.meter();
    vec![
        Span::styled(percent, muted),
        Span::styled(on.repeat(full), theme.style(ThemeRole::MeterFull)),
        Span::styled(off.repeat(cells - full), theme.style(ThemeRole::MeterEmpty)),
        Span::styled(figures, theme.style(ThemeRole::TextFaint)),
    ]
}
