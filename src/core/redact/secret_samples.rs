//! The secrets of `tests/data/redaction`, freshly generated, for the tests of everything that masks
//! them.
#![allow(clippy::unwrap_used, reason = "tests")]
#![cfg_attr(
    not(test),
    allow(dead_code, reason = "what only the tests of the rules need")
)]

use sha2::{Digest, Sha256};

use super::{Redactor, mark_names};

pub(crate) const FORMATS: &str = include_str!("../../../tests/data/redaction/formats.txt");
pub(crate) const CONTEXTS: &str = include_str!("../../../tests/data/redaction/contexts.txt");
pub(crate) const NAMED: &str = include_str!("../../../tests/data/redaction/named.txt");

/// A secret has gone when no piece of this length of it is left, in bytes.
const PIECE: usize = 6;

/// How often each secret is drawn. The last draw has no digits where its format allows that.
pub(crate) const DRAWS: u64 = 4;

const WORDS: [&str; 8] = [
    "swordfish",
    "butterfly",
    "sunshine",
    "dragonfly",
    "correcthorse",
    "letmein",
    "qwertz",
    "Monday",
];

#[derive(Debug, Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) kind: &'a str,
    pub(crate) text: &'a str,
}

pub(crate) fn cases(file: &str) -> Vec<Case<'_>> {
    file.lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .map(|line| {
            let (kind, text) = line.split_once(" | ").unwrap();
            Case { kind, text }
        })
        .collect()
}

/// Draws what stands between `‹` and `›`, the same for the same seed.
pub(crate) struct Draw {
    state: u64,
    digits: bool,
}

impl Draw {
    pub(crate) fn new(kind: &str, draw: u64) -> Self {
        let digest = Sha256::digest(kind);
        let mut seed = [0; 8];
        seed.copy_from_slice(&digest[..8]);
        Self {
            state: (u64::from_le_bytes(seed) ^ draw.wrapping_mul(0x9e37_79b9_7f4a_7c15)) | 1,
            digits: draw + 1 < DRAWS,
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from((self.state >> 11) % bound as u64).unwrap()
    }

    fn letters(&mut self, alphabet: &str, len: usize) -> String {
        let letters: Vec<_> = alphabet.chars().collect();
        (0..len)
            .map(|_| letters[self.below(letters.len())])
            .collect()
    }

    fn piece(&mut self, class: &str, len: usize) -> String {
        // Without those that would end a string, or begin an escape in it.
        const SIGNS: &str = "!#$%&()*+,-./:;<=>?@[]^_{|}~";
        // Of `get_random_secret_key`.
        const DJANGO: &str = "abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)";
        const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let digits = if self.digits { "0123456789" } else { "" };
        match class {
            "a" => self.letters(&format!("{LETTERS}{digits}"), len),
            "b" => self.letters(&format!("{LETTERS}{digits}+/"), len),
            "g" => self.letters(&format!("{LETTERS}{digits}-_"), len),
            "L" => self.letters(LETTERS, len),
            "l" => self.letters("abcdefghijklmnopqrstuvwxyz0123456789", len),
            "u" => self.letters("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", len),
            "x" => self.letters("0123456789abcdef", len),
            "X" => self.letters("0123456789ABCDEF", len),
            "d" => self.letters("123456789", len),
            "w" => WORDS[self.below(WORDS.len())].to_owned(),
            "p" => {
                let len = if len == 0 { 16 } else { len };
                self.letters(&format!("{LETTERS}{digits}{SIGNS}"), len)
            }
            "j" => self.letters(DJANGO, if len == 0 { 50 } else { len }),
            "c" => {
                let plain = format!("me:{}", self.letters(LETTERS, len));
                base64(plain.as_bytes())
            }
            other => panic!("no class {other}"),
        }
    }

    /// The text as it is to be redacted.
    pub(crate) fn fill(&mut self, template: &str) -> String {
        let mut filled = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('‹') {
            let (spec, after) = after.split_once('›').unwrap();
            filled.push_str(before);
            let (class, len) = spec.split_at(1);
            filled.push_str(&self.piece(class, len.parse().unwrap_or(0)));
            rest = after;
        }
        filled.push_str(rest);
        filled
    }
}

fn base64(plain: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in plain.chunks(3) {
        let bits = three
            .iter()
            .fold(0_u32, |bits, byte| (bits << 8) | u32::from(*byte));
        let bits = bits << (8 * (3 - three.len()));
        for at in 0..4 {
            let six = usize::try_from((bits >> (18 - 6 * at)) & 63).unwrap();
            text.push(if at <= three.len() {
                char::from(LETTERS[six])
            } else {
                '='
            });
        }
    }
    text
}

pub(crate) fn unescape(text: &str) -> String {
    text.replace("\\\\", "\0")
        .replace("\\n", "\n")
        .replace('\0', "\\")
}

/// A text, and the pieces of it that have to go.
pub(crate) fn with_secrets(template: &str) -> (String, Vec<String>) {
    let secrets = template
        .split('«')
        .skip(1)
        .map(|rest| rest.split_once('»').unwrap().0.to_owned())
        .flat_map(|secret| {
            secret
                .lines()
                .map(|line| line.trim().to_owned())
                .collect::<Vec<_>>()
        })
        .collect();
    (template.replace(['«', '»'], ""), secrets)
}

/// Whether a piece of the secret is left that was drawn for it alone.
pub fn leaks(masked: &str, around: &str, secret: &str) -> bool {
    let bytes = secret.as_bytes();
    let size = PIECE.min(bytes.len());
    bytes.windows(size).any(|piece| {
        let piece = String::from_utf8_lossy(piece);
        masked.contains(&*piece) && !around.contains(&*piece)
    })
}

/// What stands around the secrets of a text.
pub(crate) fn around(template: &str) -> String {
    let mut kept = String::new();
    for (at, part) in template.split('«').enumerate() {
        let outside = if at == 0 {
            part
        } else {
            part.split_once('»').unwrap().1
        };
        kept.push_str(outside);
        kept.push('\u{1}');
    }
    kept
}

/// A text of each kind, with what has to go of it and what stands around that: a format in one of
/// the contexts, then what only its surroundings give away.
pub fn one_of_each() -> Vec<SecretSample> {
    let contexts = cases(CONTEXTS);
    let formats = cases(FORMATS).into_iter().enumerate().map(|(at, case)| {
        let secret = Draw::new(case.kind, 0).fill(case.text);
        let context = contexts[at % contexts.len()].text;
        SecretSample::of(case.kind, &unescape(&context.replace('…', &secret)))
    });
    let named = cases(NAMED).into_iter().map(|case| {
        let filled = Draw::new(case.kind, 0).fill(case.text);
        SecretSample::of(case.kind, &unescape(&filled))
    });
    formats.chain(named).collect()
}

/// A text with secrets.
#[derive(Debug, Clone)]
pub struct SecretSample {
    pub kind: String,
    pub text: String,
    pub secrets: Vec<String>,
    pub around: String,
}

impl SecretSample {
    fn of(kind: &str, template: &str) -> Self {
        let (text, secrets) = with_secrets(template);
        Self {
            kind: kind.to_owned(),
            text,
            secrets,
            around: around(template),
        }
    }
}

/// Masks a text: a second time changes nothing.
///
/// # Panics
///
/// When something does not hold.
pub fn check_settled(redactor: &Redactor, text: &str) -> String {
    let once = redactor.redact_text(text).0.into_owned();
    let (twice, marks) = redactor.redact_text(&once);
    assert_eq!(*twice, *once, "from {text:?}");
    assert_eq!(marks, 0, "from {text:?}");
    once
}

/// Masks a text with a sample on lines of its own in it, whatever stands above and below.
///
/// # Panics
///
/// When a piece of the secret is left.
pub fn check_planted(redactor: &Redactor, above: &str, sample: &SecretSample, below: &str) {
    let text = format!("{above}\n{}\n{below}", sample.text);
    let masked = check_settled(redactor, &text);
    // The name of a mark may have a piece of a secret in it: `AGE-SECRET-KEY`.
    let marks: Vec<&str> = mark_names(&masked).collect();
    let marks = marks.join(" ");
    let around = format!("{above}\n{}\n{below}\n{marks}", sample.around);
    for secret in &sample.secrets {
        let kind = &sample.kind;
        assert!(
            !leaks(&masked, &around, secret),
            "{kind}: {text:?} became {masked:?}"
        );
    }
}
