//! [`FindingSheet`]: one finding of a review, beside the current file, and the line that is typed
//! to rule on it.

use ratatui::text::{Line, Span};

use super::document::Document;
use super::findings_sheet::{BESIDE_MIN, author, severity, state};
use super::key_footer::KeyFooter;
use super::sheet::SheetText;
use super::typed_line::TypedLine;
use crate::action::Action;
use crate::deck::Deck;
use crate::drafts::{Drafts, TypedFor};
use crate::finding_ruling::FindingRuling;
use crate::model::{EntryPlace, FindingRow, FindingStage, FindingView};
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{TextField, blank, fit_line, spans_of, width_of};

/// Columns of the file beside the words, its numbers included.
const FILE_COLUMNS: usize = 52;

/// Columns between the two.
const GAP: usize = 3;

#[derive(Debug, Clone)]
pub(crate) struct FindingSheet {
    pub(crate) id: String,
    /// What was read, or why it was not; nothing while it is being read.
    read: Option<Result<Box<FindingView>, String>>,
    /// How it is ruled on, and the words for that, being typed.
    pub(crate) ruling: Option<(FindingRuling, TextField)>,
    pub(crate) scroll: usize,
    /// The cursor is on its entry.
    is_on_entry: bool,
    /// It is handed to an agent once it is read.
    pub(crate) is_handed_on: bool,
}

impl FindingSheet {
    pub(crate) fn new(id: String) -> Self {
        Self {
            id,
            read: None,
            ruling: None,
            scroll: 0,
            is_on_entry: false,
            is_handed_on: false,
        }
    }

    /// It was read.
    pub(crate) fn take(&mut self, read: Result<Box<FindingView>, String>) {
        self.read = Some(read);
    }

    /// What could not be read is read once more; whether it is.
    pub(crate) fn read_again(&mut self) -> bool {
        self.read.take_if(|read| read.is_err()).is_some()
    }

    /// What it says, where it is read by now to be handed on and nothing else is typed of it.
    pub(crate) fn take_handed_on(&mut self) -> Option<FindingView> {
        self.read.as_ref()?;
        let is_wanted = std::mem::take(&mut self.is_handed_on) && self.ruling.is_none();
        self.view().filter(|_| is_wanted).cloned()
    }

    /// The cursor goes to its entry, or away.
    pub(crate) fn next_entry(&mut self) {
        self.is_on_entry = !self.is_on_entry;
        // It stands at its top.
        self.scroll = 0;
    }

    /// Where the entry under the cursor stands.
    pub(crate) fn selected_entry(&self, deck: &Deck) -> Option<EntryPlace> {
        let mut rows = deck.view.findings.iter();
        let row = rows.find(|row| row.id == self.id && self.is_on_entry)?;
        row.line.map(|line| deck.place(line))
    }

    /// What it says, once that was read.
    pub(crate) fn view(&self) -> Option<&FindingView> {
        self.read.as_ref()?.as_deref().ok()
    }

    pub(crate) fn text(&self, deck: &Deck, columns: usize) -> SheetText {
        let theme = &deck.theme;
        let row = deck.view.findings.iter().find(|row| row.id == self.id);
        let Some(row) = row else {
            return SheetText {
                title: Line::styled("Review finding", theme.style(ThemeRole::TitleFocus)),
                lines: vec![Line::styled(
                    "It is not in the record any more.",
                    theme.style(ThemeRole::Text),
                )],
                keys: KeyFooter::new(deck, &[(Action::Back, "close")]),
                ..SheetText::default()
            };
        };
        let is_beside = columns >= BESIDE_MIN;
        let width = match is_beside {
            true => columns - FILE_COLUMNS - GAP,
            false => columns,
        };
        let words = self.words(deck, row, width);
        let file = self.file(deck, row, if is_beside { FILE_COLUMNS } else { columns });
        let lines = match is_beside {
            true => beside(words, file, width),
            false => words
                .into_iter()
                .chain([Line::default()])
                .chain(file)
                .collect(),
        };
        let mut keys = vec![(Action::NextEntry, "next")];
        if self.is_on_entry {
            keys.insert(0, (Action::Open, "go there"));
        }
        if row.line.is_some() {
            keys.push((Action::NextField, "its entry"));
        }
        if row.state.is_live() {
            keys.extend([
                (Action::Handoff, "hand to an agent"),
                (Action::Resolve, "resolve"),
                (Action::Dismiss, "dismiss with a reason"),
            ]);
        }
        keys.push((Action::Back, "back"));
        SheetText {
            title: Line::from(vec![
                severity(deck, row),
                blank(2),
                Span::styled(
                    sanitize::line(&row.place),
                    theme.style(ThemeRole::TitleFocus),
                ),
            ]),
            mark: Line::from(trimmed(state(deck, row.state))),
            lines,
            keys: KeyFooter::new(deck, &keys),
            ..SheetText::default()
        }
    }

    fn words(&self, deck: &Deck, row: &FindingRow, columns: usize) -> Vec<Line<'static>> {
        let mut document = Document::new(deck, columns);
        let from = format!("{}  {}  {}", author(row), row.review, row.id);
        document.text(&from, ThemeRole::TextMuted);
        if let Some(line) = row.line {
            let first = document.len();
            document.text(
                &format!("entry {}", text::grouped(line)),
                ThemeRole::TextMuted,
            );
            if self.is_on_entry {
                document.select_from(first);
            }
        }
        if row.outside {
            document.text("The file is outside of the project.", ThemeRole::Text);
        }
        if !row.url.is_empty() {
            document.text(&row.url, ThemeRole::TextMuted);
        }
        if row.outdated {
            let outdated = "Outdated: its code was changed since, says the review.";
            document.text(outdated, ThemeRole::TextMuted);
        }
        if !row.since.is_empty() {
            let since = format!(
                "{}: it blocks sign-off until you resolve or dismiss it, or its thread is resolved.",
                row.since
            );
            document.text(&since, ThemeRole::Wait);
        }
        if let FindingStage::Claimed(agent) = row.state {
            let claimed = format!(
                "{} says that it has this in hand; a claim is no evidence.",
                agent.title()
            );
            document.text(&claimed, ThemeRole::Text);
        }
        if !row.reason.is_empty() {
            let said = format!("You: {}", row.reason);
            document.text(&said, ThemeRole::Text);
        }
        document.gap();
        match &self.read {
            None => document.text("reading …", ThemeRole::TextMuted),
            Some(Err(why)) => document.text(why, ThemeRole::Wait),
            Some(Ok(view)) => {
                document.markdown(&view.text);
                for suggestion in &view.suggestions {
                    document.heading("It would have instead", "");
                    document.body(suggestion, ThemeRole::Text);
                }
            }
        }
        document.into_lines()
    }

    /// The file around its place, as it is now.
    fn file(&self, deck: &Deck, row: &FindingRow, columns: usize) -> Vec<Line<'static>> {
        let Some(view) = self.view() else {
            return Vec::new();
        };
        let theme = &deck.theme;
        let mut document = Document::new(deck, columns);
        let path = row
            .place
            .rsplit_once(':')
            .map_or(&*row.place, |(path, _)| path);
        if !path.is_empty() {
            document.heading(path, "as it is now");
        }
        document.text(&view.fate, ThemeRole::TextMuted);
        let digits = (view.first as usize + view.lines.len()).to_string().len();
        for (number, line) in (view.first..).zip(&view.lines) {
            let last = view.line_now;
            let is_it =
                last.is_some_and(|last| (view.start_now.unwrap_or(last)..=last).contains(&number));
            let role = if is_it {
                ThemeRole::Wait
            } else {
                ThemeRole::Text
            };
            let line = Line::from(vec![
                deck.row_cursor(is_it),
                Span::styled(
                    format!("{number:>digits$}"),
                    theme.style(ThemeRole::TextMuted),
                ),
                blank(2),
                Span::styled(sanitize::line(line), theme.style(role)),
            ]);
            document.line(fit_line(line, columns));
        }
        document.into_lines()
    }

    /// Puts away what is typed of it, until that is said.
    pub(crate) fn keep(&self, drafts: &mut Drafts) {
        if let Some((ruling, field)) = &self.ruling {
            let about = TypedFor::Ruling(self.id.clone(), *ruling);
            drafts.keep_line(about, field.text());
        }
    }

    pub(super) fn typed(&self) -> Option<TypedLine<'_>> {
        let (ruling, field) = self.ruling.as_ref()?;
        let (title, does) = match ruling {
            FindingRuling::Resolve => ("Resolve: how was it dealt with?", "resolve"),
            FindingRuling::Dismiss => ("Dismiss: why?", "dismiss"),
        };
        Some(TypedLine {
            ticks: None,
            title,
            field,
            does,
            goes: "it stays in the record",
        })
    }
}

/// Two texts side by side, the first of these columns.
fn beside(
    left: Vec<Line<'static>>,
    right: Vec<Line<'static>>,
    columns: usize,
) -> Vec<Line<'static>> {
    let rows = left.len().max(right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    let row = |_| {
        let line = fit_line(left.next().unwrap_or_default(), columns);
        let used = width_of(&line);
        let mut spans = spans_of(line);
        spans.push(blank(columns + GAP - used));
        spans.extend(spans_of(right.next().unwrap_or_default()));
        Line::from(spans)
    };
    (0..rows).map(row).collect()
}

/// Without what fills its column in the list.
fn trimmed(span: Span<'static>) -> Span<'static> {
    Span::styled(span.content.trim_end().to_owned(), span.style)
}
