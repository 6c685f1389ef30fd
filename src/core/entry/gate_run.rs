//! [`GateRun`]: what makes an artifact evidence instead of a claim; [`IsolatedRun`]: where it ran
//! beside the project; and [`GapCause`]: why it can never cover all of it.

use serde::{Deserialize, Serialize};

use super::WorkTree;
use crate::id::Seq;
use crate::told_path::told_path;
use crate::word::words;

/// A gate that the daemon ran itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct GateRun {
    /// Its name.
    pub gate: String,
    /// The command.
    pub cmd: String,
    /// What names commands and folder: [`Gate::spec`](crate::wire::config::Gate::spec).
    pub spec: String,
    /// The exit code, 128 and more for a signal; `None` when it never began, was stopped or took
    /// too long.
    pub exit_code: Option<i32>,
    /// Why it came to nothing, in a line: it could not begin, or was lost on the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// How long it ran, in ms.
    pub duration_ms: u64,
    /// The work tree before it began.
    pub tree: Option<WorkTree>,
    /// The work tree had changed when it ended, so that it says nothing of either.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
    /// The tree was the same when it ended, and these files were written meanwhile: nobody knows what
    /// it saw of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewritten: Option<RewrittenFiles>,
    /// Its setup command failed, so that the gate itself never ran; the exit code is that one's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub setup_failed: bool,
    /// It ran in a clean work tree of its own, which is what `tree` names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolated: Option<IsolatedRun>,
    /// The last entry of the record when it began, in the session in which it ended; none in records
    /// of earlier versions, and where what it came to was carried on into another session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_after: Option<Seq>,
    /// How much it printed, in bytes; the entry's text is the beginning and the end of it.
    pub output_bytes: u64,
    /// The SHA-256 of all that it printed, in hex.
    pub output_sha256: String,
}

impl GateRun {
    /// The longest command of a gate, in characters.
    pub const CMD_CHARS_MAX: usize = 4_000;
}

/// A run in a clean work tree of a commit, outside of the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct IsolatedRun {
    /// Files of the project that differed from the commit, so that the run says nothing of them.
    pub not_covered: u64,
    /// The first of them, relative to the repository.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<String>,
    /// Why some of them differ also once all is committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<GapCause>,
}

words! {
    /// Why files of a project differ from its commit, whatever is committed.
    pub enum GapCause {
        /// Git does not check them out: a sparse checkout.
        Sparse = "sparse",
        /// A filter of git's rewrites them for commits, and is not run where we look at them.
        Filter = "filter",
    }
}

impl IsolatedRun {
    /// How many files are named.
    pub const NAMED_MAX: usize = 5;

    /// What was not covered, in words: `2 files (a.rs, b.rs)`; `None` when all of it was.
    pub fn gap(&self) -> Option<String> {
        (self.not_covered > 0).then(|| in_words(self.not_covered, &self.named))
    }

    /// What can be done about it.
    pub fn advice(&self) -> &'static str {
        match &self.cause {
            Some(GapCause::Sparse) => {
                "this checkout is sparse and does not have all of them: run this gate without isolation"
            }
            Some(GapCause::Filter) => {
                "a filter of git's rewrites some of them for commits, and is not run here: run this \
                 gate without isolation"
            }
            Some(GapCause::Other(_)) | None => "commit them and run it again",
        }
    }
}

/// Files that were written while a gate ran in the project, and held again what they held when it
/// ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewrittenFiles {
    pub count: u64,
    /// The first of them, relative to the project.
    pub named: Vec<String>,
}

impl RewrittenFiles {
    /// These; `None` where there are none.
    pub fn of(names: impl Iterator<Item = String>) -> Option<Self> {
        let (mut count, mut named) = (0, Vec::new());
        for name in names {
            count += 1;
            if named.len() < IsolatedRun::NAMED_MAX {
                named.push(name);
            }
        }
        (count > 0).then_some(Self { count, named })
    }

    /// As [`IsolatedRun::gap`].
    pub fn in_words(&self) -> String {
        in_words(self.count, &self.named)
    }
}

/// So many files, and the names of the first of them: `2 files (a.rs, b.rs)`.
fn in_words(count: u64, named: &[String]) -> String {
    let files = match count {
        1 => "1 file".to_owned(),
        n => format!("{n} files"),
    };
    if named.is_empty() {
        return files;
    }
    let more = count > named.len() as u64;
    let more = if more { ", …" } else { "" };
    let named: Vec<_> = named.iter().map(|path| told_path(path)).collect();
    format!("{files} ({}{more})", named.join(", "))
}
