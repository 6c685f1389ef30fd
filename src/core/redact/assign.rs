//! [`Assignments`]: `NAME=value`, `"name": "value"`, `--name value`, `<name>value</name>` and
//! their kin, where the name says that the value is a secret.

use regex::Regex;

use super::allow::AllowList;
use super::drawn::{is_drawn, is_words};
use super::mark::{Masked, is_mark};
use super::name::{NameClass, classify};
use super::value::{is_camel_case, is_code, is_constant, is_name, is_placeholder, is_random};

/// What a text must hold for any of this to be tried.
pub(super) const HINT: &str = r"(?i)pass|pwd|psk|kennwort|secret|token|key|auth|credential";

/// How much of a name is looked at before its last word.
const NAME_MAX: usize = 64;

/// A value that is longer is a secret without being looked at: reading every value to its end
/// would make hostile texts quadratic.
const LOOK_MAX: usize = 512;

/// The last word of a name, and how it is joined to its value.
const JOINT: &str = concat!(
    r"(?i)(?P<word>passphrase|passwort|password|passcode|kennwort|passwd|passw|pass|pwd|psk|credentials?|secret|token|key|auth)",
    r"(?P<tail>[_-]?(?:production|staging|base64|prod|base|test|live|value|b64|dev|raw|plain|data|env|[0-9]{1,3}))?",
    r#"(?P<close>(?:\\*["'`\]])*)"#,
    // A pair that names its value apart: `name: DB_PASSWORD, value: x`, `key="pwd" value="x"`.
    r#"(?:(?P<pair>[ \t]*[,;]?\s*\\*["']?value\\*["']?[ \t]*[:=])|(?P<op>[ \t]*(?:=>|:=|\?=|\+=|={1,3}|:|,|>|<-|\()|[ \t]+))"#,
    r"(?P<gap>[ \t]*)",
);

/// Finds values by their names.
#[derive(Debug)]
pub(super) struct Assignments {
    joint: Regex,
}

/// How a name is joined to its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joint {
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
struct Found<'a> {
    start: usize,
    text: &'a str,
    quoted: bool,
    /// Nothing follows it on its line.
    ends_line: bool,
    /// The character behind it.
    next: Option<char>,
    /// It was not read to its end.
    long: bool,
}

impl Assignments {
    #[expect(clippy::expect_used, reason = "a constant, compiled by every test run")]
    pub(super) fn new() -> Self {
        Self {
            joint: Regex::new(JOINT).expect("the joint compiles"),
        }
    }

    /// Replaces all values whose names say that they are secrets; `None` when there are none.
    pub(super) fn mask_all(&self, text: &str, allow: &AllowList) -> Option<(String, u32)> {
        let mut masked = Masked::new(text);
        let mut at = 0;
        while let Some(found) = self.joint.captures_at(text, at) {
            let (Some(word), Some(gap)) = (found.name("word"), found.name("gap")) else {
                break;
            };
            // If this is nothing, the value may itself hold a name.
            at = word.end();
            let name_end = found.name("tail").map_or(word.end(), |tail| tail.end());
            let name = name_before(text, word.start(), name_end);
            let op = found.name("op").map(|op| op.as_str());
            if op == Some(":") && text[gap.end()..].starts_with(':') {
                // `Token::Group`, a path.
                continue;
            }
            let Some(joint) = joint(op, gap.as_str(), &name) else {
                continue;
            };
            if joint == Joint::Call && !text[gap.end()..].starts_with(['"', '\'', '\\']) {
                continue;
            }
            // Last, because it is what takes the most time.
            let Some(class) = classify(name.text) else {
                continue;
            };
            let closed = found.name("close").is_some_and(|close| !close.is_empty());
            let Some(value) = value_at(text, gap.end(), joint) else {
                continue;
            };
            if value.quoted && !closed && is_end_of_string(text, word.start(), value) {
                continue;
            }
            let fits = match joint {
                Joint::Comma => closed && value.quoted,
                Joint::Call => !closed && value.quoted,
                _ => true,
            };
            if fits && is_secret(class, joint, name.text, value) {
                let end = value.start + value.text.len();
                if !allow.has(text, value.start..end) {
                    masked.replace(value.start, end, class.mark());
                }
                at = end;
            }
        }
        masked.finish()
    }
}

/// Whether a value under this name is to be masked when both are given apart, as in JSON.
pub(super) fn is_secret_pair(name: &str, value: &str) -> Option<NameClass> {
    let class = classify(name)?;
    let found = Found {
        start: 0,
        text: value,
        quoted: true,
        ends_line: true,
        next: None,
        long: value.len() > LOOK_MAX,
    };
    is_secret(class, Joint::Loose, name, found).then_some(class)
}

/// The class of a command line flag such as `--api-key`.
pub(super) fn flag_class(argument: &str) -> Option<NameClass> {
    let name = argument.strip_prefix('-')?;
    (!name.contains(['=', ' ']))
        .then(|| classify(name))
        .flatten()
}

struct Name<'a> {
    text: &'a str,
    /// The character before it.
    before: Option<char>,
}

fn name_before(text: &str, word: usize, end: usize) -> Name<'_> {
    let mut start = word;
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    while start > 0 && word - start < NAME_MAX && is_part(text.as_bytes()[start - 1]) {
        start -= 1;
    }
    Name {
        text: &text[start..end],
        before: text[..start].chars().next_back(),
    }
}

fn joint(op: Option<&str>, gap: &str, name: &Name<'_>) -> Option<Joint> {
    let Some(op) = op else {
        // A pair that names its value apart.
        return Some(Joint::Loose);
    };
    match op.trim_start_matches([' ', '\t']) {
        "" if name.text.starts_with('-') => Some(Joint::Flag),
        "" => name.text.contains('_').then_some(Joint::Word),
        "(" => (op == "(" && gap.is_empty()).then_some(Joint::Call),
        "," => Some(Joint::Comma),
        ">" => (name.before == Some('<')).then_some(Joint::Element),
        "=" if op.len() == 1 && gap.is_empty() => Some(Joint::Tight),
        _ => Some(Joint::Loose),
    }
}

fn value_at(text: &str, at: usize, joint: Joint) -> Option<Found<'_>> {
    let rest = text.get(at..)?;
    let (open, quote) = opening(rest);
    let start = at + open;
    let body = &text[start..];
    let body = &body[..floor(body, LOOK_MAX)];
    if let Some((quote, escapes)) = quote
        && let Some(len) = closing(body, quote, escapes)
    {
        return Some(Found {
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
        .find(|(at, letter)| ends_value(body, *at, *letter, joint))
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
            (&whole[..len], true)
        }
    };
    let value = if long { value } else { trim(value) };
    if value.is_empty() {
        return None;
    }
    let after = &text[start + value.len()..];
    let next = after.chars().next();
    let after = after.trim_start_matches([' ', '\t', '\r', ';', ',']);
    let ends_line = after.is_empty()
        || after.starts_with(['\n', '#'])
        || after.starts_with("//")
        || after.starts_with("\\n");
    Some(Found {
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
fn is_end_of_string(text: &str, word: usize, value: Found<'_>) -> bool {
    let Some(quote) = text[..value.start].chars().next_back() else {
        return false;
    };
    let near = &text[floor(text, word.saturating_sub(LOOK_MAX))..word];
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

/// Where a quoted value ends: at the same quote with as many backslashes before it.
fn closing(body: &str, quote: char, escapes: usize) -> Option<usize> {
    let mut from = 0;
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

fn ends_value(body: &str, at: usize, letter: char, joint: Joint) -> bool {
    let next = body.as_bytes().get(at + 1).copied();
    match letter {
        '"' | '\'' | '`' => true,
        '<' => joint == Joint::Element || next == Some(b'/'),
        // An escaped end of line or quote, in text that is JSON inside JSON.
        '\\' => matches!(next, Some(b'n' | b'r' | b't' | b'"' | b'\'')),
        _ => letter.is_whitespace(),
    }
}

/// Cuts off what follows an unquoted value: further parameters, and closing signs.
fn trim(value: &str) -> &str {
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
        if is_parameter || next.is_empty() {
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

fn is_secret(class: NameClass, joint: Joint, name: &str, value: Found<'_>) -> bool {
    let text = value.text;
    if value.long {
        return !is_mark(text);
    }
    if is_placeholder(text) {
        return false;
    }
    if joint == Joint::Loose && !value.quoted && (is_constant(text) || is_camel_case(text)) {
        return false;
    }
    match class {
        NameClass::Password => is_password(joint, name, value),
        NameClass::Secret => is_token(joint, name, value),
    }
}

fn is_password(joint: Joint, name: &str, value: Found<'_>) -> bool {
    let text = value.text;
    if value.quoted {
        // A label or a message that speaks of passwords is not one.
        let lower = text.to_lowercase();
        let speaks = text.contains(' ')
            && ["pass", "enter", "must"]
                .iter()
                .any(|word| lower.contains(word));
        return !speaks
            && match joint {
                Joint::Call => is_random(text) && !text.contains('/'),
                Joint::Comma => is_random(text),
                _ => true,
            };
    }
    match joint {
        Joint::Element => true,
        Joint::Tight => !is_code(text) && !is_argument(name, value),
        Joint::Word => is_opaque_word(text),
        // `--password hunter2`, but `the --password flag`.
        Joint::Flag => {
            !text.starts_with('-') && (is_random(text) || (value.ends_line && !is_code(text)))
        }
        Joint::Loose | Joint::Comma | Joint::Call => {
            is_random(text)
                || (value.ends_line
                    && text.len() >= 4
                    && !is_code(text)
                    && !text.contains('_')
                    && !text
                        .starts_with(|letter: char| letter.is_ascii_uppercase() || letter == '&'))
        }
    }
}

/// `connect(password=password)`: a bare word, followed by more of a call. Not `--password=word`.
fn is_argument(name: &str, value: Found<'_>) -> bool {
    !name.starts_with('-')
        && matches!(value.next, Some(',' | ')'))
        && is_name(value.text)
        && value.text.chars().all(|letter| !letter.is_ascii_digit())
}

fn is_token(joint: Joint, name: &str, value: Found<'_>) -> bool {
    let text = value.text;
    if text.contains(char::is_whitespace) || is_code(text) {
        return false;
    }
    // Sixteen letters in a row are no word that stands in such a place, but may be a name.
    let has_cases = text.bytes().any(|byte| byte.is_ascii_lowercase())
        && text.bytes().any(|byte| byte.is_ascii_uppercase());
    let opaque = text.len() >= 16
        && text.chars().all(|letter| letter.is_ascii_alphanumeric())
        && !(has_cases && is_words(text));
    if joint == Joint::Call {
        return is_opaque_word(text);
    }
    if value.quoted || joint == Joint::Element {
        return (is_random(text) && !is_label(text)) || opaque || is_drawn(text);
    }
    match joint {
        Joint::Tight => {
            let shouted = name.bytes().all(|byte| !byte.is_ascii_lowercase());
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            is_random(text)
                || opaque
                || (shouted && text.len() >= 4 && !digits)
                || (digits && text.len() >= 8)
        }
        Joint::Word => is_opaque_word(text),
        _ => (is_random(text) && text.len() >= 8 && !is_name(text)) || opaque || is_drawn(text),
    }
}

/// What is taken for a secret where only a name stands before it, without any sign between.
fn is_opaque_word(text: &str) -> bool {
    text.len() >= 16 && is_random(text) && !is_name(text) && !is_label(text)
        || text.len() >= 20 && is_drawn(text) && !is_code(text)
}

/// `my-app-secret-2`, `oauth2`: words with a number at the end, as things are named.
fn is_label(text: &str) -> bool {
    is_name(text)
        && text.bytes().all(|byte| !byte.is_ascii_uppercase())
        && text.contains(['-', '_'])
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
