//! [`ThreadSheet`]: a thread as one list, each row an entry that `enter` opens.

use ratatui::text::{Line, Span};

use super::key_footer::KeyFooter;
use super::sheet::SheetText;
use crate::action::Action;
use crate::deck::Deck;
use crate::model::{EntryPlace, ThreadView, TimelineRow};
use crate::panes::direction;
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{ListState, blank, fit_line, join, spread, width_of};

/// Columns of the kind.
const KIND: usize = 9;
/// From this width on what became of an entry stands beside it.
const ROOMY: usize = 96;

/// An opened thread.
#[derive(Debug, Clone)]
pub(crate) struct ThreadSheet {
    /// The entry that it was asked for.
    pub(crate) place: EntryPlace,
    /// What was read; `None` until it has come.
    pub(crate) thread: Option<ThreadView>,
    pub(crate) list: ListState,
}

impl ThreadSheet {
    pub(crate) fn new(place: EntryPlace) -> Self {
        Self {
            place,
            thread: None,
            list: ListState::default(),
        }
    }

    /// Its rows have come. The cursor stands on the entry that it was asked for.
    pub(crate) fn take(&mut self, thread: ThreadView) {
        let line = self.place.line;
        let at = thread.rows.iter().position(|row| row.seq == line);
        self.list.selected = at.unwrap_or(0);
        self.thread = Some(thread);
    }

    fn rows(&self) -> &[TimelineRow] {
        self.thread.as_ref().map_or(&[], |thread| &thread.rows)
    }

    /// Moves by rows.
    pub(crate) fn step(&mut self, rows: isize) {
        let len = self.rows().len();
        self.list.step(rows, len);
    }

    /// The entry under the cursor.
    pub(crate) fn selected(&self) -> Option<EntryPlace> {
        let row = self.rows().get(self.list.selected)?;
        Some(EntryPlace {
            session: self.place.session.clone(),
            line: row.seq,
        })
    }

    /// The first and the last line of the entry under the cursor.
    pub(crate) fn cursor_lines(&self, columns: usize) -> (usize, usize) {
        let lines = |row: &TimelineRow| 1 + usize::from(has_line_below(row, columns));
        let rows = self.rows();
        let above: usize = rows.iter().take(self.list.selected).map(lines).sum();
        let own = rows.get(self.list.selected).map_or(1, lines);
        (above, above + own - 1)
    }

    pub(crate) fn text(&self, deck: &Deck, columns: usize) -> SheetText {
        let theme = &deck.theme;
        let muted = theme.style(ThemeRole::TextMuted);
        let (name, lines) = match &self.thread {
            None => (
                String::new(),
                vec![Line::styled("reading the thread …", muted)],
            ),
            Some(thread) => (
                sanitize::line(&thread.name),
                self.lines(deck, thread, columns),
            ),
        };
        let count = self.rows().len();
        SheetText {
            title: Line::from(vec![
                Span::styled("Thread", theme.style(ThemeRole::TitleFocus)),
                Span::styled(format!("  {name}"), theme.style(ThemeRole::Title)),
            ]),
            mark: Line::styled(
                match count {
                    0 => String::new(),
                    1 => "1 entry".to_owned(),
                    n => format!("{} entries", text::grouped(n as u64)),
                },
                muted,
            ),
            lines,
            keys: KeyFooter::new(
                deck,
                &[
                    (Action::Open, "open"),
                    (Action::Copy, "copy"),
                    (Action::Return, "where one was"),
                    (Action::Back, "close"),
                ],
            ),
            ..SheetText::default()
        }
    }

    fn lines(&self, deck: &Deck, thread: &ThreadView, columns: usize) -> Vec<Line<'static>> {
        let muted = deck.theme.style(ThemeRole::TextMuted);
        if let Some(fault) = &thread.fault {
            let fault = sanitize::line(fault);
            let lines = text::wrap(&fault, columns).into_iter();
            return lines.map(|line| Line::styled(line, muted)).collect();
        }
        let numbers = thread.rows.iter().map(|row| text::grouped(row.seq).len());
        let number = numbers.max().unwrap_or(1);
        let mut lines: Vec<Line<'static>> = thread
            .rows
            .iter()
            .enumerate()
            .flat_map(|(at, row)| {
                let is_selected = at == self.list.selected;
                let mut lines = vec![row_line(deck, row, number, columns, is_selected)];
                if has_line_below(row, columns) {
                    let (head, words) = row_parts(deck, row, number, columns, is_selected);
                    let below = end(deck, row, columns);
                    let indent = width_of(&head);
                    lines = vec![fit_line(join(vec![head, words], 0), columns)];
                    lines.push(fit_line(
                        join(vec![Line::from(blank(indent)), below], 0),
                        columns,
                    ));
                }
                let lines = lines.into_iter();
                lines.map(move |line| deck.sheet_row(line, is_selected))
            })
            .collect();
        if thread.is_cut {
            let words = "More belongs to it: search the record for its id.";
            lines.push(Line::styled(words, muted));
        }
        lines
    }
}

/// `▸ 1 190  14:01:49  ◆→◇ handoff   review refresh.rs                    started a turn`.
pub(super) fn row_line(
    deck: &Deck,
    row: &TimelineRow,
    number: usize,
    columns: usize,
    is_selected: bool,
) -> Line<'static> {
    let (head, words) = row_parts(deck, row, number, columns, is_selected);
    let right = end(deck, row, columns / 3);
    fit_line(spread(join(vec![head, words], 0), right, columns), columns)
}

/// Whether what became of the entry has a line of its own: beside it there is no room for both.
fn has_line_below(row: &TimelineRow, columns: usize) -> bool {
    columns < ROOMY && row.outcome.is_some()
}

/// What is of one width in all rows, and the words.
fn row_parts(
    deck: &Deck,
    row: &TimelineRow,
    number: usize,
    columns: usize,
    is_selected: bool,
) -> (Line<'static>, Line<'static>) {
    let theme = &deck.theme;
    let view = &deck.view;
    let muted = theme.style(ThemeRole::TextMuted);
    let day = |at_ms| text::day_number(at_ms, view.utc_offset_s(at_ms));
    let time = if day(row.at_ms) == day(view.now_ms) {
        text::clock_seconds(row.at_ms, view.utc_offset_s(row.at_ms))
    } else {
        let offset = view.utc_offset_s(row.at_ms);
        text::pad(&text::day_or_month(view.now_ms, row.at_ms, offset), 8)
    };
    let mut spans = vec![
        deck.row_cursor(is_selected),
        blank(1),
        Span::styled(format!("{:>number$}", text::grouped(row.seq)), muted),
        blank(2),
        Span::styled(time, muted),
        blank(2),
    ];
    spans.extend(direction(deck, &row.from, row.to.as_ref()));
    spans.push(blank(1));
    spans.push(Span::styled(
        text::pad(&sanitize::line(&row.kind), KIND),
        muted,
    ));
    let head = Line::from(std::mem::take(&mut spans));
    if let Some(verdict) = row.verdict {
        spans.push(Span::styled(
            format!("{} {}  ", deck.glyphs.verdict(verdict), verdict.as_str()),
            theme.verdict(verdict),
        ));
    }
    let words: String = row.text.chars().take(columns).collect();
    spans.push(Span::styled(
        sanitize::line(&words),
        theme.style(ThemeRole::Text),
    ));
    (head, Line::from(spans))
}

/// What became of it, or its mark, in so many columns at most.
fn end(deck: &Deck, row: &TimelineRow, columns: usize) -> Line<'static> {
    let theme = &deck.theme;
    let muted = theme.style(ThemeRole::TextMuted);
    match (&row.outcome, &row.mark) {
        (Some(outcome), _) => Line::from(vec![
            Span::styled(
                deck.glyphs.outcome(outcome.state),
                theme.outcome(outcome.state),
            ),
            blank(1),
            Span::styled(text::fit(&sanitize::line(&outcome.text), columns), muted),
        ]),
        (None, Some(mark)) => Line::styled(text::fit(&sanitize::line(mark), columns), muted),
        (None, None) => Line::default(),
    }
}
