//! [`cut_between_words`]: the beginning of a text from which secrets will be removed later.

/// At most so many characters of it. A word that goes on behind them is left out: the beginning of a
/// secret looks like none. Of one word alone its beginning is all that can be told.
pub fn cut_between_words(text: &str, chars_max: usize) -> &str {
    let Some((end, next)) = text.char_indices().nth(chars_max) else {
        return text;
    };
    let beginning = &text[..end];
    if next.is_whitespace() {
        return beginning;
    }
    match beginning.trim_end_matches(|letter: char| !letter.is_whitespace()) {
        "" => beginning,
        whole => whole.trim_end(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_there_whole_or_not_at_all() {
        let text = "curl -H ghp_a1B2a1B2 x";
        assert_eq!(cut_between_words(text, 12), "curl -H");
        assert_eq!(cut_between_words(text, 20), "curl -H ghp_a1B2a1B2");
        assert_eq!(cut_between_words(text, 21), "curl -H ghp_a1B2a1B2");
        assert_eq!(cut_between_words(text, 22), text);
        assert_eq!(cut_between_words("\u{fc}\u{fc}\u{fc}", 2), "\u{fc}\u{fc}");
        assert_eq!(cut_between_words("", 0), "");
    }
}
