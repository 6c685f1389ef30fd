//! Who, and from whom to whom, as spans.

use ratatui::text::Span;

use crate::deck::Deck;
use crate::model::Party;
use crate::theme::ThemeRole;

/// `◇→◆`, or `◆` and two blanks: three columns.
pub(crate) fn direction(deck: &Deck, from: &Party, to: Option<&Party>) -> Vec<Span<'static>> {
    let glyph = |party: &Party| Span::styled(deck.glyphs.party(party), deck.theme.party(party));
    match to {
        Some(to) => vec![
            glyph(from),
            Span::styled(deck.glyphs.to(), deck.theme.style(ThemeRole::TextFaint)),
            glyph(to),
        ],
        None => vec![glyph(from), Span::raw("  ")],
    }
}
