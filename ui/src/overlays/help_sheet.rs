//! [`HelpSheet`]: every key, from the resolved map.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::document::Document;
use super::key_footer::KeyFooter;
use super::sheet::SheetText;
use crate::action::Action;
use crate::deck::Deck;
use crate::glyph::Glyphs;
use crate::key::Key;
use crate::keymap::{Binding, KeyContext};
use crate::model::{Agent, AgentState, OutcomeState, Party};
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{blank, spans_of, width_of};

/// Columns for the keys.
const KEYS: usize = 13;
/// Fewest columns of text in which keys and words stand side by side.
const COLUMN_MIN: usize = 34;
/// Columns between two columns of text.
const GAP: usize = 3;
/// Most columns of text.
const COLUMNS_MAX: usize = 3;
/// Columns of a mark with its word.
const MARK: usize = 14;

/// What goes two ways stands in one row.
const PAIRS: [(Action, Action, &str); 32] = [
    (Action::OtherAgent, Action::WhenBusy, "other agent, if busy"),
    (
        Action::WorkState,
        Action::Instructions,
        "its state, its rules",
    ),
    (
        Action::NextColumn,
        Action::PrevColumn,
        "next, previous column",
    ),
    (Action::Retry, Action::Acknowledge, "try again, alarm seen"),
    (Action::Start, Action::Snooze, "start it, let it be"),
    (Action::Export, Action::CloseTask, "write to file, close"),
    (Action::Note, Action::Findings, "write a note, reviews"),
    (Action::Dismiss, Action::Import, "dismiss, import"),
    (
        Action::Interrupt,
        Action::SendAgain,
        "stop turn, send again",
    ),
    (Action::TryNow, Action::CancelRetries, "try now, no tries"),
    (Action::Mark, Action::MarkRange, "mark, mark to here"),
    (Action::FocusNext, Action::FocusPrev, "next, previous pane"),
    (Action::MoveDown, Action::MoveUp, "down, up"),
    (Action::MoveFirst, Action::MoveLast, "first, last row"),
    (Action::HalfDown, Action::HalfUp, "half a page down, up"),
    (Action::NextEntry, Action::PrevEntry, "next, previous entry"),
    (
        Action::SearchNext,
        Action::SearchPrev,
        "next, previous match",
    ),
    (Action::Copy, Action::CopyId, "copy the text, the id"),
    (Action::Raw, Action::NextField, "JSON, what it names"),
    (Action::Gates, Action::Diff, "gates, what differs"),
    (Action::Resolve, Action::NextField, "resolve it, its entry"),
    (Action::Edit, Action::Thread, "$EDITOR, its thread"),
    (Action::Zoom, Action::Back, "this pane alone, back"),
    (
        Action::NextField,
        Action::OtherPlace,
        "to the chips, places",
    ),
    (Action::NextField, Action::Edit, "next field, $EDITOR"),
    (Action::Theme, Action::Redraw, "theme, draw again"),
    (Action::Approve, Action::Reject, "approve, reject"),
    (Action::Search, Action::Filter, "search, filter"),
    (Action::GoTo, Action::Return, "to a number, and back"),
    (Action::Coordinator, Action::Clear, "git writer, clear"),
    (Action::Newest, Action::Oldest, "newest, oldest entry"),
    (
        Action::LandmarkOlder,
        Action::LandmarkNewer,
        "decisions, failures",
    ),
];

#[derive(Debug, Clone, Default)]
pub(crate) struct HelpSheet {
    pub(crate) scroll: usize,
}

impl HelpSheet {
    pub(crate) fn text(&self, deck: &Deck, columns: usize) -> SheetText {
        let beside = ((columns + GAP) / (COLUMN_MIN + GAP)).clamp(1, COLUMNS_MAX);
        let width = (columns + GAP) / beside - GAP;
        let mut document = Document::new(deck, width);
        for context in KeyContext::ALL {
            let rows = rows(deck, context);
            if rows.is_empty() {
                continue;
            }
            document.heading(context.title(), "");
            for (keys, desc) in rows {
                row(&mut document, &keys, &desc);
            }
        }
        legend(&mut document);
        SheetText {
            title: Line::styled("Keys and marks", deck.theme.style(ThemeRole::TitleFocus)),
            lines: side_by_side(document.into_lines(), beside, width),
            keys: KeyFooter::new(
                deck,
                &[(Action::MoveDown, "scroll"), (Action::Back, "close")],
            ),
            ..SheetText::default()
        }
    }
}

/// Keys and words of a context, without what a context that counts there as well says already.
fn rows(deck: &Deck, context: KeyContext) -> Vec<(String, String)> {
    let said_by: &[KeyContext] = match context {
        KeyContext::Global => &[],
        // On their pane these keys open what they then act upon.
        KeyContext::Agents => &[KeyContext::Agent, KeyContext::Global],
        KeyContext::Inbox | KeyContext::Messages => &[KeyContext::Card, KeyContext::Global],
        KeyContext::Input => &[KeyContext::Overlay, KeyContext::Global],
        _ => &[KeyContext::Global],
    };
    let is_said = |action: Action, key: &Key| {
        said_by.iter().any(|context| {
            let mut others = deck.keymap.bindings(*context).iter();
            others.any(|other| other.action == action && other.keys.contains(key))
        })
    };
    let bindings = deck.keymap.bindings(context).iter().cloned();
    let shown: Vec<Binding> = bindings
        .map(|mut binding| {
            let action = binding.action;
            binding.keys.retain(|key| !is_said(action, key));
            binding
        })
        .filter(|binding| !binding.keys.is_empty())
        .collect();
    let find = |action| shown.iter().find(|binding| binding.action == action);
    let mut rows = Vec::new();
    for binding in &shown {
        let pair = |(first, second, words): &(Action, Action, &'static str)| {
            let (first, second) = (find(*first)?, find(*second)?);
            let is_either = [first.action, second.action].contains(&binding.action);
            let words = match (first.action, context) {
                (Action::MoveDown, KeyContext::Chips) => "next, previous chip",
                (Action::MoveDown, KeyContext::Search) => "next hit, hit before",
                _ => *words,
            };
            is_either.then_some((first, second, words))
        };
        if let Action::Focus(_) = binding.action {
            let panes: Vec<&Binding> = shown
                .iter()
                .filter(|other| matches!(other.action, Action::Focus(_)))
                .collect();
            if panes[0].action == binding.action {
                let keys = first_keys(&panes);
                let words = if panes.len() > 1 {
                    "to the panes"
                } else {
                    &binding.desc
                };
                rows.push((keys, words.to_owned()));
            }
            continue;
        }
        match PAIRS.iter().find_map(pair) {
            Some((first, second, words)) if first.action == binding.action => {
                rows.push((first_keys(&[first, second]), words.to_owned()));
            }
            Some(_) => {}
            None => rows.push((binding.keys_text(), binding.desc.clone())),
        }
    }
    rows
}

/// The first key of each: the others do the same.
fn first_keys(bindings: &[&Binding]) -> String {
    let keys = bindings.iter().filter_map(|binding| binding.keys.first());
    keys.map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

fn row(document: &mut Document<'_>, keys: &str, desc: &str) {
    let words = document.columns.saturating_sub(KEYS + 1).max(1);
    let (keys, desc) = (text::wrap(keys, KEYS), text::wrap(desc, words));
    let (key, muted) = (
        document.style(ThemeRole::Key),
        document.style(ThemeRole::TextMuted),
    );
    for at in 0..keys.len().max(desc.len()) {
        let part = |lines: &[String]| lines.get(at).cloned().unwrap_or_default();
        document.line(Line::from(vec![
            Span::styled(text::pad(&part(&keys), KEYS), key),
            blank(1),
            Span::styled(part(&desc), muted),
        ]));
    }
}

/// What the marks mean.
fn legend(document: &mut Document<'_>) {
    let theme = &document.deck.theme;
    let glyphs: Glyphs = document.deck.glyphs;
    let party = |party: Party, word| (glyphs.party(&party), theme.party(&party), word);
    let state = |state: AgentState| (glyphs.state(state), theme.state(state), state.as_str());
    let outcome = |state: OutcomeState, word| (glyphs.outcome(state), theme.outcome(state), word);
    let muted = document.style(ThemeRole::TextMuted);
    let marks: [(&str, Style, &str); 14] = [
        party(Agent::Claude.into(), "Claude"),
        party(Agent::Codex.into(), "Codex"),
        party(Party::Human, "you"),
        state(AgentState::Idle),
        state(AgentState::Busy),
        state(AgentState::Waiting),
        state(AgentState::Limited),
        state(AgentState::Stale),
        state(AgentState::Offline),
        outcome(OutcomeState::Unconfirmed, "unconfirmed"),
        outcome(OutcomeState::Done, "done"),
        outcome(OutcomeState::Failed, "failed"),
        outcome(OutcomeState::Attention, "look at it"),
        (glyphs.foreign(), muted, "elsewhere"),
    ];
    let in_row = (document.columns / MARK).max(1);
    document.heading("Marks", "");
    for marks in marks.chunks(in_row) {
        let mut spans = Vec::new();
        for (glyph, style, word) in marks {
            spans.push(Span::styled((*glyph).to_owned(), *style));
            spans.push(blank(1));
            spans.push(Span::styled(text::pad(word, MARK - 2), muted));
        }
        document.line(Line::from(spans));
    }
}

/// The lines in columns of so many rows, but for the last one, which has what is left; no heading is
/// the last line of one.
fn in_columns(lines: &[Line<'static>], columns: usize, rows: usize) -> Vec<Vec<Line<'static>>> {
    let mut left = lines;
    let mut sides: Vec<Vec<Line<'static>>> = Vec::new();
    while !left.is_empty() {
        let is_last = sides.len() + 1 == columns;
        let mut side: Vec<Line<'static>> = Vec::new();
        while let Some((line, rest)) = left.split_first().filter(|_| is_last || side.len() < rows) {
            if !side.is_empty() || width_of(line) > 0 {
                side.push(line.clone());
            }
            left = rest;
        }
        // A heading stays with what it is the heading of.
        if side.len() > 2 && width_of(&side[side.len() - 2]) == 0 && !left.is_empty() {
            side.pop();
            left = &lines[lines.len() - left.len() - 1..];
        }
        sides.push(side);
    }
    sides
}

/// The lines in so many columns, one after the other.
fn side_by_side(lines: Vec<Line<'static>>, columns: usize, width: usize) -> Vec<Line<'static>> {
    if columns < 2 {
        return lines;
    }
    // What a heading takes along makes the last column longer: one more row may be needed.
    let fewest = lines.len().div_ceil(columns);
    let sides = [fewest, fewest + 1].map(|rows| in_columns(&lines, columns, rows));
    let height = |sides: &Vec<Vec<Line<'static>>>| sides.iter().map(Vec::len).max();
    let Some(sides) = sides.into_iter().min_by_key(height) else {
        return lines;
    };
    let rows = sides.iter().map(Vec::len).max().unwrap_or(0);
    let mut sides: Vec<_> = sides.into_iter().map(Vec::into_iter).collect();
    let beside = |sides: &mut Vec<std::vec::IntoIter<Line<'static>>>| {
        let mut spans: Vec<Span<'static>> = Vec::new();
        let mut used = 0;
        for (at, side) in sides.iter_mut().enumerate() {
            spans.push(blank((at * (width + GAP)).saturating_sub(used)));
            let line = spans_of(side.next().unwrap_or_default());
            used = at * (width + GAP);
            used += line
                .iter()
                .map(|span| text::width(&span.content))
                .sum::<usize>();
            spans.extend(line);
        }
        Line::from(spans)
    };
    (0..rows).map(|_| beside(&mut sides)).collect()
}
