//! [`say_none_next`]: what is said where nothing is next.

use crate::deck::Deck;
use crate::effect::Effect;
use crate::model::Level;

/// What is opened stays: no list lies below it, or it ends here.
pub(super) fn say_none_next(deck: &mut Deck, by: isize) -> Vec<Effect> {
    let text = match by > 0 {
        true => "nothing is next here",
        false => "nothing is before it here",
    };
    deck.say(Level::Info, text);
    Vec::new()
}
