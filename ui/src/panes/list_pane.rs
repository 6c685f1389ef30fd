//! What all panes share: rows of lines, a frame, a cursor, a scroll mark.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{agents, draw_scroll_bar, handoffs, inbox, tasks, timeline};
use crate::action::Action;
use crate::deck::Deck;
use crate::layout::Layout;
use crate::pane::Pane;
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{
    ListState, RowLines, draw_frame, draw_thumb, fit_line, join, mark_room, width_of,
};

/// Columns for the cursor at the left, and free at the right.
const GUTTER: usize = 2;
const MARGIN: usize = 1;

fn len(deck: &Deck, pane: Pane) -> usize {
    match pane {
        Pane::Agents => agents::len(deck),
        Pane::Timeline => timeline::len(deck),
        Pane::Inbox => inbox::len(deck),
        Pane::Tasks => tasks::len(deck),
        Pane::Handoffs => handoffs::len(deck),
    }
}

/// The room of a pane's rows.
#[derive(Debug, Clone, Copy)]
struct RowRoom {
    columns: usize,
    /// Most lines of a row's own words.
    words: usize,
}

/// Lines of the words of a row that is read to its end.
const ALL_WORDS: usize = usize::MAX;
/// Lines of the words of a row where there is some room.
pub(crate) const WRAPPED: usize = 2;

impl RowRoom {
    /// As many lines as let all rows stand there, so that none is cut where room is empty. That does
    /// not depend on what is selected: nothing may jump under the cursor.
    fn of(deck: &Deck, pane: Pane, layout: &Layout, inner: Rect) -> Self {
        let columns = text_columns(inner);
        let is_alone = layout.panes.len() == 1;
        let words: &[usize] = match pane {
            Pane::Timeline if is_alone => &[ALL_WORDS, WRAPPED],
            Pane::Timeline => &[WRAPPED],
            Pane::Inbox if is_alone => &[ALL_WORDS, WRAPPED, 1],
            Pane::Inbox => &[WRAPPED, 1],
            _ => &[1],
        };
        let preface = preface_shown(deck, pane, inner).len();
        let lines = usize::from(inner.height).saturating_sub(preface);
        let rows = len(deck, pane);
        let rooms = words.iter().map(|words| Self {
            columns,
            words: *words,
        });
        let fits = |room: &Self| {
            let heights = (0..rows).map(|index| row(deck, pane, index, *room).lines.len());
            rows <= lines && heights.sum::<usize>() <= lines
        };
        let least = Self { columns, words: 1 };
        let last = rooms.clone().next_back().unwrap_or(least);
        let mut more = rooms.take(words.len() - 1);
        more.find(fits).unwrap_or(last)
    }
}

fn row(deck: &Deck, pane: Pane, index: usize, RowRoom { columns, words }: RowRoom) -> RowLines {
    match pane {
        Pane::Agents => agents::row(deck, index, columns),
        Pane::Timeline => timeline::row(deck, index, columns, words),
        Pane::Inbox => inbox::row(deck, index, columns, words),
        Pane::Tasks => tasks::row(deck, index, columns),
        Pane::Handoffs => handoffs::row(deck, index, columns),
    }
}

/// Lines above the rows that do not scroll.
fn preface(deck: &Deck, pane: Pane, columns: usize) -> Vec<Line<'static>> {
    match pane {
        Pane::Timeline => timeline::preface(deck, columns),
        Pane::Handoffs => handoffs::preface(deck, columns),
        _ => Vec::new(),
    }
}

/// What an empty pane says.
fn empty(deck: &Deck, pane: Pane, columns: usize) -> Vec<Line<'static>> {
    let words = match (deck.opening(), pane) {
        (Some(doing), Pane::Timeline) => vec![sanitize::line(doing)],
        (Some(_), _) => vec!["…".to_owned()],
        (None, Pane::Agents) => vec!["No agent is known yet.".to_owned()],
        (None, Pane::Timeline) => timeline::empty(deck),
        (None, Pane::Inbox) => inbox::empty(deck),
        (None, Pane::Tasks) => tasks::empty(deck),
        (None, Pane::Handoffs) => handoffs::empty(deck),
    };
    words
        .iter()
        .enumerate()
        .flat_map(|(index, words)| {
            let role = if index == 0 {
                ThemeRole::TextMuted
            } else {
                ThemeRole::TextFaint
            };
            let style = deck.theme.style(role);
            text::wrap(words, columns)
                .into_iter()
                .map(move |line| Line::from(Span::styled(line, style)))
        })
        .collect()
}

fn list(deck: &Deck, pane: Pane) -> ListState {
    match pane {
        Pane::Agents => deck.agents,
        Pane::Timeline => deck.timeline.list,
        Pane::Inbox => deck.inbox.list,
        Pane::Tasks => deck.tasks.list(),
        Pane::Handoffs => deck.handoffs.list,
    }
}

fn text_columns(inner: Rect) -> usize {
    usize::from(inner.width).saturating_sub(GUTTER + MARGIN)
}

/// Lines that the pane would fill if it could, for a frame of `inside` columns and so many lines of
/// the words of a row.
pub(crate) fn rows_wanted(deck: &Deck, pane: Pane, inside: usize, words: usize) -> usize {
    // More than this no pane of the left column gets anyway.
    const ROWS_LOOKED_AT: usize = 24;
    let columns = inside.saturating_sub(GUTTER + MARGIN);
    let rows = len(deck, pane);
    let lines: usize = if rows == 0 {
        empty(deck, pane, columns).len()
    } else {
        (0..rows.min(ROWS_LOOKED_AT))
            .map(|index| {
                row(deck, pane, index, RowRoom { columns, words })
                    .lines
                    .len()
            })
            .sum()
    };
    lines + preface(deck, pane, columns).len()
}

/// Lines of the preface that are drawn: the rows keep at least half of the room.
fn preface_shown(deck: &Deck, pane: Pane, inner: Rect) -> Vec<Line<'static>> {
    let mut lines = preface(deck, pane, text_columns(inner));
    if len(deck, pane) > 0 {
        lines.truncate(usize::from(inner.height).saturating_sub(1) * 2 / 3);
    }
    lines
}

/// Brings the pane's selection and scroll into its list and its area.
pub(crate) fn settle(deck: &mut Deck, pane: Pane, layout: &Layout) {
    let Some(area) = layout.pane(pane) else {
        return;
    };
    let inner = layout.inner(area);
    let rows = RowRoom::of(deck, pane, layout, inner);
    let room = usize::from(inner.height).saturating_sub(preface_shown(deck, pane, inner).len());
    let mut state = list(deck, pane);
    state.settle(len(deck, pane), room, |index| {
        row(deck, pane, index, rows).lines.len()
    });
    match pane {
        Pane::Agents => deck.agents = state,
        Pane::Timeline => deck.timeline.list = state,
        Pane::Inbox => deck.inbox.list = state,
        Pane::Tasks => *deck.tasks.list_mut() = state,
        Pane::Handoffs => deck.handoffs.list = state,
    }
}

/// Which row stands in a line of the screen.
pub(crate) fn row_at(deck: &Deck, pane: Pane, layout: &Layout, y: u16) -> Option<usize> {
    let inner = layout.inner(layout.pane(pane)?);
    let first = inner.y + preface_shown(deck, pane, inner).len() as u16;
    let mut line = usize::from(y.checked_sub(first)?);
    if y >= inner.bottom() {
        return None;
    }
    let rows = RowRoom::of(deck, pane, layout, inner);
    (list(deck, pane).top..len(deck, pane)).find(|index| {
        let height = row(deck, pane, *index, rows).lines.len();
        let here = line < height;
        line = line.saturating_sub(height);
        here
    })
}

pub(crate) fn draw_pane(deck: &Deck, pane: Pane, layout: &Layout, area: Rect, buf: &mut Buffer) {
    let theme = &deck.theme;
    let focus = deck.focus == pane;
    let inner = layout.inner(area);
    if layout.framed {
        let border = theme.style(if focus {
            ThemeRole::BorderFocus
        } else {
            ThemeRole::Border
        });
        let room = usize::from(area.width.saturating_sub(4));
        let title = pane_title(deck, pane, focus, room);
        let room = mark_room(area, &title);
        let mark = mark(deck, pane, layout, room);
        draw_frame(area, buf, deck.glyphs, border, title, mark);
    }
    if inner.is_empty() {
        return;
    }
    let columns = text_columns(inner);
    let x = inner.x + (GUTTER as u16).min(inner.width);
    let width = inner.width.saturating_sub(GUTTER as u16);
    let mut y = inner.y;
    for line in preface_shown(deck, pane, inner) {
        if y >= inner.bottom() {
            return;
        }
        buf.set_line(x, y, &line, width);
        y += 1;
    }
    let rows = len(deck, pane);
    if rows == 0 {
        for line in empty(deck, pane, columns) {
            if y >= inner.bottom() {
                return;
            }
            buf.set_line(x, y, &line, width);
            y += 1;
        }
        return;
    }
    let state = list(deck, pane);
    let room = RowRoom::of(deck, pane, layout, inner);
    let mut shown = 0;
    for index in state.top..rows {
        let lines = row(deck, pane, index, room);
        let mut drawn = 0;
        for (number, line) in lines.lines.iter().enumerate() {
            if y >= inner.bottom() {
                break;
            }
            let line = fit_line(line.clone(), columns);
            buf.set_line(x, y, &line, width);
            let highlighted =
                number >= lines.heading && width_is_used(width_of(&line), number, lines.heading);
            if index == state.selected
                && highlighted
                && (focus || (pane == Pane::Timeline && !deck.timeline.follow))
            {
                let bar = Rect {
                    y,
                    height: 1,
                    ..inner
                };
                let role = if focus {
                    ThemeRole::SelectionFocus
                } else {
                    ThemeRole::Selection
                };
                buf.set_style(bar, theme.style(role));
                // Beside what covers the panes it would pass for a mark of that.
                if focus && number == lines.heading && !deck.is_covered() {
                    buf.set_string(
                        inner.x,
                        y,
                        deck.glyphs.cursor(),
                        theme.style(ThemeRole::Key),
                    );
                }
            }
            y += 1;
            drawn += 1;
        }
        if drawn < lines.lines.len() {
            break;
        }
        shown += 1;
    }
    if pane == Pane::Timeline {
        draw_scroll_bar(deck, layout, shown, buf);
    } else {
        let style = theme.style(if focus {
            ThemeRole::BorderFocus
        } else {
            ThemeRole::TextFaint
        });
        // On the frame, or in the column that no text has.
        let track = Rect {
            x: area.x,
            width: area.width,
            ..inner
        };
        draw_thumb(
            track,
            buf,
            deck.glyphs,
            style,
            state.top,
            shown.max(1),
            rows,
        );
    }
}

/// A blank line between two rows belongs to neither.
fn width_is_used(width: usize, number: usize, heading: usize) -> bool {
    width > 0 || number == heading
}

/// Number and name of a pane, and how much is in it where that is worth a word.
pub(crate) fn pane_title(deck: &Deck, pane: Pane, focus: bool, columns: usize) -> Line<'static> {
    let theme = &deck.theme;
    let style = theme.style(if focus {
        ThemeRole::TitleFocus
    } else {
        ThemeRole::Title
    });
    let spans = vec![
        Span::styled(
            format!("{} ", pane.number()),
            theme.style(ThemeRole::TextFaint),
        ),
        Span::styled(pane.title(), style),
    ];
    let title = Line::from(spans);
    let words = match (pane, inbox::waiting(deck)) {
        (Pane::Handoffs, _) => "open",
        (_, 1) => "waits for you",
        _ => "wait for you",
    };
    // A number that has no room is left out, never cut.
    [words, ""]
        .into_iter()
        .map(|words| join(vec![title.clone(), pane_counts(deck, pane, words)], 2))
        .find(|line| width_of(line) <= columns)
        .unwrap_or(title)
}

/// How much is in a pane where that is worth a word, and how much of it is stuck.
pub(crate) fn pane_counts(deck: &Deck, pane: Pane, words: &str) -> Line<'static> {
    let theme = &deck.theme;
    let count = |n: usize, before: &str, words: &str, role: ThemeRole| match n {
        0 => Line::default(),
        n => {
            let parts = [before, &text::grouped(n as u64), words].map(str::to_owned);
            let parts = parts.into_iter().filter(|part| !part.is_empty());
            Line::styled(parts.collect::<Vec<_>>().join(" "), theme.style(role))
        }
    };
    match pane {
        Pane::Inbox => count(inbox::waiting(deck), "", words, ThemeRole::Wait),
        Pane::Handoffs => {
            let rows = &deck.view.handoffs;
            let role = ThemeRole::OutcomeAttention;
            let open = count(handoffs::owed(deck), "", words, ThemeRole::TextMuted);
            let stuck = count(rows.stuck(), deck.glyphs.wrong(), "", role);
            join(vec![open, stuck], if words.is_empty() { 1 } else { 2 })
        }
        _ => Line::default(),
    }
}

/// `columns`: its room.
fn mark(deck: &Deck, pane: Pane, layout: &Layout, columns: usize) -> Line<'static> {
    let faint = deck.theme.style(ThemeRole::TextFaint);
    match pane {
        Pane::Timeline => timeline::mark(deck, columns),
        // Where only one of the two has room, the frame says where the other is.
        _ if deck.is_zoomed => Line::default(),
        Pane::Tasks if layout.pane(Pane::Handoffs).is_none() => {
            Line::from(Span::styled("5 Handoffs", faint))
        }
        Pane::Handoffs if layout.pane(Pane::Tasks).is_none() => {
            Line::from(Span::styled("4 Tasks", faint))
        }
        Pane::Tasks if layout.framed => {
            let key = deck.key(Action::Zoom);
            Line::from(Span::styled(format!("{key} board"), faint))
        }
        _ => Line::default(),
    }
}
