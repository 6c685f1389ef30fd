//! What agents are given and what the screen shows agree on which characters nobody sees: two crates
//! that do not know each other.

use ctxrelay::core::hidden::{has_hidden, is_hidden};
use ctxrelay_ui::sanitize::line;
use proptest::prelude::*;

/// DEL and C1, which the screen shows as control characters, and what it takes for the end of a line.
fn is_shown_otherwise(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}')
}

/// Whether the screen says that something hidden stands there.
fn is_shown_as_hidden(text: &str) -> bool {
    line(text).contains("<U+")
}

#[test]
fn every_character_that_the_screen_calls_hidden_is_hidden() {
    for c in ('\0'..=char::MAX).filter(|c| !is_shown_otherwise(*c)) {
        let shown = is_shown_as_hidden(&format!("字{c}字"));
        assert_eq!(shown, is_hidden(c), "U+{:04X}", u32::from(c));
    }
}

/// Bases, what joins them, and what is hidden.
fn text() -> impl Strategy<Value = String> {
    let pieces = "[a1#字é❤😀ℹ\u{94d}\u{20e3} \t\u{1b}]|[\u{200c}\u{200d}\u{fe00}\u{fe0e}\u{fe0f}]|[\u{ad}\u{200b}]";
    prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn what_joins_nothing_is_hidden_in_both(text in text()) {
        prop_assert_eq!(is_shown_as_hidden(&text), has_hidden(&text), "{:?}", text);
    }
}
