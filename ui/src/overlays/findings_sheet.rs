//! [`FindingsSheet`]: the findings of reviews, the worst first; and the name of a finding wherever
//! it is shown.

use std::collections::BTreeMap;
use std::sync::Arc;

use ratatui::text::{Line, Span};

use super::document::Document;
use super::key_footer::KeyFooter;
use super::sheet::SheetText;
use crate::action::Action;
use crate::deck::Deck;
use crate::model::{FindingPlaceNow, FindingRank, FindingRow, FindingStage, OutcomeState};
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{ListState, blank, fit_line, spread};

/// The command that brings findings in.
pub(crate) const IMPORT: &str = "ctxrelay review import";

/// From so many columns on there is room for something beside the words.
pub(super) const BESIDE_MIN: usize = 96;

/// The list.
#[derive(Debug, Clone, Default)]
pub(crate) struct FindingsSheet {
    pub(crate) list: ListState,
    /// The finding under the cursor: it stays there when others come.
    id: Option<String>,
    /// Whether that one stands against the work.
    is_live: bool,
    /// The findings of which it was asked where they stand by now.
    asked: Option<Arc<Vec<FindingRow>>>,
    /// What of that is another place than their reviews name, by id.
    now: BTreeMap<String, String>,
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

    /// Whether it has to be asked where these stand; it counts as asked from then on.
    pub(crate) fn asks_places(&mut self, rows: &Arc<Vec<FindingRow>>, can_act: bool) -> bool {
        let is_asked = self.asked.as_ref().is_some_and(|of| Arc::ptr_eq(of, rows));
        self.asked = can_act.then(|| Arc::clone(rows));
        can_act && !is_asked
    }

    /// It was read where they stand.
    pub(crate) fn take_places(&mut self, places: Vec<FindingPlaceNow>) {
        let places = places.into_iter();
        self.now = places.map(|place| (place.id, place.now)).collect();
    }

    /// Its place, as its review names it, and what of that is otherwise now.
    fn place(&self, row: &FindingRow) -> String {
        let now = self.now.get(&row.id).filter(|_| row.state.is_live());
        let now = now.map(|now| format!(" ({})", sanitize::line(now)));
        format!("{}{}", sanitize::line(&row.place), now.unwrap_or_default())
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
            let places = rows.iter().map(|row| text::width(&self.place(row)));
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
            Span::styled(padded(&self.place(row), place), words),
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
        deck.sheet_row(line, is_selected)
    }
}

pub(super) fn author(row: &FindingRow) -> String {
    let author = sanitize::line(&row.author);
    match row.bot && !author.ends_with("[bot]") {
        true => format!("{author} (bot)"),
        false => author,
    }
}

pub(super) fn severity(deck: &Deck, row: &FindingRow) -> Span<'static> {
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

pub(super) fn state(deck: &Deck, state: FindingStage) -> Span<'static> {
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
