//! The Tasks pane as one list: the work to be done, by column.

use ratatui::text::{Line, Span};

use super::party::direction;
use crate::action::Action;
use crate::deck::Deck;
use crate::model::{HandoffRow, TaskColumn};
use crate::sanitize;
use crate::task_list::{TaskItem, folds};
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{RowLines, blank, fit_line, spread};

pub(super) fn len(deck: &Deck) -> usize {
    deck.tasks.len(&deck.work.tasks)
}

pub(super) fn row(deck: &Deck, index: usize, columns: usize) -> RowLines {
    let Some((item, place)) = deck.tasks.item(&deck.work.tasks, index) else {
        return RowLines::default();
    };
    match item {
        TaskItem::Fold(column) => RowLines::from(vec![fold(deck, column, columns)]),
        TaskItem::Row(row) if place == 0 && !folds(row.column) => RowLines {
            lines: vec![
                fit_line(column_count(deck, row.column), columns),
                task(deck, row, columns),
            ],
            heading: 1,
        },
        TaskItem::Row(row) => RowLines::from(vec![task(deck, row, columns)]),
    }
}

/// `● active 1`.
pub(super) fn column_count(deck: &Deck, column: TaskColumn) -> Line<'static> {
    let n = text::grouped(deck.view.tasks.count(column));
    let glyph = deck.glyphs.column(column);
    Line::from(Span::styled(
        format!("{glyph} {} {n}", column.as_str()),
        deck.theme.column(column),
    ))
}

/// `◌ stale 6 842  ⏎ shows them`.
fn fold(deck: &Deck, column: TaskColumn, columns: usize) -> Line<'static> {
    let key = deck.glyphs.key(&deck.key(Action::Open));
    let words = match (deck.tasks.is_opened(column), latest(deck, column)) {
        (true, None) => format!("{key} folds them"),
        (true, Some(latest)) => format!("{latest}, {key} folds them"),
        (false, _) => format!("{key} shows them"),
    };
    let mut line = column_count(deck, column);
    line.spans.push(blank(2));
    line.spans
        .push(Span::styled(words, deck.theme.style(ThemeRole::TextFaint)));
    fit_line(line, columns)
}

/// `the latest 50`, of a column that has more than rows.
pub(super) fn latest(deck: &Deck, column: TaskColumn) -> Option<String> {
    let tasks = &deck.view.tasks;
    let (shown, all) = (tasks.column(column).len() as u64, tasks.count(column));
    (shown < all).then(|| format!("the latest {}", text::grouped(shown)))
}

fn task(deck: &Deck, task: &HandoffRow, columns: usize) -> Line<'static> {
    let theme = &deck.theme;
    let mut spans = vec![
        blank(2),
        Span::styled(
            text::fill(&sanitize::line(&task.id_short), 5),
            theme.style(ThemeRole::TextMuted),
        ),
        blank(1),
    ];
    spans.extend(direction(deck, &task.from, Some(&task.to)));
    spans.push(blank(1));
    let body = theme.style(if task.column == TaskColumn::Done {
        ThemeRole::TextMuted
    } else {
        ThemeRole::Text
    });
    spans.push(Span::styled(sanitize::line(&task.ask), body));
    if !deck.work.is_gone(Some(task.column), task.seq) {
        return spread(Line::from(spans), age(deck, task), columns);
    }
    let mut line = spread(Line::from(spans), gone(deck, task), columns);
    dim(deck, &mut line);
    line
}

/// What has become of a handoff that stood here.
pub(super) fn gone(deck: &Deck, row: &HandoffRow) -> Line<'static> {
    let now = deck.handoff(row.seq);
    let word = now.map_or("closed", |now| now.column.as_str());
    Line::from(Span::raw(word))
}

/// A row that is only still there.
pub(super) fn dim(deck: &Deck, line: &mut Line<'static>) {
    let style = deck.theme.style(ThemeRole::TextFaint);
    line.spans.iter_mut().for_each(|span| span.style = style);
}

/// Since when it stands as it does: the same words wherever the handoff is shown.
pub(crate) fn handoff_age(deck: &Deck, row: &HandoffRow) -> String {
    match row.column {
        TaskColumn::Active => text::running(deck.view.now_ms, row.since_ms),
        _ => text::age(deck.view.now_ms, row.since_ms),
    }
}

pub(super) fn age(deck: &Deck, row: &HandoffRow) -> Line<'static> {
    let style = deck.theme.style(ThemeRole::TextFaint);
    Line::from(Span::styled(handoff_age(deck, row), style))
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
