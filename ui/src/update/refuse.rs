//! [`refuse`]: what is said where a key does nothing.

use crate::action::Action;
use crate::deck::Deck;
use crate::model::Level;
use crate::why_not::reason;

/// The reason a key does nothing is said, never left to be guessed.
pub(super) fn refuse(deck: &mut Deck, action: Action) {
    if let Some(text) = reason(deck, action) {
        deck.say(Level::Info, text);
    }
}
