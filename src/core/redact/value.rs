//! What a secret looks like, and what a placeholder for one looks like.

use super::code::{Around, is_expression};
use super::drawn::{is_drawn, is_words};
use super::mark::is_mark;

/// Words that stand where a secret would: types, states, and the words for secrets themselves.
const PLACE_WORDS: [&str; 93] = [
    "null",
    "none",
    "nil",
    "undefined",
    "true",
    "false",
    "yes",
    "no",
    "on",
    "off",
    "required",
    "optional",
    "string",
    "str",
    "bytes",
    "int",
    "integer",
    "number",
    "bool",
    "boolean",
    "object",
    "array",
    "any",
    "void",
    "text",
    "char",
    "varchar",
    "secret",
    "password",
    "passwd",
    "token",
    "key",
    "hidden",
    "redacted",
    "masked",
    "empty",
    "unset",
    "missing",
    "invalid",
    "incorrect",
    "wrong",
    "expired",
    "changed",
    "rotated",
    "reset",
    "prompt",
    "field",
    "input",
    "value",
    "env",
    "stdin",
    "file",
    "keychain",
    "keyring",
    "vault",
    "ok",
    "n/a",
    "default",
    "example",
    "type",
    "name",
    "self",
    "this",
    "it",
    "auto",
    "unknown",
    "disabled",
    "enabled",
    "ask",
    "getpass",
    "todo",
    "tbd",
    "placeholder",
    "sensitive",
    "changeme",
    "change-me",
    "change_me",
    "replaceme",
    "fixme",
    "redactme",
    "usize",
    "isize",
    "size_t",
    "u8",
    "u16",
    "u32",
    "u64",
    "i32",
    "i64",
    "f32",
    "f64",
    "true/false",
    "yes/no",
];

/// Tags of configuration languages, behind which stands where the secret is kept.
const TAGS: [&str; 9] = [
    "!vault",
    "!ref",
    "!sub",
    "!getatt",
    "!importvalue",
    "!reference",
    "!secret",
    "!env",
    "!encrypted",
];

/// Beginnings of a value that says where the secret is kept, or that it is encrypted.
const REFERENCES: [&str; 18] = [
    "vault:",
    "op:",
    "ssm:",
    "sm:",
    "arn:",
    "env:",
    "file:",
    "keyring:",
    "keychain:",
    "secretsmanager:",
    "awskms:",
    "gcpkms:",
    "azurekms:",
    "sops:",
    "projects/",
    "enc[",
    "enc(",
    "@microsoft.keyvault(",
];

/// Words by which the middle of a value says that somebody is to fill it in.
const FILL_IN_WORDS: [&str; 4] = ["your-", "your_", "<your", "-here"];

/// How vendors' documented examples end, of access keys and of secrets.
const EXAMPLES: [&str; 2] = ["EXAMPLE", "EXAMPLEKEY"];

/// Beginnings of what people write for others to fill in.
const FILL_IN: [&str; 9] = [
    "your", "my-", "my_", "insert", "enter-", "enter_", "replace", "put-", "put_",
];

/// Whether a value only stands in the place of one: empty, a mark, a variable, `****`,
/// `<your key>`, `null`.
pub(super) fn is_placeholder(value: &str) -> bool {
    let value = value.trim();
    let Some(first) = value.chars().next() else {
        return true;
    };
    if is_mark(value) || value.chars().all(|letter| letter == first) {
        return true;
    }
    let wrapped = |open: &str, close: &str| value.starts_with(open) && value.ends_with(close);
    if is_variable(value)
        || wrapped("<", ">")
        || wrapped("{{", "}}")
        || wrapped("{", "}")
        || wrapped("%", "%")
        || wrapped("[", "]")
        || value.starts_with("{{")
        || value.starts_with("...")
        || value.starts_with('…')
        || value.chars().all(|letter| "*•.xX-_".contains(letter))
        || is_example(value)
        || is_filled_up(value)
    {
        return true;
    }
    let lower = value.to_ascii_lowercase();
    if TAGS.contains(&lower.as_str()) || REFERENCES.iter().any(|begin| lower.starts_with(begin)) {
        return true;
    }
    let bare = lower.trim_end_matches([';', ',', '.', '?', '!', ')']);
    PLACE_WORDS.contains(&bare)
        || ((FILL_IN.iter().any(|begin| lower.starts_with(begin))
            || FILL_IN_WORDS.iter().any(|word| lower.contains(word)))
            && ["key", "token", "secret", "pass", "here", "cred"]
                .iter()
                .any(|word| lower.contains(word)))
}

/// `AKIA…EXAMPLE` and its kin, which vendors print in their manuals. No drawn secret ends so.
fn is_example(value: &str) -> bool {
    value.len() >= 11
        && (EXAMPLES.iter().any(|end| value.ends_with(end)) || value.contains("EXAMPLE/"))
}

/// `ghp_xxxxxxxx`, `glpat-00000000`: one sign again and again behind the last separator.
fn is_filled_up(value: &str) -> bool {
    let last = value.rsplit(['-', '_', '=']).next().unwrap_or(value);
    let mut letters = last.chars();
    let first = letters.next();
    last.len() >= 6 && letters.all(|letter| Some(letter) == first)
}

/// `$NAME`, `$userName`, `${NAME}`, `$(command)`, `$_POST['x']`, `%s`; not `$tr0ng`.
fn is_variable(value: &str) -> bool {
    let Some(name) = value.strip_prefix('$') else {
        return matches!(value, "%s" | "%d" | "%v" | "%q" | "{}" | "?");
    };
    let plain = ["[", "->", "?->", "::"]
        .iter()
        .filter_map(|sign| name.find(sign))
        .min()
        .map_or(name, |end| &name[..end]);
    let is_camel = plain.starts_with(|letter: char| letter.is_ascii_lowercase())
        && plain.bytes().all(|byte| byte.is_ascii_alphabetic());
    name.starts_with(['{', '('])
        || is_camel
        || (name.len() > plain.len()
            && !plain.is_empty()
            && plain
                .bytes()
                .all(|byte| byte.is_ascii_alphabetic() || byte == b'_'))
        || name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
        || name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// Letters mixed with digits or signs, as in no word, path, address or piece of code.
pub(super) fn is_random(value: &str) -> bool {
    is_mixed(value) && !is_code(value)
}

/// Letters mixed with digits or signs; may be code.
pub(super) fn is_mixed(value: &str) -> bool {
    const SIGNS: &str = "!@#$%^&*+=~";
    if value.len() < 6 || is_placeholder(value) {
        return false;
    }
    // `realm=` is the name of what follows, and no padding.
    let value = value.trim_end_matches('=');
    let has = |test: fn(char) -> bool| value.chars().any(test);
    let letter = has(|letter| letter.is_ascii_alphabetic());
    let digit = has(|letter| letter.is_ascii_digit());
    let sign = value.chars().any(|letter| SIGNS.contains(letter));
    if value.chars().any(char::is_whitespace) {
        return false;
    }
    (letter && (digit || sign)) || (digit && value.len() > 12)
}

/// An expression, a path, an address, a type, a version or a date, of which no more is known than
/// itself.
pub(super) fn is_code(value: &str) -> bool {
    let goes_on = value.ends_with(['(', '[', '<', ',']);
    is_reference(value)
        || is_expression(
            value,
            Around {
                goes_on,
                plain: false,
            },
        )
}

/// What is code wherever it stands: a path, an address, a version or a date.
pub(super) fn is_reference(value: &str) -> bool {
    let name = value.strip_prefix('&').unwrap_or(value);
    value.contains("://")
        || is_scope(name)
        || is_pointer(value)
        || is_small_hex(name)
        || is_path(name)
        || is_number(name)
}

/// `std::env::var`, `Vec<T>::new`: what stands before the colons is a name.
fn is_scope(value: &str) -> bool {
    value.split_once("::").is_some_and(|(name, _)| {
        name.chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "_<>&.([!".contains(letter))
    })
}

/// `&SecretString`, `&'a`, `*const`: a type.
fn is_pointer(value: &str) -> bool {
    if matches!(value, "*const" | "*mut") {
        return true;
    }
    value.strip_prefix('&').is_some_and(|name| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphabetic() || b"_<>:'[]".contains(&byte))
    })
}

/// `0x8004_400a`, `#f8f8f2`: a number or a colour, and no key.
fn is_small_hex(value: &str) -> bool {
    let is_colour = value.strip_prefix('#').is_some_and(|hex| {
        matches!(hex.len(), 3 | 4 | 6 | 8) && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
    });
    is_colour
        || value.len() <= 18
            && value.strip_prefix("0x").is_some_and(|hex| {
                hex.bytes()
                    .all(|byte| byte.is_ascii_hexdigit() || byte == b'_')
            })
}

/// `readPassword`: the name of a variable or a function.
pub(super) fn is_camel_case(value: &str) -> bool {
    value.starts_with(|letter: char| letter.is_ascii_lowercase())
        && value.bytes().all(|byte| byte.is_ascii_alphabetic())
        && value.bytes().any(|byte| byte.is_ascii_uppercase())
        && is_words(value)
}

/// `WIN32_ERROR`: the name of a constant or of a type in C.
pub(super) fn is_constant(value: &str) -> bool {
    value.contains('_')
        && value.starts_with(|letter: char| letter.is_ascii_uppercase())
        && value
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// A secret access key of AWS is so long, whatever it looks like ("IAM identifiers" in its
/// documentation).
const AWS_SECRET_CHARS: usize = 40;

/// Base64 that happens to begin with a slash: a key of AWS does so once in 64 times.
fn is_base64(value: &str) -> bool {
    let has = |test: fn(&u8) -> bool| value.as_bytes().iter().any(test);
    value.len() >= 32
        && value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && (value.len() == AWS_SECRET_CHARS && has(u8::is_ascii_digit) || is_drawn(value))
}

fn is_path(value: &str) -> bool {
    if is_base64(value) {
        return false;
    }
    let rooted = ["./", "../", "~/"]
        .iter()
        .any(|root| value.starts_with(root))
        || (value.starts_with('/') && value[1..].contains('/'));
    rooted
        && value
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "/._-~ *".contains(letter))
}

/// `1.2.3`, `v2`, `2026-11-22`, `10:30`, `64-bit`.
fn is_number(value: &str) -> bool {
    let value = value.strip_prefix('v').unwrap_or(value);
    value.len() <= 20
        && value.starts_with(|letter: char| letter.is_ascii_digit())
        && value
            .chars()
            .all(|letter| letter.is_ascii_digit() || ".-:/_,%".contains(letter))
        && value.chars().any(|letter| !letter.is_ascii_digit())
}

/// A plain word, with up to three digits at its end: `token`, `sha256`, `my_token_2`.
pub(super) fn is_name(value: &str) -> bool {
    let name = value.trim_end_matches(|letter: char| letter.is_ascii_digit());
    value.len() - name.len() <= 3
        && name.len() <= 40
        && !name.is_empty()
        && !is_drawn(name)
        && name
            .chars()
            .all(|letter| letter.is_ascii_alphabetic() || letter == '_' || letter == '-')
}

/// Whether base64 text says `user:password`.
pub(super) fn holds_credentials(base64: &str) -> bool {
    decode(base64).is_some_and(|plain| {
        plain.contains(&b':')
            && plain
                .iter()
                .all(|byte| (0x20..0x7f).contains(byte) || *byte >= 0x80)
    })
}

fn decode(base64: &str) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    let (mut bits, mut held) = (0u32, 0);
    for letter in base64.trim_end_matches('=').bytes() {
        let six = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            plain.push(u8::try_from((bits >> held) & 0xff).ok()?);
        }
    }
    Some(plain)
}
