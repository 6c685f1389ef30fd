//! [`is_hidden`]: characters that a reader does not see and a program obeys.

/// DEL, C1, separators, bidirectional controls, zero-width and tag characters.
pub fn is_hidden(c: char) -> bool {
    matches!(
        c,
        '\u{7f}'..='\u{9f}'
            | '\u{61c}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}'
    )
}
