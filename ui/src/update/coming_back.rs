//! [`take_back`]: a wish was not carried out, and the text written for it is restored.

use crate::deck::Deck;
use crate::drafts::TypedFor;
use crate::effect::Effect;
use crate::finding_ruling::FindingRuling;
use crate::model::Level;
use crate::overlays::{CapsuleAsk, Overlay};
use crate::widgets::TextField;

/// Keeps what was written, and says why it was not done.
pub(super) fn take_back(deck: &mut Deck, why: &str, effect: Effect) {
    let is_kept = match effect {
        Effect::ResolveFinding { id, how } => {
            let about = TypedFor::Ruling(id, FindingRuling::Resolve);
            line_back(deck, about, how.unwrap_or_default())
        }
        Effect::DismissFinding { id, reason } => {
            let about = TypedFor::Ruling(id, FindingRuling::Dismiss);
            line_back(deck, about, reason)
        }
        Effect::CloseCapsule { id, outcome } => {
            line_back(deck, TypedFor::Outcome(id), outcome.unwrap_or_default())
        }
        Effect::BeginTask { title, found } => {
            stand_again(deck, &TypedFor::TaskTitle, &title);
            deck.drafts.task_came_back(title, found)
        }
        Effect::EditCapsule { id, before, after } => deck.drafts.keep_edit(id, before, after),
        _ => false,
    };
    let kept = match is_kept {
        true => "; what you wrote is kept, and the same key has it again",
        false => "",
    };
    deck.say(Level::Error, format!("{why}{kept}"));
}

fn line_back(deck: &mut Deck, about: TypedFor, text: String) -> bool {
    stand_again(deck, &about, &text);
    deck.drafts.line_came_back(about, text)
}

/// The line may be open again already: left blank it would be forgotten.
fn stand_again(deck: &mut Deck, about: &TypedFor, text: &str) {
    let mut fields = deck
        .overlays
        .iter_mut()
        .filter_map(|overlay| field_for(overlay, about));
    if let Some(field) = fields.find(|field| field.is_blank()) {
        field.replace(text);
    }
}

/// The field of an overlay, where it is typed into about this.
fn field_for<'o>(overlay: &'o mut Overlay, about: &TypedFor) -> Option<&'o mut TextField> {
    match (overlay, about) {
        (Overlay::Finding(sheet), TypedFor::Ruling(id, ruling)) if sheet.id == *id => {
            let asked = sheet.ruling.as_mut().filter(|(asked, _)| asked == ruling);
            asked.map(|(_, field)| field)
        }
        (Overlay::Capsule(sheet), TypedFor::Outcome(id)) if sheet.id == *id => {
            match sheet.asks.as_mut()? {
                CapsuleAsk::Close(field) => Some(field),
                CapsuleAsk::Export(..) => None,
            }
        }
        (Overlay::Begin(line), TypedFor::TaskTitle) if line.title.is_none() => {
            Some(&mut line.field)
        }
        _ => None,
    }
}
