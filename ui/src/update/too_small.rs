//! Keys while the terminal is too small: nobody sees what they do.

use crossterm::event::{KeyEvent, KeyEventKind};

use super::overlay_key::overlay_action;
use crate::action::Action;
use crate::deck::Deck;
use crate::effect::Effect;
use crate::key::Key;
use crate::keymap::KeyContext;
use crate::layout::Layout;
use crate::overlays::Overlay;

/// Whether nothing of the deck is shown but its answers. Before its size is known nothing is.
pub(super) fn is_too_small(deck: &Deck) -> bool {
    deck.size != (0, 0) && Layout::is_too_small(deck.size)
}

/// Leaves, suspends or draws again, whatever is open; no other key counts, and no letter where one
/// types.
pub(super) fn blind_key(deck: &mut Deck, event: KeyEvent) -> Vec<Effect> {
    if event.kind == KeyEventKind::Release {
        return Vec::new();
    }
    let key = Key::from_event(&event);
    let front = deck.overlays.last_mut();
    if key.is_typed() && front.is_some_and(Overlay::is_typed_into) {
        // The person may go on typing, and a letter of it is no wish to leave.
        return Vec::new();
    }
    let Some(action) = deck.keymap.action(&[KeyContext::Global], key) else {
        return Vec::new();
    };
    match action {
        Action::Redraw | Action::Suspend => overlay_action(deck, action),
        Action::Quit => {
            let effects = overlay_action(deck, action);
            // The question whether to leave is not seen: the safe answer is taken.
            match effects.is_empty() {
                true => overlay_action(deck, action),
                false => effects,
            }
        }
        _ => Vec::new(),
    }
}
