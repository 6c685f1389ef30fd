//! [`Fence`]: a fenced block of code; [`prose`]: the text outside of all of them.

use std::borrow::Cow;

/// A fenced block: its code, and where the text goes on.
pub(super) struct Fence<'a> {
    pub(super) label: &'a str,
    /// Without what each of its lines has before it in a list.
    pub(super) code: Cow<'a, str>,
    pub(super) end: usize,
    /// It stands in a quotation: its words are somebody else's.
    pub(super) is_quoted: bool,
}

/// The fenced block that begins with the line at `at`. One that is never closed goes to the end, and
/// one in a list or a quotation to the end of that.
pub(super) fn fence(text: &str, at: usize) -> Option<Fence<'_>> {
    let rest = &text[at..];
    let indent = before_words(rest);
    let opening = &rest[indent..];
    let mark = *opening.as_bytes().first()?;
    if !matches!(mark, b'`' | b'~') {
        return None;
    }
    let marks = opening.bytes().take_while(|byte| *byte == mark).count();
    if marks < 3 {
        return None;
    }
    let line_end = opening.find('\n').unwrap_or(opening.len());
    let label = opening[marks..line_end].trim();
    if mark == b'`' && label.contains('`') {
        return None;
    }
    let around = Around::of(&rest[..indent]);
    let code_at = (at + indent + line_end + 1).min(text.len());
    let mut inside = String::new();
    let (mut line_at, mut end) = (code_at, None);
    while line_at < text.len() {
        let line = text[line_at..].split('\n').next().unwrap_or_default();
        let next = (line_at + line.len() + 1).min(text.len());
        let Some(words) = around.words_in(line) else {
            end = Some(line_at);
            break;
        };
        let closing = words.trim();
        if closing.len() >= marks && closing.bytes().all(|byte| byte == mark) {
            end = Some(next);
            break;
        }
        if !around.is_nothing() {
            inside.push_str(words);
            inside.push('\n');
        }
        line_at = next;
    }
    Some(Fence {
        label,
        code: match around.is_nothing() {
            true => Cow::Borrowed(&text[code_at..line_at]),
            false => Cow::Owned(inside),
        },
        end: end.unwrap_or(text.len()),
        is_quoted: around.all.contains('>'),
    })
}

/// How long the signs of quotations and lists are that `text` begins with, with blanks around them.
fn before_words(text: &str) -> usize {
    let mut at = 0;
    loop {
        let rest = text[at..].trim_start_matches([' ', '\t']);
        at = text.len() - rest.len();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        at += match rest.as_bytes() {
            [b'>', ..] => 1,
            [b'-' | b'*' | b'+', b' ', ..] => 2,
            bytes => match bytes.get(digits..) {
                Some([b'.' | b')', b' ', ..]) if (1..10).contains(&digits) => digits + 2,
                _ => return at,
            },
        };
    }
}

/// What lines go on with in the place of a line that begins so: a list's sign is blanks there.
struct Around {
    all: String,
    /// How much of it stands before the blanks at its end, in bytes.
    signs: usize,
}

impl Around {
    /// What is indented by at most three blanks stands in nothing.
    fn of(before: &str) -> Self {
        let is_in_nothing = before.len() <= 3 && before.bytes().all(|byte| byte == b' ');
        let letters = before.chars().filter(|_| !is_in_nothing);
        let letters = letters.map(|letter| match letter {
            '>' | '\t' => letter,
            _ => ' ',
        });
        let all: String = letters.collect();
        let signs = all.trim_end().len();
        Self { all, signs }
    }

    fn is_nothing(&self) -> bool {
        self.all.is_empty()
    }

    /// A line without what stands around it; none of a line that stands elsewhere. Linear in the line,
    /// however much stands around it.
    fn words_in<'a>(&self, line: &'a str) -> Option<&'a str> {
        let (signs, blanks) = self.all.split_at(self.signs);
        let is_near = !signs.is_empty() && blanks.len() < 2;
        let bare = || {
            let rest = line.strip_prefix(signs)?;
            (is_near || rest.trim().is_empty()).then_some(rest)
        };
        line.strip_prefix(&self.all).or_else(bare)
    }
}

/// The lines outside of fenced blocks.
pub(super) fn prose(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut at = 0;
    while at < text.len() {
        if let Some(fence) = fence(text, at) {
            at = fence.end;
            continue;
        }
        let line = text[at..].split('\n').next().unwrap_or_default();
        at += line.len() + 1;
        lines.push(line);
    }
    lines
}
