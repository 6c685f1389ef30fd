//! [`told_path`]: a file's name in a text for people and agents; [`told_lines`]: lines of the file.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::hidden::letters;

/// The path as it is, where a reader sees all of it. One with a tab, a line break or another character
/// that shows as nothing or as space stands in quotation marks with these escaped, as git writes it:
/// otherwise two files could read the same, or one like two.
pub fn told_path(path: &str) -> Cow<'_, str> {
    let is_unseen = |(c, is_hidden): (char, bool)| c.is_control() || is_hidden;
    if !letters(path).any(is_unseen) {
        return Cow::Borrowed(path);
    }
    let mut told = String::with_capacity(path.len() + 8);
    told.push('"');
    for (c, is_hidden) in letters(path) {
        match c {
            '\t' => told.push_str("\\t"),
            '\n' => told.push_str("\\n"),
            '\r' => told.push_str("\\r"),
            '\\' | '"' => {
                told.push('\\');
                told.push(c);
            }
            c if is_unseen((c, is_hidden)) => {
                let _ = write!(told, "{}", c.escape_unicode());
            }
            c => told.push(c),
        }
    }
    told.push('"');
    Cow::Owned(told)
}

/// `src/a.rs:12`, of several lines `src/a.rs:12-15`.
pub fn told_lines(path: &str, start: Option<u64>, line: Option<u64>) -> String {
    match (start, line) {
        (Some(start), Some(line)) if start < line => format!("{path}:{start}-{line}"),
        (_, Some(line)) => format!("{path}:{line}"),
        (_, None) => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::told_path;

    #[test]
    fn what_a_reader_does_not_see_in_a_name_is_marked() {
        for plain in ["", "src/a b.rs", "é/漢.rs", "a\\b\"c"] {
            assert_eq!(told_path(plain), plain);
        }
        assert_eq!(told_path("a\tb\nc\r"), r#""a\tb\nc\r""#);
        assert_eq!(
            told_path("a\\t\t\"\u{1b}\u{202e}"),
            r#""a\\t\t\"\u{1b}\u{202e}""#
        );
        assert_eq!(told_path("a\u{200d}b\u{ad}"), r#""a\u{200d}b\u{ad}""#);
        assert_eq!(told_path("👩\u{200d}💻.rs"), "👩\u{200d}💻.rs");
    }
}
