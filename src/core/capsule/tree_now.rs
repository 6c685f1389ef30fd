//! [`TreeNow`]: the current work tree, with which a capsule is compared.

use std::fmt;

use super::Capsule;
use super::freshness::{Since, changed_by};
use crate::snapshot::Snapshot;
use crate::told_path::told_path;

/// The repository of now, as far as it matters for a capsule.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TreeNow {
    /// There is a repository, whether git tells of it or not.
    pub has_repository: bool,
    /// Git tells of it.
    pub is_git: bool,
    /// The record knows the task: the capsule was made here.
    pub is_ours: bool,
    /// The tree of now.
    pub tree: Option<String>,
    /// Whether the capsule's commit is here.
    pub has_commit: bool,
    /// Commits since the capsule's commit, and commits of it that are not in the history of now;
    /// none where git cannot tell.
    pub distance: Option<(u64, u64)>,
    /// The history ends before its beginning.
    pub is_shallow: bool,
    /// The first commit of the history, and the address of the upstream.
    pub root: Option<String>,
    /// Where the upstream is.
    pub remote: Option<String>,
    /// Whether the first commit of the capsule's history is here.
    pub has_root: bool,
    /// The capsule's files that differ from what they were.
    pub differing: Vec<DifferingFile>,
    /// Those that cannot be compared.
    pub uncompared: Vec<UncomparedFile>,
    /// For each of these the tree of now stands: what is in them is in it.
    pub tree_has_uncompared: bool,
}

/// A file that differs from what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DifferingFile {
    /// As the capsule has it, masked.
    pub path: String,
    /// Where it is, relative to the project.
    pub place: String,
}

/// A file of which nobody can tell whether it is what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UncomparedFile {
    /// As the capsule has it, masked.
    pub path: String,
    /// Where it is, relative to the project; none where nobody knows.
    pub place: Option<String>,
    /// A redaction rule masked something in it, so that its digest was not kept.
    pub is_masked: bool,
}

impl fmt::Display for UncomparedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&told_path(&self.path))?;
        match self.is_masked {
            true => f.write_str(" (something in it is masked)"),
            false => Ok(()),
        }
    }
}

impl TreeNow {
    /// Of a file that cannot be compared the record may know that an agent wrote it since.
    pub fn ask_record(&mut self, capsule: &Capsule, world: &Snapshot) {
        if self.tree_has_uncompared {
            // It was written, and is what it was all the same.
            return;
        }
        let since = Since::of(capsule, world);
        let is_written = |file: &mut UncomparedFile| {
            let place = file.place.as_deref();
            place.is_some_and(|place| changed_by(world, place, since).is_some())
        };
        let written = self.uncompared.extract_if(.., is_written);
        let written = written.filter_map(|file| {
            let (path, place) = (file.path, file.place?);
            Some(DifferingFile { path, place })
        });
        self.differing.extend(written);
    }
}
