//! [`Document`]: the text of a sheet or of the detail beside the panes, line by line.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::markdown::markdown;
use crate::deck::Deck;
use crate::marked_words::MarkedWords;
use crate::sanitize;
use crate::text;
use crate::theme::ThemeRole;
use crate::widgets::{blank, width_of};

/// Columns by which what stands under a heading is indented.
const INDENT: usize = 2;

/// Lines being written. Every text may be hostile and is made harmless here.
pub(super) struct Document<'d> {
    pub(super) deck: &'d Deck,
    pub(super) columns: usize,
    lines: Vec<Line<'static>>,
}

impl<'d> Document<'d> {
    pub(super) fn new(deck: &'d Deck, columns: usize) -> Self {
        Self {
            deck,
            columns,
            lines: Vec::new(),
        }
    }

    pub(super) fn into_lines(self) -> Vec<Line<'static>> {
        let marked = MarkedWords::new(&self.deck.timeline.search);
        let style = self.deck.theme.style(ThemeRole::Match);
        let lines = self.lines.into_iter();
        lines.map(|line| marked.mark(line, style)).collect()
    }

    pub(super) fn style(&self, role: ThemeRole) -> Style {
        self.deck.theme.style(role)
    }

    /// How many lines there are.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// The lines from here on are under the cursor.
    pub(super) fn select_from(&mut self, first: usize) {
        let style = self.style(ThemeRole::SelectionFocus);
        let lines = self.lines.iter_mut().skip(first);
        lines.for_each(|line| *line = std::mem::take(line).patch_style(style));
    }

    /// A line that is made already.
    pub(super) fn line(&mut self, line: Line<'static>) {
        self.lines.push(line);
    }

    pub(super) fn extend(&mut self, lines: impl IntoIterator<Item = Line<'static>>) {
        self.lines.extend(lines);
    }

    /// An empty line, unless there is nothing above it.
    pub(super) fn gap(&mut self) {
        if !self.lines.is_empty() {
            self.lines.push(Line::default());
        }
    }

    /// A heading with a word on it, after a gap.
    pub(super) fn heading(&mut self, title: &str, note: &str) {
        self.gap();
        let mut spans = vec![Span::styled(
            sanitize::line(title),
            self.style(ThemeRole::Heading),
        )];
        if !note.is_empty() {
            spans.push(Span::styled(
                format!("  {}", sanitize::line(note)),
                self.style(ThemeRole::TextFaint),
            ));
        }
        self.lines.push(Line::from(spans));
    }

    /// Paragraphs at the left edge.
    pub(super) fn text(&mut self, source: &str, role: ThemeRole) {
        let style = self.style(role);
        self.paragraphs(source, 0, style);
    }

    /// Paragraphs under a heading.
    pub(super) fn body(&mut self, source: &str, role: ThemeRole) {
        let style = self.style(role);
        self.paragraphs(source, INDENT, style);
    }

    /// What an agent wrote, with its marks styled and all of its characters kept.
    pub(super) fn markdown(&mut self, source: &str) {
        let lines = markdown(&self.deck.theme, source, self.columns);
        self.lines.extend(lines);
    }

    /// An item of a list under a heading.
    pub(super) fn bullet(&mut self, glyph: &str, style: Style, source: &str) {
        let first = self.lines.len();
        let text = self.style(ThemeRole::Text);
        self.paragraphs(source, INDENT + 2, text);
        if let Some(line) = self.lines.get_mut(first) {
            line.spans[0] = Span::styled(format!("  {glyph} "), style);
        }
    }

    /// An item with a remark behind it, on its last line where there is room.
    pub(super) fn bullet_with(&mut self, glyph: &str, style: Style, source: &str, note: &str) {
        self.bullet(glyph, style, source);
        self.remark(INDENT + 2, note);
    }

    /// A row: what is of one width in all of them, a text that goes on below itself, and a remark
    /// behind it.
    pub(super) fn row(&mut self, head: Vec<Span<'static>>, source: &str, note: &str) {
        let head = Line::from(head);
        let indent = INDENT + width_of(&head);
        let (first, text) = (self.lines.len(), self.style(ThemeRole::Text));
        self.paragraphs(source, indent, text);
        if let Some(line) = self.lines.get_mut(first) {
            line.spans
                .splice(0..1, std::iter::once(blank(INDENT)).chain(head.spans));
        }
        if !note.is_empty() {
            self.remark(indent, note);
        }
    }

    fn remark(&mut self, indent: usize, note: &str) {
        let faint = self.style(ThemeRole::TextFaint);
        let note = sanitize::line(note);
        let room = self.columns;
        match self.lines.last_mut() {
            Some(last) if width_of(last) + 2 + text::width(&note) <= room => {
                last.spans.push(blank(2));
                last.spans.push(Span::styled(note, faint));
            }
            _ => self.paragraphs(&note, indent, faint),
        }
    }

    fn paragraphs(&mut self, source: &str, indent: usize, style: Style) {
        let room = self.columns.saturating_sub(indent).max(1);
        let lines = sanitize::lines(source);
        let wrapped = lines.iter().flat_map(|line| text::wrap(line, room));
        self.lines
            .extend(wrapped.map(|line| Line::from(vec![blank(indent), Span::styled(line, style)])));
    }
}

#[cfg(test)]
mod tests {
    use super::Document;
    use crate::deck::{Deck, Settings};

    #[test]
    fn no_part_of_a_heading_says_anything_to_a_terminal() {
        let deck = Deck::new(Settings::new().expect("keymap")).expect("theme");
        let mut document = Document::new(&deck, 80);
        document.heading("a\u{1b}[2Jb", "c\u{1b}[2Jd\u{202e}");
        let said: String = document
            .into_lines()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert!(!said.contains(['\u{1b}', '\u{202e}']), "{said:?}");
    }
}
