//! [`UnlockSheet`]: asks for the passphrase of the key that signs what the operator does.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::key_footer::KeyFooter;
use super::sheet::{box_inner, draw_box, foot, overlay_area};
use crate::action::Action;
use crate::deck::Deck;
use crate::passphrase::Passphrase;
use crate::sanitize::line;
use crate::text;
use crate::theme::ThemeRole;

/// The question. What is typed is never drawn, nor how long it is.
#[derive(Debug, Clone)]
pub(crate) struct UnlockSheet {
    /// What a person compares.
    fingerprint: String,
    /// What will be signed.
    what: String,
    typed: Passphrase,
    /// It was typed and is being checked.
    is_unlocking: bool,
    /// Why the one before was none.
    fault: Option<String>,
    /// The key is a person's own and signs elsewhere; whether it waits for a touch.
    elsewhere: Option<bool>,
}

impl UnlockSheet {
    pub(crate) fn new(fingerprint: String, what: String) -> Self {
        Self {
            fingerprint,
            what,
            typed: Passphrase::new(),
            is_unlocking: false,
            fault: None,
            elsewhere: None,
        }
    }

    /// Nothing is typed: the key signs elsewhere.
    pub(crate) fn elsewhere(fingerprint: String, what: String, touch: bool) -> Self {
        Self {
            is_unlocking: true,
            elsewhere: Some(touch),
            ..Self::new(fingerprint, what)
        }
    }

    /// Types a key, with those that every prompt has.
    pub(crate) fn key(&mut self, event: KeyEvent) {
        if self.is_unlocking {
            return;
        }
        let is_ctrl = event.modifiers.contains(KeyModifiers::CONTROL);
        match event.code {
            KeyCode::Char('u') if is_ctrl => self.typed = Passphrase::new(),
            KeyCode::Char(_) if is_ctrl => {}
            KeyCode::Char(letter) => self.paste(letter.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace => self.typed.pop(),
            _ => {}
        }
    }

    /// Types a text.
    pub(crate) fn paste(&mut self, text: &str) {
        if !self.is_unlocking {
            self.fault = None;
            self.typed.push(text);
        }
    }

    /// What was typed, to be checked; `None` while nothing is there or one is being checked.
    pub(crate) fn submit(&mut self) -> Option<Passphrase> {
        if self.is_unlocking || self.typed.is_empty() {
            return None;
        }
        self.is_unlocking = true;
        Some(self.typed.take())
    }

    /// It was none; it can be typed again.
    pub(crate) fn failed(&mut self, why: String) {
        // Elsewhere nothing is typed again.
        self.is_unlocking = self.elsewhere.is_some();
        self.fault = Some(why);
    }

    /// Where it stands, and its words.
    pub(super) fn area(&self, screen: Rect) -> (Rect, Vec<String>) {
        let columns = 72.min(screen.width.saturating_sub(2)).max(1);
        let room = usize::from(columns.saturating_sub(4));
        let lines = [line(&self.what), format!("Key {}", line(&self.fingerprint))];
        let body: Vec<String> = lines
            .iter()
            .flat_map(|words| text::wrap(words, room))
            .collect();
        let state = self.state_lines(room).1.len();
        (overlay_area(screen, columns, body.len() + state + 6), body)
    }

    /// [`Self::state`] in lines of so many columns: what another program complained about is read whole.
    fn state_lines(&self, columns: usize) -> (ThemeRole, Vec<String>) {
        let (role, text) = self.state();
        (role, text::wrap(&text, columns))
    }

    /// What became of what was typed. Nothing in it depends on which characters these are.
    fn state(&self) -> (ThemeRole, String) {
        match (&self.fault, self.is_unlocking, self.typed.is_empty()) {
            (Some(why), ..) => (ThemeRole::OutcomeFailed, line(why)),
            (None, true, _) => {
                let text = match self.elsewhere {
                    None => "unlocking …",
                    Some(true) => "Touch your key when it blinks …",
                    Some(false) => "ssh-keygen signs …",
                };
                (ThemeRole::Wait, text.to_owned())
            }
            (None, false, true) => (
                ThemeRole::TextMuted,
                "Type the passphrase; it is not shown.".to_owned(),
            ),
            (None, false, false) => (
                ThemeRole::TextMuted,
                "Something is typed; it is not shown.".to_owned(),
            ),
        }
    }

    /// Its keys, and where they stand.
    pub(super) fn keys(&self, deck: &Deck, screen: Rect) -> (Rect, KeyFooter) {
        let keys = [
            (Action::Open, "unlock and sign"),
            (Action::Back, "leave it"),
        ];
        // Where the key signs elsewhere, nothing is typed here.
        let keys = &keys[usize::from(self.elsewhere.is_some())..];
        let inner = box_inner(self.area(screen).0);
        (foot(inner, 1), KeyFooter::new(deck, keys))
    }

    pub(crate) fn draw(&self, deck: &Deck, screen: Rect, buf: &mut Buffer) {
        let theme = &deck.theme;
        let (area, body) = self.area(screen);
        let inner = draw_box(
            deck,
            area,
            buf,
            Line::styled("Sign it", theme.style(ThemeRole::TitleFocus)),
            Line::default(),
        );
        let width = usize::from(inner.width);
        let (role, state) = self.state_lines(width);
        // Its keys and an empty row stay below it.
        let room = usize::from(inner.height.saturating_sub(2));
        let state = &state[..state.len().min(room)];
        let text_rows = room - state.len();
        for (row, words) in body.iter().take(text_rows).enumerate() {
            let style = theme.style(ThemeRole::Text);
            buf.set_stringn(inner.x, inner.y + row as u16, words, width, style);
        }
        let first = inner.bottom().saturating_sub(2 + state.len() as u16);
        for (row, words) in state.iter().enumerate() {
            let style = theme.style(role);
            buf.set_stringn(inner.x, first + row as u16, words, width, style);
        }
        let (place, keys) = self.keys(deck, screen);
        keys.draw(place, buf);
    }
}
