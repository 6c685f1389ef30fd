//! Links, pictures and the buttons that bots put under a comment.

/// A link or picture of Markdown.
pub(super) struct MarkdownLink<'a> {
    pub(super) is_picture: bool,
    /// The label, or what is said instead of the picture.
    pub(super) label: &'a str,
    pub(super) address: &'a str,
    /// All of it, in bytes.
    pub(super) len: usize,
}

/// So many brackets of one sort may be open, which keeps the search for the last one linear.
const OPEN_MAX: usize = 3;

/// The link or picture that `text` begins with.
pub(super) fn markdown(text: &str) -> Option<MarkdownLink<'_>> {
    let is_picture = text.starts_with("![");
    let label_at = usize::from(is_picture);
    let label_len = within(&text[label_at..], b'[', b']')?;
    let after = &text[label_at + label_len..];
    let target_len = within(after, b'(', b')')?;
    let target = after[1..target_len - 1].trim();
    let address_len = match target.strip_prefix('<').and_then(|inside| inside.find('>')) {
        Some(closing) => closing + 2,
        None => target.find(char::is_whitespace).unwrap_or(target.len()),
    };
    let (address, title) = target.split_at(address_len);
    // Other words behind an address are the arguments of a call: `of[i](a, b)`.
    (is_picture || is_title(title.trim())).then(|| MarkdownLink {
        is_picture,
        label: &text[label_at + 1..label_at + label_len - 1],
        address,
        len: label_len + target_len + label_at,
    })
}

/// Whether this can stand behind an address: nothing, or words in quotation marks.
fn is_title(text: &str) -> bool {
    let marks = [('"', '"'), ('\'', '\''), ('(', ')')];
    let is_in = |(open, close): (char, char)| {
        text.len() > 1 && text.starts_with(open) && text.ends_with(close)
    };
    text.is_empty() || marks.into_iter().any(is_in)
}

/// The length of a bracket and what is inside, up to the end of its line.
fn within(text: &str, open: u8, close: u8) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        if byte == open {
            depth += 1;
        } else if byte == close {
            depth = depth.checked_sub(1)?;
        } else if byte == b'\n' {
            return None;
        }
        if depth == 0 {
            return (at > 0).then_some(at + 1);
        }
        if depth > OPEN_MAX {
            return None;
        }
    }
    None
}

/// The address that `text` begins with, up to a space or what closes a phrase around it.
pub(super) fn bare(text: &str) -> Option<&str> {
    if !text.starts_with("https://") && !text.starts_with("http://") {
        return None;
    }
    let end = text.find(|letter: char| letter.is_whitespace() || "<>()[]\"`".contains(letter));
    Some(&text[..end.unwrap_or(text.len())])
}

/// An address without a query that is written in `%20` and the like: a prompt, not an address.
pub(super) fn without_query(address: &str) -> &str {
    match address.split_once('?') {
        Some((start, query)) if query.contains('%') => start,
        _ => address,
    }
}

const VERBS: [&str; 5] = [
    "fix all in ",
    "fix in ",
    "fix with ",
    "open in ",
    "view in ",
];
const TOOLS: [&str; 12] = [
    "claude code",
    "claude",
    "codex",
    "conductor",
    "copilot",
    "cursor",
    "devin",
    "greptile",
    "vs code",
    "vscode",
    "web",
    "windsurf",
];

/// Whether a line or a label is nothing but buttons: `Fix in Cursor • Fix in Web`.
pub(super) fn is_button(text: &str) -> bool {
    if text.len() > 200 {
        return false;
    }
    let lower = text.to_ascii_lowercase();
    if lower.trim_start().starts_with("useful? react with ") {
        return true;
    }
    let mut rest = bare_words(&lower);
    let mut buttons = 0;
    while !rest.is_empty() {
        let Some(after) = VERBS.iter().find_map(|verb| rest.strip_prefix(verb)) else {
            return false;
        };
        let Some(next) = TOOLS.iter().find_map(|tool| after.strip_prefix(tool)) else {
            return false;
        };
        if next.starts_with(|letter: char| letter.is_alphanumeric()) {
            return false;
        }
        buttons += 1;
        rest = bare_words(next);
    }
    buttons > 0
}

fn bare_words(text: &str) -> &str {
    text.trim_matches(|letter: char| !letter.is_alphanumeric())
}
