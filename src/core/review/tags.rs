//! The HTML in comments. Any other `<` belongs to the words: `Option<T>`.

use crate::cut_text::head;

const TAGS: [&str; 43] = [
    "a",
    "b",
    "blockquote",
    "br",
    "code",
    "dd",
    "del",
    "details",
    "div",
    "dl",
    "dt",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "img",
    "ins",
    "kbd",
    "li",
    "ol",
    "p",
    "picture",
    "pre",
    "q",
    "s",
    "small",
    "source",
    "span",
    "strong",
    "sub",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "tr",
    "ul",
];

/// The name of the tag that `text` begins with, opening or closing.
pub(super) fn known(text: &str) -> Option<&'static str> {
    let closing = text.starts_with("</");
    let rest = &text[if closing { 2 } else { 1 }..];
    let len = rest
        .bytes()
        .take(11)
        .take_while(u8::is_ascii_alphanumeric)
        .count();
    if !matches!(
        rest.as_bytes().get(len),
        Some(b'>' | b'/' | b' ' | b'\n' | b'\t' | b'\r')
    ) {
        return None;
    }
    // A closing tag never opens a block of details.
    let name = TAGS
        .into_iter()
        .find(|tag| tag.eq_ignore_ascii_case(&rest[..len]))?;
    Some(if closing && name == "details" {
        "div"
    } else {
        name
    })
}

/// Attributes that stand without a value. Any other word behind `<b` belongs to a sentence.
const BARE: [&str; 9] = [
    "checked",
    "compact",
    "disabled",
    "hidden",
    "ismap",
    "itemscope",
    "nowrap",
    "open",
    "reversed",
];

/// So long is a tag at most, in bytes: the address of a button can be a whole prompt.
pub(super) const TAG_BYTES_MAX: usize = 64 * 1024;

/// Where the tag ends that `text` begins with: the place of its `>`. None where it has not the shape
/// of one, as the `<b` of `a <b and c> d`; no tag goes on behind a blank line.
pub(super) fn end(text: &str) -> Option<usize> {
    let text = head(text, TAG_BYTES_MAX);
    let closing = text.starts_with("</");
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_:.@".contains(byte);
    let run = |at: usize, is_part: &dyn Fn(&u8) -> bool| {
        let rest = text.as_bytes().get(at..).unwrap_or_default();
        at + rest.iter().take_while(|byte| is_part(byte)).count()
    };
    let mut at = run(if closing { 2 } else { 1 }, &u8::is_ascii_alphanumeric);
    loop {
        at = run(at, &u8::is_ascii_whitespace);
        let rest = &text.as_bytes()[at..];
        match rest {
            [b'>', ..] => break,
            [b'/', b'>', ..] if !closing => {
                at += 1;
                break;
            }
            _ if closing => return None,
            _ => {}
        }
        let name_end = run(at, &is_name);
        let name = &text[at..name_end];
        let value = run(name_end, &u8::is_ascii_whitespace);
        if name.is_empty() {
            return None;
        }
        if text.as_bytes().get(value) != Some(&b'=') {
            if !BARE.iter().any(|bare| bare.eq_ignore_ascii_case(name)) {
                return None;
            }
            at = name_end;
            continue;
        }
        let value = run(value + 1, &u8::is_ascii_whitespace);
        at = match text.as_bytes().get(value)? {
            quote @ (b'"' | b'\'') => {
                let inside = value + 1;
                inside + text[inside..].find(char::from(*quote))? + 1
            }
            _ => {
                let is_bare = |byte: &u8| !byte.is_ascii_whitespace() && !b"\"'=<>`".contains(byte);
                let value_end = run(value, &is_bare);
                if value_end == value {
                    return None;
                }
                // `<br clear=all/>`: the slash is the tag's.
                match &text.as_bytes()[value_end - 1..] {
                    [b'/', b'>', ..] => value_end - 1,
                    _ => value_end,
                }
            }
        };
    }
    let mut lines = text[..at].split('\n').skip(1);
    (!lines.any(|line| line.trim().is_empty())).then_some(at)
}

/// Whether `text` begins with a tag that opens a block of details, or else with one that closes it,
/// and the place of its `>`.
pub(super) fn details(text: &str) -> Option<(bool, usize)> {
    const NAME: &[u8] = b"details";
    let opens = !text.starts_with("</");
    let from = if opens { 1 } else { 2 };
    let is_named = |name: &[u8]| name.eq_ignore_ascii_case(NAME);
    let name = text.as_bytes().get(from..from + NAME.len())?;
    let is_whole = matches!(
        text.as_bytes().get(from + NAME.len()),
        Some(b'>' | b'/' | b' ' | b'\n' | b'\t' | b'\r')
    );
    (text.starts_with('<') && is_named(name) && is_whole)
        .then(|| end(text))
        .flatten()
        .map(|end| (opens, end))
}

/// Whether what follows stands on a line of its own.
pub(super) fn ends_line(name: &str) -> bool {
    !matches!(
        name,
        "a" | "b"
            | "code"
            | "del"
            | "em"
            | "i"
            | "img"
            | "ins"
            | "kbd"
            | "picture"
            | "q"
            | "s"
            | "small"
            | "source"
            | "span"
            | "strong"
            | "sub"
            | "sup"
            | "td"
            | "th"
    )
}
