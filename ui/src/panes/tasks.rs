//! The Tasks pane: work handed over, by lane.

use ratatui::text::{Line, Span};

use super::party::direction;
use crate::action::Action;
use crate::deck::Deck;
use crate::model::{TaskColumn, TaskRow};
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{RowLines, blank, join, spread, width_of};

/// From this width on the lane stands as a word on each row.
const WORDY: usize = 58;

/// Where the rows of the screen stand in the view: lane by lane, in the caller's order within one.
pub(crate) fn in_lanes(rows: &[TaskRow]) -> Vec<usize> {
    let rank = |index: &usize| {
        let lane = rows[*index].lane;
        TaskColumn::ALL.iter().position(|known| *known == lane)
    };
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(rank);
    order
}

/// The row at a place of the pane.
pub(crate) fn task_at(deck: &Deck, index: usize) -> Option<&TaskRow> {
    deck.view.tasks.rows.get(deck.tasks.row(index)?)
}

pub(super) fn len(deck: &Deck) -> usize {
    deck.tasks.len()
}

/// How many there are in each lane: with the lane's word where they all have room, else behind its
/// sign alone. What still has no room is left out; a number is never cut.
pub(super) fn preface(deck: &Deck, columns: usize) -> Vec<Line<'static>> {
    let counts = deck.view.tasks.counts;
    // A lane that nobody needs to know of is left out where it is empty.
    let lanes: Vec<TaskColumn> = TaskColumn::ALL
        .into_iter()
        .filter(|lane| {
            counts.of(*lane) > 0 || !matches!(lane, TaskColumn::Stale | TaskColumn::Blocked)
        })
        .collect();
    let count = |lane: TaskColumn, word: &str| {
        let n = counts.of(lane);
        let style = if n == 0 {
            deck.theme.style(ThemeRole::TextFaint)
        } else {
            deck.theme.lane(lane)
        };
        let n = text::grouped(u64::from(n));
        Line::styled(format!("{} {word}{n}", deck.glyphs.lane(lane)), style)
    };
    let with_words = lanes
        .iter()
        .map(|lane| count(*lane, &format!("{} ", lane.as_str())));
    let line = join(with_words.collect(), 2);
    if width_of(&line) <= columns {
        return vec![line];
    }
    let mut signs: Vec<Line<'static>> = lanes.iter().map(|lane| count(*lane, "")).collect();
    while width_of(&join(signs.clone(), 2)) > columns {
        signs.pop();
    }
    vec![join(signs, 2)]
}

pub(super) fn row(deck: &Deck, index: usize, columns: usize) -> RowLines {
    let Some(task) = task_at(deck, index) else {
        return RowLines::default();
    };
    let theme = &deck.theme;
    let mut spans = vec![
        Span::styled(deck.glyphs.lane(task.lane), theme.lane(task.lane)),
        blank(1),
    ];
    if columns >= WORDY {
        spans.push(Span::styled(
            text::pad(task.lane.as_str(), 8),
            theme.lane(task.lane),
        ));
    }
    spans.push(Span::styled(
        text::fill(&sanitize::line(&task.id_short), 4),
        theme.style(ThemeRole::TextMuted),
    ));
    spans.push(blank(1));
    spans.extend(direction(deck, &task.from, Some(&task.to)));
    spans.push(blank(1));
    let body = theme.style(if task.lane == TaskColumn::Done {
        ThemeRole::TextMuted
    } else {
        ThemeRole::Text
    });
    spans.push(Span::styled(sanitize::line(&task.text), body));
    let age = if task.lane == TaskColumn::Active {
        text::running(deck.view.now_ms, task.since_ms)
    } else {
        text::age(deck.view.now_ms, task.since_ms)
    };
    RowLines::from(vec![spread(
        Line::from(spans),
        Line::from(Span::styled(age, theme.style(ThemeRole::TextFaint))),
        columns,
    )])
}

pub(super) fn empty(deck: &Deck) -> Vec<String> {
    vec![
        "No work handed over yet.".to_owned(),
        format!(
            "Agents hand off by themselves; {} hands off for you.",
            deck.key(Action::Handoff)
        ),
    ]
}
