//! [`cut_text`], [`cut_apart`] and [`excerpt`]: the beginning of a text that is shown; [`head`]:
//! the beginning of one that is read; [`one_line`]: a text on one line.

use std::borrow::Cow;

use crate::hidden::{is_joining, letters};

/// At most so many characters of it, and a mark where there were more. Of a text that is not masked
/// yet [`cut_between_words`](crate::between_words::cut_between_words) takes the beginning.
pub fn cut_text(text: &str, chars_max: usize) -> Cow<'_, str> {
    // Bytes bound characters from above, so most texts need no counting.
    if text.len() <= chars_max {
        return Cow::Borrowed(text);
    }
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// As [`cut_text`], with the mark apart: the operator decides upon this text, and the mark is no part
/// of its last word.
pub fn cut_apart(mut text: String, chars_max: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(chars_max) {
        text.truncate(end);
        text.push_str(" …");
    }
    text
}

/// The first characters on one line, with a mark when there is more, and without what a terminal obeys
/// or nobody sees.
pub fn excerpt(text: &str, chars_max: usize) -> String {
    let seen = |(c, is_hidden): (char, bool)| match c.is_control() || is_hidden {
        true => ' ',
        false => c,
    };
    let mut chars = letters(text).map(seen);
    let mut line: String = chars.by_ref().take(chars_max).collect();
    if chars.next().is_some() {
        line.push('…');
    }
    line
}

/// The longest start of `text` that is no longer than `max` bytes and joins nothing that was cut off.
pub(crate) fn head(text: &str, max: usize) -> &str {
    let head = &text[..text.floor_char_boundary(max)];
    if head.len() == text.len() {
        return head;
    }
    head.trim_end_matches(is_joining)
}

/// Its words, with a space between any two.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_says_so_and_what_fits_is_as_it_was() {
        for whole in ["", "abc", "\u{fc}\u{fc}\u{fc}"] {
            assert_eq!(cut_text(whole, 3), whole);
        }
        assert_eq!(cut_text("\u{fc}\u{fc}\u{fc}x", 3), "\u{fc}\u{fc}\u{fc}…");
        assert_eq!(cut_text("x", 0), "…");
        assert_eq!(one_line(" a\n\tb\r\n "), "a b");
    }
}
