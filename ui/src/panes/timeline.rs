//! The Timeline pane: every entry of the record, as it comes.

use ratatui::text::{Line, Span};

use super::list_pane::WRAPPED;
use super::outcome::outcome_line;
use super::party::direction;
use crate::action::Action;
use crate::deck::Deck;
use crate::marked_words::MarkedWords;
use crate::model::{FoundRow, RowSort, SearchScope, TimelineRow};
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{RowLines, blank, fit_line, join, spread};

/// From this width on there are seconds, wider columns and a second line of text.
const ROOMY: usize = 64;
/// From this width on the columns stand further apart.
const SPACIOUS: usize = 96;
/// Columns of the kind.
const KIND: usize = 9;
/// Text of a row that is looked at, bytes. Two lines of the widest screen; the rest of a log file
/// in a message must not slow down drawing.
const TEXT_MAX: usize = 2_048;

pub(super) fn len(deck: &Deck) -> usize {
    deck.timeline.order.len()
}

/// The right half of the pane's title.
pub(crate) fn mark(deck: &Deck) -> Line<'static> {
    let theme = &deck.theme;
    let muted = theme.style(ThemeRole::TextMuted);
    let timeline = &deck.timeline;
    let follow = if timeline.follow {
        Line::from(vec![
            Span::styled("following ", muted),
            Span::styled(deck.glyphs.well(), theme.style(ThemeRole::TextMuted)),
        ])
    } else {
        let missed = timeline.missed(&deck.view.timeline);
        let text = if missed > 0 {
            let missed = text::grouped(missed as u64);
            format!("paused {} {missed} new", deck.glyphs.dot())
        } else {
            "paused".to_owned()
        };
        Line::from(Span::styled(
            text,
            theme.style(if missed > 0 {
                ThemeRole::Wait
            } else {
                ThemeRole::TextMuted
            }),
        ))
    };
    let search = if timeline.search.is_empty() {
        Line::default()
    } else {
        let text = text::fit(&format!("/{}", sanitize::line(&timeline.search)), 20);
        let place = deck.search.found().map_or_else(String::new, |found| {
            let place = text::grouped(deck.search.selected() as u64 + 1);
            let total = text::grouped(found.total);
            format!(" {place} of {total}{}", elsewhere(deck.search.hit()))
        });
        let style = theme.style(ThemeRole::Match);
        Line::from(Span::styled(format!("{text}{place}"), style))
    };
    // What it is narrowed to stands below, in full.
    let chips = if timeline.chips.is_empty() {
        Line::from(Span::styled("all", theme.style(ThemeRole::TextFaint)))
    } else {
        Line::default()
    };
    join(vec![search, follow, chips], 2)
}

/// Where a hit stands that is none of these rows.
fn elsewhere(hit: Option<&FoundRow>) -> String {
    let place = match hit {
        Some(FoundRow { task: Some(_), .. }) => SearchScope::Capsules,
        Some(FoundRow {
            session: Some(_), ..
        }) => SearchScope::Archives,
        _ => return String::new(),
    };
    format!(" in {}", place.name())
}

/// The chips that are on.
fn chips(deck: &Deck) -> Option<Line<'static>> {
    let words = deck.timeline.chips.words();
    if words.is_empty() {
        return None;
    }
    let theme = &deck.theme;
    let mut spans = vec![Span::styled("only ", theme.style(ThemeRole::TextMuted))];
    for word in words {
        let word = format!("{}{} ", deck.glyphs.well(), sanitize::line(&word));
        spans.push(Span::styled(word, theme.style(ThemeRole::Wait)));
    }
    spans.push(Span::styled(
        deck.key(Action::Filter),
        theme.style(ThemeRole::Key),
    ));
    spans.push(Span::styled(
        " changes it",
        theme.style(ThemeRole::TextMuted),
    ));
    Some(Line::from(spans))
}

/// `lines`: most lines of its text; two of them where it is roomy enough, and more wherever they have room.
pub(super) fn row(deck: &Deck, index: usize, columns: usize, lines: usize) -> RowLines {
    let Some(row) = deck.timeline.row(&deck.view.timeline, index) else {
        return RowLines::default();
    };
    let theme = &deck.theme;
    let roomy = columns >= ROOMY;
    let offset = deck.view.utc_offset_s(row.at_ms);
    let (time, kind_columns, gap) = if roomy {
        (
            text::clock_seconds(row.at_ms, offset),
            KIND,
            if columns >= SPACIOUS { 2 } else { 1 },
        )
    } else {
        (text::clock(row.at_ms, offset), KIND, 1)
    };
    // Nobody knows when or by whom a line was written that cannot be read.
    let is_bad = row.bad_lines.is_some();
    let time_shown = if is_bad {
        blank(time.len())
    } else {
        Span::styled(time.clone(), theme.style(ThemeRole::TextFaint))
    };
    let mut head = vec![time_shown, blank(gap)];
    head.extend(direction(deck, &row.from, row.to.as_ref()));
    head.push(blank(gap));
    head.push(Span::styled(
        text::pad(&sanitize::line(&row.kind), kind_columns),
        theme.style(ThemeRole::TextMuted),
    ));
    head.push(blank(1));
    let indent = time.len() + gap + 3 + gap + kind_columns + 1;
    let room = columns.saturating_sub(indent).max(1);

    let mark = row.mark.as_deref().map(sanitize::line).unwrap_or_default();
    let thread = row.thread.as_deref().filter(|_| roomy);
    let thread = thread.map(sanitize::line).unwrap_or_default();
    // What an artifact came to stands before its text, with a sign of its own.
    let verdict = row.verdict.map(|verdict| {
        let glyph = deck.glyphs.verdict(verdict);
        Span::styled(
            format!("{glyph} {}  ", verdict.as_str()),
            theme.verdict(verdict),
        )
    });
    let verdict_columns = verdict
        .as_ref()
        .map_or(0, |span| text::width(&span.content));
    head.extend(verdict);
    let beside = |words: &str| match text::width(words) {
        0 => 0,
        columns => columns + 2,
    };
    let mark_columns = verdict_columns + beside(&mark);
    let room_beside = room.saturating_sub(beside(&thread)).max(1);
    let clean = sanitize::line(clip(&row.text));
    let style = theme.style(if row.sort == RowSort::Error || is_bad {
        ThemeRole::OutcomeFailed
    } else {
        ThemeRole::Text
    });
    let text_lines = if lines > WRAPPED || (roomy && mark_columns == 0) {
        let room = room_beside.saturating_sub(mark_columns).max(1);
        text::wrap_to(&clean, room, lines)
    } else {
        vec![text::fit(&clean, room_beside.saturating_sub(mark_columns))]
    };

    let marked = MarkedWords::new(&deck.timeline.search);
    let mut out = RowLines::default();
    if let Some(heading) = day_heading(deck, index, row) {
        out.lines.push(fit_line(heading, columns));
        out.heading = 1;
    }
    for (number, text) in text_lines.into_iter().enumerate() {
        let mut spans = if number == 0 {
            std::mem::take(&mut head)
        } else {
            vec![blank(indent)]
        };
        let text = Line::from(Span::styled(text, style));
        spans.extend(marked.mark(text, theme.style(ThemeRole::Match)).spans);
        let right = match (number, mark.is_empty() || thread.is_empty()) {
            (0, true) => format!("{mark}{thread}"),
            (0, false) => format!("{mark}  {thread}"),
            _ => String::new(),
        };
        out.lines.push(spread(
            Line::from(spans),
            Line::from(Span::styled(right, theme.style(ThemeRole::TextFaint))),
            columns,
        ));
    }
    if let Some(outcome) = &row.outcome {
        let mut line = outcome_line(deck, outcome, room);
        line.spans.insert(0, blank(indent));
        out.lines.push(line);
    }
    out
}

/// The first bytes of a text, cut at a character.
fn clip(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_MAX)]
}

/// A line over the first row of a day that is not today.
fn day_heading(deck: &Deck, index: usize, row: &TimelineRow) -> Option<Line<'static>> {
    let view = &deck.view;
    let number = |at_ms| text::day_number(at_ms, view.utc_offset_s(at_ms));
    let day = number(row.at_ms);
    let before = match index.checked_sub(1) {
        Some(before) => number(deck.timeline.row(&view.timeline, before)?.at_ms),
        None => number(view.now_ms),
    };
    (day != before).then(|| {
        let offset = view.utc_offset_s(row.at_ms);
        let word = match number(view.now_ms) - day {
            0 => "today".to_owned(),
            1 => format!("yesterday, {}", text::day(row.at_ms, offset)),
            _ => text::day(row.at_ms, offset),
        };
        Line::from(Span::styled(word, deck.theme.style(ThemeRole::Heading)))
    })
}

pub(super) fn preface(deck: &Deck, columns: usize) -> Vec<Line<'static>> {
    let theme = &deck.theme;
    let open: Vec<_> = deck.view.missing.iter().collect();
    let mut out: Vec<Line<'static>> = chips(deck)
        .map(|line| fit_line(line, columns))
        .into_iter()
        .collect();
    if !deck.view.first_run || open.iter().all(|step| step.done) {
        return out;
    }
    let key = deck.key(Action::Steps);
    out.extend([
        Line::from(vec![
            Span::styled(
                "To make the pair complete",
                theme.style(ThemeRole::TextStrong),
            ),
            Span::styled("   press ", theme.style(ThemeRole::TextMuted)),
            Span::styled(key, theme.style(ThemeRole::Key)),
            Span::styled(" to do it from here", theme.style(ThemeRole::TextMuted)),
        ]),
        Line::default(),
    ]);
    for step in open {
        let state = if step.done {
            crate::model::OutcomeState::Done
        } else {
            crate::model::OutcomeState::Unconfirmed
        };
        let text = sanitize::line(&step.text);
        let body = theme.style(if step.done {
            ThemeRole::TextFaint
        } else {
            ThemeRole::Text
        });
        for (number, line) in text::wrap_to(&text, columns.saturating_sub(4), 3)
            .into_iter()
            .enumerate()
        {
            let glyph = if number == 0 {
                deck.glyphs.outcome(state)
            } else {
                " "
            };
            out.push(Line::from(vec![
                Span::styled(format!(" {glyph}  "), theme.outcome(state)),
                Span::styled(line, body),
            ]));
        }
        if !step.done {
            out.push(fit_line(
                Line::from(vec![
                    blank(4),
                    Span::styled(sanitize::line(&step.command), theme.style(ThemeRole::Key)),
                ]),
                columns,
            ));
        }
    }
    out.push(Line::default());
    out.push(Line::from(Span::styled(
        deck.glyphs.rule().repeat(columns.saturating_sub(1)),
        theme.style(ThemeRole::Border),
    )));
    out
}

pub(super) fn empty(deck: &Deck) -> Vec<String> {
    if deck.timeline.chips.is_empty() {
        return vec![
            "Nothing has happened in this session yet.".to_owned(),
            "Every message, handoff, note and decision will stand here.".to_owned(),
        ];
    }
    vec![format!(
        "Nothing in the record is of this sort. {} chooses again.",
        deck.key(Action::Filter)
    )]
}
