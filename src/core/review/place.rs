//! [`FindingPlace`]: where a finding stands in the work tree of now.

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
    /// The line by now, from 1; none unless it is known.
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
            line_now: None,
            first: 1,
            lines: Vec::new(),
        }
    }
}
