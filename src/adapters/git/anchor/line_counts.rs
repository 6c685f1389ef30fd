//! [`LinesByFile`]: how many lines differ from the commit, counted where the files lie. Their
//! current content is copied only if it has to be.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use super::{GitAnchor, text};
use crate::adapters::commit_index::COMMIT_INDEX;
use crate::adapters::git::untracked::{WorkDiff, lines_in};

/// Lines that were added and removed in a file.
type Lines = (u64, u64);

/// Those of each file that differs from the commit.
pub(super) type LinesByFile = BTreeMap<String, Lines>;

impl GitAnchor {
    /// The lines that differ in the files of the commit; none without one.
    pub(super) fn known_lines(&self, diff: &WorkDiff) -> Option<LinesByFile> {
        let may_differ = diff.has_changed || diff.has_nested;
        let Some(commit) = self.commit().filter(|_| may_differ) else {
            return Some(BTreeMap::new());
        };
        let cached = |filter: &str| {
            let rows = text(&mut self.ours(&[
                "diff-index",
                "--cached",
                "--no-renames",
                filter,
                "--numstat",
                "-z",
                commit,
            ]));
            rows.map(|rows| numstat(&rows))
        };
        if diff.has_copies {
            return cached("--diff-filter=a");
        }
        let mut lines = match diff.has_gone {
            true => cached("--diff-filter=D")?,
            false => BTreeMap::new(),
        };
        if diff.changed().next().is_some() {
            // As they lie in the work tree, against the commit's own index.
            let args = ["diff-files", "--no-renames", "--numstat", "-z", "--"];
            let mut command = self.ours(&args);
            command.args(diff.changed().map(OsStr::from_bytes));
            command.env("GIT_LITERAL_PATHSPECS", "1");
            command.env("GIT_INDEX_FILE", self.own.path().join(COMMIT_INDEX));
            lines.extend(numstat(&text(&mut command)?));
        }
        Some(lines)
    }

    /// These, and the lines of the files that the commit does not have: git holds nothing of what is in
    /// them.
    pub(super) fn with_new_lines(&self, mut lines: LinesByFile, diff: &WorkDiff) -> LinesByFile {
        if self.commit().is_some() {
            lines.extend(diff.others().map(|path| {
                let added = lines_in(&self.place.top.join(OsStr::from_bytes(path)));
                (String::from_utf8_lossy(path).into_owned(), (added, 0))
            }));
        }
        lines
    }
}

/// `added TAB removed TAB path NUL`, with `-` for what is no text.
pub(super) fn numstat(text: &str) -> LinesByFile {
    let mut found = BTreeMap::new();
    for row in text.split('\0') {
        let mut parts = row.splitn(3, '\t');
        if let (Some(added), Some(removed), Some(path)) = (parts.next(), parts.next(), parts.next())
        {
            let lines = (added.parse().unwrap_or(0), removed.parse().unwrap_or(0));
            found.insert(path.to_owned(), lines);
        }
    }
    found
}
