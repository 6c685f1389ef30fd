//! [`refuse`], [`say_none_next`]: the notices for a key that does nothing, and for no next row.

use crate::action::Action;
use crate::deck::Deck;
use crate::effect::Effect;
use crate::model::Level;
use crate::why_not::reason;

/// The reason a key does nothing is said, never left to be guessed.
pub(super) fn refuse(deck: &mut Deck, action: Action) {
    if let Some(text) = reason(deck, action) {
        deck.say(Level::Info, text);
    }
}

/// What is opened stays: no list lies below it, or it ends here.
pub(super) fn say_none_next(deck: &mut Deck, by: isize) -> Vec<Effect> {
    let text = match by > 0 {
        true => "nothing is next here",
        false => "nothing is before it here",
    };
    deck.say(Level::Info, text);
    Vec::new()
}
