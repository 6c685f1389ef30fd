//! [`excerpt`]: the beginning of a text, for overviews that name where the whole is read.

use crate::core::hidden::letters;

/// The first `max` characters on one line, with a mark when there is more.
pub(super) fn excerpt(text: &str, max: usize) -> String {
    let mut line = String::new();
    for (count, (character, is_hidden)) in letters(text).enumerate() {
        if count == max {
            line.push('…');
            break;
        }
        line.push(if character.is_control() || is_hidden {
            ' '
        } else {
            character
        });
    }
    line
}
