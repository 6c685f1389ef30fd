//! [`comments`]: the comments of a source file, and nothing else of it. [`sentences`]: its constants
//! that are text for people, and where one, or such a text itself, is [`compared`].

use std::collections::BTreeSet;
use std::iter::Peekable;
use std::str::CharIndices;

/// Words that plain technical English has no use for; see *Prose* in the glossary. A text that a
/// person reads on the screen may have them.
pub const QUAINT: [&str; 6] = [
    "whoever",
    "anew",
    "of before",
    "be it",
    "lets it be",
    "let it be",
];

/// The first of these words in a comment.
pub fn quaint_word(comment: &str) -> Option<&'static str> {
    let text = comment.to_lowercase();
    let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    QUAINT.into_iter().find(|quaint| {
        text.match_indices(quaint).any(|(at, found)| {
            let before = text[..at].chars().next_back();
            let behind = text[at + found.len()..].chars().next();
            !is_letter(before) && !is_letter(behind)
        })
    })
}

/// The comments with the number of their first line. Lines that follow each other are one comment,
/// so that a phrase may go over the end of a line.
pub fn comments(source: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, usize, String)> = Vec::new();
    let mut letters = source.char_indices().peekable();
    let mut before = ' ';
    while let Some((at, letter)) = letters.next() {
        let rest = &source[at..];
        let is_word = before.is_alphanumeric() || before == '_';
        if rest.starts_with("//") {
            let line_text = rest.lines().next().unwrap_or_default();
            let text = line_text.trim_start_matches(['/', '!']).trim();
            let line = source[..at].matches('\n').count() + 1;
            match found.last_mut() {
                Some((_, last, whole)) if *last + 1 == line => {
                    *last = line;
                    whole.push(' ');
                    whole.push_str(text);
                }
                _ => found.push((line, line, text.to_owned())),
            }
            skip(&mut letters, at + line_text.len());
        } else if letter == '"' {
            skip(&mut letters, at + 1 + end_of_string(&rest[1..]));
        } else if letter == 'r' && (!is_word || before == 'b') {
            let hashes = rest[1..].chars().take_while(|it| *it == '#').count();
            if rest[1 + hashes..].starts_with('"') {
                let end = format!("\"{}", "#".repeat(hashes));
                let begin = 2 + hashes;
                let len = rest[begin..]
                    .find(&end)
                    .map_or(rest.len(), |len| begin + len + end.len());
                skip(&mut letters, at + len);
            }
        } else if letter == '\'' {
            // `'"'` and `'\''` are letters; what else begins so is a lifetime.
            if let Some(len) = ["'\"'", "'\\''", "'\\\"'"]
                .iter()
                .find(|it| rest.starts_with(**it))
                .map(|it| it.len())
            {
                skip(&mut letters, at + len);
            }
        }
        before = letter;
    }
    found
        .into_iter()
        .map(|(line, _, text)| (line, text))
        .collect()
}

/// Where a string ends whose first quote has been read.
fn end_of_string(rest: &str) -> usize {
    let mut is_escaped = false;
    for (at, letter) in rest.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The names of the constants that hold a sentence.
pub fn sentences(source: &str) -> Vec<String> {
    let constants = constants(source).into_iter();
    let sentences = constants.filter(|(_, text)| text.is_some_and(is_sentence));
    sentences.map(|(name, _)| name.to_owned()).collect()
}

/// The names of the constants that hold something else.
pub fn other_constants(source: &str) -> Vec<String> {
    let constants = constants(source).into_iter();
    let others = constants.filter(|(_, text)| !text.is_some_and(is_sentence));
    others.map(|(name, _)| name.to_owned()).collect()
}

/// The constants, each with its text if it is one.
fn constants(source: &str) -> Vec<(&str, Option<&str>)> {
    let is_name = |name: &str| name.chars().all(is_name_letter);
    let constants = source.split("const ").skip(1).filter_map(|rest| {
        let (name, rest) = rest.split_once(": ").filter(|(name, _)| is_name(name))?;
        let text = rest.strip_prefix("&str =").map(str::trim_start);
        let text = text.and_then(|text| text.strip_prefix('"'));
        Some((name, text.map(|text| &text[..end_of_string(text)])))
    });
    constants.collect()
}

/// Letters, a space, letters.
fn is_sentence(text: &str) -> bool {
    let letters = |word: &str| word.chars().all(|letter| letter.is_ascii_lowercase());
    let words = text.trim_end_matches('"').split(' ');
    let words = words.filter(|word| !word.is_empty() && letters(word));
    words.count() > 1
}

fn is_name_letter(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// What compares a text with the one that follows.
const ASKS: [&str; 8] = [
    ".contains(",
    ".starts_with(",
    ".ends_with(",
    ".eq(",
    ".strip_prefix(",
    ".strip_suffix(",
    ".split_once(",
    ".rsplit_once(",
];

/// The first sentence that a line of code compares with something: one of these constants, or as it
/// stands there.
pub fn compared<'a>(line: &'a str, constants: &BTreeSet<String>) -> Option<&'a str> {
    let signs = line.match_indices("==").chain(line.match_indices("!="));
    let signs: Vec<(usize, &str)> = signs.collect();
    let before = signs.iter().filter_map(|(at, _)| {
        let before = line[..*at].trim_end();
        before.rsplit(|letter| !is_name_letter(letter)).next()
    });
    let asked = ASKS.iter().flat_map(|asks| line.match_indices(asks));
    let behind = signs.iter().copied().chain(asked).filter_map(|(at, sign)| {
        let behind = line[at + sign.len()..].trim_start();
        let behind = behind.strip_prefix("Some(").unwrap_or(behind);
        let behind = behind.trim_start_matches(['&', '*']);
        if let Some(text) = behind.strip_prefix('"') {
            let text = text[..end_of_string(text)].trim_end_matches('"');
            return Some(text).filter(|text| is_sentence(text));
        }
        let path = behind.split(|letter| !is_name_letter(letter) && letter != ':');
        path.take(1).flat_map(|path| path.rsplit("::")).next()
    });
    let mut sides = before.chain(behind);
    sides.find(|side| constants.contains(*side) || is_sentence(side))
}

fn skip(letters: &mut Peekable<CharIndices<'_>>, to: usize) {
    while letters.next_if(|(at, _)| *at < to).is_some() {}
}

#[test]
fn only_comments_are_read_and_a_phrase_may_go_over_a_line() {
    let source = concat!(
        "/// A process of\n",
        "/// before.\n",
        "const A: &str = \"whoever // \\\" anew\";\n",
        "const B: &str = r#\"\n// be it \"anew\n\"#;\n",
        "const C: [char; 3] = ['\"', '\\'', '/']; // And `whoever`.\n",
        "fn f<'a>(x: &'a str) {}\n",
        "// Renewed. What it may be: it or that, maybe it.\n",
    );
    let found = comments(source);
    let found: Vec<_> = found
        .iter()
        .map(|(line, text)| (*line, quaint_word(text)))
        .collect();
    let expected = [(1, Some("of before")), (7, Some("whoever")), (9, None)];
    assert_eq!(found, expected);
}

#[test]
fn a_sentence_is_known_where_it_is_compared_and_nowhere_else() {
    let source = concat!(
        "const A: &str = \"waits for its turn\";\n",
        "pub(super) const B: &str =\n    \"held, as you said\";\n",
        "const C: &str = \"no_words-here\";\n",
        "const D: &str = \"one\";\n",
        "const E: usize = 5;\n",
    );
    let found: BTreeSet<String> = sentences(source).into_iter().collect();
    assert_eq!(found, BTreeSet::from(["A".to_owned(), "B".to_owned()]));
    for line in [
        "if why == A {",
        "joins && A == *why",
        "why != super::B)",
        "why.as_str() == &*A",
        "text.contains(A)",
        "why.as_deref() == Some(A)",
        "text.strip_prefix(super::B)?",
        "if line == \"the network\" {",
        "line.starts_with(\"to reach \")",
    ] {
        assert!(compared(line, &found).is_some(), "{line}");
    }
    for line in [
        "say(A)",
        "A => true,",
        "x == C && say(A)",
        "if A_MAX == n",
        "if word == \"network\" && say(\"the network\")",
    ] {
        assert_eq!(compared(line, &found), None, "{line}");
    }
    assert_eq!(other_constants(source), ["C", "D", "E"]);
}
