//! [`is_drawn`]: recognises random letters, which follow one another differently than in words.

/// The fewest letters by which that can be told.
const LETTERS_MIN: usize = 12;

/// A run of consonants that no word holds. `y` counts as a vowel.
const CONSONANTS: usize = 5;

/// The share of capitals behind another letter, in percent: `camelCase` has fewer, `CAPITALS` more.
const CAPITALS: std::ops::RangeInclusive<usize> = 28..=85;

/// Whether a text is no name, no words and no placeholder, although it may hold no digit. Looks at
/// each of its parts between signs.
pub(super) fn is_drawn(text: &str) -> bool {
    let letters = text.bytes().filter(u8::is_ascii_alphabetic).count();
    letters >= LETTERS_MIN
        && text
            .split(|letter: char| !letter.is_ascii_alphanumeric())
            .any(|part| !is_words(part))
}

/// The same for what stands behind a prefix that only secrets have, where nobody writes a name:
/// both cases in turn are enough.
pub(super) fn is_drawn_behind_prefix(text: &str) -> bool {
    is_drawn(text)
        || text
            .split(|letter: char| !letter.is_ascii_alphabetic())
            .any(|part| part.len() >= 10 && CAPITALS.contains(&capitals(part)))
}

/// The share of capitals behind another letter, in percent.
fn capitals(letters: &str) -> usize {
    let capitals = letters
        .bytes()
        .skip(1)
        .filter(u8::is_ascii_uppercase)
        .count();
    100 * capitals / letters.len().saturating_sub(1).max(1)
}

/// Whether a part may be words: `refreshedAccessToken`, `TOKENS`, `sha256`.
pub(super) fn is_words(part: &str) -> bool {
    let bytes = part.as_bytes();
    let stem = part.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if stem.len() < 4 {
        return true;
    }
    if stem.bytes().any(|byte| byte.is_ascii_digit()) {
        // Digits among letters: names such as `base64url` have one group of them.
        let groups = bytes
            .windows(2)
            .filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit())
            .count();
        return groups <= 2 || bytes.len() < LETTERS_MIN;
    }
    let is_mixed = stem.bytes().any(|byte| byte.is_ascii_lowercase())
        && stem.bytes().any(|byte| byte.is_ascii_uppercase());
    let share = capitals(stem);
    let run = longest_consonants(stem.as_bytes(), is_mixed);
    // A short part is an abbreviation: `HTTPS`, `kbdctl`.
    stem.len() < 8
        || !(run >= CONSONANTS || (is_mixed && run + 1 >= CONSONANTS && CAPITALS.contains(&share)))
}

/// The longest run of consonants; the capitals of `getHTTPSConnection` do not count, because
/// acronyms have no vowels.
fn longest_consonants(letters: &[u8], is_mixed: bool) -> usize {
    let run_of = |from: usize, test: fn(&u8) -> bool| {
        letters[from..]
            .iter()
            .take_while(|letter| test(letter))
            .count()
    };
    let (mut run, mut longest, mut at) = (0, 0, 0);
    while at < letters.len() {
        let capitals = run_of(at, u8::is_ascii_uppercase);
        let word = run_of(at + capitals, u8::is_ascii_lowercase);
        let is_last = at + capitals + word == letters.len();
        if is_mixed && capitals >= 3 && (word >= 3 || is_last && word == 0) {
            run = 0;
            at += capitals;
            continue;
        }
        let is_vowel = b"aeiouy".contains(&letters[at].to_ascii_lowercase());
        run = if is_vowel { 0 } else { run + 1 };
        longest = longest.max(run);
        at += 1;
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::is_drawn;

    #[test]
    fn words_in_every_spelling_are_not_drawn() {
        for words in [
            "refreshedAccessToken",
            "RefreshedAccessTokenProvider",
            "my-personal-access-token",
            "npm_lifecycle_event_name",
            "AUTHORIZATION_REQUIRED",
            "sha256_of_the_file",
            "getHTTPSConnectionPool",
            "setIdOfTheRowInATable",
            "src/core/redact/tests.rs",
        ] {
            assert!(!is_drawn(words), "{words}");
        }
    }

    #[test]
    fn letters_of_both_cases_without_a_digit_are_drawn() {
        for drawn in [
            "dTAtEhpFAnWxQtSCCJI",
            "QEdFfzLYMCJZGSlHFANDethPDhvDtUGqQBiz",
        ] {
            assert!(is_drawn(drawn), "{drawn}");
        }
    }
}
