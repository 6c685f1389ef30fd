//! [`parse`]: JSON as Claude writes it.

use std::borrow::Cow;

use serde_json::Value;

use crate::core::plain_value::PlainValue;

/// What stands for half of a letter that is two escapes long.
const REPLACEMENT: &[u8] = b"\\ufffd";

/// Reads JSON. JavaScript writes half of an emoji, as a text has it that was cut there, as an escape
/// that no other reader takes: it becomes a replacement character, and the rest of the text counts.
pub(super) fn parse(bytes: &[u8]) -> serde_json::Result<Value> {
    let read = serde_json::from_slice(bytes).or_else(|error| match without_halves(bytes) {
        Cow::Owned(mended) => serde_json::from_slice(&mended),
        Cow::Borrowed(_) => Err(error),
    });
    read.map(|PlainValue(value)| value)
}

/// The same with each escaped surrogate replaced that is no pair with the next.
fn without_halves(bytes: &[u8]) -> Cow<'_, [u8]> {
    let mut mended = Vec::new();
    let (mut at, mut copied) = (0, 0);
    while at < bytes.len() {
        at += match (
            bytes[at],
            escaped(&bytes[at..]),
            escaped(bytes.get(at + 6..).unwrap_or_default()),
        ) {
            (_, Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
            (_, Some(0xd800..0xe000), _) => {
                mended.extend_from_slice(&bytes[copied..at]);
                mended.extend_from_slice(REPLACEMENT);
                copied = at + 6;
                6
            }
            // Whatever follows the backslash is no beginning of another escape.
            (b'\\', ..) => 2,
            _ => 1,
        };
    }
    if copied == 0 {
        return Cow::Borrowed(bytes);
    }
    mended.extend_from_slice(&bytes[copied..]);
    Cow::Owned(mended)
}

/// The unit of an escape like `\ud83d` that stands here.
fn escaped(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    let digits = digits.iter().try_fold(0, |unit, digit| {
        Some(unit * 16 + char::from(*digit).to_digit(16)?)
    });
    u16::try_from(digits?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn half_of_a_pair_is_replaced_and_nothing_else_is() {
        for (text, said) in [
            (r#""cut \ud83d""#, "cut \u{fffd}"),
            (r#""\ude00 cut""#, "\u{fffd} cut"),
            (r#""\ud83d\ud83d\ude00\uD83D""#, "\u{fffd}😀\u{fffd}"),
            (r#""\ud83d\n\\""#, "\u{fffd}\n\\"),
            // A backslash that is escaped begins no escape.
            (r#""\\ud83d \ud83d""#, "\\ud83d \u{fffd}"),
            (r#""\\\ud83d""#, "\\\u{fffd}"),
            (r#""\u00e9\ud83d\u00e9""#, "é\u{fffd}é"),
        ] {
            assert_eq!(parse(text.as_bytes()).unwrap(), json!(said), "{text}");
        }
    }

    #[test]
    fn what_is_no_json_is_none_after_it_either() {
        for text in [
            r#""\ud83d"#,
            r#""\ud83"#,
            r"\ud83d",
            "\"\\",
            "",
            r#"{"a":"\ud83d",}"#,
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
