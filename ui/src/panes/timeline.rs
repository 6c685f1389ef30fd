//! The Timeline pane: every entry of the record, as it arrives.

use ratatui::text::{Line, Span};

use super::list_pane::WRAPPED;
use super::outcome::outcome_line;
use super::party::direction;
use crate::action::Action;
use crate::deck::Deck;
use crate::marked_words::MarkedWords;
use crate::model::{FoundRow, RowSort, SearchScope, StepAct, TimelineRow};
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{RowLines, blank, fit_line, join, spread, width_of};

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

/// The right half of the pane's title, with as much as so many columns hold: `all` falls away first,
/// then the words that are searched for, then the word `following`.
pub(crate) fn mark(deck: &Deck, columns: usize) -> Line<'static> {
    let parts = Mark::of(deck);
    let all = [
        [&parts.search, &parts.follow, &parts.all],
        [&parts.search, &parts.follow, &parts.none],
        [&parts.place, &parts.follow, &parts.none],
        [&parts.place, &parts.short, &parts.none],
        [&parts.place, &parts.new, &parts.none],
    ];
    let mut all = all.map(|parts| join(parts.map(Line::clone).to_vec(), MARK_GAP));
    let found = all.iter_mut().find(|line| width_of(line) <= columns);
    found.map(std::mem::take).unwrap_or_default()
}

/// What of it the tabs give way to: how much is new behind a pause, and which hit is shown.
pub(crate) fn mark_needed(deck: &Deck) -> Line<'static> {
    let parts = Mark::of(deck);
    match width_of(&parts.new) + width_of(&parts.place) {
        0 => parts.none,
        _ => join(vec![parts.place, parts.short], MARK_GAP),
    }
}

/// Columns between its parts.
const MARK_GAP: usize = 2;

/// What stands at the right of the pane's title, in parts.
#[derive(Default)]
struct Mark {
    /// What is searched for, and which hit is shown.
    search: Line<'static>,
    /// Which hit alone.
    place: Line<'static>,
    /// Whether the timeline follows.
    follow: Line<'static>,
    /// The same in a sign beside a hit; as it is where it is paused.
    short: Line<'static>,
    /// How much is new behind a pause.
    new: Line<'static>,
    all: Line<'static>,
    none: Line<'static>,
}

impl Mark {
    fn of(deck: &Deck) -> Self {
        let theme = &deck.theme;
        let muted = theme.style(ThemeRole::TextMuted);
        let timeline = &deck.timeline;
        let mut mark = Self::default();
        if !timeline.search.is_empty() {
            let words = text::fit(&format!("/{}", sanitize::line(&timeline.search)), 20);
            let place = deck.search.place_in_words().unwrap_or_default();
            let elsewhere = elsewhere(deck.search.hit());
            let style = theme.style(ThemeRole::Match);
            let search = match place.is_empty() {
                true => words,
                false => format!("{words} {place}{elsewhere}"),
            };
            mark.search = Line::styled(search, style);
            mark.place = Line::styled(place, style);
        }
        let missed = timeline.missed(&deck.view.timeline);
        if timeline.follow {
            let sign = Span::styled(deck.glyphs.well(), muted);
            let word = Span::styled("following ", muted);
            // Beside nothing else it would say nothing.
            if width_of(&mark.place) > 0 {
                mark.short = Line::from(sign.clone());
            }
            mark.follow = Line::from(vec![word, sign]);
        } else if missed > 0 {
            let new = format!("{} new", text::grouped(missed as u64));
            let style = theme.style(ThemeRole::Wait);
            mark.follow = Line::styled(format!("paused {} {new}", deck.glyphs.dot()), style);
            mark.short = mark.follow.clone();
            mark.new = Line::styled(new, style);
        } else {
            mark.follow = Line::styled("paused", muted);
            mark.short = mark.follow.clone();
        }
        // What it is narrowed to stands below, in full.
        if timeline.chips.is_empty() {
            mark.all = Line::styled("all", theme.style(ThemeRole::TextFaint));
        }
        mark
    }
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
    // One column: of a record that came along every row has it.
    let foreign = match row.is_foreign {
        true => deck.glyphs.foreign(),
        false => "",
    };
    let kind = format!("{foreign}{}", sanitize::line(&row.kind));
    head.push(Span::styled(
        text::pad(&kind, kind_columns),
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
            1 => format!("yesterday, {}", text::day(view.now_ms, row.at_ms, offset)),
            _ => text::day(view.now_ms, row.at_ms, offset),
        };
        Line::from(Span::styled(word, deck.theme.style(ThemeRole::Heading)))
    })
}

pub(super) fn preface(deck: &Deck, columns: usize) -> Vec<Line<'static>> {
    let theme = &deck.theme;
    let of_pair = deck.view.missing.iter();
    let of_pair = of_pair.filter(|step| step.act != StepAct::Beside);
    let open: Vec<_> = of_pair.collect();
    let mut out: Vec<Line<'static>> = chips(deck)
        .map(|line| fit_line(line, columns))
        .into_iter()
        .collect();
    if !deck.view.first_run || open.iter().all(|step| step.done) {
        return out;
    }
    let key = deck.key(Action::Steps);
    let does = match deck.opens_panes {
        true => " to do it from here",
        false => " to copy the commands",
    };
    out.extend([
        Line::from(vec![
            Span::styled(
                "To make the pair complete",
                theme.style(ThemeRole::TextStrong),
            ),
            Span::styled("   press ", theme.style(ThemeRole::TextMuted)),
            Span::styled(key, theme.style(ThemeRole::Key)),
            Span::styled(does, theme.style(ThemeRole::TextMuted)),
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
