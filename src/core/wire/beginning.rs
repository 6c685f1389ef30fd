//! [`beginning`]: the first characters of a file that is not what was expected, for an error
//! message.

use crate::cut_text::excerpt;

/// How much of it is told, in characters.
const CHARS_MAX: usize = 40;

/// The first characters of a text as a fragment, each on one line and none of them hidden.
pub(super) fn beginning(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() {
        return "it is empty".to_owned();
    }
    let told = excerpt(text, CHARS_MAX).replace('`', "'");
    format!("it begins with `{told}`")
}

#[cfg(test)]
mod tests {
    use super::beginning;

    #[test]
    fn a_beginning_is_one_short_line() {
        assert_eq!(beginning(" \n"), "it is empty");
        assert_eq!(
            beginning("# Notes\n\u{1b}[2J`x`"),
            "it begins with `# Notes  [2J'x'`"
        );
        assert_eq!(beginning(&"é".repeat(90)).chars().count(), 40 + 18);
    }
}
