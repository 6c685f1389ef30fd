//! [`in_quotes`] and [`named`]: a piece of somebody else's words in a sentence of ours.

use crate::hidden::{is_hidden, letters};

/// How many characters of a name are told.
const NAME_CHARS_MAX: usize = 200;

/// Somebody else's words in quotation marks, which they cannot close.
pub fn in_quotes(words: &str) -> String {
    let inner = letters(words).map(|(letter, is_hidden)| match letter {
        '"' | '\u{201c}'..='\u{201f}' | '\u{ab}' | '\u{bb}' | '\u{ff02}' => '\'',
        letter if letter.is_control() || is_hidden => ' ',
        letter => letter,
    });
    format!("\"{}\"", inner.collect::<String>())
}

/// A name that somebody else gave, such as an author's or a path: as it is where it is one word, else
/// in quotation marks.
pub fn named(name: &str) -> String {
    // The fillers of Hangul count as letters.
    let is_word = |letter: char| letter.is_alphanumeric() && !is_hidden(letter);
    let is_plain = |letter: char| is_word(letter) || "-_./:[]@+#~%=,()&$".contains(letter);
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.to_owned();
    }
    let kept: String = name.chars().take(NAME_CHARS_MAX).collect();
    let rest = if kept.len() < name.len() { "…" } else { "" };
    in_quotes(&(kept + rest))
}
