//! [`FindingSeverity::of`]: a badge first, then a priority, then a word used as a label.
//! [`ReviewPart`]: which part of its review a comment is, which decides how much of it is read.

use super::body::{BODY_BYTES_MAX, CleanBody, comment_end};
use super::fence::{fence, prose};
use super::links;
use crate::cut_text::head;
use crate::entry::{FindingSeverity, SeverityBy};

/// So far the end of a picture's tag is looked for, in bytes.
const TAG_BYTES_MAX: usize = 4096;

/// In so many lines a review's own words may say how bad that is which they tell. Further down they
/// tell what other comments say.
const SUMMARY_LINES: usize = 2;

/// What a comment is of its review.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReviewPart {
    /// It says what is wrong.
    #[default]
    Finding,
    /// What a review says above its comments. It has no thread that could be resolved.
    Summary,
    /// As [`Self::Summary`], of a review that approves.
    Approval,
}

impl FindingSeverity {
    /// Of a comment as it was written. `clean` is of the same comment.
    pub fn of(raw: &str, clean: &CleanBody, part: ReviewPart) -> (Option<Self>, SeverityBy) {
        // What approves tells of what was bad.
        if part == ReviewPart::Approval {
            return (None, SeverityBy::None);
        }
        if let Some(found) = badge(raw) {
            return (Some(found), SeverityBy::Badge);
        }
        let lines = prose(&clean.text).into_iter();
        let mut lines: Vec<String> = lines.map(without_code).collect();
        if part == ReviewPart::Summary {
            lines.retain(|line| !line.trim().is_empty());
            lines.truncate(SUMMARY_LINES);
        } else if let Some(found) = lines.iter().find_map(|line| token(line)) {
            return (Some(found), SeverityBy::Token);
        }
        let mut rated = Vec::new();
        for line in &lines {
            if let Some((found, by)) = label(line, &rated) {
                return (Some(found), by);
            }
            rated = rated_columns(line, rated);
        }
        (None, SeverityBy::None)
    }

    fn of_token(word: &str) -> Option<Self> {
        Some(match word {
            "P0" => Self::Critical,
            "P1" => Self::High,
            "P2" => Self::Medium,
            "P3" => Self::Low,
            _ => return None,
        })
    }

    fn of_word(word: &str) -> Option<Self> {
        let all = [Self::Critical, Self::High, Self::Medium, Self::Low];
        all.into_iter()
            .find(|one| word.eq_ignore_ascii_case(&one.to_string()))
    }

    /// CodeRabbit's words for what is less than critical.
    fn of_grade(word: &str) -> Option<Self> {
        Some(match word {
            "Major" => Self::High,
            "Minor" => Self::Medium,
            "Trivial" => Self::Low,
            _ => return None,
        })
    }
}

/// The first badge outside of code and HTML comments that names a severity.
fn badge(raw: &str) -> Option<FindingSeverity> {
    let raw = head(raw, BODY_BYTES_MAX);
    let mut at = 0;
    let mut line_start = true;
    let mut unclosed = 0;
    while at < raw.len() {
        if line_start && let Some(fence) = fence(raw, at) {
            at = fence.end;
            continue;
        }
        let found = raw[at..].find(['\n', '<', '!'])?;
        at += found;
        line_start = raw.as_bytes()[at] == b'\n';
        let rest = &raw[at..];
        if rest.starts_with("<!--") {
            at = comment_end(raw, at, &mut unclosed).unwrap_or(at + "<!--".len());
            continue;
        }
        let (said, len) = match links::markdown(rest) {
            Some(link) if link.is_picture => (Some(link.label), link.len),
            _ if rest.starts_with("<img ") => match head(rest, TAG_BYTES_MAX).find('>') {
                Some(end) => (alt(&rest[..end]), end),
                None => (None, 1),
            },
            _ => (None, 1),
        };
        if let Some(severity) = said.and_then(of_badge) {
            return Some(severity);
        }
        at += len;
    }
    None
}

/// What an `img` says instead of its picture.
fn alt(tag: &str) -> Option<&str> {
    let value = tag.split_once(" alt=")?.1;
    let quote = value
        .chars()
        .next()
        .filter(|mark| matches!(mark, '"' | '\''))?;
    value[1..].split(quote).next()
}

fn of_badge(said: &str) -> Option<FindingSeverity> {
    let words: Vec<&str> = said
        .split(|letter: char| !letter.is_alphanumeric())
        .collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let severity =
        |word: &&str| FindingSeverity::of_token(word).or_else(|| FindingSeverity::of_word(word));
    let around = ["badge", "severity", "priority", "issue"];
    let only = words.iter().all(|word| {
        severity(word).is_some() || around.contains(&word.to_ascii_lowercase().as_str())
    });
    words.iter().find_map(severity).filter(|_| only)
}

fn without_code(line: &str) -> String {
    line.split('`')
        .step_by(2)
        .collect::<Vec<_>>()
        .join("\u{b7}")
}

/// P0 to P3 with nothing at its sides that would make it part of a name.
fn token(line: &str) -> Option<FindingSeverity> {
    line.split(|letter: char| !letter.is_alphanumeric() && !"_-./".contains(letter))
        .find_map(|word| FindingSeverity::of_token(word.trim_end_matches(['-', '.'])))
}

/// The cells of a line that CodeRabbit puts above its words: `_⚠️ Potential issue_ | _🟠 Major_`.
pub(super) fn header(line: &str) -> Option<Vec<&str>> {
    let cells = line.split('|').map(str::trim);
    let cells = cells.map(|cell| cell.strip_prefix('_')?.strip_suffix('_'));
    let cells: Option<Vec<&str>> = cells.collect();
    cells.filter(|cells| cells.len() > 1)
}

/// The cells of a line, each from its first letter or digit to its last one.
fn cells(line: &str) -> Vec<&str> {
    let line = line.trim();
    let cells = line.strip_prefix('|').unwrap_or(line).split('|');
    cells
        .map(|cell| cell.trim_matches(|letter: char| !letter.is_alphanumeric()))
        .collect()
}

/// Whether no bar of a line parts anything: those at its ends do not. Between two bars a symbol or a
/// blank is a cell like any other, of which [`cells`] leaves nothing.
fn has_one_column(line: &str) -> bool {
    let line = line.trim_start_matches(['>', ' ', '\t']).trim_end();
    let item = ["- ", "+ ", "* "].iter();
    let item = item.filter_map(|mark| line.strip_prefix(mark)).next();
    let line = item.unwrap_or(line).trim_start();
    // Of an emphasis that holds the whole row.
    let line = line.trim_matches(['*', '_', '~']);
    let line = line.strip_prefix('|').unwrap_or(line);
    !line.strip_suffix('|').unwrap_or(line).contains('|')
}

/// Whether a word says that the one beside it is how bad something is.
fn is_severity(word: &str) -> bool {
    ["severity", "priority"].contains(&word.to_lowercase().as_str())
}

/// The columns of the table that go on below this line whose cells say how bad something is. `above`:
/// those of the line before.
fn rated_columns(line: &str, mut above: Vec<usize>) -> Vec<usize> {
    if !line.contains('|') {
        return Vec::new();
    }
    let cells = cells(line).into_iter().enumerate();
    above.extend(cells.filter_map(|(at, cell)| is_severity(cell).then_some(at)));
    above
}

/// A word or a priority as a label: a line of its own, a cell that is said to be one, before a colon,
/// or with `severity`. A bare cell of any other table compares something. `rated`: the columns that
/// are said to be of labels further up.
fn label(line: &str, rated: &[usize]) -> Option<(FindingSeverity, SeverityBy)> {
    let is_header = header(line).is_some();
    let cells = cells(line);
    let is_alone = has_one_column(line);
    let of_word = |word: &str| {
        let by_word = FindingSeverity::of_word(word).map(|it| (it, SeverityBy::Word));
        by_word.or_else(|| Some((FindingSeverity::of_token(word)?, SeverityBy::Token)))
    };
    cells.iter().enumerate().find_map(|(at, &cell)| {
        let is_beside = at > 0 && is_severity(cells[at - 1]);
        let is_label = is_alone || is_header || is_beside || rated.contains(&at);
        let grade = FindingSeverity::of_grade(cell).filter(|_| is_header);
        let bare = of_word(cell).or(grade.map(|it| (it, SeverityBy::Word)));
        if let Some(found) = bare.filter(|_| is_label) {
            return Some(found);
        }
        let (first, rest) = split_word(cell);
        let (second, after) = split_word(rest);
        let between = &cell[first.len()..cell.len() - rest.len()];
        if is_severity(first) {
            let parted = between.contains([':', '=', '(']);
            return of_word(second).filter(|_| parted);
        }
        let severity = of_word(first)?;
        let next = &rest[second.len().min(rest.len())..];
        let ends = after.is_empty() || next.trim_start().starts_with([':', '*', '_', ')', ']']);
        let opens = between
            .trim_start_matches(['*', '_'])
            .starts_with([':', ']']);
        (opens || is_severity(second) && ends).then_some(severity)
    })
}

/// The first word, and the text from the next word on.
fn split_word(text: &str) -> (&str, &str) {
    let end = text
        .find(|letter: char| !letter.is_alphanumeric())
        .unwrap_or(text.len());
    (
        &text[..end],
        text[end..].trim_start_matches(|letter: char| !letter.is_alphanumeric()),
    )
}
