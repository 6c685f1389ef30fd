//! [`Below`]: values that begin on the line below their name, as in YAML.

use super::found::{FoundValue, Joint, value_at};

/// What a diff, a quotation or a comment has before each of its lines.
const SIGNS: [char; 4] = ['+', '-', '>', '#'];

/// The lines below a name that are indented further than it, as long as each is a value and
/// nothing else: no `name: value`, no item of a list, no sentence.
#[derive(Debug)]
pub(super) struct Below<'a> {
    text: &'a str,
    /// Behind what was read so far.
    at: usize,
    /// How far the name is indented.
    column: usize,
    sign: Option<char>,
}

impl<'a> Below<'a> {
    /// The lines below a name that is the first thing on its line, and the last but for a colon,
    /// which ends at `at`, and `|`, `>-` or their kin.
    pub(super) fn of(text: &'a str, name: usize, at: usize) -> Option<Self> {
        let rest = &text[at..];
        let rest = rest.strip_prefix(['|', '>']).map_or(rest, |rest| {
            rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || "+-".contains(letter))
        });
        end_of_line(rest)?;
        let above = text[..name]
            .trim_end_matches(|letter: char| " \t\"'".contains(letter) || SIGNS.contains(&letter));
        if !(above.is_empty() || above.ends_with('\n') || above.ends_with("\\n")) {
            return None;
        }
        let before = &text[above.len()..name];
        Some(Self {
            text,
            at: text.len() - rest.len(),
            column: before.trim_end_matches(['"', '\'']).len(),
            sign: before.chars().next().filter(|sign| SIGNS.contains(sign)),
        })
    }
}

impl<'a> Iterator for Below<'a> {
    type Item = FoundValue<'a>;

    fn next(&mut self) -> Option<FoundValue<'a>> {
        let start = self.at + end_of_line(&self.text[self.at..])?;
        let line = &self.text[start..];
        let signed = self.sign.and_then(|sign| line.strip_prefix(sign));
        let value = signed.unwrap_or(line).trim_start_matches([' ', '\t']);
        let indent = line.len() - value.len();
        if indent <= self.column {
            return None;
        }
        let value = value_at(self.text, start + indent, Joint::Loose, false)?;
        self.at = value.start + value.text.len();
        let is_alone = if value.quoted {
            let quote = self.text[self.at..].trim_start_matches('\\');
            let behind = quote.strip_prefix(['"', '\'', '`'])?;
            self.at = self.text.len() - behind.len();
            let behind = behind.trim_start_matches([' ', '\t', ',']);
            behind.is_empty() || behind.starts_with('#') || end_of_line(behind).is_some()
        } else {
            value.ends_line
        };
        (is_alone && !value.text.contains('\n')).then_some(value)
    }
}

/// How long the end of a line is; escaped, too. `None` where more of the line follows.
fn end_of_line(text: &str) -> Option<usize> {
    let rest = text.trim_start_matches([' ', '\t', '\r']);
    let next = match rest.trim_start_matches('\\') {
        escaped if escaped.len() < rest.len() => escaped.strip_prefix('n'),
        _ => rest.strip_prefix('\n'),
    };
    next.map(|next| text.len() - next.len())
}
