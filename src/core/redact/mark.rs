//! Marks, and [`Masked`], a text with some of its pieces replaced by them.

use std::ops::Range;

/// How every mark begins.
const OPEN: &str = "[REDACTED_";

/// The longest name of a mark, in characters.
const NAME_MAX: usize = 40;

/// Whether a text is one mark and nothing else.
pub(super) fn is_mark(text: &str) -> bool {
    text.strip_prefix(OPEN)
        .and_then(|rest| rest.strip_suffix(']'))
        .is_some_and(|name| {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
        })
}

/// The mark of a rule.
pub(super) fn mark(name: &str) -> String {
    format!("{OPEN}{name}]")
}

/// The name that a mark of the project's own may have: letters, digits, `_` and `-`; as it stands
/// in the mark.
pub(super) fn mark_name(name: &str) -> Option<String> {
    let is_named = (1..=NAME_MAX).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    is_named.then(|| name.to_ascii_uppercase().replace('-', "_"))
}

/// Where the marks of a text are, in order, whether or not we set them.
pub fn marks_of(text: &str) -> Vec<Range<usize>> {
    text.match_indices(OPEN)
        .filter_map(|(start, _)| {
            let name = text.as_bytes()[start + OPEN.len()..]
                .iter()
                .take_while(|byte| {
                    byte.is_ascii_uppercase() || byte.is_ascii_digit() || **byte == b'_'
                })
                .count();
            let end = start + OPEN.len() + name + 1;
            let is_mark = text.get(start..end).is_some_and(is_mark);
            is_mark.then_some(start..end)
        })
        .collect()
}

/// The names in the marks of a text, in order, whether or not we set them: `GITHUB_TOKEN`.
pub fn mark_names(text: &str) -> impl Iterator<Item = &str> {
    let name = |mark: Range<usize>| &text[mark.start + OPEN.len()..mark.end - 1];
    marks_of(text).into_iter().map(name)
}

/// A text in the making: what was kept and what was replaced, from left to right.
#[derive(Debug)]
pub(super) struct Masked<'a> {
    text: &'a str,
    out: String,
    taken: usize,
    marks: u32,
}

impl<'a> Masked<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            out: String::new(),
            taken: 0,
            marks: 0,
        }
    }

    /// Replaces a piece. Pieces come in order and do not overlap.
    pub(super) fn replace(&mut self, start: usize, end: usize, name: &str) {
        self.out.push_str(&self.text[self.taken..start]);
        self.out.push_str(OPEN);
        self.out.push_str(name);
        self.out.push(']');
        self.taken = end;
        self.marks += 1;
    }

    /// The text and the number of marks; `None` when nothing was replaced.
    pub(super) fn finish(mut self) -> Option<(String, u32)> {
        if self.marks == 0 {
            return None;
        }
        self.out.push_str(&self.text[self.taken..]);
        Some((self.out, self.marks))
    }
}
