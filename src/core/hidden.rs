//! [`is_hidden`]: characters that a reader does not see and a program obeys; [`letters`]: which
//! characters of a text are hidden, including those that join others.
//!
//! The screen shows the same ones (`sanitize` of `ctxrelay-ui`, which knows nothing of this crate);
//! a test of the program compares the two.

/// DEL, C1, and what is invisible or moves other text wherever it stands: soft hyphen, grapheme joiner,
/// fillers, zero widths, bidirectional controls, selectors, invisible operators, separators, notes, tags
/// and noncharacters.
pub fn is_hidden(c: char) -> bool {
    matches!(
        c,
        '\u{7f}'..='\u{9f}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fdd0}'..='\u{fdef}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    ) || u32::from(c) & 0xfffe == 0xfffe
}

/// Joiners and variation selectors: part of an emoji or of a word, and hidden where they join nothing.
pub fn is_joining(c: char) -> bool {
    is_joiner(c) || matches!(c, '\u{fe00}'..='\u{fe0f}')
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// The characters of a text, each with whether it is hidden: anywhere, or because it joins nothing.
pub fn letters(text: &str) -> impl Iterator<Item = (char, bool)> + '_ {
    let mut chars = text.chars().peekable();
    // What is seen before a joining character, and what joins it already.
    let (mut base, mut behind) = (None, None);
    std::iter::from_fn(move || {
        let letter = chars.next()?;
        if is_joining(letter) {
            let next = chars.peek().copied();
            let joins = base.is_some_and(|base| joins(base, behind, letter, next));
            base = base.filter(|_| joins);
            behind = Some(letter);
            return Some((letter, !joins));
        }
        let is_hidden = is_hidden(letter);
        base = Some(letter).filter(|letter| !is_hidden && !letter.is_control());
        behind = None;
        Some((letter, is_hidden))
    })
}

/// Whether a text has hidden characters.
pub fn has_hidden(text: &str) -> bool {
    letters(text).any(|(_, is_hidden)| is_hidden)
}

/// A selector behind a character that is not ASCII, or as in a keycap; a joiner behind such a character
/// or its selector. One alone: in a run they can carry a text. The beginning of a text in which all of
/// them join is another.
fn joins(base: char, behind: Option<char>, joining: char, next: Option<char>) -> bool {
    let is_before_joining = next.is_some_and(is_joining);
    if next.is_some_and(is_hidden) {
        return false;
    }
    if is_joiner(joining) {
        // As in a Persian ending behind a Latin word.
        let is_ending = joining == '\u{200c}'
            && base.is_ascii_alphanumeric()
            && next.is_some_and(|next| !next.is_ascii() && next.is_alphabetic());
        let joins = !base.is_ascii() || is_ending;
        return joins && !behind.is_some_and(is_joiner) && !is_before_joining;
    }
    let is_joined = next.is_some_and(is_joiner) && !base.is_alphanumeric();
    let is_key = base.is_ascii_digit() || matches!(base, '#' | '*');
    behind.is_none()
        && match base.is_ascii() {
            true => is_key && matches!(joining, '\u{fe0e}' | '\u{fe0f}') && !is_before_joining,
            false => is_joined || !is_before_joining,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_joins_an_emoji_or_a_word_is_not_hidden() {
        for whole in [
            "👩\u{200d}💻",
            "👩🏽\u{200d}💻",
            "👨\u{200d}👩\u{200d}👧\u{200d}👦",
            "❤\u{fe0f}\u{200d}🔥",
            "🏳\u{fe0f}\u{200d}🌈",
            "❤\u{fe0f} ok ℹ\u{fe0f}",
            "1\u{fe0f}\u{20e3}",
            "می\u{200c}خواهم",
            "\u{915}\u{94d}\u{200d}\u{937}",
            "葛\u{fe00}城",
        ] {
            assert!(!has_hidden(whole), "{whole:?}");
        }
    }

    #[test]
    fn what_joins_nothing_is_hidden() {
        for (text, hidden) in [
            ("a\u{200d}b", 1),
            ("a\u{fe01}\u{fe02}\u{fe03}b", 3),
            ("😀\u{fe01}\u{fe02}", 2),
            ("😀\u{200d}\u{200c}😀", 2),
            ("\u{200d}😀", 1),
            ("😀\n\u{200d}😀", 1),
            ("a\u{fe0f}2", 1),
            ("1\u{fe01}2", 1),
            ("1\u{fe0f}\u{200d}2", 2),
            ("字\u{fe00}\u{200d}字", 2),
            ("😀\u{e0101}", 1),
            ("😀\u{200d}\u{200b}", 2),
        ] {
            let count = letters(text).filter(|(_, is_hidden)| *is_hidden).count();
            assert_eq!(count, hidden, "{text:?}");
        }
    }
}
