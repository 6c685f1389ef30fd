//! [`Answers`]: who is doing what, what waits for me, whether anything is wrong; one line each.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::deck::Deck;
use crate::layout::{COLUMNS_MIN, ROWS_MIN};
use crate::model::{AgentCard, AgentState, Chain, DaemonState, InboxKind, Level, SilenceLevel};
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{blank, fit_line};

/// The three answers.
#[derive(Debug, Clone)]
pub(crate) struct Answers {
    pub(crate) who: Line<'static>,
    /// Who does what by marks alone.
    pub(crate) who_short: Line<'static>,
    pub(crate) waits: Line<'static>,
    pub(crate) wrong: Line<'static>,
}

impl Answers {
    pub(crate) fn of(deck: &Deck) -> Self {
        Self {
            who: who(deck),
            who_short: who_short(deck),
            waits: waits(deck),
            wrong: wrong(deck),
        }
    }
}

fn who(deck: &Deck) -> Line<'static> {
    let theme = &deck.theme;
    let mut spans = Vec::new();
    for card in &deck.view.agents {
        if !spans.is_empty() {
            spans.push(blank(3));
        }
        let (shown, word) = card.shown_state();
        let mut word = word.to_owned();
        if let (AgentState::Busy | AgentState::Waiting, Some(since)) = (card.state, card.since_ms) {
            word = format!("{word} {}", text::running(deck.view.now_ms, since));
        }
        spans.push(Span::styled(
            deck.glyphs.agent(card.agent),
            theme.agent(card.agent),
        ));
        spans.push(blank(1));
        spans.push(Span::styled(
            format!("{} {word}", deck.glyphs.state(shown)),
            theme.state(shown),
        ));
    }
    Line::from(spans)
}

fn who_short(deck: &Deck) -> Line<'static> {
    let (theme, glyphs) = (&deck.theme, deck.glyphs);
    let mut spans = Vec::new();
    for card in &deck.view.agents {
        if !spans.is_empty() {
            spans.push(blank(2));
        }
        spans.push(Span::styled(
            glyphs.agent(card.agent),
            theme.agent(card.agent),
        ));
        spans.push(blank(1));
        let (shown, _) = card.shown_state();
        spans.push(Span::styled(glyphs.state(shown), theme.state(shown)));
    }
    Line::from(spans)
}

fn waits(deck: &Deck) -> Line<'static> {
    match deck.view.waiting() {
        0 if deck.opening().is_some() => Line::default(),
        0 if !deck.view.inbox.is_empty() => Line::from(Span::styled(
            format!("{} to know", text::grouped(deck.view.inbox.len() as u64)),
            deck.theme.style(ThemeRole::TextMuted),
        )),
        0 if deck.view.banner.is_some() => Line::default(),
        0 => Line::from(Span::styled(
            "nothing waits",
            deck.theme.style(ThemeRole::TextFaint),
        )),
        1 => Line::from(Span::styled(
            "1 waits for you",
            deck.theme.style(ThemeRole::Wait),
        )),
        n => Line::from(Span::styled(
            format!("{} wait for you", text::grouped(n as u64)),
            deck.theme.style(ThemeRole::Wait),
        )),
    }
}

/// The worst thing that is wrong.
fn wrong(deck: &Deck) -> Line<'static> {
    let view = &deck.view;
    let ambiguous: u32 = view.agents.iter().map(|card| card.queue.ambiguous).sum();
    // What is sent again by itself needs nobody.
    let goes_again = |card: &AgentCard| card.limit.as_ref().is_some_and(|limit| limit.again > 0);
    let cut_off = view.agents.iter().filter(|card| !goes_again(card));
    let cut_off: u32 = cut_off.map(|card| card.cut_off).sum();
    let look = view.agents.iter().find(|card| card.hint.is_some());
    let silent = view.agents.iter().find_map(|card| {
        let level = card.silence.as_ref()?.level;
        (level > SilenceLevel::Quiet).then(|| format!("{} {}", card.agent.title(), level.as_str()))
    });
    // Of these nothing else on this line tells.
    let is_grave = |kind| matches!(kind, InboxKind::Tampering | InboxKind::Trouble);
    let kinds = || view.inbox.iter().map(|card| card.kind);
    let alarms = kinds().filter(|kind| is_grave(*kind) || *kind == InboxKind::Alarm);
    let alarms = match alarms.count() {
        0 => None,
        1 => Some("1 alarm".to_owned()),
        n => Some(format!("{} alarms", text::grouped(n as u64))),
    };
    let found = match (view.daemon.state, view.ledger.chain) {
        _ if deck.opening().is_some() => Some((Level::Info, "starting".to_owned())),
        (DaemonState::Reconnecting | DaemonState::Ended, _) => {
            Some((Level::Error, view.daemon.state.as_str().to_owned()))
        }
        _ if deck.unanswered().is_some() => deck.unanswered().map(|word| (Level::Warn, word)),
        (_, Chain::Broken { seq }) => Some((Level::Error, text::broken_chain(seq))),
        _ if kinds().any(is_grave) => alarms.map(|word| (Level::Error, word)),
        _ if view.ledger.bad_lines > 0 => Some((
            Level::Warn,
            format!("{} bad lines", text::grouped(view.ledger.bad_lines)),
        )),
        _ if ambiguous > 0 => Some((
            Level::Warn,
            format!("{} ambiguous", text::grouped(u64::from(ambiguous))),
        )),
        _ if silent.is_some() => silent.map(|word| (Level::Warn, word)),
        _ if alarms.is_some() => alarms.map(|word| (Level::Warn, word)),
        _ if view.banner.is_some() => {
            let banner = view.banner.as_ref();
            banner.map(|banner| (banner.level, "see the notice".to_owned()))
        }
        _ if look.is_some() => {
            look.map(|card| (Level::Warn, format!("look at {}", card.agent.title())))
        }
        // Stopping a turn is an everyday act: it hides nothing else.
        _ => (cut_off > 0).then(|| {
            let cut_off = text::grouped(u64::from(cut_off));
            (Level::Warn, format!("{cut_off} cut off"))
        }),
    };
    let (glyph, word, role) = match found {
        None => (
            deck.glyphs.well(),
            "all well".to_owned(),
            ThemeRole::OutcomeDone,
        ),
        Some((Level::Info, word)) => (deck.glyphs.dot(), word, ThemeRole::TextMuted),
        Some((Level::Warn, word)) => (deck.glyphs.wrong(), word, ThemeRole::OutcomeAttention),
        Some((Level::Error, word)) => (deck.glyphs.wrong(), word, ThemeRole::OutcomeFailed),
    };
    let style = deck.theme.style(role);
    let words = if role == ThemeRole::OutcomeDone {
        deck.theme.style(ThemeRole::TextMuted)
    } else {
        style
    };
    Line::from(vec![
        Span::styled(format!("{glyph} "), style),
        Span::styled(word, words),
    ])
}

/// What is left of the deck in a terminal that is too small for it.
pub(crate) fn draw_too_small(deck: &Deck, screen: Rect, buf: &mut Buffer) {
    let answers = Answers::of(deck);
    let theme = &deck.theme;
    let ask = format!("make me larger: {COLUMNS_MIN}x{ROWS_MIN} at least");
    let name = Line::from(Span::styled(
        sanitize::line(&deck.view.project),
        theme.style(ThemeRole::TextStrong),
    ));
    // In the order of what matters most when only the first lines fit.
    let mut lines = vec![answers.wrong, answers.waits, answers.who];
    if usize::from(screen.height) > lines.len() {
        lines.push(Line::from(Span::styled(
            ask,
            theme.style(ThemeRole::TextFaint),
        )));
    }
    if usize::from(screen.height) > lines.len() {
        lines.insert(0, name);
    }
    let margin = u16::from(screen.width > 24);
    let columns = screen.width.saturating_sub(2 * margin);
    for (row, line) in lines
        .into_iter()
        .take(usize::from(screen.height))
        .enumerate()
    {
        let line = fit_line(line, usize::from(columns));
        buf.set_line(screen.x + margin, screen.y + row as u16, &line, columns);
    }
}
