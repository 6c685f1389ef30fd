//! [`ImportedFinding`]: a comment of a review, ready to be recorded.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::body::CleanBody;
use super::fence::prose;
use super::severity::{ReviewPart, header};
use crate::cut_text::head;
use crate::entry::{FindingFacts, FindingSeverity};
use crate::hex::hex;
use crate::hidden::{is_joining, letters};
use crate::id::FindingId;
use crate::redact::Redactor;
use crate::snapshot::FindingSnapshot;

/// The longest title, author and review, in characters.
const LINE_CHARS_MAX: usize = 160;

/// The longest path and address, in bytes.
const PATH_BYTES_MAX: usize = 500;

/// What stands in front of a title and is none of its words.
const MARKS: &[char] = &['#', '>', '*', '_', '-', ' ', '\t', '|'];

/// A comment of a review, as its origin gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewComment {
    /// Its name at its origin.
    pub id: FindingId,
    /// What it is there.
    pub part: ReviewPart,
    /// Who wrote it.
    pub author: String,
    /// The author is a program.
    pub bot: bool,
    /// What it says, in Markdown with HTML.
    pub body: String,
    /// The file that it speaks of.
    pub path: Option<String>,
    /// Where it speaks of several lines, the first of them.
    pub start_line: Option<u32>,
    /// The line there, of several the last, from 1.
    pub line: Option<u32>,
    /// The commit in which the line has that number.
    pub commit: Option<String>,
    /// Where it stands.
    pub url: Option<String>,
    /// Its thread is marked as resolved; none where the origin does not say.
    pub resolved: Option<bool>,
    /// The code that it speaks of was changed since; none as there.
    pub outdated: Option<bool>,
}

/// A finding as it is to be recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportedFinding {
    /// Its name at its origin.
    pub finding: FindingId,
    /// What it says beside its words.
    pub facts: FindingFacts,
    /// The origin does not say whether its thread is resolved: what is known of that stays.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resolved_unsaid: bool,
    /// As there, of whether the code was changed since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outdated_unsaid: bool,
    /// Its words.
    pub text: String,
    /// Code that it would have instead.
    #[serde(default)]
    pub suggestions: Vec<String>,
    /// The comment as it was written, where that is more than its words.
    pub raw: Option<String>,
}

impl ImportedFinding {
    /// Of a comment; none where it says nothing, or has no name at all. Secrets are masked.
    pub fn of(comment: &ReviewComment, review: &str, redactor: &Redactor) -> Option<Self> {
        let (raw, _) = redactor.redact_text(&comment.body);
        let mask = |text: &str| redactor.redact_text(text).0.into_owned();
        let finding = well_formed(&comment.id, mask)?;
        let mut clean = CleanBody::of(&raw);
        // A character that nobody sees may have stood in the middle of a secret.
        clean.text = mask(&clean.text);
        for suggestion in &mut clean.suggestions {
            *suggestion = mask(suggestion);
        }
        if clean.text.trim().is_empty() && clean.suggestions.is_empty() {
            return None;
        }
        let (severity, severity_by) = FindingSeverity::of(&raw, &clean, comment.part);
        // As the record will have it: another import is compared with that.
        let facts = FindingFacts {
            review: one_line(&mask(review)),
            title: title(&clean),
            severity,
            lowered_from: None,
            severity_by,
            author: one_line(&mask(&comment.author)),
            bot: comment.bot,
            path: comment
                .path
                .as_deref()
                .filter(|path| is_inside(path))
                .map(mask),
            folder: None,
            start_line: comment
                .start_line
                .filter(|start| *start > 0 && Some(*start) < comment.line),
            line: comment.line.filter(|line| *line > 0),
            commit: comment
                .commit
                .as_deref()
                .filter(|hash| is_commit(hash))
                .map(str::to_owned),
            url: comment
                .url
                .as_deref()
                .filter(|url| is_address(url))
                .map(mask),
            resolved: comment.resolved.unwrap_or_default(),
            outdated: comment.outdated.unwrap_or_default(),
            digest: hex(&Sha256::digest(raw.as_bytes())),
        };
        let kept = head(&raw, super::BODY_BYTES_MAX);
        Some(Self {
            finding,
            facts,
            resolved_unsaid: comment.resolved.is_none(),
            outdated_unsaid: comment.outdated.is_none(),
            raw: (kept != clean.text).then(|| kept.to_owned()),
            text: clean.text,
            suggestions: clean.suggestions,
        })
    }

    /// Whether it would keep work from being done.
    pub fn would_block(&self) -> bool {
        let severity = self.facts.severity.as_ref();
        !self.facts.resolved && severity.is_some_and(FindingSeverity::blocks)
    }

    /// Which of them goes first where there is no room for all: the lowest does.
    pub fn rank(&self) -> usize {
        let known = &FindingSeverity::ALL;
        let severity = self.facts.severity.as_ref();
        let weight = known.iter().position(|known| Some(known) == severity);
        let open = weight.unwrap_or(known.len());
        // What is resolved blocks nothing, and nobody has to see it.
        open + usize::from(self.facts.resolved) * (known.len() + 1)
    }

    /// For a project that is this folder of its repository.
    pub fn seen_from(mut self, folder: Option<&str>, redactor: &Redactor) -> Self {
        let folder = folder.filter(|folder| is_inside(folder));
        self.facts.folder = folder.map(|folder| redactor.redact_text(folder).0.into_owned());
        self
    }

    /// What its origin does not say of it stays as it is known, and what blocks goes on doing so when
    /// its author rates it lower.
    pub(super) fn keep_unsaid(&mut self, known: &FindingSnapshot) {
        let facts = &known.facts;
        if self.resolved_unsaid {
            self.facts.resolved = facts.resolved;
        }
        if self.outdated_unsaid {
            self.facts.outdated = facts.outdated;
        }
        let is_lower = !self
            .facts
            .severity
            .as_ref()
            .is_some_and(FindingSeverity::blocks);
        let is_held = match known.verdict {
            None => known.is_blocking() && !self.facts.resolved,
            // It was so when the operator ruled on it.
            Some(_) => facts.lowered_from.is_some(),
        };
        if is_held && is_lower {
            self.facts.lowered_from = facts.weight().cloned();
        }
    }
}

/// How much of a digest tells one name from another that is written the same way here, in hex digits.
const APART_DIGITS: usize = 8;

/// A name as it is written here: what tools give theirs may have blanks, brackets and more than there
/// is room for, and secrets, which the record would mask. None of an empty one.
fn well_formed(id: &FindingId, mask: impl Fn(&str) -> String) -> Option<FindingId> {
    let name = id.as_str();
    if name.is_empty() {
        return None;
    }
    let masked = mask(name);
    if masked == name && FindingId::is_well_formed(name) {
        return Some(id.clone());
    }
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || ":._-/#".contains(letter);
    let letters = masked.chars();
    let letters = letters.map(|letter| if is_letter(letter) { letter } else { '-' });
    let room = FindingId::BYTES_MAX - APART_DIGITS - 1;
    let kept: String = letters.take(room).collect();
    let apart = hex(&Sha256::digest(name.as_bytes()));
    let written = |kept: &str| format!("{kept}-{}", &apart[..APART_DIGITS]);
    let told = Some(written(&kept)).filter(|told| mask(told) == *told);
    // Written like this it looks like a secret itself.
    Some(FindingId::new(told.unwrap_or_else(|| written("masked"))))
}

/// The first line of words outside of code; below a header of CodeRabbit's the first bold one.
fn title(clean: &CleanBody) -> String {
    let is_words = |line: &&str| {
        line.chars().any(char::is_alphanumeric) && !line.trim_start_matches(MARKS).starts_with("``")
    };
    let mut said = prose(&clean.text);
    said.retain(is_words);
    if said.is_empty() {
        said = clean.text.lines().filter(is_words).collect();
    }
    let mut words = said.into_iter();
    let first = words.next().unwrap_or("suggests other code");
    if let Some(cells) = header(first) {
        let others: Vec<&str> = words.collect();
        let bold = others.iter().find(|line| is_bold(line));
        return match bold.or(others.first()) {
            Some(line) => plain(line),
            None => one_line(&cells.join(" | ")),
        };
    }
    // That line names how severe it is, which is told beside the title.
    let first = match is_severity(first) {
        true => words.next().unwrap_or(first),
        false => first,
    };
    plain(first)
}

/// A line without the marks around it.
fn plain(line: &str) -> String {
    let line = line.trim_start_matches(MARKS).replace("**", "");
    one_line(line.trim_end_matches(['_', '*', ' ']))
}

fn is_bold(line: &str) -> bool {
    line.starts_with("**") && line.ends_with("**")
}

/// Whether a line is a label of a severity and nothing else.
fn is_severity(line: &str) -> bool {
    let plain = line.replace(['*', '_', '`', ':'], " ").to_lowercase();
    let words: Vec<&str> = plain.split_whitespace().collect();
    matches!(words.as_slice(), ["severity" | "priority", _])
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let shown = letters(&line).filter(|(letter, is_hidden)| !letter.is_control() && !is_hidden);
    let shown = shown.map(|(letter, _)| letter);
    let mut shown: String = shown.take(LINE_CHARS_MAX + 1).collect();
    if let Some((end, _)) = shown.char_indices().nth(LINE_CHARS_MAX) {
        shown.truncate(end);
        // What it joins is cut off.
        shown.truncate(shown.trim_end_matches(is_joining).len());
        shown.push('…');
    }
    shown
}

/// Whether a path names something below the repository, whatever it is joined to.
pub fn is_inside(path: &str) -> bool {
    let is_name = |part: &str| !part.is_empty() && part != "." && part != "..";
    path.len() <= PATH_BYTES_MAX
        && path.split('/').all(is_name)
        && !path.contains('\\')
        && !letters(path).any(|(letter, is_hidden)| letter.is_control() || is_hidden)
}

fn is_commit(hash: &str) -> bool {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (40..=64).contains(&hash.len()) && hash.bytes().all(is_hex)
}

fn is_address(url: &str) -> bool {
    url.starts_with("https://")
        && url.len() <= PATH_BYTES_MAX
        && url.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_tool_gives_is_written_so_that_it_can_be_named_and_stays_another_one() {
        let named = |name: &str| {
            let id = well_formed(&FindingId::new(name), |name| {
                Redactor::new().redact_text(name).0.into_owned()
            });
            id.map(|id| id.as_str().to_owned()).unwrap_or_default()
        };
        assert_eq!(named(""), "");
        assert_eq!(named("gh:rc:7"), "gh:rc:7");
        let semgrep = named("semgrep:rule@v1 src/a.rs");
        assert!(
            semgrep.starts_with("semgrep:rule-v1-src/a.rs-"),
            "{semgrep}"
        );
        assert_ne!(semgrep, named("semgrep:rule v1 src/a.rs"));
        let long = named(&"\u{e9}".repeat(500));
        assert!(FindingId::is_well_formed(&long), "{long}");
        // As the record would mask it, which would be no name.
        let leaked = |letter: &str| named(&format!("leak:ghp_{}", letter.repeat(36)));
        let leak = leaked("a1B2");
        assert!(FindingId::is_well_formed(&leak), "{leak}");
        assert!(leak.starts_with("leak:-REDACTED"), "{leak}");
        let redactor = Redactor::new();
        assert_eq!(redactor.redact_text(&leak).0, leak);
        assert_ne!(leak, leaked("c3D4"));
        let odd = named("password=hunter2hunter2 x");
        assert!(FindingId::is_well_formed(&odd), "{odd}");
        assert!(!odd.contains("hunter2"), "{odd}");
        assert_eq!(redactor.redact_text(&odd).0, odd);
    }

    #[test]
    fn a_title_is_the_first_line_that_says_more_than_how_severe_it_is() {
        for (body, wanted) in [
            (
                "_Severity: medium_\n\nThe old token stays valid.",
                "The old token stays valid.",
            ),
            ("**Severity: High**\nNo bound.", "No bound."),
            ("Severity: low", "Severity: low"),
            ("_Nobody closes it_\n\nIt leaks.", "Nobody closes it"),
            (
                "_⚠️ Potential issue_ | _🔴 Critical_ | _⚡ Quick win_\n\n**Validate the path.**\n\nIt may be empty.",
                "Validate the path.",
            ),
            (
                "_⚠️ Potential issue_ | _🟠 Major_\n\n<details>\n<summary>🧩 Analysis chain</summary>\n\n\
                 🏁 Script executed:\n\n```shell\nls\n```\n\n</details>\n\n**Close the file.**\n\nIt leaks.",
                "Close the file.",
            ),
            (
                "_🛠️ Refactor suggestion_ | _🔵 Trivial_\n\nNo bold words.",
                "No bold words.",
            ),
            (
                "_⚠️ Potential issue_ | _🟡 Minor_",
                "⚠️ Potential issue | 🟡 Minor",
            ),
            ("> ```html\n> <p>hi</p>\n> ```\n\nNo title.", "No title."),
            (
                "```rust\nlet a = 1;\n```\nIt is never read.",
                "It is never read.",
            ),
            ("```rust\nlet a = 1;\n```", "let a = 1;"),
            (
                "Severity of this: nobody knows",
                "Severity of this: nobody knows",
            ),
        ] {
            assert_eq!(title(&CleanBody::of(body)), wanted, "{body:?}");
        }
    }
}
