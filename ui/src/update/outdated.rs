//! Questions that a new view has answered, or made others: they are taken back, so that a key that is
//! on its way does not do what nobody asked.

use crate::deck::Deck;
use crate::effect::Effect;
use crate::model::Level;
use crate::overlays::{CardStage, Overlay, Pick};

/// Takes back what holds no more in the view that has just come; `is_another_record`: of a session
/// that began since.
pub(super) fn take_back_outdated(deck: &mut Deck, is_another_record: bool) {
    if is_another_record {
        take_back_clearing(deck);
    }
    take_back_gates(deck);
    deck.drafts.forget_cards(&deck.view.inbox);
}

fn take_back_clearing(deck: &mut Deck) {
    let before = deck.overlays.len();
    deck.overlays.retain(|overlay| match overlay {
        Overlay::Confirm(confirm) => !matches!(confirm.effect, Effect::ClearSession { .. }),
        Overlay::Choice(choice) => {
            let mut options = choice.options.iter();
            !options.any(|option| matches!(option.pick, Pick::Clear { .. }))
        }
        _ => true,
    });
    if deck.overlays.len() < before {
        let text = "another session has begun: nothing was cleared from here";
        deck.say(Level::Warn, text);
    }
}

fn take_back_gates(deck: &mut Deck) {
    let mut said = None;
    for overlay in &mut deck.overlays {
        let Overlay::Card(sheet) = overlay else {
            continue;
        };
        let CardStage::Gates { stop } = sheet.stage else {
            continue;
        };
        let card = deck.view.inbox.iter().find(|card| card.id == sheet.id);
        if card.is_some_and(|card| card.are_gates_running() != stop) {
            sheet.stage = CardStage::Reading;
            said = Some(match stop {
                true => "the gates have ended meanwhile: there is nothing to stop",
                false => "the gates run already: none was started from here",
            });
        }
    }
    if let Some(text) = said {
        deck.say(Level::Info, text);
    }
}
