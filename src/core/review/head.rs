//! [`head`]: the start of a text that is read.

use crate::hidden::is_joining;

/// The longest start of `text` that is no longer than `max` bytes and joins nothing that was cut off.
pub(super) fn head(text: &str, max: usize) -> &str {
    let head = &text[..text.floor_char_boundary(max)];
    if head.len() == text.len() {
        return head;
    }
    head.trim_end_matches(is_joining)
}
