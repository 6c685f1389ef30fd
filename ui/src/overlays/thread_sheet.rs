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
use crate::widgets::{ListState, blank, fit_line, spread};

/// Columns of the kind.
const KIND: usize = 9;

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
            .map(|(at, row)| {
                let is_selected = at == self.list.selected;
                let line = row_line(deck, row, number, columns, is_selected);
                if is_selected {
                    line.patch_style(deck.theme.style(ThemeRole::SelectionFocus))
                } else {
                    line
                }
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
    let theme = &deck.theme;
    let view = &deck.view;
    let muted = theme.style(ThemeRole::TextMuted);
    let day = |at_ms| text::day_number(at_ms, view.utc_offset_s(at_ms));
    let time = if day(row.at_ms) == day(view.now_ms) {
        text::clock_seconds(row.at_ms, view.utc_offset_s(row.at_ms))
    } else {
        text::pad(&text::day(row.at_ms, view.utc_offset_s(row.at_ms)), 8)
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
    let right = match (&row.outcome, &row.mark) {
        (Some(outcome), _) => Line::from(vec![
            Span::styled(
                deck.glyphs.outcome(outcome.state),
                theme.outcome(outcome.state),
            ),
            blank(1),
            Span::styled(
                text::fit(&sanitize::line(&outcome.text), columns / 3),
                muted,
            ),
        ]),
        (None, Some(mark)) => Line::styled(text::fit(&sanitize::line(mark), columns / 3), muted),
        (None, None) => Line::default(),
    };
    fit_line(spread(Line::from(spans), right, columns), columns)
}
