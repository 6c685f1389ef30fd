//! [`NameClass`]: names that announce a secret.

/// What a name promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameClass {
    /// A password: anything may be one.
    Password,
    /// A token, a key, a secret: mostly random.
    Secret,
}

impl NameClass {
    /// The name in the mark.
    pub(super) fn mark(self) -> &'static str {
        match self {
            Self::Password => "PASSWORD",
            Self::Secret => "SECRET",
        }
    }
}

/// Words with which the name of a secret ends; longer ones first. Compared without case, `_`,
/// `-`, `.` and spaces.
const PASSWORDS: [&str; 10] = [
    "passphrase",
    "passwort",
    "password",
    "passcode",
    "kennwort",
    "passwd",
    "passw",
    "pwd",
    "psk",
    "pass",
];

/// As [`PASSWORDS`].
const SECRETS: [&str; 5] = ["credentials", "credential", "secret", "token", "apikey"];

/// What makes a `key` a secret one.
const KEY_OWNERS: [&str; 32] = [
    "api",
    "access",
    "secret",
    "private",
    "encryption",
    "encrypt",
    "signing",
    "sign",
    "account",
    "master",
    "auth",
    "authorization",
    "service",
    "servicerole",
    "deploy",
    "license",
    "storage",
    "shared",
    "sharedaccess",
    "app",
    "application",
    "client",
    "admin",
    "webhook",
    "hmac",
    "jwt",
    "session",
    "subscription",
    "consumer",
    "functions",
    "ingest",
    "preshared",
];

/// What may follow the word: a number, an environment, an encoding.
const TAILS: [&str; 14] = [
    "production",
    "staging",
    "base64",
    "prod",
    "base",
    "test",
    "live",
    "value",
    "b64",
    "dev",
    "raw",
    "plain",
    "data",
    "env",
];

/// What makes a `token` something else: cursors, and the tokens of parsers and of language
/// models.
const OTHER_TOKENS: [&str; 20] = [
    "page",
    "next",
    "nextpage",
    "sync",
    "cursor",
    "continuation",
    "continue",
    "pad",
    "eos",
    "bos",
    "unk",
    "sep",
    "cls",
    "mask",
    "stop",
    "special",
    "prev",
    "previous",
    "lookahead",
    "peek",
];

/// The class of a name, or `None` when it promises nothing.
pub(super) fn classify(name: &str) -> Option<NameClass> {
    if name.contains("REDACTED_") {
        // A mark ends in the kind of secret that it stands for, and names nothing.
        return None;
    }
    let mut plain = String::with_capacity(name.len());
    plain.extend(
        name.bytes()
            .filter(u8::is_ascii_alphanumeric)
            .map(|byte| char::from(byte.to_ascii_lowercase())),
    );
    if plain == "auth" || plain == "authtoken" || plain == "xapikey" || plain == "xauthtoken" {
        return Some(NameClass::Secret);
    }
    let without_number = plain.trim_end_matches(|letter: char| letter.is_ascii_digit());
    class_of(name, without_number).or_else(|| {
        TAILS
            .iter()
            .filter_map(|tail| without_number.strip_suffix(tail))
            .find_map(|stem| class_of(name, stem))
    })
}

fn class_of(name: &str, plain: &str) -> Option<NameClass> {
    if let Some(word) = PASSWORDS.iter().find(|word| plain.ends_with(**word)) {
        let before = &plain[..plain.len() - word.len()];
        // `bypass` and `compass` are words of their own, `DB_PASS` and `dbPass` are not.
        let is_short = *word == "pass" || *word == "psk";
        let stands_alone = before.is_empty() || !is_short || ends_in_word(name, word);
        return stands_alone.then_some(NameClass::Password);
    }
    if let Some(word) = SECRETS.iter().find(|word| plain.ends_with(**word)) {
        let before = &plain[..plain.len() - word.len()];
        let is_other = *word == "token" && OTHER_TOKENS.iter().any(|other| before.ends_with(other));
        return (!is_other).then_some(NameClass::Secret);
    }
    let owner = plain.strip_suffix("key")?;
    KEY_OWNERS
        .iter()
        .any(|word| owner.ends_with(word))
        .then_some(NameClass::Secret)
}

/// Whether a word stands at the end of a name as a part of its own: `DB_PASS`, `dbPass`.
fn ends_in_word(name: &str, word: &str) -> bool {
    let name = name.trim_end_matches(|letter: char| !letter.is_ascii_alphabetic());
    let Some(start) = name.len().checked_sub(word.len()) else {
        return false;
    };
    if !name.is_char_boundary(start) || !name[start..].eq_ignore_ascii_case(word) {
        return false;
    }
    let before = name[..start].chars().next_back();
    let first = name[start..].chars().next();
    match (before, first) {
        (None, _) => true,
        (Some(before), Some(first)) => {
            !before.is_ascii_alphanumeric()
                || (before.is_ascii_lowercase() && first.is_ascii_uppercase())
        }
        (Some(_), None) => false,
    }
}
