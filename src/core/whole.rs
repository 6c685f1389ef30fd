//! [`Whole`]: what an entry says of a text that is too long for its line, and [`cut`]: cuts it.
//!
//! Lengths are in UTF-16 units, because readers of the v1 shape count so (ContextRelay 3.13,
//! observed). Knows nothing of where the whole text is kept.

use serde::{Deserialize, Serialize};

/// The longest content that stands in a line as it is, in UTF-16 units (ContextRelay 3.13,
/// observed).
pub const LINE_UNITS_MAX: usize = 20_000;

/// How far before the end of what is kept a redaction mark may begin that the cut would split, in
/// bytes. Longer than any mark.
const MARK_BYTES_MAX: usize = 64;

/// What the mark of a shortened text takes at most, in UTF-16 units: the shortened text fits on a
/// line by itself and is never cut again.
const SHORTENED_UNITS_MAX: usize = 128;

/// Where the whole text of an entry is, whose content on the line is cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whole {
    /// The SHA-256 of the whole redacted text as UTF-8, in lower-case hex; also its name.
    pub sha256: String,
    /// Its length in UTF-16 units.
    pub units: u64,
}

/// The content of a line, when the text is too long for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutText {
    /// The beginning and the mark that says so.
    pub content: String,
    /// The length of the whole text in UTF-16 units.
    pub units: u64,
}

/// Cuts a text that is longer than [`LINE_UNITS_MAX`]; `None` when it fits as it is.
///
/// Never inside a character or a redaction mark: half a mark, redacted again, would give another
/// text.
pub fn cut(text: &str) -> Option<CutText> {
    let (kept, left, units) = split(text, LINE_UNITS_MAX)?;
    Some(CutText {
        content: format!("{kept}\n[TRUNCATED {left} chars]"),
        units,
    })
}

/// A text that is longer than [`LINE_UNITS_MAX`], made to fit with a mark that says so, where the
/// whole is kept nowhere; `None` when it fits as it is.
pub fn shorten(text: &str) -> Option<String> {
    split(text, LINE_UNITS_MAX)?;
    let (kept, left, _) = split(text, LINE_UNITS_MAX - SHORTENED_UNITS_MAX)?;
    Some(format!(
        "{kept}\n[TRUNCATED {left} chars, which are not kept: there was no room for long texts]"
    ))
}

/// The beginning of a text that is longer than `max`, the units left out, and those of the whole.
fn split(text: &str, max: usize) -> Option<(&str, usize, u64)> {
    // A byte is never more than one unit, so most texts need no counting.
    if text.len() <= max {
        return None;
    }
    let mut units = 0;
    let mut end = None;
    for (at, character) in text.char_indices() {
        units += character.len_utf16();
        if units > max && end.is_none() {
            end = Some(at);
        }
    }
    let kept = &text[..before_mark(text, end?)];
    let left = units - kept.encode_utf16().count();
    Some((kept, left, units as u64))
}

/// The cut itself, or where the redaction mark begins that it would split.
fn before_mark(text: &str, end: usize) -> usize {
    let from = text.floor_char_boundary(end.saturating_sub(MARK_BYTES_MAX));
    match text[from..end].rfind('[') {
        Some(at)
            if text[from + at..].starts_with("[REDACTED_")
                && !text[from + at..end].contains(']') =>
        {
            from + at
        }
        _ => end,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_fits_is_left_alone_and_one_unit_more_is_cut() {
        assert_eq!(cut(&"x".repeat(LINE_UNITS_MAX)), None);
        // Three bytes and one unit each.
        assert_eq!(cut(&"…".repeat(LINE_UNITS_MAX)), None);
        let cut = cut(&"x".repeat(LINE_UNITS_MAX + 1)).unwrap();
        assert_eq!(
            cut.content,
            format!("{}\n[TRUNCATED 1 chars]", "x".repeat(LINE_UNITS_MAX))
        );
        assert_eq!(cut.units, 20_001);
    }

    #[test]
    fn a_character_of_two_units_is_not_split() {
        let text = format!("{}😀tail", "x".repeat(LINE_UNITS_MAX - 1));
        let cut = cut(&text).unwrap();
        assert!(cut.content.ends_with("x\n[TRUNCATED 6 chars]"));
        assert_eq!(cut.units, LINE_UNITS_MAX as u64 + 5);
    }

    #[test]
    fn a_redaction_mark_is_not_split() {
        for before in LINE_UNITS_MAX - 23..LINE_UNITS_MAX {
            let text = format!("{}[REDACTED_GITHUB_TOKEN] and more", "é".repeat(before));
            let content = cut(&text).unwrap().content;
            let kept = content.split("\n[TRUNCATED").next().unwrap();
            assert!(
                kept.ends_with('é') || kept.ends_with("TOKEN]"),
                "{before}: {}",
                &content[content.len() - 60..]
            );
        }
    }

    proptest! {
        #[test]
        fn what_is_kept_is_a_beginning_and_the_numbers_are_right(
            text in prop::collection::vec(any::<char>(), LINE_UNITS_MAX - 20..LINE_UNITS_MAX + 20)
        ) {
            let text: String = text.into_iter().collect();
            let units = text.encode_utf16().count();
            match cut(&text) {
                None => prop_assert!(units <= LINE_UNITS_MAX),
                Some(cut) => {
                    let (kept, mark) = cut.content.rsplit_once("\n[TRUNCATED ").unwrap();
                    let left: usize = mark.strip_suffix(" chars]").unwrap().parse().unwrap();
                    prop_assert!(text.starts_with(kept));
                    prop_assert!(kept.encode_utf16().count() <= LINE_UNITS_MAX);
                    prop_assert_eq!(kept.encode_utf16().count() + left, units);
                    prop_assert_eq!(cut.units, units as u64);
                }
            }
        }
    }
}
