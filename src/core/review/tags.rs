//! The HTML that comments are made of. Any other `<` belongs to the words: `Option<T>`.

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
