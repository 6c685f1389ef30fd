//! [`AllowList`]: text that is kept although a rule takes it for a secret.
//!
//! An entry applies to a whole match and to nothing else: a longer text, or one that continues
//! where the match ends, is another text. So it cannot uncover a secret that merely contains it.

use std::ops::Range;

use regex::Regex;

/// What the operator let through.
#[derive(Debug, Clone, Default)]
pub(super) struct AllowList {
    texts: Vec<String>,
    patterns: Vec<Regex>,
}

impl AllowList {
    pub(super) fn add_text(&mut self, text: String) {
        self.texts.push(text);
    }

    /// `pattern` is anchored at both ends.
    pub(super) fn add_pattern(&mut self, pattern: Regex) {
        self.patterns.push(pattern);
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len() + self.patterns.len()
    }

    /// Whether what a rule found at `found` is to stay.
    pub(super) fn has(&self, text: &str, found: Range<usize>) -> bool {
        if self.len() == 0 {
            return false;
        }
        let Some(secret) = text.get(found.clone()) else {
            return false;
        };
        let is_named = self.texts.iter().any(|allowed| allowed == secret)
            || self.patterns.iter().any(|pattern| pattern.is_match(secret));
        is_named && stands_alone(text, &found)
    }
}

/// Whether nothing that could belong to a secret touches this piece: a rule may look at the
/// beginning of something longer.
fn stands_alone(text: &str, piece: &Range<usize>) -> bool {
    let (before, after) = (&text[..piece.start], &text[piece.end..]);
    let is_part = |letter: char| letter.is_alphanumeric() || "_-+~%".contains(letter);
    let mut left = before.chars().rev();
    let touches_left = match (left.next(), left.next()) {
        (Some('.' | '/'), Some(far)) => is_part(far),
        (Some(near), _) => is_part(near),
        (None, _) => false,
    };
    let mut right = after.chars();
    let touches_right = match (right.next(), right.next()) {
        // The end of a sentence, but not the next part of a token.
        (Some('.' | '/' | ':'), Some(far)) => is_part(far),
        (Some(near), _) => is_part(near) || near == '=',
        (None, _) => false,
    };
    !touches_left && !touches_right
}
