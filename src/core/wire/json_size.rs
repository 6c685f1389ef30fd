//! How long things get as compact JSON, in characters: tools' results have a limit of that kind.

use serde_json::Value;

/// How many characters a value takes.
pub fn json_chars(value: &Value) -> usize {
    value.to_string().chars().count()
}

/// How many characters a text takes inside a JSON string.
pub fn escaped_chars(text: &str) -> usize {
    text.chars().map(escaped_len).sum()
}

/// How many characters one takes inside a JSON string, as `serde_json` writes it.
pub fn escaped_len(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        control if control < ' ' => 6,
        _ => 1,
    }
}
