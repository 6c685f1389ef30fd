//! The question for the passphrase of the signing key: asked, answered, left.

use crate::deck::Deck;
use crate::effect::Effect;
use crate::model::Level;
use crate::overlays::{Overlay, UnlockSheet};

/// Asks. One question at a time: a new one takes the place of the one before.
pub(super) fn ask_passphrase(deck: &mut Deck, fingerprint: String, what: String) {
    take_sheet(deck);
    let sheet = UnlockSheet::new(fingerprint, what);
    deck.overlays.push(Overlay::Unlock(sheet));
}

/// Waits for a key that signs elsewhere.
pub(super) fn await_key(deck: &mut Deck, fingerprint: String, what: String, touch: bool) {
    take_sheet(deck);
    let sheet = UnlockSheet::elsewhere(fingerprint, what, touch);
    deck.overlays.push(Overlay::Unlock(sheet));
}

/// `enter`.
pub(super) fn unlock(deck: &mut Deck, mut sheet: UnlockSheet) -> Vec<Effect> {
    let typed = sheet.submit();
    deck.overlays.push(Overlay::Unlock(sheet));
    typed
        .map(|passphrase| Effect::Unlock { passphrase })
        .into_iter()
        .collect()
}

/// What came of it. Nobody asks any more where the question was left meanwhile.
pub(super) fn unlocked(deck: &mut Deck, result: Result<(), String>) {
    let Some(mut sheet) = take_sheet(deck) else {
        return;
    };
    if let Err(why) = result {
        sheet.failed(why);
        deck.overlays.push(Overlay::Unlock(sheet));
    }
}

/// `esc`.
pub(super) fn leave_unlock(deck: &mut Deck) -> Vec<Effect> {
    take_sheet(deck);
    deck.say(Level::Info, "nothing was signed, and nothing recorded");
    vec![Effect::LeaveUnlock]
}

fn take_sheet(deck: &mut Deck) -> Option<UnlockSheet> {
    let is_asking = |overlay: &Overlay| matches!(overlay, Overlay::Unlock(_));
    let place = deck.overlays.iter().position(is_asking)?;
    match deck.overlays.remove(place) {
        Overlay::Unlock(sheet) => Some(sheet),
        _ => None,
    }
}
