//! [`FindingPlace`]: where a finding is in the current work tree.

use serde::{Deserialize, Serialize};

use crate::word::words;

words! {
    /// What became of the line that a finding speaks of.
    pub enum LineFate {
        /// It stands where it stood.
        Same = "same",
        /// It stands elsewhere in its file.
        Moved = "moved",
        Changed = "changed",
        /// Its file is not there.
        Gone = "gone",
        /// Nobody can tell: the finding names no line, or its commit is not here.
        Unknown = "unknown",
    }
}

/// Where a finding stands in the work tree of now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingPlace {
    /// What became of its line.
    pub fate: LineFate,
    /// Of several lines the first by now; none where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_now: Option<u32>,
    /// The line by now, of several the last, from 1; none unless it is known.
    pub line_now: Option<u32>,
    /// The number of the first of `lines`.
    pub first: u32,
    /// The file around that place, as it is now.
    pub lines: Vec<String>,
}

impl FindingPlace {
    /// Where there is no file to be seen.
    pub fn unseen(fate: LineFate) -> Self {
        Self {
            fate,
            start_now: None,
            line_now: None,
            first: 1,
            lines: Vec::new(),
        }
    }

    /// What became of its lines, in words.
    pub fn told(&self) -> String {
        match (&self.fate, self.line_now) {
            (LineFate::Same, _) => "where it was".to_owned(),
            (LineFate::Moved, Some(line)) => match self.start_now {
                Some(start) => format!("lines {start}-{line} now"),
                None => format!("line {line} now"),
            },
            (LineFate::Changed, _) => "that line was changed".to_owned(),
            (LineFate::Gone, _) => "the file is gone".to_owned(),
            _ => "whether the line is the same is not known".to_owned(),
        }
    }

    /// As [`Self::told`], where it is known to be another place, or none, than the review names.
    pub fn told_elsewhere(&self) -> Option<String> {
        let is_elsewhere = !matches!(self.fate, LineFate::Same | LineFate::Unknown);
        is_elsewhere.then(|| self.told())
    }

    /// Whether this is one of its lines by now.
    pub fn is_at(&self, number: u32) -> bool {
        let last = self.line_now;
        last.is_some_and(|last| (self.start_now.unwrap_or(last)..=last).contains(&number))
    }
}
