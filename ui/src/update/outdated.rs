//! Takes back questions that a new view has answered or changed, so that a key on its way does not
//! do what nobody asked for.

use crate::deck::Deck;
use crate::effect::Effect;
use crate::model::Level;
use crate::overlays::{CardStage, Choice, Overlay, Pick};

/// What is said where a card is gone on which something was to be decided.
pub(super) const GONE: &str = "this card is gone meanwhile: nothing was recorded from here";

/// What is said where it was answered elsewhere, and the agent has not gone on yet.
const GIVEN: &str = "it was answered meanwhile: nothing was recorded from here";

/// Takes back what holds no more in the view that has just come; `is_another_record`: of a session
/// that began since.
pub(super) fn take_back_outdated(deck: &mut Deck, is_another_record: bool) {
    if is_another_record {
        take_back_clearing(deck);
    }
    take_back_gates(deck);
    take_back_starts(deck);
    take_back_answers(deck);
    take_back_gone(deck);
    let (inbox, overlays, rows) = (&deck.view.inbox, &deck.overlays, &deck.inbox.rows);
    deck.drafts.forget_cards(|id| {
        // What was answered from here is on record; what was being typed when the card went is not.
        let is_given = || {
            let row = rows.iter().find(|row| row.card.id == *id);
            row.is_some_and(|row| row.card.is_given())
        };
        let is_read = |overlay: &Overlay| match overlay {
            Overlay::Card(card) if card.id == *id => {
                matches!(card.stage, CardStage::Gone) || !is_given()
            }
            _ => false,
        };
        let is_there = inbox.iter().any(|card| card.id == *id);
        is_there || overlays.iter().any(is_read)
    });
}

/// What is asked, or typed, on a card that is gone meanwhile. Its words stay readable until it is closed.
fn take_back_gone(deck: &mut Deck) {
    let mut is_gone = false;
    for overlay in &mut deck.overlays {
        if let Overlay::Card(sheet) = overlay
            && !matches!(sheet.stage, CardStage::Reading | CardStage::Gone)
            && !deck.view.inbox.iter().any(|card| card.id == sheet.id)
        {
            sheet.keep(&mut deck.drafts);
            sheet.stage = match sheet.field_mut() {
                Some(_) => CardStage::Gone,
                None => CardStage::Reading,
            };
            is_gone = true;
        }
    }
    if is_gone {
        deck.say(Level::Warn, GONE);
    }
}

/// Answers to choose from, of a card that waits for none any more: it is gone, or was answered
/// elsewhere.
fn take_back_answers(deck: &mut Deck) {
    let inbox = &deck.view.inbox;
    let mut said = None;
    deck.overlays.retain_mut(|overlay| {
        let Some(id) = answered(overlay) else {
            return true;
        };
        let card = inbox.iter().find(|card| card.id == id);
        let text = match card {
            None => GONE,
            Some(card) if card.is_given() => GIVEN,
            Some(_) => return true,
        };
        said = Some(text);
        stays_as_over(overlay, text)
    });
    if let Some(text) = said {
        deck.say(Level::Warn, text);
    }
}

/// The card that is answered by what is asked.
fn answered(overlay: &Overlay) -> Option<&str> {
    match overlay {
        Overlay::Choice(choice) => effects(choice).find_map(|effect| match effect {
            Effect::AnswerApproval { id, .. } => Some(id.as_str()),
            _ => None,
        }),
        Overlay::Confirm(confirm) => match &confirm.effect {
            Some(Effect::Approve { proposal_id, .. }) => Some(proposal_id),
            _ => None,
        },
        _ => None,
    }
}

/// Takes a question back. Whether it stays, to say why: one for which a word is being typed does.
fn stays_as_over(overlay: &mut Overlay, why: &str) -> bool {
    match overlay {
        Overlay::Confirm(confirm) => {
            confirm.take_back(why);
            true
        }
        _ => false,
    }
}

/// What is offered for an agent that is there by now: its terminal would be a second one.
fn take_back_starts(deck: &mut Deck) {
    let attached = &deck.view.attached;
    let mut is_there = None;
    deck.overlays.retain(|overlay| {
        let Overlay::Choice(choice) = overlay else {
            return true;
        };
        let started = effects(choice).find_map(|effect| match effect {
            Effect::StartAgent(agent) if attached.contains(agent) => Some(*agent),
            _ => None,
        });
        is_there = is_there.or(started);
        started.is_none()
    });
    if let Some(agent) = is_there {
        let text = format!(
            "{} is there meanwhile: nothing was started from here",
            agent.title()
        );
        deck.say(Level::Info, text);
    }
}

/// What the answers to a question would have done.
fn effects(choice: &Choice) -> impl Iterator<Item = &Effect> {
    choice
        .options
        .iter()
        .filter_map(|option| match &option.pick {
            Pick::Effect(effect) => Some(effect),
            _ => None,
        })
}

fn take_back_clearing(deck: &mut Deck) {
    let text = "another session has begun: nothing was cleared from here";
    let mut is_taken_back = false;
    deck.overlays.retain_mut(|overlay| {
        let clears = match &*overlay {
            Overlay::Confirm(confirm) => {
                matches!(confirm.effect, Some(Effect::ClearSession { .. }))
            }
            Overlay::Choice(choice) => {
                let mut options = choice.options.iter();
                options.any(|option| matches!(option.pick, Pick::Clear { .. }))
            }
            _ => false,
        };
        is_taken_back |= clears;
        !clears || stays_as_over(overlay, text)
    });
    if is_taken_back {
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
