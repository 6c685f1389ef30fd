//! The Tasks pane, zoomed: its columns side by side.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::handoffs::stage_lines;
use super::party::direction;
use super::tasks::{age, column_count, dim, gone, latest};
use crate::deck::Deck;
use crate::layout::Layout;
use crate::model::{HandoffRow, TaskColumn};
use crate::pane::Pane;
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{beside, draw_frame, draw_thumb, spread, width_of};

/// Lines of a task's words, and of where it is stuck, where not all tasks of a column have room.
const WORDS: usize = 2;
/// Columns free at either side of the text.
const MARGIN: u16 = 1;

/// Whether the pane stands as a board in this layout.
pub(crate) fn is_board(deck: &Deck, layout: &Layout) -> bool {
    layout.framed && deck.is_zoomed && layout.pane(Pane::Tasks).is_some()
}

/// Where the columns stand, from left to right.
fn columns(area: Rect) -> [Rect; 5] {
    let width = area.width / 5;
    // What is left over goes to the first ones.
    let more = area.width % 5;
    let mut x = area.x;
    std::array::from_fn(|at| {
        let width = width + u16::from((at as u16) < more);
        let column = Rect { x, width, ..area };
        x += width;
        column
    })
}

/// The columns as they stand, each by its index.
fn placed(area: Rect) -> impl Iterator<Item = (usize, Rect)> {
    let indices = TaskColumn::BOARD.map(TaskColumn::index);
    indices.into_iter().zip(columns(area))
}

/// Where the tasks of a column stand; what is said below them has a line of its own.
fn inner(deck: &Deck, column: usize, area: Rect) -> Rect {
    let foot = u16::from(latest(deck, TaskColumn::ALL[column]).is_some());
    Rect {
        x: area.x + 1 + MARGIN,
        y: area.y + 1,
        width: area.width.saturating_sub(2 + 2 * MARGIN),
        height: area.height.saturating_sub(2 + foot),
    }
}

/// How many lines the words of a column's tasks have: all, where all tasks have room with them.
fn words(deck: &Deck, column: usize, inner: Rect) -> usize {
    let rows = &deck.work.tasks.columns[column];
    let room = usize::from(inner.height) + 1;
    let heights = rows
        .iter()
        .map(|row| card(deck, row, usize::from(inner.width), usize::MAX).len());
    match rows.len() <= room && heights.sum::<usize>() <= room {
        true => usize::MAX,
        false => WORDS,
    }
}

/// A task as lines, with an empty one below it.
fn card(deck: &Deck, row: &HandoffRow, columns: usize, words: usize) -> Vec<Line<'static>> {
    let theme = &deck.theme;
    let is_gone = deck.work.is_gone(Some(row.column), row.seq);
    let mut head = vec![
        Span::styled(
            text::fill(&sanitize::line(&row.id_short), 5),
            theme.style(ThemeRole::TextMuted),
        ),
        Span::raw(" "),
    ];
    head.extend(direction(deck, &row.from, Some(&row.to)));
    let age = if is_gone {
        gone(deck, row)
    } else {
        age(deck, row)
    };
    let mut lines = vec![spread(Line::from(head), age, columns)];
    let ask = sanitize::line(&row.ask);
    let asked = text::wrap_to(&ask, columns, words).into_iter();
    let style = theme.style(if row.column == TaskColumn::Done {
        ThemeRole::TextMuted
    } else {
        ThemeRole::Text
    });
    lines.extend(asked.map(|line| Line::from(Span::styled(line, style))));
    let stage = stage_lines(deck, row, columns, words);
    if is_gone {
        // Where it was stuck is not so any more; its room stays, so that nothing jumps.
        lines.extend(stage.iter().map(|_| Line::default()));
        lines.iter_mut().for_each(|line| dim(deck, line));
    } else {
        lines.extend(stage);
    }
    lines.push(Line::default());
    lines
}

fn height(deck: &Deck, column: usize, index: usize, columns: usize, words: usize) -> usize {
    let row = deck.work.tasks.columns[column].get(index);
    row.map_or(0, |row| card(deck, row, columns, words).len())
}

/// Brings each column's selection and scroll into it.
pub(crate) fn settle_board(deck: &mut Deck, area: Rect) {
    for (column, area) in placed(area) {
        let inner = inner(deck, column, area);
        let words = words(deck, column, inner);
        let len = deck.work.tasks.columns[column].len();
        let mut state = deck.tasks.board_list(column);
        // The last empty line needs no room.
        state.settle(len, usize::from(inner.height) + 1, |index| {
            height(deck, column, index, usize::from(inner.width), words)
        });
        *deck.tasks.board_list_mut(column) = state;
    }
}

/// The column at a place of the screen, and the task there.
pub(crate) fn board_at(deck: &Deck, area: Rect, at: Position) -> Option<(usize, Option<usize>)> {
    let (column, area) = placed(area).find(|(_, column)| column.contains(at))?;
    let inner = inner(deck, column, area);
    let words = words(deck, column, inner);
    let mut line = match at.y.checked_sub(inner.y) {
        Some(line) if at.y < inner.bottom() => usize::from(line),
        _ => return Some((column, None)),
    };
    let first = deck.tasks.board_list(column).top;
    let row = (first..deck.work.tasks.columns[column].len()).find(|index| {
        let height = height(deck, column, *index, usize::from(inner.width), words);
        let is_here = line < height;
        line = line.saturating_sub(height);
        is_here
    });
    Some((column, row))
}

pub(crate) fn draw_board(deck: &Deck, area: Rect, buf: &mut Buffer) {
    for (index, area) in placed(area) {
        draw_column(deck, index, area, buf);
    }
}

fn draw_column(deck: &Deck, index: usize, area: Rect, buf: &mut Buffer) {
    let theme = &deck.theme;
    let column = TaskColumn::ALL[index];
    let is_focus = deck.tasks.board_column() == index;
    let border = theme.style(if is_focus {
        ThemeRole::BorderFocus
    } else {
        ThemeRole::Border
    });
    let mut title = column_count(deck, column);
    if width_of(&title) + 4 > usize::from(area.width) {
        // A count that has no room is left out, never cut.
        let glyph = deck.glyphs.column(column);
        title = Line::styled(format!("{glyph} {}", column.as_str()), theme.column(column));
    }
    draw_frame(area, buf, deck.glyphs, border, title, Line::default());
    let inner = inner(deck, index, area);
    if let Some(latest) = latest(deck, column) {
        let style = theme.style(ThemeRole::TextFaint);
        let words = text::fit(&latest, usize::from(inner.width));
        buf.set_string(inner.x, inner.bottom(), words, style);
    }
    if inner.is_empty() {
        return;
    }
    let room = usize::from(inner.width);
    let rows = &deck.work.tasks.columns[index];
    if rows.is_empty() {
        let words = format!("nothing is {}", column.as_str());
        let style = theme.style(ThemeRole::TextMuted);
        for (y, line) in text::wrap(&words, room)
            .into_iter()
            .enumerate()
            .take(usize::from(inner.height))
        {
            buf.set_string(inner.x, inner.y + y as u16, line, style);
        }
        return;
    }
    let state = deck.tasks.board_list(index);
    let most = words(deck, index, inner);
    let mut y = inner.y;
    let mut shown = 0;
    for at in state.top..rows.len() {
        let Some(row) = rows.get(at) else { break };
        let lines = card(deck, row, room, most);
        let words = lines.len() - 1;
        for (number, line) in lines.into_iter().enumerate() {
            if y >= inner.bottom() {
                break;
            }
            buf.set_line(inner.x, y, &line, inner.width);
            if is_focus && at == state.selected && number < words {
                let bar = Rect {
                    x: area.x + 1,
                    y,
                    width: area.width.saturating_sub(2),
                    height: 1,
                };
                buf.set_style(bar, theme.style(ThemeRole::SelectionFocus));
                if number == 0 && !deck.is_covered() {
                    buf.set_string(bar.x, y, deck.glyphs.cursor(), theme.style(ThemeRole::Key));
                }
            }
            y += 1;
        }
        if y >= inner.bottom() {
            break;
        }
        shown += 1;
    }
    let style = theme.style(ThemeRole::TextFaint);
    draw_thumb(
        beside(area),
        buf,
        deck.glyphs,
        style,
        state.top,
        shown.max(1),
        rows.len(),
    );
}
