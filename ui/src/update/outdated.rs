//! Questions that a new view has answered, or made others: they are taken back, so that a key that is
//! on its way does not do what nobody asked.

use crate::deck::Deck;
use crate::effect::Effect;
use crate::model::Level;
use crate::overlays::{CardStage, Overlay, Pick};

/// What is said where a card is gone on which something was to be decided.
pub(super) const GONE: &str = "this card is gone meanwhile: nothing was recorded from here";

/// Takes back what holds no more in the view that has just come; `is_another_record`: of a session
/// that began since.
pub(super) fn take_back_outdated(deck: &mut Deck, is_another_record: bool) {
    if is_another_record {
        take_back_clearing(deck);
    }
    take_back_gates(deck);
    take_back_gone(deck);
    let (inbox, overlays, rows) = (&deck.view.inbox, &deck.overlays, &deck.inbox.rows);
    deck.drafts.forget_cards(|id| {
        let is_open = |overlay: &Overlay| matches!(overlay, Overlay::Card(card) if card.id == *id);
        // What was answered from here is on record.
        let is_given = || {
            let row = rows.iter().find(|row| row.card.id == *id);
            row.is_some_and(|row| row.card.is_given())
        };
        let is_there = inbox.iter().any(|card| card.id == *id);
        is_there || (overlays.iter().any(is_open) && !is_given())
    });
}

/// What is asked, or typed, on a card that is gone meanwhile. Its words stay readable until it is closed.
fn take_back_gone(deck: &mut Deck) {
    let mut is_gone = false;
    for overlay in &mut deck.overlays {
        if let Overlay::Card(sheet) = overlay
            && !matches!(sheet.stage, CardStage::Reading)
            && !deck.view.inbox.iter().any(|card| card.id == sheet.id)
        {
            sheet.keep(&mut deck.drafts);
            sheet.stage = CardStage::Reading;
            is_gone = true;
        }
    }
    if is_gone {
        deck.say(Level::Warn, GONE);
    }
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
