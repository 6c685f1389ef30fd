//! [`FindingsSheet`]: what reviews say, what stands first, the worst first; and [`FindingSheet`]: one
//! of them beside the file as it is now.

use ratatui::text::{Line, Span};

use super::document::Document;
use super::key_footer::KeyFooter;
use super::sheet::SheetText;
use super::typed_line::TypedLine;
use crate::action::Action;
use crate::deck::Deck;
use crate::drafts::{Drafts, TypedFor};
use crate::model::{EntryPlace, FindingRank, FindingRow, FindingStage, FindingView, OutcomeState};
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{ListState, TextField, blank, fit_line, spans_of, spread, width_of};

/// The command that brings findings in.
pub(crate) const IMPORT: &str = "ctxrelay review import";

/// From so many columns on the file stands beside the words.
const BESIDE_MIN: usize = 96;

/// Columns of the file there, its numbers included.
const FILE_COLUMNS: usize = 52;

/// Columns between the two.
const GAP: usize = 3;

/// The list.
#[derive(Debug, Clone, Default)]
pub(crate) struct FindingsSheet {
    pub(crate) list: ListState,
    /// The finding under the cursor: it stays there when others come.
    id: Option<String>,
    /// Whether that one stands against the work.
    is_live: bool,
}

impl FindingsSheet {
    /// Moves by rows.
    pub(crate) fn step(&mut self, rows: &[FindingRow], by: isize) {
        self.list.step(by, rows.len());
        self.remember(rows);
    }

    /// From the finding that is opened over the list to the one behind it, or before; whether there is
    /// one. What was ruled on since stands elsewhere in the list: there it goes on from the old place,
    /// where the one behind it stands now.
    pub(crate) fn step_opened(&mut self, rows: &[FindingRow], opened: &str, by: isize) -> bool {
        let old = self.list.selected;
        let now = rows.iter().position(|row| row.id == opened);
        let is_known = self.id.as_deref() == Some(opened);
        let is_ruled = |at: &usize| is_known && rows[*at].state.is_live() != self.is_live;
        let next = match now {
            Some(at) if at == old || !is_ruled(&at) => at.checked_add_signed(by),
            _ if by > 0 => Some(old),
            _ => old.checked_sub(1),
        };
        let Some(next) = next.filter(|next| *next < rows.len()) else {
            return false;
        };
        self.list.selected = next;
        self.remember(rows);
        true
    }

    fn remember(&mut self, rows: &[FindingRow]) {
        let row = self.selected(rows);
        self.is_live = row.is_some_and(|row| row.state.is_live());
        self.id = row.map(|row| row.id.clone());
    }

    /// The cursor stays on its finding, or else on a row.
    pub(crate) fn settle(&mut self, rows: &[FindingRow]) {
        let at = |id: &String| rows.iter().position(|row| row.id == *id);
        let found = self.id.as_ref().and_then(at);
        let at = found.unwrap_or(self.list.selected);
        self.list.selected = at.min(rows.len().saturating_sub(1));
        self.remember(rows);
    }

    /// The finding under the cursor.
    pub(crate) fn selected<'a>(&self, rows: &'a [FindingRow]) -> Option<&'a FindingRow> {
        rows.get(self.list.selected)
    }

    pub(crate) fn text(&self, deck: &Deck, columns: usize) -> SheetText {
        let theme = &deck.theme;
        let rows = &deck.view.findings;
        let live = rows.iter().filter(|row| row.state.is_live()).count();
        let blocking = rows.iter().filter(|row| row.blocks).count();
        let mut title = vec![Span::styled("Reviews", theme.style(ThemeRole::TitleFocus))];
        let mut keys = Vec::new();
        let lines = if rows.is_empty() {
            let mut document = Document::new(deck, columns);
            document.text("No review findings are recorded.", ThemeRole::Text);
            let how = format!(
                "`{IMPORT}` in a terminal of yours, or the key below, brings in what the reviews of this \
                 branch's pull request say, by your own `gh`; the command takes a number, an address or \
                 `--from file` too."
            );
            document.text(&how, ThemeRole::TextMuted);
            document.into_lines()
        } else {
            let open = format!("  {} open", text::grouped(live as u64));
            title.push(Span::styled(open, theme.style(ThemeRole::TextMuted)));
            keys.extend([
                (Action::Open, "read"),
                (Action::Handoff, "hand to an agent"),
                (Action::Resolve, "resolve"),
                (Action::Dismiss, "dismiss"),
            ]);
            let places = rows.iter().map(|row| text::width(&row.place));
            let place = places.max().unwrap_or(0).min(columns * 3 / 10);
            let numbered = rows.iter().enumerate();
            numbered
                .map(|(at, row)| self.row(deck, row, at, place, columns))
                .collect()
        };
        keys.extend([(Action::Import, "import"), (Action::Back, "close")]);
        let mark = match blocking {
            0 => Line::default(),
            n => Line::styled(
                format!("{} block sign-off", text::grouped(n as u64)),
                theme.style(ThemeRole::OutcomeFailed),
            ),
        };
        SheetText {
            title: Line::from(title),
            mark,
            lines,
            keys: KeyFooter::new(deck, &keys),
            ..SheetText::default()
        }
    }

    fn row(
        &self,
        deck: &Deck,
        row: &FindingRow,
        at: usize,
        place: usize,
        columns: usize,
    ) -> Line<'static> {
        let theme = &deck.theme;
        let is_selected = at == self.list.selected;
        let muted = theme.style(ThemeRole::TextMuted);
        let words = match row.state.is_live() {
            true => theme.style(ThemeRole::Text),
            false => muted,
        };
        let left = Line::from(vec![
            deck.row_cursor(is_selected),
            blank(1),
            severity(deck, row),
            blank(2),
            state(deck, row.state),
            blank(2),
            Span::styled(padded(&sanitize::line(&row.place), place), words),
            blank(2),
            Span::styled(sanitize::line(&row.title), words),
        ]);
        // Where there is no room for all of it, its words come before its author.
        let author = match columns < BESIDE_MIN {
            true => Line::default(),
            false if !row.since.is_empty() => {
                let since = format!("{}  {}", sanitize::line(&row.since), author(row));
                Line::styled(since, theme.style(ThemeRole::Wait))
            }
            false if row.outdated => Line::styled(format!("outdated  {}", author(row)), muted),
            false => Line::styled(author(row), muted),
        };
        let line = fit_line(spread(left, author, columns), columns);
        match is_selected {
            true => line.patch_style(theme.style(ThemeRole::SelectionFocus)),
            false => line,
        }
    }
}

/// What the operator says of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FindingRuling {
    /// It is dealt with.
    Resolve,
    /// It does not count.
    Dismiss,
}

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
}

impl FindingSheet {
    pub(crate) fn new(id: String) -> Self {
        Self {
            id,
            read: None,
            ruling: None,
            scroll: 0,
            is_on_entry: false,
        }
    }

    /// It was read.
    pub(crate) fn take(&mut self, read: Result<Box<FindingView>, String>) {
        self.read = Some(read);
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
            let is_it = view.line_now == Some(number);
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

    /// The line that is typed.
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

fn author(row: &FindingRow) -> String {
    let author = sanitize::line(&row.author);
    match row.bot && !author.ends_with("[bot]") {
        true => format!("{author} (bot)"),
        false => author,
    }
}

/// Without what fills its column in the list.
fn trimmed(span: Span<'static>) -> Span<'static> {
    Span::styled(span.content.trim_end().to_owned(), span.style)
}

fn severity(deck: &Deck, row: &FindingRow) -> Span<'static> {
    let role = match row.severity {
        _ if !row.state.is_live() => ThemeRole::TextMuted,
        FindingRank::Critical | FindingRank::High => ThemeRole::OutcomeFailed,
        FindingRank::Medium => ThemeRole::OutcomeAttention,
        FindingRank::Low | FindingRank::Unrated => ThemeRole::Text,
    };
    Span::styled(
        format!("{:<8}", row.severity.as_str()),
        deck.theme.style(role),
    )
}

fn state(deck: &Deck, state: FindingStage) -> Span<'static> {
    let (glyph, role) = match state {
        FindingStage::Open => (
            deck.glyphs.outcome(OutcomeState::Attention),
            ThemeRole::Wait,
        ),
        FindingStage::Claimed(agent) => {
            let words = padded(
                &format!("{} {}", deck.glyphs.agent(agent), state.as_str()),
                11,
            );
            return Span::styled(words, deck.theme.agent(agent));
        }
        FindingStage::Resolved => (
            deck.glyphs.outcome(OutcomeState::Done),
            ThemeRole::OutcomeDone,
        ),
        FindingStage::Dismissed | FindingStage::Gone => (deck.glyphs.dot(), ThemeRole::TextMuted),
    };
    let words = padded(&format!("{glyph} {}", state.as_str()), 11);
    Span::styled(words, deck.theme.style(role))
}

/// The text in so many columns, cut with a mark in its middle, where a path says least.
fn padded(source: &str, columns: usize) -> String {
    let used = text::width(source);
    if used <= columns {
        return format!("{source}{}", " ".repeat(columns - used));
    }
    // The end of a place tells more than its beginning.
    let room = columns.saturating_sub(1);
    let mut kept = String::new();
    for letter in source.chars().rev() {
        if text::width(&kept) + text::width(&letter.to_string()) > room {
            break;
        }
        kept.insert(0, letter);
    }
    let gap = room - text::width(&kept);
    format!("…{kept}{}", " ".repeat(gap))
}
