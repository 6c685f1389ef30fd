//! [`FindingRecord`]: what a review said, and what became of it. [`FindingSeverity`]: how bad that
//! is; [`SeverityBy`]: the evidence for that.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Entry, EntryKind};
use crate::id::FindingId;
use crate::in_quotes::named;
use crate::told_path::told_lines;
use crate::word::words;

/// The key in the `meta` of a note by which an agent says that it has a finding in hand: its id.
pub const FINDING: &str = "finding";

/// What is said of a file that is not in the project's folder.
const OUTSIDE: &str = "outside of the project";

words! {
    /// A step in the life of a finding.
    pub enum FindingStep {
        /// A review says it. The content is what it says, cleaned.
        Imported = "imported",
        /// The review says it otherwise by now. The content is as of an import.
        Changed = "changed",
        /// The review does not say it any more.
        Gone = "gone",
        /// As that, of one that kept work from being done: it goes on doing so.
        Missing = "missing",
        /// It is dealt with, says the operator. The content is how, where they said.
        Resolved = "resolved",
        /// It does not count, says the operator. The content is why.
        Dismissed = "dismissed",
    }
}

words! {
    /// How bad a finding is, by its reviewer's word.
    pub enum FindingSeverity {
        /// P0.
        Critical = "critical",
        /// P1.
        High = "high",
        /// P2.
        Medium = "medium",
        /// P3.
        Low = "low",
    }
}

impl FindingSeverity {
    /// Whether a finding that is so bad keeps work from being done.
    pub fn blocks(&self) -> bool {
        matches!(self, Self::Critical | Self::High)
    }
}

words! {
    /// By what a severity is known.
    pub enum SeverityBy {
        /// What is said instead of a picture: `![P1 Badge](…)`.
        Badge = "badge",
        /// P0 to P3, standing alone.
        Token = "token",
        /// A word in the place of a label: `Severity: high`, `**Low:**`.
        Word = "word",
        /// It is not said.
        None = "none",
    }
}

/// A step in the life of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingRecord {
    /// The finding, by its name at its origin.
    pub finding: FindingId,
    pub step: FindingStep,
    /// What the review says of it, with what was imported or changed.
    pub facts: Option<FindingFacts>,
    /// Code that the review would have instead.
    pub suggestions: Vec<String>,
    /// The comment as it was written, where it says more than the content does. Only on the way to
    /// the ledger, which keeps it beside the line as [`Entry::whole`].
    pub raw: Option<String>,
}

/// What a review says of a finding beside its words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingFacts {
    /// The review: `github.com/OWNER/NAME#12`, or where else it came from.
    pub review: String,
    /// One line.
    pub title: String,
    /// How bad it is, by its author's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<FindingSeverity>,
    /// How bad it was when it kept work from being done, where its author takes that back and nobody
    /// said that it is dealt with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lowered_from: Option<FindingSeverity>,
    /// By what that is known.
    pub severity_by: SeverityBy,
    /// Who says it, as the origin names them.
    pub author: String,
    /// The author is a program.
    #[serde(default)]
    pub bot: bool,
    /// The file, relative to the repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The project's folder in the repository, `a/b`, where it is not its top.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Where it speaks of several lines, the first of them, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u32>,
    /// The line there, of several the last, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The commit in which the line has that number, in lower-case hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Where it stands, for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its thread is marked as resolved there.
    #[serde(default)]
    pub resolved: bool,
    /// The code that it speaks of was changed since, says the origin.
    #[serde(default)]
    pub outdated: bool,
    /// SHA-256 of the masked comment, in lower-case hex: by it a change is known.
    pub digest: String,
}

impl FindingFacts {
    /// How bad it is for a sign-off: as its author says, unless that was worse before and nobody
    /// dealt with it.
    pub fn weight(&self) -> Option<&FindingSeverity> {
        self.lowered_from.as_ref().or(self.severity.as_ref())
    }

    /// The file, relative to the project: `../b.rs` where it is outside of that.
    pub fn path_here(&self) -> Option<String> {
        let path = self.path.as_deref()?;
        let mut path: Vec<&str> = path.split('/').collect();
        let mut up = 0;
        for folder in self.folders() {
            // The file's own name is no folder.
            if up == 0 && path.len() > 1 && path.first() == Some(&folder) {
                path.remove(0);
            } else {
                up += 1;
            }
        }
        Some("../".repeat(up) + &path.join("/"))
    }

    /// Whether it speaks of a file outside of the project.
    pub fn is_outside(&self) -> bool {
        self.path_here().is_some_and(|path| path.starts_with("../"))
    }

    /// `src/a.rs:12` or `src/a.rs:12-15`, relative to the project, where it speaks of a file.
    pub fn place(&self) -> Option<String> {
        let path = self.path_here()?;
        let (start, line) = (self.start_line.map(u64::from), self.line.map(u64::from));
        Some(told_lines(&path, start, line))
    }

    /// The place in words: one outside of the project is named as such, and a path that could be read
    /// as a sentence is in quotation marks.
    pub fn told_place(&self) -> Option<String> {
        let place = named(&self.place()?);
        Some(match self.is_outside() {
            true => format!("{place} ({OUTSIDE})"),
            false => place,
        })
    }

    fn folders(&self) -> impl Iterator<Item = &str> {
        let folder = self.folder.as_deref().unwrap_or_default();
        folder.split('/').filter(|name| !name.is_empty())
    }
}

impl FindingStep {
    /// The operator's step as an entry's kind.
    pub fn of(self, finding: FindingId) -> EntryKind {
        EntryKind::Finding(FindingRecord {
            finding,
            step: self,
            facts: None,
            suggestions: Vec::new(),
            raw: None,
        })
    }
}

impl Entry {
    /// Who wrote what it says, where that is the text of a review.
    pub fn review_author(&self) -> Option<&str> {
        match &self.kind {
            EntryKind::Finding(record) => Some(&record.facts.as_ref()?.author),
            _ => None,
        }
    }

    /// The finding that an agent's note says it has in hand.
    pub fn claimed_finding(&self) -> Option<FindingId> {
        if !matches!(self.kind, EntryKind::Note { .. }) {
            return None;
        }
        self.source.agent()?;
        let id = self.meta.get(FINDING).and_then(Value::as_str)?;
        FindingId::is_well_formed(id).then(|| FindingId::new(id))
    }
}
