//! [`CapsulesSheet`]: the tasks that can travel, and how each compares with the work tree;
//! [`CapsuleSheet`]: one of them.

use ratatui::text::{Line, Span};

use super::document::Document;
use super::key_footer::KeyFooter;
use super::sheet::SheetText;
use super::typed_line::{Ticks, TypedLine};
use crate::action::Action;
use crate::deck::Deck;
use crate::drafts::{Drafts, TypedFor};
use crate::keymap::KeyContext;
use crate::model::{CapsuleAlong, CapsuleLine, CapsuleRows, CapsuleStanding, CapsuleView};
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{ListState, TextField, blank, fit_line, spread};

/// The command that opens a task.
const NEW_TASK: &str = "ctxrelay capsule new TITLE";

/// From so many columns on a row has its figures, and the title says what they are.
const FIGURES_MIN: usize = 70;

/// The list.
#[derive(Debug, Clone, Default)]
pub(crate) struct CapsulesSheet {
    /// What was read, or why it was not; nothing while it is being read.
    read: Option<Result<CapsuleRows, String>>,
    pub(crate) list: ListState,
}

impl CapsulesSheet {
    /// It was read; the cursor stays on its task.
    pub(crate) fn take(&mut self, read: Result<CapsuleRows, String>) {
        let id = self.selected().map(|row| row.id.clone());
        self.read = Some(read);
        let rows = self.rows();
        let found = id.and_then(|id| rows.iter().position(|row| row.id == id));
        let last = rows.len().saturating_sub(1);
        self.list.selected = found.unwrap_or(self.list.selected).min(last);
    }

    pub(crate) fn is_being_read(&self) -> bool {
        self.read.is_none()
    }

    /// The tasks that were read.
    pub(crate) fn rows(&self) -> &[CapsuleLine] {
        match &self.read {
            Some(Ok(list)) => &list.rows,
            _ => &[],
        }
    }

    /// Moves by rows.
    pub(crate) fn step(&mut self, by: isize) {
        let len = self.rows().len();
        self.list.step(by, len);
    }

    /// The task under the cursor.
    pub(crate) fn selected(&self) -> Option<&CapsuleLine> {
        self.rows().get(self.list.selected)
    }

    pub(crate) fn text(&self, deck: &Deck, columns: usize) -> SheetText {
        let theme = &deck.theme;
        let rows = self.rows();
        // The pane of the same name lists handoffs as tasks; these are what can be taken elsewhere.
        let mut title = vec![Span::styled("Capsules", theme.style(ThemeRole::TitleFocus))];
        if columns >= FIGURES_MIN {
            let what = "  tasks that travel";
            title.push(Span::styled(what, theme.style(ThemeRole::TextMuted)));
        }
        let mut document = Document::new(deck, columns);
        match &self.read {
            None => document.text("reading the record …", ThemeRole::TextMuted),
            Some(Err(why)) => document.text(why, ThemeRole::Wait),
            Some(Ok(list)) if list.rows.is_empty() => {
                document.text("No task is open, and none was kept.", ThemeRole::Text);
                let key = deck.key_in(&[KeyContext::Capsules], Action::NewTask);
                let how = format!(
                    "{key} begins one, as `{NEW_TASK}` in a terminal of yours does: what is \
                     recorded from then on belongs to it, and it can be handed to the other agent or \
                     to another clone."
                );
                document.text(&how, ThemeRole::TextMuted);
            }
            Some(Ok(list)) => {
                let open = list.rows.iter().filter(|row| row.can_be_closed()).count();
                let mut count = format!("  {} open", text::grouped(open as u64));
                let shown = list.rows.len() as u64;
                if list.total > shown {
                    let (shown, total) = (text::grouped(shown), text::grouped(list.total));
                    // The others `capsule list` tells.
                    count.push_str(&format!("  the first {shown} of {total}"));
                }
                title.push(Span::styled(count, theme.style(ThemeRole::TextMuted)));
            }
        }
        let mut lines = document.into_lines();
        let numbered = rows.iter().enumerate();
        lines.extend(numbered.map(|(at, row)| {
            let is_selected = at == self.list.selected;
            listed(deck, row, is_selected, columns)
        }));
        let mut keys = match self.selected() {
            Some(row) => acts(row, "read"),
            None => Vec::new(),
        };
        keys.extend([(Action::NewTask, "begin one"), (Action::Back, "close")]);
        SheetText {
            title: Line::from(title),
            lines,
            keys: KeyFooter::new(deck, &keys),
            ..SheetText::default()
        }
    }
}

/// The keys that do something with a task.
fn acts(row: &CapsuleLine, open: &'static str) -> Vec<(Action, &'static str)> {
    let mut keys = vec![(Action::Open, open)];
    if row.broken.is_none() {
        keys.extend([
            (Action::Handoff, "hand to an agent"),
            (Action::Export, "export"),
        ]);
        if row.can_be_closed() {
            keys.push((Action::CloseTask, "close it"));
        }
    }
    keys
}

fn listed(deck: &Deck, row: &CapsuleLine, is_selected: bool, columns: usize) -> Line<'static> {
    let theme = &deck.theme;
    let muted = theme.style(ThemeRole::TextMuted);
    let words = match row.is_open {
        true => theme.style(ThemeRole::Text),
        false => muted,
    };
    let mut left = vec![deck.row_cursor(is_selected), blank(1)];
    let mut figures = Line::default();
    match &row.broken {
        Some(why) => left.extend([
            Span::styled(
                format!("{} tampered   ", deck.glyphs.wrong()),
                theme.style(ThemeRole::OutcomeFailed),
            ),
            Span::styled(format!("{}  ", sanitize::line(&row.id)), muted),
            Span::styled(sanitize::line(why), theme.style(ThemeRole::Text)),
        ]),
        None => {
            let state = match (row.is_current, row.is_open) {
                (true, _) => "current",
                (false, true) => "open",
                (false, false) => "closed",
            };
            left.extend([
                standing(deck, row.standing),
                blank(2),
                Span::styled(format!("{state:<7}"), muted),
                blank(2),
            ]);
            // Before its title, which may say anything.
            if row.is_foreign {
                let mark = "from elsewhere  ";
                left.push(Span::styled(mark, theme.style(ThemeRole::Wait)));
            }
            left.push(Span::styled(sanitize::line(&row.title), words));
            if columns >= FIGURES_MIN {
                figures = Line::styled(self::figures(row), muted);
            }
        }
    }
    let line = fit_line(spread(Line::from(left), figures, columns), columns);
    deck.sheet_row(line, is_selected)
}

/// `2 findings  11.4 kB`.
fn figures(row: &CapsuleLine) -> String {
    let size = format!("{}.{} kB", row.bytes / 1_000, row.bytes % 1_000 / 100);
    match row.findings {
        0 => size,
        1 => format!("1 finding  {size}"),
        n => format!("{} findings  {size}", text::grouped(n)),
    }
}

pub(super) fn standing(deck: &Deck, standing: CapsuleStanding) -> Span<'static> {
    let (glyph, role) = match standing {
        CapsuleStanding::Fresh => (deck.glyphs.well(), ThemeRole::OutcomeDone),
        CapsuleStanding::Moved => (deck.glyphs.well(), ThemeRole::Text),
        _ => (deck.glyphs.wrong(), ThemeRole::OutcomeAttention),
    };
    let words = format!("{glyph} {:<9}", standing.as_str());
    Span::styled(words, deck.theme.style(role))
}

/// A line that is typed about a task.
#[derive(Debug, Clone)]
pub(crate) enum CapsuleAsk {
    /// Into which file it is written, and with what; nothing goes along with a task that is closed
    /// or from elsewhere.
    Export(TextField, Option<CapsuleAlong>),
    /// What came of it.
    Close(TextField),
}

impl CapsuleAsk {
    pub(crate) fn field_mut(&mut self) -> &mut TextField {
        match self {
            Self::Export(field, _) | Self::Close(field) => field,
        }
    }

    /// Something else goes along.
    pub(crate) fn next_along(&mut self) {
        if let Self::Export(_, Some(along)) = self {
            *along = along.next();
        }
    }
}

/// One task.
#[derive(Debug, Clone)]
pub(crate) struct CapsuleSheet {
    pub(crate) id: String,
    /// What was read, or why it was not; nothing while it is being read.
    read: Option<Result<Box<CapsuleView>, String>>,
    /// What is being typed.
    pub(crate) asks: Option<CapsuleAsk>,
    pub(crate) scroll: usize,
    /// What is in the file that it was written into last.
    pub(crate) exported: Vec<String>,
}

impl CapsuleSheet {
    pub(crate) fn new(id: String) -> Self {
        Self {
            id,
            read: None,
            asks: None,
            scroll: 0,
            exported: Vec::new(),
        }
    }

    /// It was read.
    pub(crate) fn take(&mut self, read: Result<Box<CapsuleView>, String>) {
        self.read = Some(read);
    }

    pub(crate) fn is_being_read(&self) -> bool {
        self.read.is_none()
    }

    /// What stands in it, once that was read.
    pub(crate) fn view(&self) -> Option<&CapsuleView> {
        self.read.as_ref()?.as_deref().ok()
    }

    pub(crate) fn text(&self, deck: &Deck, columns: usize) -> SheetText {
        let theme = &deck.theme;
        let mut document = Document::new(deck, columns);
        let mut title = vec![Span::styled("Capsule", theme.style(ThemeRole::TitleFocus))];
        let mut mark = Line::default();
        let mut keys = vec![(Action::NextEntry, "next")];
        match &self.read {
            None => document.text("reading the record …", ThemeRole::TextMuted),
            Some(Err(why)) => document.text(why, ThemeRole::OutcomeFailed),
            Some(Ok(view)) => {
                let name = format!("  {}", sanitize::line(&view.row.title));
                title.push(Span::styled(name, theme.style(ThemeRole::Text)));
                let standing = standing(deck, view.row.standing);
                let words = standing.content.trim_end().to_owned();
                mark = Line::styled(words, standing.style);
                said(&mut document, view, &self.exported);
                if view.row.can_be_closed() {
                    keys.push((Action::Edit, "edit"));
                }
                keys.extend(acts(&view.row, "").into_iter().skip(1));
            }
        }
        keys.push((Action::Back, "back"));
        SheetText {
            title: Line::from(title),
            mark,
            lines: document.into_lines(),
            keys: KeyFooter::new(deck, &keys),
            ..SheetText::default()
        }
    }

    /// Puts away what is typed of what came of it, until that is said.
    pub(crate) fn keep(&self, drafts: &mut Drafts) {
        if let Some(CapsuleAsk::Close(field)) = &self.asks {
            drafts.keep_line(TypedFor::Outcome(self.id.clone()), field.text());
        }
    }

    pub(super) fn typed(&self) -> Option<TypedLine<'_>> {
        Some(match self.asks.as_ref()? {
            CapsuleAsk::Export(field, along) => TypedLine {
                title: "Export: into which file?",
                field,
                ticks: along.map(|along| Ticks {
                    title: "goes along",
                    of: [
                        (along.patch, "patch of changes"),
                        (along.outputs, "outputs of gates"),
                    ],
                }),
                does: "export",
                goes: "a new one, for you alone",
            },
            CapsuleAsk::Close(field) => TypedLine {
                title: "Close the task: what came of it?",
                field,
                ticks: None,
                does: "close the task",
                goes: "its capsule stays as it is now",
            },
        })
    }
}

fn said(document: &mut Document<'_>, view: &CapsuleView, exported: &[String]) {
    let row = &view.row;
    let state = if row.is_open { "open" } else { "closed" };
    let about = format!("{}  {state}  {}", row.id, figures(row));
    document.text(&about, ThemeRole::TextMuted);
    let role = match row.standing.holds() {
        true => ThemeRole::Text,
        false => ThemeRole::OutcomeAttention,
    };
    let stands = format!("{}: {}", row.standing.as_str(), view.why);
    document.text(&stands, role);
    if row.is_foreign {
        let warning = "From elsewhere: shown, and not believed. Nothing in it was run here.";
        document.text(warning, ThemeRole::Wait);
    }
    let (dot, faint) = (
        document.deck.glyphs.dot(),
        document.style(ThemeRole::TextFaint),
    );
    let written = (!exported.is_empty()).then_some(("Exported", exported));
    let parts = view
        .parts
        .iter()
        .map(|part| (part.title.as_str(), part.rows.as_slice()));
    for (title, rows) in written.into_iter().chain(parts) {
        document.heading(title, "");
        for row in rows {
            document.bullet(dot, faint, row);
        }
    }
    document.heading("Origin", "");
    document.body(&view.origin, ThemeRole::TextMuted);
    document.body(&format!("sha256 {}", view.digest), ThemeRole::TextMuted);
}
