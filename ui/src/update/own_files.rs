//! [`take_own_files`]: takes over keys and themes as read, at the start and after each change.

use crate::deck::Deck;
use crate::model::Level;
use crate::overlays::Overlay;
use crate::own_files::{OwnFiles, ThemeFault, put_theme_problem};

/// Uses them from now on. A theme that cannot be read any more stays as it was.
pub(super) fn take_own_files(deck: &mut Deck, own: OwnFiles) {
    deck.keymap = own.keymap;
    deck.themes = own.themes;
    deck.notification = own.notification;
    let mut problems = own.problems;
    let is_choosing = deck
        .overlays
        .iter()
        .any(|overlay| matches!(overlay, Overlay::Choice(choice) if choice.theme_before.is_some()));
    let named = own.theme.filter(|_| !is_choosing);
    let is_named = named.is_some();
    let name = named.unwrap_or_else(|| deck.theme.name.clone());
    match deck.load_theme(&name) {
        Ok(theme) => deck.theme = theme,
        Err(error) => {
            let fault = match deck.has_theme(&name) {
                true => ThemeFault::Text(error),
                false if is_named => ThemeFault::Unknown,
                false => ThemeFault::Gone,
            };
            put_theme_problem(&mut problems, &name, &fault);
        }
    }
    let was_wrong = !std::mem::replace(&mut deck.problems, problems).is_empty();
    match deck.problems_text() {
        Some(text) => deck.say_until_key(Level::Error, text),
        None if was_wrong => deck.say(Level::Info, "your keys and themes are in order again"),
        None => {}
    }
}
