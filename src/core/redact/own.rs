//! [`OwnRules`]: what a project adds to the built-in rules, and what it lets through.
//!
//! Somebody else wrote the expressions, so everything about them is bounded: their number, their
//! length, their compiled size, and how often one of them is tried on a text.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use super::allow::AllowList;
use super::mark::{Masked, mark_name, marks_of};

/// How many rules a project may add, and how many entries its allow-list may have. Each costs a
/// pass over every text.
pub const RULES_MAX: usize = 64;

/// The longest expression and the longest allowed text, in bytes.
pub const PATTERN_BYTES_MAX: usize = 1_000;

/// What an expression may compile to, in bytes. The time that a text takes grows with it.
const COMPILED_BYTES_MAX: usize = 256 * 1024;

/// How far one search looks at first, in bytes: a match of up to this length is found whole. What
/// seems to go on, or is not there, is looked for further on.
const WINDOW: usize = 16 * 1024;

/// How many bytes all searches of one text may look at: so many in any case, so many for each of
/// its bytes, and so many more for each byte and rule, which all rounds together need when nothing
/// is found. A search may look at all that follows for a find of one character, so that there must
/// be an end; a find in every line of a text does not come near it.
const WORK_MIN: usize = 16 * 1024 * 1024;
const WORK_PER_BYTE: usize = 256;
const WORK_PER_BYTE_AND_RULE: usize = 16;

/// What a text may still cost, in bytes looked at.
#[derive(Debug)]
pub(super) struct Work(usize);

impl Work {
    pub(super) fn for_text(text: &str, rules: usize) -> Self {
        let per_byte = WORK_PER_BYTE + WORK_PER_BYTE_AND_RULE * rules;
        Self(WORK_MIN + text.len().saturating_mul(per_byte))
    }

    fn spend(&mut self, bytes: usize) -> Option<()> {
        self.0 = self.0.checked_sub(bytes)?;
        Some(())
    }
}

/// Rules and allow-list of a project.
#[derive(Debug, Clone, Default)]
pub struct OwnRules {
    rules: Vec<CompiledRule>,
    allow: AllowList,
}

/// One rule of a project.
#[derive(Debug, Clone)]
pub(super) struct CompiledRule {
    mark: String,
    pattern: Regex,
}

/// Why a rule or an entry of the allow-list is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRule {
    /// The name does not fit into a mark.
    #[error("the name has to be 1 to 40 letters, digits, `_` or `-`")]
    Name,
    /// Empty, or too long.
    #[error("the text has to be 1 to {PATTERN_BYTES_MAX} bytes long")]
    Length,
    /// It matches the empty text, and so everywhere.
    #[error("the expression matches the empty text")]
    MatchesNothing,
    /// No expression of the syntax of the `regex` crate.
    #[error("it is no regular expression: {0}")]
    Syntax(String),
    /// It compiles to too much.
    #[error("the expression is too large when compiled")]
    TooLarge,
    #[error("there are more than {RULES_MAX}")]
    TooMany,
}

impl OwnRules {
    /// Adds a rule: what `pattern` matches becomes `[REDACTED_<NAME>]`.
    ///
    /// # Errors
    ///
    /// See [`BadRule`]; nothing is added then.
    pub fn add_rule(&mut self, name: &str, pattern: &str) -> Result<(), BadRule> {
        let mark = mark_name(name).ok_or(BadRule::Name)?;
        let pattern = compile(pattern, |pattern| pattern.to_owned())?;
        if self.rules.len() >= RULES_MAX {
            return Err(BadRule::TooMany);
        }
        self.rules.push(CompiledRule { mark, pattern });
        Ok(())
    }

    /// Lets exactly this text through.
    ///
    /// # Errors
    ///
    /// See [`BadRule`].
    pub fn allow_text(&mut self, text: &str) -> Result<(), BadRule> {
        check_length(text)?;
        self.check_room()?;
        self.allow.add_text(text.to_owned());
        Ok(())
    }

    /// Lets through what `pattern` matches from its first to its last character.
    ///
    /// # Errors
    ///
    /// See [`BadRule`].
    pub fn allow_pattern(&mut self, pattern: &str) -> Result<(), BadRule> {
        // By itself first: put together with our own anchors, half an expression might be whole.
        compile(pattern, |pattern| pattern.to_owned())?;
        let pattern = compile(pattern, |pattern| format!(r"\A(?:{pattern})\z"))?;
        self.check_room()?;
        self.allow.add_pattern(pattern);
        Ok(())
    }

    fn check_room(&self) -> Result<(), BadRule> {
        if self.allow.len() >= RULES_MAX {
            return Err(BadRule::TooMany);
        }
        Ok(())
    }

    pub(super) fn rules(&self) -> &[CompiledRule] {
        &self.rules
    }

    pub(super) fn allow(&self) -> &AllowList {
        &self.allow
    }
}

impl CompiledRule {
    /// Replaces all matches; no text when there are none, nothing at all when the work that the
    /// text may cost was used up. Marks stay: a match never begins in one, and of a match that
    /// spans one only the rest is replaced.
    pub(super) fn mask_all(
        &self,
        text: &str,
        allow: &AllowList,
        work: &mut Work,
    ) -> Option<Option<(String, u32)>> {
        let mut masked = Masked::new(text);
        let mut marks: Option<Vec<Range<usize>>> = None;
        let mut at = 0;
        while let Some(found) = self.find(text, at, work)? {
            let marks = marks.get_or_insert_with(|| marks_of(text));
            let next_mark = marks.partition_point(|mark| mark.end <= found.start);
            if let Some(mark) = marks.get(next_mark)
                && mark.contains(&found.start)
            {
                at = mark.end;
                continue;
            }
            if found.is_empty() {
                // Between two characters: nothing to be masked, and no way on but by one.
                let Some(next) = text[found.end..].chars().next() else {
                    break;
                };
                at = found.end + next.len_utf8();
                continue;
            }
            if !allow.has(text, found.clone()) {
                for piece in outside(marks, found.clone()) {
                    masked.replace(piece.start, piece.end, &self.mark);
                }
            }
            at = found.end;
        }
        Some(masked.finish())
    }

    /// The next match from `at` on. Looks as far as it has to and not at once to the end.
    fn find(&self, text: &str, at: usize, work: &mut Work) -> Option<Option<Range<usize>>> {
        let mut window = WINDOW;
        loop {
            let end = text.ceil_char_boundary(at + window);
            work.spend(end - at)?;
            let found = self.pattern.find_at(&text[..end], at);
            let goes_on = end < text.len() && found.is_none_or(|found| found.end() == end);
            if !goes_on {
                return Some(found.map(|found| found.range()));
            }
            window = window.saturating_mul(4);
        }
    }
}

/// A range without the marks in it.
fn outside(marks: &[Range<usize>], range: Range<usize>) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = range.start;
    let first = marks.partition_point(|mark| mark.end <= start);
    for mark in &marks[first..] {
        if mark.start >= range.end {
            break;
        }
        if mark.start > start {
            pieces.push(start..mark.start);
        }
        start = mark.end;
    }
    if start < range.end {
        pieces.push(start..range.end);
    }
    pieces
}

fn check_length(text: &str) -> Result<(), BadRule> {
    if (1..=PATTERN_BYTES_MAX).contains(&text.len()) {
        Ok(())
    } else {
        Err(BadRule::Length)
    }
}

fn compile(pattern: &str, anchored: impl Fn(&str) -> String) -> Result<Regex, BadRule> {
    check_length(pattern)?;
    let compiled = RegexBuilder::new(&anchored(pattern))
        .size_limit(COMPILED_BYTES_MAX)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => BadRule::TooLarge,
            error => BadRule::Syntax(last_line(&error.to_string())),
        })?;
    if compiled.is_match("") {
        return Err(BadRule::MatchesNothing);
    }
    Ok(compiled)
}

/// What is wrong, without the picture of where.
fn last_line(text: &str) -> String {
    let last = text.lines().last().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}
