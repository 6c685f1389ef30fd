//! Going on after a break: the sheet that says how, and the actions on its prompts.

use super::opening::compose;
use super::taking_text::copy;
use super::topmost::topmost;
use crate::action::Action;
use crate::deck::Deck;
use crate::drafts::{Draft, Writing};
use crate::effect::Effect;
use crate::model::{Level, RecoveryView};
use crate::overlays::{Overlay, RecoverySheet};
use crate::sanitize::for_input;

/// Opens the sheet; its content is read each time.
pub(super) fn open_recovery(deck: &mut Deck) -> Vec<Effect> {
    let sheet = RecoverySheet::default();
    deck.overlays.push(Overlay::Recovery(sheet));
    vec![Effect::ReadRecovery]
}

/// It was read.
pub(super) fn take_recovery(deck: &mut Deck, read: Result<Box<RecoveryView>, String>) {
    if let Some(sheet) = topmost!(deck, Overlay::Recovery(sheet) => sheet) {
        sheet.take(read);
    }
}

/// What a key does on the sheet in front.
pub(super) fn on_recovery(deck: &mut Deck, action: Action) -> Option<Vec<Effect>> {
    let Some(Overlay::Recovery(sheet)) = deck.overlays.last_mut() else {
        return None;
    };
    let of = sheet.agent().cloned();
    match (action, of) {
        (Action::NextEntry, _) => sheet.turn(true),
        (Action::PrevEntry, _) => sheet.turn(false),
        (Action::Copy | Action::CopyId | Action::Message, None) => {
            let next = deck.key_in(&deck.contexts(), Action::NextEntry);
            let words = format!("{next} turns to an agent: what it is told stands there");
            deck.say(Level::Info, words);
        }
        (Action::Copy, Some(of)) => return Some(copy(deck, &of.prompt)),
        (Action::CopyId, Some(of)) => return Some(copy(deck, &of.command)),
        (Action::Message, Some(of)) => {
            let (prompt, _) = for_input(&of.prompt);
            let draft = deck.drafts.take(of.agent, Writing::Message);
            deck.drafts
                .keep(of.agent, Writing::Message, with(draft, prompt));
            compose(deck, Some(of.agent), Writing::Message);
        }
        _ => return None,
    }
    Some(Vec::new())
}

/// What was written before stays, once.
fn with(draft: Draft, prompt: String) -> Draft {
    let text = if draft.text.contains(&prompt) {
        draft.text
    } else if draft.text.trim().is_empty() {
        prompt
    } else {
        format!("{}\n\n{prompt}", draft.text)
    };
    Draft { text, ..draft }
}
