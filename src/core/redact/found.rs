//! [`FoundValue`]: the value after a name, read as far as it goes; [`Joint`]: how they are joined.

use super::style::{skip_style, trim_style};

/// A value that is longer is a secret without being looked at: reading every value to its end
/// would make hostile texts quadratic.
pub(super) const LOOK_MAX: usize = 512;

#[cfg(test)]
thread_local! {
    /// How much was read of values that are longer, in bytes.
    pub(super) static READ_ON: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// How a name is joined to its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joint {
    /// `name=value`, without spaces: shells, URLs, connection strings.
    Tight,
    /// `name: value`, `name = value`: configuration, code, and prose.
    Loose,
    /// `("name", "value")`.
    Comma,
    /// `--name value`.
    Flag,
    /// `<name>value</name>`.
    Element,
    /// `.name("value")`.
    Call,
    /// `set NAME value`.
    Word,
}

/// A value in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoundValue<'a> {
    pub start: usize,
    pub text: &'a str,
    pub quoted: bool,
    /// Nothing follows it on its line.
    pub ends_line: bool,
    /// The character behind it.
    pub next: Option<char>,
    /// It was not read to its end.
    pub long: bool,
}

impl FoundValue<'_> {
    /// Whether an expression that this begins would go on behind it: a blank, a comma or a quote
    /// cut it, and the line does not end there.
    pub(super) fn goes_on(self) -> bool {
        !self.quoted
            && match self.next {
                Some('"' | '\'' | '`' | ',') => true,
                Some(next) => (next.is_whitespace() || next == '\\') && !self.ends_line,
                None => false,
            }
    }
}

/// What stands unquoted behind a comma or a bracket is no value. `whole`: the line is one of an
/// environment, on which nothing follows the value.
pub(super) fn value_at(text: &str, at: usize, joint: Joint, whole: bool) -> Option<FoundValue<'_>> {
    let rest = text.get(at..)?;
    let (open, quote) = opening(rest);
    if quote.is_none() && matches!(joint, Joint::Comma | Joint::Call) {
        return None;
    }
    let start = at + open;
    let body = &text[start..];
    let body = &body[..body.floor_char_boundary(LOOK_MAX)];
    if let Some((quote, escapes)) = quote
        && let Some(len) = closing(body, quote, escapes)
    {
        return Some(FoundValue {
            start,
            text: &body[..len],
            quoted: true,
            ends_line: true,
            next: Some(quote),
            long: false,
        });
    }
    if quote.is_none() && is_blank(body) {
        return None;
    }
    let end = body
        .char_indices()
        .find(|(at, letter)| ends_value(body, *at, *letter, joint, whole))
        .map(|(at, _)| at);
    if joint == Joint::Element && end.is_none_or(|end| !body[end..].starts_with("</")) {
        return None;
    }
    let (value, long) = match end {
        Some(end) => (&body[..end], false),
        None if body.len() < LOOK_MAX => (body, false),
        None => {
            // Longer than is looked at: all of it goes, up to where it ends.
            let whole = &text[start..];
            let len = whole
                .find(|letter: char| letter.is_whitespace() || "\"'`<".contains(letter))
                .unwrap_or(whole.len());
            #[cfg(test)]
            READ_ON.set(READ_ON.get() + len);
            (&whole[..len], true)
        }
    };
    let value = trim_style(value);
    let value = if long { value } else { trim(value, whole) };
    if value.is_empty() {
        return None;
    }
    let after = &text[start + value.len()..];
    let next = after.chars().next();
    let after = skip_style(after).trim_start_matches([' ', '\t', '\r', ';', ',']);
    let ends_line = after.is_empty()
        || after.starts_with(['\n', '#'])
        || after.starts_with("//")
        || after.starts_with("\\n");
    Some(FoundValue {
        start,
        text: value,
        quoted: quote.is_some(),
        ends_line,
        next,
        long,
    })
}

/// Whether the quote before a value is the one that ends the string in which the name stands:
/// `prompt("Password: ")`.
pub(super) fn is_end_of_string(text: &str, word: usize, value: FoundValue<'_>) -> bool {
    let Some(quote) = text[..value.start].chars().next_back() else {
        return false;
    };
    let near = &text[text.floor_char_boundary(word.saturating_sub(LOOK_MAX))..word];
    let line = &near[near.rfind('\n').map_or(0, |end| end + 1)..];
    let opened = line.matches(quote).count() % 2 == 1;
    opened
        && text[value.start..]
            .chars()
            .next()
            .is_none_or(|next| next.is_whitespace() || ")],;}".contains(next))
}

/// Whether somebody is to fill this in: `<your password>`, `[your password]`.
fn is_blank(body: &str) -> bool {
    let close = match body.as_bytes().first() {
        Some(b'<') => '>',
        Some(b'[') => ']',
        _ => return false,
    };
    body.find([close, '\n'])
        .is_some_and(|end| body[end..].starts_with(close) && body[..end].contains(' '))
}

/// How long the opening of a quoted value is, with its quote and how many backslashes stand
/// before that.
fn opening(rest: &str) -> (usize, Option<(char, usize)>) {
    let bytes = rest.as_bytes();
    // String prefixes of Python, Rust and C#, and the one call that is as good as a literal.
    let prefix = match rest {
        _ if rest.starts_with("String::from(") => "String::from(".len(),
        _ if rest.starts_with("Some(") => "Some(".len(),
        _ if bytes.len() > 1
            && b"bBrRuUfF@".contains(&bytes[0])
            && (bytes[1] == b'"' || bytes[1] == b'\'') =>
        {
            1
        }
        _ => 0,
    };
    let escapes = bytes[prefix..]
        .iter()
        .take_while(|byte| **byte == b'\\')
        .count();
    match bytes.get(prefix + escapes) {
        Some(quote @ (b'"' | b'\'' | b'`')) => {
            (prefix + escapes + 1, Some((char::from(*quote), escapes)))
        }
        _ => (0, None),
    }
}

/// Where a quoted value ends: at the same quote with as many backslashes before it. On a later line it
/// is the next one behind which no word begins, if there is one: with the quote that opens another
/// value, its name would go and the value itself stay.
fn closing(body: &str, quote: char, escapes: usize) -> Option<usize> {
    let line = body.find('\n').unwrap_or(body.len());
    let first = closing_from(body, 0, quote, escapes)?;
    let opens = |end: usize| {
        let (_, behind) = body[end..].split_once(quote)?;
        let next = behind.chars().next()?;
        Some(!next.is_whitespace() && !",;:.)]}<>|+'\"`\\".contains(next))
    };
    let mut end = first;
    while end > line && opens(end) == Some(true) {
        let behind = end + body[end..].find(quote)? + 1;
        match closing_from(body, behind, quote, escapes) {
            Some(next) => end = next,
            None => return Some(first),
        }
    }
    Some(end)
}

fn closing_from(body: &str, mut from: usize, quote: char, escapes: usize) -> Option<usize> {
    while let Some(at) = body[from..].find(quote) {
        let at = from + at;
        let before = body[..at]
            .bytes()
            .rev()
            .take_while(|byte| *byte == b'\\')
            .count();
        if before == escapes || (escapes == 0 && before % 2 == 0) || before < escapes {
            return Some(at - before.min(escapes));
        }
        from = at + 1;
    }
    None
}

fn ends_value(body: &str, at: usize, letter: char, joint: Joint, whole: bool) -> bool {
    let next = body.as_bytes().get(at + 1).copied();
    match letter {
        '"' | '\'' | '`' => true,
        '<' => joint == Joint::Element || next == Some(b'/') && !whole,
        // An escaped end of line or quote, in text that is JSON inside JSON.
        '\\' => matches!(next, Some(b'n' | b'r' | b't' | b'"' | b'\'')),
        _ => letter.is_whitespace(),
    }
}

/// Cuts off what follows an unquoted value: further parameters, and closing signs.
fn trim(value: &str, whole: bool) -> &str {
    let mut end = value.len();
    for (at, _) in value.match_indices(['&', ';', ',']) {
        let next = &value[at + 1..];
        let name = next
            .bytes()
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"_.-[]".contains(byte))
            .count();
        let is_parameter = name > 0
            && next.as_bytes()[0].is_ascii_alphabetic()
            && matches!(next.as_bytes().get(name), Some(b'=' | b':'));
        if is_parameter && !whole || next.is_empty() {
            end = at;
            break;
        }
    }
    let mut value = &value[..end];
    while let Some(last) = value.chars().next_back() {
        let open = match last {
            ')' => '(',
            ']' => '[',
            '}' => '{',
            '>' => '<',
            '.' | ',' | ';' | ':' => '\0',
            _ => break,
        };
        if value.contains(open) {
            break;
        }
        value = &value[..value.len() - 1];
    }
    value
}
