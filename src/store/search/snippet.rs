//! [`Snippet`]: the piece of an entry around what was found.
//!
//! FTS5's `snippet` and `highlight` have nothing to cut it from: its tables keep no text
//! (`index.sql`) and receive words that are already folded. An entry that was found without the
//! index looks the same here.

use std::ops::Range;

use super::query::{Phrase, Query};
use super::text::{Text, Words, fold};

/// The longest snippet, in characters: about two lines of a terminal.
const CHARS_MAX: usize = 160;

/// How much stands before the first word found, in characters.
const BEFORE: usize = 40;

/// A piece of text, and which characters of it were searched for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snippet {
    /// The text, breaks and runs of spaces as one space; `…` where it goes on. As hostile as the
    /// entry itself.
    pub text: String,
    /// Ranges of `text` in characters, in order, none touching the next.
    pub marks: Vec<(u32, u32)>,
}

impl Snippet {
    /// Around the first match of a query. The beginning of the text when there is none.
    pub(super) fn of(text: &Text, query: &Query) -> Self {
        Self::placed(text, query).0
    }

    /// As [`Self::of`], and in which of the pieces it stands.
    pub(super) fn placed(text: &Text, query: &Query) -> (Self, usize) {
        let found = query.phrases().iter().find_map(|phrase| {
            let mut pieces = text.pieces.iter().enumerate();
            pieces.find_map(|(at, piece)| Some((at, piece, first_match(piece, phrase)?)))
        });
        match found {
            Some((at, piece, place)) => (around(piece, place.start, query), at),
            None => {
                let first = text.pieces.first().map_or("", String::as_str);
                (around(first, 0, query), 0)
            }
        }
    }
}

/// Where a phrase first stands in a text.
fn first_match(piece: &str, phrase: &Phrase) -> Option<Range<usize>> {
    matches(piece, Words::of(piece), phrase).next()
}

/// The places where a phrase stands among these words of a text.
fn matches<'a>(
    piece: &'a str,
    words: impl Iterator<Item = Range<usize>> + 'a,
    phrase: &'a Phrase,
) -> impl Iterator<Item = Range<usize>> + 'a {
    let want = phrase.words.len();
    let mut last: std::collections::VecDeque<(Range<usize>, String)> =
        std::collections::VecDeque::with_capacity(want);
    words.filter_map(move |word| {
        if last.len() == want {
            last.pop_front();
        }
        let mut folded = String::new();
        fold(&piece[word.clone()], &mut folded);
        last.push_back((word, folded));
        let fits = last.len() == want
            && last
                .iter()
                .zip(&phrase.words)
                .enumerate()
                .all(|(at, ((_, has), wanted))| {
                    if phrase.is_prefix && at + 1 == want {
                        has.starts_with(wanted.as_str())
                    } else {
                        has == wanted
                    }
                });
        fits.then(|| last[0].0.start..last[want - 1].0.end)
    })
}

/// The piece of a text around a place, with everything of the query that stands in it marked.
fn around(piece: &str, at: usize, query: &Query) -> Snippet {
    let start = piece[..at]
        .char_indices()
        .rev()
        .nth(BEFORE - 1)
        .map_or(0, |(start, _)| word_start(piece, start, at));
    let end = piece[start..]
        .char_indices()
        .nth(CHARS_MAX)
        .map_or(piece.len(), |(len, _)| start + len);
    let shown = &piece[start..end];
    let mut ranges: Vec<Range<usize>> = query
        .phrases()
        .iter()
        .flat_map(|phrase| matches(shown, Words::of(shown), phrase).collect::<Vec<_>>())
        .collect();
    ranges.sort_by_key(|range| range.start);
    write(shown, &ranges, start > 0, end < piece.len())
}

/// The beginning of the first whole word from `start` on, but never behind `at`.
fn word_start(piece: &str, start: usize, at: usize) -> usize {
    piece[start..at]
        .char_indices()
        .find(|(_, c)| c.is_whitespace())
        .map_or(start, |(space, c)| start + space + c.len_utf8())
}

fn write(shown: &str, ranges: &[Range<usize>], cut_before: bool, cut_after: bool) -> Snippet {
    let mut snippet = Snippet::default();
    let mut chars = u32::from(cut_before);
    if cut_before {
        snippet.text.push('…');
    }
    let mut after_space = true;
    for (at, c) in shown.char_indices() {
        let is_space = c.is_whitespace();
        if is_space && after_space {
            continue;
        }
        after_space = is_space;
        snippet.text.push(if is_space { ' ' } else { c });
        chars += 1;
        if ranges.iter().any(|range| range.contains(&at)) {
            match snippet.marks.last_mut() {
                Some((_, end)) if *end == chars - 1 => *end = chars,
                _ => snippet.marks.push((chars - 1, chars)),
            }
        }
    }
    // No mark ends in a space, so that none reaches beyond what is left.
    if snippet.text.ends_with(' ') {
        snippet.text.pop();
    }
    if cut_after {
        snippet.text.push('…');
    }
    snippet
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pieces: &[&str], typed: &str) -> (String, Vec<String>) {
        let text = Text {
            pieces: pieces.iter().map(|piece| (*piece).to_owned()).collect(),
        };
        let snippet = Snippet::of(&text, &Query::parse(typed).unwrap());
        let chars: Vec<char> = snippet.text.chars().collect();
        let marked = snippet
            .marks
            .iter()
            .map(|(from, to)| chars[*from as usize..*to as usize].iter().collect())
            .collect();
        (snippet.text, marked)
    }

    #[test]
    fn the_words_found_are_marked_in_their_own_letters() {
        let (text, marked) = of(
            &["One  LOCK\n around the\trefresh, lock-free"],
            "refre* lock ",
        );
        assert_eq!(text, "One LOCK around the refresh, lock-free");
        assert_eq!(marked, ["LOCK", "refresh", "lock"]);
    }

    #[test]
    fn a_long_text_is_cut_around_the_first_match() {
        let long = format!("{} needle in {}", "hay ".repeat(500), "straw ".repeat(500));
        let (text, marked) = of(&["nothing here", &long], "\"needle in\"");
        assert!(text.starts_with("…hay ") && text.ends_with('…'), "{text}");
        assert!(text.chars().count() <= CHARS_MAX + 2);
        assert_eq!(marked, ["needle in"]);
    }

    #[test]
    fn wide_characters_are_counted_and_not_split() {
        let (text, marked) = of(&["修复数据库里的错误 🎉"], "数据库");
        assert_eq!(text, "修复数据库里的错误 🎉");
        assert_eq!(marked, ["数据库"]);
        assert_eq!(of(&[], "x").0, "");
    }
}
