//! [`key_end`]: how far a private key extends after its first line.
//!
//! A key may be in source code, in logs and in listings, with quotes, escapes, names and numbers
//! around each of its lines. So the search is for base64, and whatever is in between may have any
//! form.

use std::sync::LazyLock;

use regex::Regex;

use super::drawn::is_words;

/// A line of a key has so many letters of base64 at least, except the last.
const LINE_MIN: usize = 32;

/// What may stand between two lines of a key, in bytes.
const GAP_MAX: usize = 80;

/// One letter in so many of a key with its end line is base64.
const SHARE: usize = 4;

/// The next line that begins or ends a key.
#[expect(clippy::expect_used, reason = "a constant, compiled by every test run")]
static EDGE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"-{4,5} ?(?:BEGIN|END) (?:[A-Za-z0-9]+ ){0,4}(?:PRIVATE KEY|Static key V1)(?: BLOCK)? ?-{4,5}",
    )
    .expect("the edge of a key compiles")
});

/// The end of the key whose first line ends at `from`: its end line, or the last of its base64
/// when the end was cut off. `None` where no key follows.
///
/// Looks no further than the next first line, so that many of them cost no more than one.
pub(super) fn key_end(text: &str, from: usize) -> Option<usize> {
    let rest = &text[from..];
    let edge = EDGE.find(rest);
    let body = edge.map_or(rest, |edge| &rest[..edge.start()]);
    match edge {
        Some(edge) if is_end(edge.as_str()) && (is_bare(body) || is_mostly_key(body)) => {
            Some(from + edge.end())
        }
        _ => cut_end(body).map(|end| from + end),
    }
}

fn is_end(edge: &str) -> bool {
    edge.trim_start_matches(['-', ' ']).starts_with("END")
}

/// Whether nothing but the letters of a key and of its headers is there, however short.
fn is_bare(body: &str) -> bool {
    body.chars().all(|letter| {
        letter.is_ascii_alphanumeric()
            || letter.is_whitespace()
            || "+/=\\:,;.()@<>_*-".contains(letter)
    })
}

fn is_mostly_key(body: &str) -> bool {
    let key: usize = lines(body).map(|line| line.end - line.start).sum();
    key * SHARE >= body.len().max(1)
}

/// Where a key without an end line ends.
fn cut_end(body: &str) -> Option<usize> {
    let mut end = None;
    for line in lines(body) {
        let from = end.unwrap_or(0);
        if !is_gap(&body[from..line.start], &body[line.clone()]) {
            break;
        }
        end = Some(line.end);
    }
    let end = end?;
    // The last line is shorter, and may be cut.
    let rest = &body[end..];
    let end = end + last_line(rest).unwrap_or(0).max(bare_lines(rest));
    // What looks like a line may be a part of a token, of which nothing is left either.
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    let token = body.as_bytes()[end..].iter().take_while(is_part);
    Some(end + token.count())
}

/// Where the short lines end that hold letters of base64 and nothing else. What stands before a sign or
/// another word is a name or prose: without it nobody would know the secret behind it.
fn bare_lines(rest: &str) -> usize {
    let is_blank = |letter: char| letter.is_whitespace() || letter == '\\';
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "+/".contains(letter);
    let mut end = 0;
    loop {
        // The letter of an escape counts as one of the line.
        let line = rest[end..].trim_start_matches(is_blank);
        let behind = line.trim_start_matches(is_letter);
        if behind.len() == line.len() || !ends_line(behind) {
            return end;
        }
        let padding = behind.bytes().take(2).take_while(|byte| *byte == b'=');
        end = rest.len() - behind.len() + padding.count();
    }
}

/// Whether nothing but padding stands behind a line of a key, and no value in quotes.
fn ends_line(behind: &str) -> bool {
    static END: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(concat!(
            r"^={0,2}(?:[ \t]*(?:[\r\n\\,;)\]}<|│]|%0[AaDd]|\z)|[ \t]+[#*+]",
            r#"|["'`](?:[ \t]*(?:[\r\n\\,;)\]}|│]|\z)|[ \t]+[+.]))"#,
        ))
        .ok()
    });
    END.as_ref().is_some_and(|end| end.is_match(behind))
}

/// Whether what stands between two lines of a key may stand there.
fn is_gap(gap: &str, line: &str) -> bool {
    if gap.len() > GAP_MAX {
        return false;
    }
    let plain = ["\\n", "\\r", "%0A", "%0D", "%0a", "%0d"]
        .iter()
        .fold(gap.to_owned(), |plain, sign| plain.replace(sign, "\n"));
    let has_letters = plain.contains(|letter: char| letter.is_ascii_alphabetic());
    let has = |test: fn(&u8) -> bool| line.as_bytes().iter().any(test);
    // Behind words stands a digest rather than a key, unless it holds both cases.
    let is_header = gap.contains("DEK-Info: ");
    !has_letters || is_header || has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase)
}

/// The end of a short last line behind what stands before each line: padded, or the text ends.
fn last_line(rest: &str) -> Option<usize> {
    static LAST: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(concat!(
            r#"^(?:=*\\+[nr]|=*%0[AaDd]|\+\s|[^A-Za-z0-9+/]){1,24}?(?:[A-Za-z0-9_.-]{0,32} *[|│→:] *)?[ "'#]{0,8}"#,
            r"[A-Za-z0-9+/]{1,63}(?P<padding>={1,2}|(?:%3[Dd]){1,2}|\z)",
        ))
        .ok()
    });
    let limit = rest.floor_char_boundary(256);
    let last = LAST.as_ref()?.captures(&rest[..limit])?.name("padding")?;
    // `PASSWORD=` is no line of a key.
    ends_line(&rest[last.end()..]).then(|| last.end())
}

/// The lines of base64 in a text, without what stands around them. Escaped signs count as the
/// letters that they are.
fn lines(text: &str) -> impl Iterator<Item = std::ops::Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            let start = at;
            let mut letters = 0;
            while let Some(len) = letter(&bytes[at..]) {
                at += len;
                letters += 1;
            }
            if letters >= LINE_MIN && !is_name(&text[start..at]) {
                return Some(start..at);
            }
            at = at.max(start + 1);
        }
        None
    })
}

/// `readTheWholeBodyOfThePrivateKey`.
fn is_name(line: &str) -> bool {
    line.bytes().all(|byte| byte.is_ascii_alphabetic()) && is_words(line)
}

/// How many bytes the first letter of base64 takes: `\/` in JSON, `%2B` in addresses.
fn letter(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' | b'=',
            ..,
        ] => Some(1),
        [b'\\', b'/', ..] => Some(2),
        [b'%', b'2', b'b' | b'B' | b'f' | b'F', ..] | [b'%', b'3', b'd' | b'D', ..] => Some(3),
        _ => None,
    }
}
