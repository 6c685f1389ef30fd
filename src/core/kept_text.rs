//! [`cut`] and [`brief`]: how much of a text a snapshot keeps.

use crate::cut_text::cut_text;

/// The most that is kept of one text, in characters: a snapshot is handed around whole, and the
/// record has the rest.
pub const TEXT_CHARS_MAX: usize = 4_000;

/// The most that is kept of the text of a question or a blocker, in characters.
pub const BRIEF_CHARS_MAX: usize = 200;

/// How many items of evidence are kept.
const ITEMS_MAX: usize = 50;

/// The beginning of a text; all of it is in the record.
pub(crate) fn cut(text: &str) -> String {
    cut_text(text, TEXT_CHARS_MAX).into_owned()
}

/// Whether what [`cut`] gave is a beginning.
pub(crate) fn is_cut(text: &str) -> bool {
    text.chars().nth(TEXT_CHARS_MAX).is_some()
}

/// The beginning of a text, as one line.
pub(crate) fn brief(text: &str) -> String {
    let one_line: Vec<&str> = text.split_whitespace().take(BRIEF_CHARS_MAX).collect();
    cut_text(&one_line.join(" "), BRIEF_CHARS_MAX).into_owned()
}

/// As [`cut`] of each, and of the first [`ITEMS_MAX`] alone.
pub(crate) fn cut_all(texts: &[String]) -> Vec<String> {
    texts.iter().take(ITEMS_MAX).map(|text| cut(text)).collect()
}
