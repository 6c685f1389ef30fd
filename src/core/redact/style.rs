//! The colours of a terminal around a name and its value, as loggers print them.

use std::sync::LazyLock;

use regex::Regex;

/// One colour or weight; in JSON and in code too, and where its control character was replaced or
/// taken out.
pub(super) const STYLE: &str = r"(?:\x1b|\x{fffd}|\\+(?:u001[bB]|x1[bB]|e|033))?\[[0-9;:]{0,16}m";

/// A text without the colours at its end.
pub(super) fn trim_style(text: &str) -> &str {
    static END: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(&format!(r"(?:{STYLE})+\z")).ok());
    match END.as_ref() {
        Some(end) if text.ends_with('m') => end.find(text).map_or(text, |end| &text[..end.start()]),
        _ => text,
    }
}

/// A text without the colours at its beginning.
pub(super) fn skip_style(text: &str) -> &str {
    static BEGINNING: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(&format!(r"\A(?:{STYLE})+")).ok());
    match BEGINNING.as_ref() {
        Some(begin) if text.starts_with(['\x1b', '\u{fffd}', '\\', '[']) => {
            begin.find(text).map_or(text, |begin| &text[begin.end()..])
        }
        _ => text,
    }
}
