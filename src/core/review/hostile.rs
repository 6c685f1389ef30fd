//! What must hold of any comment of a review that is cleaned up: [`check`]. For tests and fuzzing.

use std::sync::LazyLock;

use super::body::seen;
use super::{
    CLEAN_BYTES_MAX, CleanBody, ImportedFinding, ReviewComment, ReviewPart, SUGGESTIONS_MAX,
};
use crate::cut_text::head;
use crate::entry::{FindingSeverity, SeverityBy};
use crate::hidden::has_hidden;
use crate::id::FindingId;
use crate::redact::Redactor;

/// How often [`check`] cleans a text up at most: each pass takes one `amp;` out of `&amp;amp;lt;`.
const PASSES_MAX: usize = 16;

/// How much of a text is taken for an author, a path and the like, in bytes.
const NAME_BYTES: usize = 250;

static REDACTOR: LazyLock<Redactor> = LazyLock::new(Redactor::new);

/// Cleans a comment up, rates it and makes a finding of it: all that a person is shown is within its
/// bounds and can be seen, and each further pass takes something away or changes nothing.
///
/// # Panics
///
/// When something does not hold.
pub fn check(raw: &str) {
    check_passes(raw, PASSES_MAX);
}

/// As [`check`], until a pass changes nothing.
///
/// # Panics
///
/// As there.
pub fn check_until_settled(raw: &str) {
    check_passes(raw, usize::MAX);
}

fn check_passes(raw: &str, passes_max: usize) {
    let seen = seen(raw);
    let clean = check_pass(raw);
    let mut lines = clean.suggestions.iter().flat_map(|code| code.lines());
    assert!(lines.all(|line| seen.contains(line)), "{clean:?}");
    check_finding(raw);
    let mut text = seen.into_owned();
    for _ in 0..passes_max {
        let clean = check_pass(&text);
        if clean.text == text {
            break;
        }
        assert!(clean.text.len() < text.len(), "{clean:?} of {text:?}");
        text = clean.text;
    }
}

/// One pass, and how bad it says that something is.
fn check_pass(text: &str) -> CleanBody {
    let clean = CleanBody::of(text);
    assert!(clean.text.len() <= CLEAN_BYTES_MAX);
    assert!(clean.suggestions.len() <= SUGGESTIONS_MAX);
    for shown in clean.suggestions.iter().chain([&clean.text]) {
        assert!(shown.len() <= CLEAN_BYTES_MAX);
        check_seen(shown);
    }
    for part in [
        ReviewPart::Finding,
        ReviewPart::Summary,
        ReviewPart::Approval,
    ] {
        let (severity, by) = FindingSeverity::of(text, &clean, part);
        assert_eq!(severity.is_none(), by == SeverityBy::None);
        assert!(severity.is_none() || part != ReviewPart::Approval);
    }
    clean
}

/// The same as it would be recorded, with its beginning for all that stands beside it.
fn check_finding(raw: &str) {
    let name = head(raw, NAME_BYTES);
    let comment = ReviewComment {
        id: FindingId::new(name),
        part: ReviewPart::Finding,
        author: name.to_owned(),
        bot: false,
        body: raw.to_owned(),
        path: Some(name.to_owned()),
        start_line: None,
        line: None,
        commit: None,
        url: Some(name.to_owned()),
        resolved: None,
        outdated: None,
    };
    let Some(found) = ImportedFinding::of(&comment, name, &REDACTOR) else {
        return;
    };
    assert!(FindingId::is_well_formed(found.finding.as_str()));
    let facts = &found.facts;
    for line in [&facts.title, &facts.author, &facts.review] {
        check_seen(line);
        assert!(!line.contains('\n'), "{line:?}");
    }
    check_seen(&found.text);
}

/// Nothing in it is obeyed by a terminal, or read by a program and not seen by a person.
fn check_seen(text: &str) {
    let is_control = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
    assert!(!text.contains(is_control), "{text:?}");
    assert!(!has_hidden(text), "{text:?}");
}
