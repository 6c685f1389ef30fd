//! The header: which project and session, over which ports, and whether the record is intact.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::answers::Answers;
use crate::deck::Deck;
use crate::model::{Chain, DaemonState, Party};
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{fit_line, join, spans_of, width_of};

/// Below this width the header carries the three answers instead of ports and counts; the panes
/// that would answer are behind tabs then.
const WIDE: u16 = 100;
/// Columns of what is being done before anything was read; the panes say it in full.
const OPENING_MAX: usize = 48;
/// Columns between two parts.
const GAP: usize = 3;

/// One part, and how gladly it is given up: the highest number goes first.
struct Part {
    line: Line<'static>,
    /// What says as much in less room.
    short: Option<Line<'static>>,
    cost: u8,
    right: bool,
}

impl Part {
    fn left(cost: u8, line: Line<'static>) -> Self {
        Self {
            line,
            short: None,
            cost,
            right: false,
        }
    }

    fn right(cost: u8, line: Line<'static>) -> Self {
        Self {
            right: true,
            ..Self::left(cost, line)
        }
    }
}

pub(crate) fn draw_header(deck: &Deck, area: Rect, buf: &mut Buffer) {
    buf.set_style(area, deck.theme.style(ThemeRole::Header));
    let mut parts = if area.width >= WIDE {
        wide(deck)
    } else {
        narrow(deck)
    };
    let room = usize::from(area.width).saturating_sub(2);
    loop {
        let used: usize = parts
            .iter()
            .map(|part| width_of(&part.line) + GAP)
            .sum::<usize>()
            .saturating_sub(GAP);
        if used <= room || parts.len() <= 1 {
            break;
        }
        let dearest = parts
            .iter()
            .enumerate()
            .max_by_key(|(_, part)| part.cost)
            .map_or(0, |(index, _)| index);
        if let Some(short) = parts[dearest].short.take() {
            parts[dearest].line = short;
        } else if parts[dearest].cost == 0 {
            break;
        } else {
            parts.remove(dearest);
        }
    }
    let (right, left): (Vec<Part>, Vec<Part>) = parts.into_iter().partition(|part| part.right);
    let lines = |parts: Vec<Part>| join(parts.into_iter().map(|part| part.line).collect(), GAP);
    let line = crate::widgets::spread(lines(left), lines(right), room);
    buf.set_line(
        area.x + 1,
        area.y,
        &fit_line(line, room),
        area.width.saturating_sub(1),
    );
}

fn wide(deck: &Deck) -> Vec<Part> {
    vec![
        Part::left(0, project(deck, true)),
        Part::left(6, coordinator(deck)),
        Part::left(7, session(deck)),
        Part::right(8, proxies(deck)),
        Part::right(1, daemon(deck)),
        Part::right(2, chain(deck)),
        Part::right(4, queue(deck)),
        Part::right(0, clock(deck)),
    ]
}

fn narrow(deck: &Deck) -> Vec<Part> {
    let answers = Answers::of(deck);
    vec![
        Part::left(4, project(deck, false)),
        Part {
            short: Some(answers.who_short),
            ..Part::left(2, answers.who)
        },
        Part::right(1, answers.waits),
        Part::right(0, answers.wrong),
        Part::right(3, clock(deck)),
    ]
}

fn project(deck: &Deck, whole: bool) -> Line<'static> {
    let theme = &deck.theme;
    let view = &deck.view;
    let mut spans = Vec::new();
    if view.demo {
        spans.push(Span::styled("DEMO ", theme.style(ThemeRole::Wait)));
    }
    let name = text::fit(&sanitize::line(&view.project), if whole { 28 } else { 16 });
    spans.push(Span::styled(name, theme.style(ThemeRole::TextStrong)));
    if whole && !view.runtime_session.is_empty() {
        let session = text::fit(&sanitize::line(&view.runtime_session), 16);
        spans.push(Span::styled(
            format!(" {} {session}", deck.glyphs.cursor()),
            theme.style(ThemeRole::TextMuted),
        ));
    }
    Line::from(spans)
}

/// Who alone writes to git, where somebody was named.
fn coordinator(deck: &Deck) -> Line<'static> {
    let Some(party) = &deck.view.policy.coordinator else {
        return Line::default();
    };
    let theme = &deck.theme;
    let (mark, style) = match party {
        Party::Agent(agent) => (deck.glyphs.agent(*agent).to_owned(), theme.agent(*agent)),
        party => (sanitize::line(party.title()), theme.style(ThemeRole::Text)),
    };
    Line::from(vec![
        Span::styled("git ", theme.style(ThemeRole::TextMuted)),
        Span::styled(mark, style),
    ])
}

fn session(deck: &Deck) -> Line<'static> {
    let id = text::short(&sanitize::line(&deck.view.session_id), 8);
    if id.is_empty() {
        return Line::default();
    }
    Line::from(Span::styled(
        format!("session {id}"),
        deck.theme.style(ThemeRole::TextFaint),
    ))
}

fn port(port: Option<u16>) -> String {
    port.map_or_else(|| "–".to_owned(), |port| port.to_string())
}

fn proxies(deck: &Deck) -> Line<'static> {
    let ports = deck.view.ports;
    if ports.proxy.is_none() && ports.codex.is_none() {
        return Line::default();
    }
    let text = format!(
        "proxy {} {} codex {}",
        port(ports.proxy),
        deck.glyphs.dot(),
        port(ports.codex)
    );
    Line::from(Span::styled(text, deck.theme.style(ThemeRole::TextFaint)))
}

fn daemon(deck: &Deck) -> Line<'static> {
    let theme = &deck.theme;
    let daemon = &deck.view.daemon;
    if let Some(doing) = deck.opening() {
        let doing = text::fit(&sanitize::line(doing), OPENING_MAX);
        return Line::from(Span::styled(doing, theme.style(ThemeRole::TextMuted)));
    }
    let late = deck.unanswered();
    let (glyph, style) = match daemon.state {
        _ if late.is_some() => (
            deck.glyphs.wrong(),
            theme.style(ThemeRole::OutcomeAttention),
        ),
        DaemonState::Hosting | DaemonState::Attached => {
            (deck.glyphs.well(), theme.style(ThemeRole::OutcomeDone))
        }
        DaemonState::Starting => (deck.glyphs.dot(), theme.style(ThemeRole::TextMuted)),
        DaemonState::Reconnecting | DaemonState::Ended => {
            (deck.glyphs.wrong(), theme.style(ThemeRole::OutcomeFailed))
        }
    };
    let well = daemon.state.can_act() && late.is_none();
    let mut spans = vec![
        Span::styled(format!("{glyph} "), style),
        Span::styled(
            late.unwrap_or_else(|| daemon.state.as_str().to_owned()),
            if well {
                theme.style(ThemeRole::Text)
            } else {
                style
            },
        ),
    ];
    if let Some(control) = deck.view.ports.control.filter(|_| well) {
        spans.push(Span::styled(
            format!(" {control}"),
            theme.style(ThemeRole::TextMuted),
        ));
    }
    if let (false, Some(message)) = (well, &daemon.message) {
        spans.push(Span::styled(
            format!(
                " {} {}",
                deck.glyphs.dot(),
                text::fit(&sanitize::line(message), 32)
            ),
            style,
        ));
    }
    Line::from(spans)
}

fn chain(deck: &Deck) -> Line<'static> {
    if deck.opening().is_some() {
        return Line::default();
    }
    let theme = &deck.theme;
    let ledger = deck.view.ledger;
    let bad = deck.theme.style(ThemeRole::OutcomeAttention);
    let (glyph, word, style) = match ledger.chain {
        Chain::Ok | Chain::Unchecked if ledger.bad_lines > 0 => (
            deck.glyphs.wrong(),
            match ledger.chain {
                Chain::Unchecked => "unchecked",
                _ => "chain",
            },
            bad,
        ),
        Chain::Ok => (
            deck.glyphs.gate(crate::model::GateState::Passed),
            "chain",
            theme.style(ThemeRole::OutcomeDone),
        ),
        Chain::Unchecked => (
            deck.glyphs.outcome(crate::model::OutcomeState::Unconfirmed),
            "unchecked",
            theme.style(ThemeRole::TextMuted),
        ),
        Chain::Broken { .. } => (
            deck.glyphs.wrong(),
            "broken",
            theme.style(ThemeRole::OutcomeFailed),
        ),
    };
    let mut spans = vec![Span::styled(format!("{glyph} "), style)];
    match ledger.chain {
        Chain::Broken { seq } => spans.push(Span::styled(text::broken_chain(seq), style)),
        _ => {
            spans.push(Span::styled(
                format!("{word} "),
                theme.style(ThemeRole::TextMuted),
            ));
            spans.push(Span::styled(
                text::grouped(ledger.entries),
                theme.style(ThemeRole::Text),
            ));
        }
    }
    if ledger.bad_lines > 0 {
        let count = text::grouped(ledger.bad_lines);
        let words = format!(" {} {count} bad", deck.glyphs.dot());
        spans.push(Span::styled(words, bad));
    }
    Line::from(spans)
}

fn queue(deck: &Deck) -> Line<'static> {
    if deck.opening().is_some() {
        return Line::default();
    }
    let theme = &deck.theme;
    let muted = theme.style(ThemeRole::TextMuted);
    let mut spans = vec![Span::styled("queue", muted)];
    for card in &deck.view.agents {
        let open = card.queue.open();
        let style = if card.queue.ambiguous > 0 {
            theme.style(ThemeRole::OutcomeAttention)
        } else if open > 0 {
            theme.style(ThemeRole::Text)
        } else {
            theme.style(ThemeRole::TextFaint)
        };
        let open = text::grouped(u64::from(open));
        spans.push(Span::styled(format!(" {open}{}", deck.glyphs.to()), style));
        spans.push(Span::styled(
            deck.glyphs.agent(card.agent),
            theme.agent(card.agent),
        ));
    }
    Line::from(spans)
}

fn clock(deck: &Deck) -> Line<'static> {
    if !deck.seen {
        return Line::default();
    }
    let now = deck.view.now_ms;
    let clock = text::clock(now, deck.view.utc_offset_s(now));
    Line::from(spans_of(Line::styled(
        clock,
        deck.theme.style(ThemeRole::Text),
    )))
}
