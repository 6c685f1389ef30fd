//! What of the configuration waits for trust: the part of its card, and the question.

use super::confirm::Confirm;
use super::document::Document;
use crate::effect::Effect;
use crate::model::TrustCard;
use crate::sanitize;
use crate::theme::ThemeRole;
use crate::widgets::TextField;

/// What is typed to trust what the card shows.
const TRUST_WORD: &str = "trust";

/// The keys that wait, each with what differs from what was trusted.
pub(super) fn waiting_keys(document: &mut Document<'_>, card: &TrustCard) {
    for key in &card.keys {
        document.heading(&key.name, &sanitize::line(&key.note));
        for (is_new, line) in &key.lines {
            let (sign, role) = match is_new {
                true => ('+', ThemeRole::OutcomeDone),
                false => ('-', ThemeRole::OutcomeFailed),
            };
            document.body(&format!("{sign} {line}"), role);
        }
    }
    if let Some(why) = &card.elsewhere {
        document.gap();
        document.text(why, ThemeRole::Wait);
    }
}

/// Asks for the word; `None` where the deck cannot trust it.
pub(crate) fn confirm_trust(card: &TrustCard) -> Option<Confirm> {
    if card.elsewhere.is_some() {
        return None;
    }
    let names: Vec<String> = card
        .keys
        .iter()
        .map(|key| sanitize::line(&key.name))
        .collect();
    Some(Confirm {
        title: "Trust what the card shows?",
        lines: vec![
            format!(
                "From now on these keys count as the card shows them: {}.",
                names.join(", ")
            ),
            "Commands among them run with your rights. It is refused if the file has changed since."
                .to_owned(),
        ],
        field: TextField::line(TRUST_WORD),
        word: TRUST_WORD.to_owned(),
        effect: Effect::Trust {
            digest: card.digest.clone(),
        },
    })
}
