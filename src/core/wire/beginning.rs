//! [`beginning`]: what somebody sees first of a file that is not what was expected.

use crate::hidden::letters;

/// How much of it is told, in characters.
const CHARS_MAX: usize = 40;

/// The first characters of a text as a fragment, each on one line and none of them hidden.
pub(super) fn beginning(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() {
        return "it is empty".to_owned();
    }
    let plain = |(c, is_hidden): (char, bool)| match c {
        c if c.is_control() || is_hidden => ' ',
        '`' => '\'',
        c => c,
    };
    let told: String = letters(text).take(CHARS_MAX).map(plain).collect();
    let more = match text.chars().nth(CHARS_MAX) {
        Some(_) => "…",
        None => "",
    };
    format!("it begins with `{told}{more}`")
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
