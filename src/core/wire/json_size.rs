//! The length of values as compact JSON, in characters: the results of tools are limited in that
//! unit.

use serde_json::Value;

/// How many characters a value takes.
pub fn json_chars(value: &Value) -> usize {
    value.to_string().chars().count()
}

/// How many characters a text takes inside a JSON string.
pub fn escaped_chars(text: &str) -> usize {
    text.chars().map(escaped_len).sum()
}

/// The longest stretch of a text from its `from`th character on that takes no more than `budget`
/// characters inside a JSON string. Empty where the text ends before it.
pub fn escaped_stretch(text: &str, from: usize, mut budget: usize) -> &str {
    let begin = text.char_indices().nth(from);
    let rest = begin.map_or("", |(begin, _)| &text[begin..]);
    let end = rest.char_indices().find(|(_, character)| {
        let cost = escaped_len(*character);
        let fits = cost <= budget;
        budget = budget.saturating_sub(cost);
        !fits
    });
    &rest[..end.map_or(rest.len(), |(end, _)| end)]
}

/// How many characters one takes inside a JSON string, as `serde_json` writes it.
fn escaped_len(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        control if control < ' ' => 6,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn stretches_give_the_whole_text_and_none_is_too_long_or_shorter_than_it_can_be(
            text in "(\\PC|[\"\n\u{1}]){0,40}",
            budget in 6_usize..20,
        ) {
            let mut from = 0;
            let mut read = String::new();
            loop {
                let stretch = escaped_stretch(&text, from, budget);
                let as_json = json_chars(&Value::from(stretch)) - 2;
                prop_assert!(as_json <= budget);
                read.push_str(stretch);
                from += stretch.chars().count();
                let Some(next) = text.chars().nth(from) else {
                    break;
                };
                prop_assert!(as_json + escaped_len(next) > budget);
            }
            prop_assert_eq!(read, text);
        }
    }
}
