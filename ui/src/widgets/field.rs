//! [`TextField`]: text being typed, one line or many.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget as _;
use ratatui_textarea::{CursorMove, DataCursor, TextArea, WrapMode};

use crate::sanitize;
use crate::theme::{Theme, ThemeRole};

/// Longest text of a field, bytes. The daemon's own limit is lower; this one keeps a pasted log
/// file from making each key slow.
const BYTES_MAX: usize = 256 * 1024;

/// An input. Holds only what can be sent: no controls, nothing invisible.
#[derive(Debug, Clone)]
pub(crate) struct TextField {
    /// Boxed: it is large, and most overlays have none.
    area: Box<TextArea<'static>>,
    many_lines: bool,
    placeholder: &'static str,
}

impl TextField {
    /// A field of one line.
    pub(crate) fn line(placeholder: &'static str) -> Self {
        Self::new(false, placeholder)
    }

    /// A field of many lines.
    pub(crate) fn lines(placeholder: &'static str) -> Self {
        Self::new(true, placeholder)
    }

    fn new(many_lines: bool, placeholder: &'static str) -> Self {
        Self::holding(String::new(), many_lines, placeholder)
    }

    fn holding(text: String, many_lines: bool, placeholder: &'static str) -> Self {
        let mut area = Box::new(TextArea::from(text.split('\n')));
        area.move_cursor(CursorMove::Bottom);
        area.move_cursor(CursorMove::End);
        area.set_cursor_line_style(Style::new());
        if many_lines {
            area.set_wrap_mode(WrapMode::WordOrGlyph);
        }
        Self {
            area,
            many_lines,
            placeholder,
        }
    }

    /// Starts with this text, the cursor behind it.
    pub(crate) fn with_text(mut self, text: &str) -> Self {
        self.replace(text);
        self
    }

    pub(crate) fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// Nothing but blanks.
    pub(crate) fn is_blank(&self) -> bool {
        self.area.lines().iter().all(|line| line.trim().is_empty())
    }

    /// Types a key.
    pub(crate) fn key(&mut self, event: KeyEvent) {
        if let KeyCode::Char(c) = event.code {
            let plain = !event
                .modifiers
                .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
            if plain {
                // One character may still be an override or a control byte of a strange terminal.
                self.paste(c.encode_utf8(&mut [0; 4]));
                return;
            }
            if !self.many_lines && matches!(c, 'm' | 'j') {
                return;
            }
            if self.readline(c, event.modifiers) {
                return;
            }
        }
        if matches!(event.code, KeyCode::Enter | KeyCode::Tab | KeyCode::BackTab) {
            return;
        }
        self.area.input(event);
    }

    /// The keys that every shell has, where the library has others. What was cut can be put back.
    fn readline(&mut self, c: char, modifiers: KeyModifiers) -> bool {
        let is_ctrl = modifiers.contains(KeyModifiers::CONTROL);
        let area = &mut self.area;
        match (is_ctrl, c) {
            (true, 'u') => area.delete_line_by_head(),
            (true, 'k') => area.delete_line_by_end(),
            (true, 'w') => area.delete_word(),
            (true, 'y') => area.paste(),
            (true, 'd') => area.delete_next_char(),
            (true, '_' | '7' | '/') => area.undo(),
            (false, 'd') => area.delete_next_word(),
            _ => return false,
        };
        true
    }

    /// Characters and lines that stand there.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let lines = self.area.lines();
        let breaks = lines.len().saturating_sub(1);
        let chars: usize = lines.iter().map(|line| line.chars().count()).sum();
        (chars + breaks, lines.len())
    }

    /// A line break at the cursor, in a field of many lines.
    pub(crate) fn newline(&mut self) {
        if self.many_lines {
            self.area.insert_newline();
        }
    }

    /// Pastes; the count of characters that were left out.
    pub(crate) fn paste(&mut self, text: &str) -> usize {
        let DataCursor(row, column) = self.area.cursor();
        let line = self.area.lines().get(row).map_or("", String::as_str);
        // Of a joined character no more counts.
        let before: String = line
            .chars()
            .take(column)
            .skip(column.saturating_sub(2))
            .collect();
        let room = BYTES_MAX.saturating_sub(self.text().len());
        let (clean, removed) = self.clean(&before, text, room);
        self.area.insert_str(clean);
        removed
    }

    /// Another text in the place of this one, the cursor behind it; the count of characters that
    /// were left out. It was not typed here: to undo takes nothing of it away.
    pub(crate) fn replace(&mut self, text: &str) -> usize {
        let (clean, removed) = self.clean("", text, BYTES_MAX);
        *self = Self::holding(clean, self.many_lines, self.placeholder);
        removed
    }

    /// What of a text there is room for behind `before`, and how many characters are left out.
    fn clean(&self, before: &str, text: &str, room: usize) -> (String, usize) {
        let (mut clean, mut removed) = sanitize::for_input_behind(before, text);
        if !self.many_lines {
            clean = clean.replace('\n', " ");
        }
        if clean.len() > room {
            let end = clean.floor_char_boundary(room);
            removed += clean[end..].chars().count();
            clean.truncate(end);
        }
        (clean, removed)
    }

    /// Lines that the text takes in `columns`, for a box that grows with it.
    pub(crate) fn rows(&self, columns: usize) -> usize {
        self.area
            .lines()
            .iter()
            .map(|line| crate::text::wrap(line, columns.saturating_sub(1)).len())
            .sum()
    }

    /// Draws it; the cursor only when it has the focus. Gives the first line that is seen.
    pub(crate) fn draw(&self, area: Rect, buf: &mut Buffer, theme: &Theme, focus: bool) -> usize {
        if area.is_empty() {
            return 0;
        }
        let mut drawn = self.area.clone();
        drawn.set_style(theme.style(ThemeRole::Input));
        drawn.set_cursor_style(if focus {
            theme.style(ThemeRole::InputCursor)
        } else {
            theme.style(ThemeRole::Input)
        });
        drawn.set_placeholder_text(self.placeholder);
        drawn.set_placeholder_style(theme.style(ThemeRole::TextFaint));
        if !focus {
            // Without the focus the view stays at the start, where the reader looks.
            drawn.move_cursor(CursorMove::Top);
            drawn.move_cursor(CursorMove::Head);
        }
        (&*drawn).render(area, buf);
        usize::from(drawn.scroll_offset().0)
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    use super::TextField;

    #[test]
    fn a_field_of_one_line_stays_one_line() {
        let mut field = TextField::line("");
        field.paste("one\ntwo");
        field.key(KeyEvent::new(KeyCode::Char('j'), KeyModifiers::CONTROL));
        field.newline();
        assert_eq!(field.text(), "one two");
    }

    #[test]
    fn nothing_invisible_can_be_typed_or_pasted() {
        let mut field = TextField::lines("");
        assert_eq!(field.paste("a\u{202e}\x1bb"), 2);
        field.key(KeyEvent::new(KeyCode::Char('\u{200b}'), KeyModifiers::NONE));
        field.newline();
        field.key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::NONE));
        assert_eq!(field.text(), "ab\nc");
    }

    fn press(field: &mut TextField, key: char, modifiers: KeyModifiers) {
        field.key(KeyEvent::new(KeyCode::Char(key), modifiers));
    }

    #[test]
    fn the_keys_of_a_shell_do_what_they_do_there() {
        let mut field = TextField::line("").with_text("one two three");
        let ctrl = KeyModifiers::CONTROL;
        press(&mut field, 'w', ctrl);
        assert_eq!(field.text(), "one two ");
        press(&mut field, 'y', ctrl);
        assert_eq!(field.text(), "one two three");
        press(&mut field, 'b', KeyModifiers::ALT);
        press(&mut field, 'k', ctrl);
        assert_eq!(field.text(), "one two ");
        press(&mut field, 'a', ctrl);
        press(&mut field, 'y', ctrl);
        assert_eq!(field.text(), "threeone two ");
        press(&mut field, 'u', ctrl);
        assert_eq!(field.text(), "one two ");
        press(&mut field, 'f', KeyModifiers::ALT);
        press(&mut field, 'd', KeyModifiers::ALT);
        assert_eq!(field.text(), "one  ");
        press(&mut field, '7', ctrl);
        assert_eq!(field.text(), "one two ");
        press(&mut field, 'e', ctrl);
        press(&mut field, 'x', KeyModifiers::NONE);
        assert_eq!(field.text(), "one two x");
    }

    #[test]
    fn what_was_cut_from_one_line_is_put_back_as_one_line() {
        let mut field = TextField::lines("").with_text("a\nb");
        assert_eq!(field.counts(), (3, 2));
        press(&mut field, 'u', KeyModifiers::CONTROL);
        press(&mut field, 'u', KeyModifiers::CONTROL);
        assert_eq!(field.text(), "a");
    }

    #[test]
    fn undo_takes_away_what_was_typed_and_nothing_that_stood_there_before() {
        let mut field = TextField::lines("").with_text("a\nb");
        press(&mut field, '_', KeyModifiers::CONTROL);
        assert_eq!(field.text(), "a\nb");
        press(&mut field, 'c', KeyModifiers::NONE);
        assert_eq!(field.text(), "a\nbc");
        press(&mut field, '_', KeyModifiers::CONTROL);
        assert_eq!(field.text(), "a\nb");
        field.replace("d");
        press(&mut field, '_', KeyModifiers::CONTROL);
        assert_eq!(field.text(), "d");
    }

    #[test]
    fn a_joiner_that_is_typed_within_a_word_stays() {
        let mut field = TextField::line("");
        for c in "می\u{200c}\u{200c}خواهم".chars() {
            press(&mut field, c, KeyModifiers::NONE);
        }
        assert_eq!(field.text(), "می\u{200c}خواهم");
    }

    #[test]
    fn a_log_file_is_cut() {
        let mut field = TextField::lines("");
        assert_eq!(field.paste(&"é".repeat(200_000)), 200_000 - 128 * 1024);
    }
}
