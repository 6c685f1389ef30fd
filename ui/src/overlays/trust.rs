//! The configuration that waits for trust: its part of the card, and the question.

use super::confirm::Confirm;
use super::document::Document;
use crate::effect::Effect;
use crate::model::TrustCard;
use crate::sanitize;
use crate::theme::ThemeRole;

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
        let glyph = document.deck.glyphs.wrong();
        let attention = document.style(ThemeRole::OutcomeAttention);
        for warning in &key.warnings {
            document.bullet(glyph, attention, warning);
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
    // There may be many names: what they may do is read before them.
    let lines = vec![
        "Commands among these keys run with your rights. It is refused if the file has changed since."
            .to_owned(),
        format!(
            "From now on they count as the card shows them: {}.",
            names.join(", ")
        ),
    ];
    let effect = Effect::Trust {
        digest: card.digest.clone(),
    };
    let word = (TRUST_WORD.to_owned(), TRUST_WORD);
    let title = "Trust what the card shows?";
    Some(Confirm::new(title, lines, word, effect))
}
