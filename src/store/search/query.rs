//! [`Query`]: what a person typed, as words and phrases that must all occur.
//!
//! Nothing that is typed is an operator, except quotes around a phrase and a `*` after a word.
//! FTS5's own syntax has many (`NOT`, `NEAR`, `a:b`), and rejects much of what people paste. It
//! also covers only its own tables, while [`Query::matches`] has to find the same in entries that
//! are not in them yet, and where there is no index.

use super::text::{Words, fold};

/// The longest query, in characters. Nobody types more, and each word costs a look-up.
const CHARS_MAX: usize = 1_000;

/// The most words of a query, by the blanks between them.
const WORDS_MAX: usize = 32;

/// The most look-ups of a query: of a script that is written without spaces each letter is one, and of
/// `a/b.rs` each part. More than a long sentence has.
const LOOKUPS_MAX: usize = 256;

/// Why there is nothing to look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// No letter and no digit.
    #[error("there is no word to search for")]
    Empty,
    /// Too much.
    #[error(
        "a search has at most {WORDS_MAX} words and {CHARS_MAX} characters, {LOOKUPS_MAX} of them in \
         scripts that are written without spaces"
    )]
    TooLong,
}

/// What has to be in an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    phrases: Vec<Phrase>,
}

/// Words that follow each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Phrase {
    pub(super) words: Vec<String>,
    /// The last word may go on.
    pub(super) is_prefix: bool,
}

impl Query {
    /// Reads what was typed: words, of which each must be there, in any order; `"a phrase"`;
    /// `begin*`. The last word is taken for a beginning too, as it may not be typed to its end:
    /// put it between quotes, or a space behind it, to have it whole. `snake_case` and `a/b.rs`
    /// are phrases, as they hold several words.
    ///
    /// # Errors
    ///
    /// When nothing in it can be searched for, or it is too long.
    pub fn parse(typed: &str) -> Result<Self, QueryError> {
        if typed.chars().nth(CHARS_MAX).is_some() {
            return Err(QueryError::TooLong);
        }
        let mut phrases = Vec::new();
        // Every second part stands between quotes; a quote that is not closed ends at the end.
        let parts: Vec<&str> = typed.split('"').collect();
        for (at, part) in parts.iter().enumerate() {
            if at % 2 == 1 {
                let goes_on = parts.get(at + 1).is_some_and(|next| next.starts_with('*'));
                push_phrase(part, goes_on, &mut phrases);
                continue;
            }
            let last = at + 1 == parts.len();
            for word in part.split_whitespace() {
                let ends_it = last && part.ends_with(word);
                let goes_on =
                    word.ends_with('*') || ends_it && word.ends_with(char::is_alphanumeric);
                push_phrase(word, goes_on, &mut phrases);
            }
        }
        let typed_words = typed
            .split(|letter: char| letter.is_whitespace() || letter == '"')
            .filter(|word| Words::of(word).next().is_some())
            .count();
        let lookups: usize = phrases.iter().map(|phrase| phrase.words.len()).sum();
        match (typed_words, lookups) {
            (0, _) => Err(QueryError::Empty),
            (1..=WORDS_MAX, 1..=LOOKUPS_MAX) => Ok(Self { phrases }),
            _ => Err(QueryError::TooLong),
        }
    }

    /// Whether this can be searched for.
    pub fn is_searched(typed: &str) -> bool {
        Self::parse(typed).is_ok()
    }

    pub(super) fn phrases(&self) -> &[Phrase] {
        &self.phrases
    }

    /// As FTS5 wants it. Words hold letters and digits alone, so that quotes are enough.
    pub(super) fn to_fts(&self) -> String {
        let phrases: Vec<String> = self
            .phrases
            .iter()
            .map(|phrase| {
                let star = if phrase.is_prefix { " *" } else { "" };
                format!("\"{}\"{star}", phrase.words.join(" "))
            })
            .collect();
        phrases.join(" AND ")
    }

    /// Whether a folded text has all of it. Says the same as FTS5 on the same text.
    pub(super) fn matches(&self, folded: &str) -> bool {
        self.phrases.iter().all(|phrase| {
            let end = if phrase.is_prefix { "" } else { " " };
            folded.contains(&format!(" {}{end}", phrase.words.join(" ")))
        })
    }
}

fn push_phrase(text: &str, is_prefix: bool, into: &mut Vec<Phrase>) {
    let words: Vec<String> = Words::of(text)
        .map(|word| {
            let mut folded = String::new();
            fold(&text[word], &mut folded);
            folded
        })
        .collect();
    if !words.is_empty() {
        into.push(Phrase { words, is_prefix });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fts(typed: &str) -> String {
        Query::parse(typed).unwrap().to_fts()
    }

    #[test]
    fn words_phrases_and_beginnings() {
        assert_eq!(fts("lock refresh"), r#""lock" AND "refresh" *"#);
        assert_eq!(fts("lock refresh "), r#""lock" AND "refresh""#);
        assert_eq!(fts("Lock* refresh."), r#""lock" * AND "refresh""#);
        assert_eq!(fts(r#""the lock" is"#), r#""the lock" AND "is" *"#);
        assert_eq!(fts(r#""the lo"* "#), r#""the lo" *"#);
        assert_eq!(fts(r#"is "the lock"#), r#""is" AND "the lock""#);
        assert_eq!(fts("snake_case"), r#""snake case" *"#);
        assert_eq!(fts("数据库"), r#""数 据 库" *"#);
    }

    #[test]
    fn nothing_typed_is_an_operator() {
        assert_eq!(
            fts("a AND -b OR NOT (c) NEAR/2 text:x ^y {z} 'q' *"),
            r#""a" AND "and" AND "b" AND "or" AND "not" AND "c" AND "near 2" AND "text x" AND "y" AND "z" AND "q""#
        );
        for typed in ["", "  ", "\"", "*", "\"\"", "-- !! ()", "\0"] {
            assert_eq!(Query::parse(typed), Err(QueryError::Empty), "{typed:?}");
        }
        assert_eq!(Query::parse(&"x ".repeat(33)), Err(QueryError::TooLong));
        assert_eq!(Query::parse(&"x".repeat(1_001)), Err(QueryError::TooLong));
    }

    #[test]
    fn a_sentence_without_blanks_is_one_word_however_many_look_ups_it_takes() {
        let sentence = "この設定を変更した後にサーバーを再起動しないと新しい値は有効になりません";
        assert!(sentence.chars().count() > WORDS_MAX);
        let query = Query::parse(sentence).unwrap();
        let mut folded = String::new();
        fold(sentence, &mut folded);
        let words: Vec<&str> = Words::of(&folded).map(|word| &folded[word]).collect();
        assert!(query.matches(&format!(" まず {} 。 ", words.join(" "))));
        assert!(Query::parse(&"語".repeat(LOOKUPS_MAX)).is_ok());
        let much = "語".repeat(LOOKUPS_MAX + 1);
        assert_eq!(Query::parse(&much), Err(QueryError::TooLong));
        assert!(QueryError::TooLong.to_string().contains("256 of them"));
        assert_eq!(
            Query::parse(&format!("\"{}\"", "x ".repeat(33))),
            Err(QueryError::TooLong)
        );
    }

    #[test]
    fn a_folded_text_is_matched_by_whole_words_and_by_beginnings() {
        let has = |typed: &str| Query::parse(typed).unwrap().matches(" the lock is free ");
        for typed in [
            "lock",
            "free the",
            "loc*",
            "\"lock is\"",
            "\"lock i\"*",
            "fre",
            "THE",
        ] {
            assert!(has(typed), "{typed}");
        }
        for typed in ["loc ", "ock", "\"the is\"", "fre ", "\"lock i\"", "gone"] {
            assert!(!has(typed), "{typed}");
        }
    }
}
