//! [`Assignments`]: `NAME=value`, `"name": "value"`, `--name value`, `<name>value</name>` and the
//! like, where the name says that the value is a secret.

use regex::Regex;

use super::allow::AllowList;
use super::below::Below;
use super::code::{Around, is_expression, is_member};
use super::drawn::{is_drawn, is_words};
use super::found::{FoundValue, Joint, LOOK_MAX, is_end_of_string, value_at};
use super::mark::{Masked, is_mark};
use super::name::{NameClass, classify};
use super::style::STYLE;
use super::value::{
    is_camel_case, is_code, is_constant, is_mixed, is_name, is_placeholder, is_random, is_reference,
};

/// What a text must hold for any of this to be tried.
pub(super) const HINT: &str = r"(?i)pass|pwd|psk|kennwort|secret|token|key|auth|credential";

/// How much of a name is looked at before its last word.
const NAME_MAX: usize = 64;

/// The last word of a name, and how it is joined to its value. A terminal's colours may stand
/// between (`<style>`).
const JOINT: &str = concat!(
    r"(?i)(?P<word>passphrase|passwort|password|passcode|kennwort|passwd|passw|pass|pwd|psk|credentials?|secret|token|key|auth)",
    r"(?P<tail>[_-]?(?:production|staging|base64|prod|base|test|live|value|b64|dev|raw|plain|data|env|[0-9]{1,3}))?",
    r#"(?P<close>(?:\\*["'`\]])*)(?:[ \t]*<style>)*"#,
    // A pair that names its value apart: `name: DB_PASSWORD, value: x`, `key="pwd" value="x"`.
    r#"(?:(?P<pair>[ \t]*[,;]?\s*\\*["']?value\\*["']?[ \t]*[:=])|(?P<op>[ \t]*(?:=>|:=|\?=|\+=|={1,3}|:|,|>|<-|\()|[ \t]+))"#,
    r"(?P<gap>(?:[ \t]|<style>)*)",
);

/// Finds values by their names.
#[derive(Debug)]
pub(super) struct Assignments {
    joint: Regex,
}

impl Assignments {
    #[expect(clippy::expect_used, reason = "a constant, compiled by every test run")]
    pub(super) fn new() -> Self {
        Self {
            joint: Regex::new(&JOINT.replace("<style>", STYLE)).expect("the joint compiles"),
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
            let closed = found.name("close").is_some_and(|close| !close.is_empty());
            let fits = match joint {
                Joint::Comma => closed,
                Joint::Call => !closed && text[gap.end()..].starts_with(['"', '\'', '\\']),
                _ => true,
            };
            if !fits {
                continue;
            }
            // Last, because it is what takes the most time.
            let Some(class) = classify(name.text) else {
                continue;
            };
            // What a diff or a list has before the name is no part of it here.
            let start = name_end - name.text.trim_start_matches('-').len();
            if op.is_some_and(|op| op.trim_start() == ":")
                && let Some(below) = Below::of(text, start, gap.end())
            {
                for value in below {
                    let end = value.start + value.text.len();
                    if !is_mark(value.text) {
                        if !is_secret(class, joint, name.text, value) {
                            break;
                        }
                        if !allow.has(text, value.start..end) {
                            masked.replace(value.start, end, class.mark());
                        }
                    }
                    at = end;
                }
                continue;
            }
            let is_line =
                is_environment(joint, name.text) && matches!(name.before, None | Some('\n'));
            let Some(value) = value_at(text, gap.end(), joint, is_line) else {
                continue;
            };
            if value.quoted && !closed && is_end_of_string(text, word.start(), value) {
                continue;
            }
            if is_secret(class, joint, name.text, value) {
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
    let found = FoundValue {
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
    let mut before = text[..start].chars().next_back();
    // The end of an escape in a string, or of a colour, is no part of the name behind it.
    let behind = &text[start..word];
    let skip = match before {
        Some('\\') if behind.starts_with(['n', 'r', 't']) => 1,
        Some('[' | ';') => behind
            .strip_prefix(|letter: char| letter.is_ascii_digit())
            .map(|rest| rest.trim_start_matches(|letter: char| letter.is_ascii_digit()))
            .and_then(|rest| rest.strip_prefix('m'))
            .map_or(0, |rest| behind.len() - rest.len()),
        _ => 0,
    };
    if skip > 0 {
        start += skip;
        before = Some('\n');
    }
    Name {
        text: &text[start..end],
        before,
    }
}

fn joint(op: Option<&str>, gap: &str, name: &Name<'_>) -> Option<Joint> {
    let Some(op) = op else {
        // A pair that names its value apart.
        return Some(Joint::Loose);
    };
    let is_tight = !gap.contains([' ', '\t']);
    match op.trim_start_matches([' ', '\t']) {
        "" if name.text.starts_with('-') => Some(Joint::Flag),
        "" => name.text.contains('_').then_some(Joint::Word),
        "(" => (op == "(" && is_tight).then_some(Joint::Call),
        "," => Some(Joint::Comma),
        ">" => (name.before == Some('<')).then_some(Joint::Element),
        "=" if op.len() == 1 && is_tight => Some(Joint::Tight),
        _ => Some(Joint::Loose),
    }
}

fn is_secret(class: NameClass, joint: Joint, name: &str, value: FoundValue<'_>) -> bool {
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

/// Whether a value is code where it stands.
fn is_code_at(class: NameClass, joint: Joint, name: &str, value: FoundValue<'_>) -> bool {
    let text = value.text;
    let is_environment = is_environment(joint, name);
    let around = Around {
        goes_on: value.goes_on(),
        plain: value.quoted || is_environment,
    };
    // Words joined by dots are a password that people think up.
    let is_phrase = class == NameClass::Password
        && is_environment
        && is_member(text)
        && !text.split('.').any(|part| classify(part).is_some());
    is_reference(text) || is_expression(text, around) && !is_phrase
}

/// `DB_PASSWORD=`: an environment, where values are meant as they are.
fn is_environment(joint: Joint, name: &str) -> bool {
    joint == Joint::Tight && is_shouted(name)
}

fn is_shouted(name: &str) -> bool {
    name.bytes().all(|byte| !byte.is_ascii_lowercase())
}

fn is_password(joint: Joint, name: &str, value: FoundValue<'_>) -> bool {
    let text = value.text;
    let is_code = || is_code_at(NameClass::Password, joint, name, value);
    let is_random = || is_mixed(text) && !is_code();
    if is_verdict(joint, name, value) {
        return false;
    }
    if value.quoted {
        // A label or a message that speaks of passwords is not one.
        let lower = text.to_lowercase();
        let speaks = text.contains(' ')
            && ["pass", "enter", "must"]
                .iter()
                .any(|word| lower.contains(word));
        return !speaks
            && match joint {
                Joint::Call => is_random() && !text.contains('/'),
                Joint::Comma => is_random(),
                _ => true,
            };
    }
    match joint {
        Joint::Element => true,
        Joint::Tight => !is_code() && !is_argument(name, value),
        Joint::Word => is_opaque_word(text),
        // `--password hunter2`, but `the --password flag`.
        Joint::Flag => !text.starts_with('-') && (is_random() || (value.ends_line && !is_code())),
        Joint::Loose | Joint::Comma | Joint::Call => {
            is_random()
                || (value.ends_line
                    && text.len() >= 4
                    && !is_code()
                    && !text.contains('_')
                    && !text
                        .starts_with(|letter: char| letter.is_ascii_uppercase() || letter == '&'))
        }
    }
}

/// Whether this is what a test runner prints: `PASS: tests/foo.sh`, `--- PASS: TestHTTP2`,
/// `pass=12`. In quotes and in an environment `PASS` may well be the name of a password.
fn is_verdict(joint: Joint, name: &str, value: FoundValue<'_>) -> bool {
    let name = name.trim_start_matches('-');
    let text = value.text;
    if !name.eq_ignore_ascii_case("pass") || joint == Joint::Flag {
        return false;
    }
    if is_count(text, if value.quoted { 3 } else { 7 }) {
        return true;
    }
    match joint {
        Joint::Loose if value.quoted => is_shouted(name) && text.contains(' '),
        // `pass: hunter2xyz` stands in configuration, `PASS: sha256-check` after a test.
        Joint::Loose => {
            is_shouted(name)
                || !is_random(text)
                || !value.ends_line
                || is_name(text)
                || text.contains('/')
        }
        _ => false,
    }
}

/// `12`, `12/12`, `98%`, `1.5s`: what tests are counted and timed by.
fn is_count(text: &str, max: usize) -> bool {
    let unit =
        text.trim_start_matches(|letter: char| letter.is_ascii_digit() || ".,/".contains(letter));
    let number = &text[..text.len() - unit.len()];
    (1..=max).contains(&number.len()) && matches!(unit, "" | "%" | "s" | "ms" | "m")
}

/// `connect(password=password)`: a bare word, followed by more of a call. Not `--password=word`.
fn is_argument(name: &str, value: FoundValue<'_>) -> bool {
    !name.starts_with('-')
        && matches!(value.next, Some(',' | ')'))
        && is_name(value.text)
        && value.text.chars().all(|letter| !letter.is_ascii_digit())
}

fn is_token(joint: Joint, name: &str, value: FoundValue<'_>) -> bool {
    let text = value.text;
    if text.contains(char::is_whitespace) || is_code_at(NameClass::Secret, joint, name, value) {
        return false;
    }
    let is_random = is_mixed(text);
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
        return (is_random && !is_label(text)) || opaque || is_drawn(text);
    }
    match joint {
        Joint::Tight => {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            is_random
                || opaque
                || (is_shouted(name) && text.len() >= 4 && !digits)
                || (digits && text.len() >= 8)
        }
        Joint::Word => is_opaque_word(text),
        _ => (is_random && text.len() >= 8 && !is_name(text)) || opaque || is_drawn(text),
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
