//! An agent's silence and its usage limit, as lines below the agent.

use ratatui::text::Span;

use crate::action::Action;
use crate::deck::Deck;
use crate::keymap::KeyContext;
use crate::model::{AgentCard, AgentState, Silence, SilenceLevel, UsageLimit};
use crate::text;
use crate::theme::ThemeRole;

/// What about an agent may need the operator's hand; nothing when nothing does.
pub(super) fn lines(deck: &Deck, card: &AgentCard) -> Vec<Vec<Span<'static>>> {
    let mut lines = Vec::new();
    if let Some(silence) = &card.silence {
        lines.push(silent(deck, silence));
    }
    if let Some(limit) = &card.limit {
        lines.push(limited(deck, card.state, limit));
        lines.push(vec![Span::styled(
            tries(deck, card, limit),
            deck.theme.style(ThemeRole::TextMuted),
        )]);
    }
    lines
}

/// `▲ stuck  no sign for 12m`.
fn silent(deck: &Deck, silence: &Silence) -> Vec<Span<'static>> {
    let theme = &deck.theme;
    let style = theme.style(silence_role(silence.level));
    vec![
        Span::styled(
            format!(
                "{} {}  ",
                deck.glyphs.silence(silence.level),
                silence.level.as_str()
            ),
            style,
        ),
        Span::styled(
            silence_words(deck, silence),
            theme.style(ThemeRole::TextMuted),
        ),
    ]
}

/// Which colour a silence has.
pub(crate) fn silence_role(level: SilenceLevel) -> ThemeRole {
    match level {
        SilenceLevel::Quiet => ThemeRole::TextMuted,
        SilenceLevel::Suspect => ThemeRole::OutcomeAttention,
        SilenceLevel::Stuck => ThemeRole::OutcomeFailed,
    }
}

/// `no sign for 12m, let be until 14:20`.
pub(crate) fn silence_words(deck: &Deck, silence: &Silence) -> String {
    let since = text::running(deck.view.now_ms, silence.since_ms);
    match silence.snoozed_until_ms {
        Some(until_ms) => {
            let until = text::clock(until_ms, deck.view.utc_offset_s(until_ms));
            format!("no sign for {since}, let be until {until}")
        }
        None => format!("no sign for {since}"),
    }
}

/// `limit ends in 2h 10m (16:12)`. The glyph and the word stand above it, unless a turn runs all
/// the same.
fn limited(deck: &Deck, state: AgentState, limit: &UsageLimit) -> Vec<Span<'static>> {
    let theme = &deck.theme;
    let mut spans = Vec::new();
    if state != AgentState::Limited {
        let glyph = deck.glyphs.state(AgentState::Limited);
        spans.push(Span::styled(
            format!("{glyph} "),
            theme.state(AgentState::Limited),
        ));
    }
    spans.push(Span::styled(
        limit_words(deck, limit),
        theme.style(ThemeRole::Text),
    ));
    spans
}

/// `16:12`, and of another day than this one `25 Nov 16:12`.
fn moment(deck: &Deck, at_ms: i64) -> String {
    let (view, offset) = (&deck.view, deck.view.utc_offset_s(at_ms));
    let today = text::day_number(view.now_ms, view.utc_offset_s(view.now_ms));
    let clock = text::clock(at_ms, offset);
    match text::day_number(at_ms, offset) == today {
        true => clock,
        false => format!("{} {clock}", text::day(view.now_ms, at_ms, offset)),
    }
}

/// When the limit ends.
pub(crate) fn limit_words(deck: &Deck, limit: &UsageLimit) -> String {
    let view = &deck.view;
    match limit.resets_ms {
        Some(at_ms) if at_ms > view.now_ms => format!(
            "limit ends in {} ({})",
            text::until(view.now_ms, at_ms),
            moment(deck, at_ms)
        ),
        Some(_) => "limit: its time is up".to_owned(),
        None => "limit: its end was not said".to_owned(),
    }
}

/// Who tries it next, and what then happens: `try 2 of 6 at 16:12 · resends 3`. Where nothing waits
/// for its end nothing is tried, and it is only over: `over at 16:12 · r sends 1 again`.
pub(crate) fn tries(deck: &Deck, card: &AgentCard, limit: &UsageLimit) -> String {
    let view = &deck.view;
    let waits = card.queue.pending > 0 || card.queue.in_flight > 0 || limit.again > 0;
    let mut words = match limit.try_ms {
        Some(at_ms) if !waits => {
            let at = moment(deck, at_ms);
            let over = match limit.resets_ms {
                Some(_) => "over",
                None => "may be over",
            };
            let at_word = if at.contains(' ') { "" } else { "at " };
            let mut words = format!("{over} {at_word}{at}");
            if card.cut_off > 0 {
                let key = deck.key_in(&[KeyContext::Agents], Action::SendAgain);
                let n = text::grouped(u64::from(card.cut_off));
                let dot = deck.glyphs.dot();
                words.push_str(&format!(" {dot} {key} sends {n} again"));
            }
            words
        }
        Some(at_ms) => {
            let at = moment(deck, at_ms);
            // Beside a day there is less room.
            let of = if at.contains(' ') { "/" } else { " of " };
            let (next, max) = (limit.tries + 1, limit.tries_max);
            format!("try {next}{of}{max} at {at}")
        }
        None if limit.is_cancelled => "no tries by itself".to_owned(),
        None if limit.tries >= limit.tries_max => {
            format!("{} tries made, none follows by itself", limit.tries)
        }
        None if limit.resets_ms.is_some_and(|at_ms| at_ms <= view.now_ms) => {
            "being asked for".to_owned()
        }
        None => "waits for a turn that works, or for you".to_owned(),
    };
    if limit.again > 0 {
        words.push_str(&format!(" {} resends {}", deck.glyphs.dot(), limit.again));
    }
    words
}
