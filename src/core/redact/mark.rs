//! Marks, and [`Masked`], a text with some of its pieces replaced by them.

/// How every mark begins.
const OPEN: &str = "[REDACTED_";

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
