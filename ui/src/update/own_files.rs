//! [`take_own_files`]: keys and themes as they were read, at the start and each time they change.

use crate::deck::Deck;
use crate::model::Level;
use crate::overlays::Overlay;
use crate::own_files::{OwnFiles, put_theme_problem};

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
    let name = own.theme.filter(|_| !is_choosing);
    let name = name.unwrap_or_else(|| deck.theme.name.clone());
    match deck.load_theme(&name) {
        Ok(theme) => deck.theme = theme,
        Err(error) => put_theme_problem(&mut problems, &name, &error),
    }
    let was_wrong = !std::mem::replace(&mut deck.problems, problems).is_empty();
    match deck.problems_text() {
        Some(text) => deck.say_until_key(Level::Error, text),
        None if was_wrong => deck.say(Level::Info, "your keys and themes are in order again"),
        None => {}
    }
}
