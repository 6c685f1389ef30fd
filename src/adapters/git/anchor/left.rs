//! [`NotInPatch`]: the files that differ from the commit, and those among them that a patch leaves
//! out because of what only this clone knows of them.
//!
//! The project's configuration is not run, and its index is not trusted (see
//! [`CommitIndex`](crate::adapters::commit_index::CommitIndex)). What they say of a file is still
//! read before its content leaves the clone: it may be content of no commit.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Seek as _, Write as _};
use std::process::Stdio;

use super::{GitAnchor, GitCommand, bytes, bytes_with};

/// Why a file that differs is in no patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotInPatch {
    /// It is too long, there are too many, or its name is none that goes elsewhere.
    Form,
    /// A filter that is not run would rewrite it for a commit: what lies there may be the plain text of
    /// what is committed encrypted.
    Filtered,
    /// The project's index has git pass over it, so that no `git diff` shows it.
    PassedOver,
}

/// A tracked file that differs from a commit.
#[derive(Debug)]
pub(super) struct DifferingPath {
    /// In the repository.
    pub(super) path: Vec<u8>,
    /// Why it may differ here and nowhere else.
    pub(super) left: Option<NotInPatch>,
    is_gone: bool,
}

/// The words with which `git check-attr` says that no filter is named.
const NO_FILTER: [&[u8]; 3] = [b"unspecified", b"unset", b"set"];

impl GitAnchor {
    /// The tracked files that differ from a commit, in the index of the throw-away repository, in
    /// their order; without those that are not there because git is told to pass over them, as in a
    /// sparse checkout. None where git does not tell.
    pub(super) fn differing(&self, commit: &str) -> Option<Vec<DifferingPath>> {
        let rows = bytes(&mut self.ours(&[
            "diff-index",
            "--cached",
            "--no-renames",
            "--no-relative",
            "--ignore-submodules=all",
            "--name-status",
            "-z",
            commit,
        ]))?;
        let (mut parts, mut differing) = (rows.split(|byte| *byte == 0), Vec::new());
        while let (Some(status), Some(path)) = (parts.next(), parts.next()) {
            differing.push(DifferingPath {
                path: path.to_vec(),
                left: None,
                is_gone: status == b"D",
            });
        }
        if differing.is_empty() {
            return Some(differing);
        }
        let passed_over = self.passed_over()?;
        differing.retain(|file| !(file.is_gone && passed_over.contains(&file.path)));
        let filtered = self.filtered(&differing)?;
        for file in &mut differing {
            if filtered.contains(&file.path) {
                file.left = Some(NotInPatch::Filtered);
            } else if passed_over.contains(&file.path) {
                file.left = Some(NotInPatch::PassedOver);
            }
        }
        Some(differing)
    }

    /// The files that the project's index has git pass over: those outside of a sparse checkout
    /// (`skip-worktree`), and those that a person keeps another one of (`assume-unchanged`).
    fn passed_over(&self) -> Option<BTreeSet<Vec<u8>>> {
        let rows = bytes(self.theirs().args(["ls-files", "-v", "-z"]))?;
        let rows = rows.split(|byte| *byte == 0);
        let passed = rows.filter_map(|row| match row {
            [b'S' | b'a'..=b'z', b' ', path @ ..] => Some(path.to_vec()),
            _ => None,
        });
        Some(passed.collect())
    }

    /// Those of which an attribute names a filter that our repository does not run as the project's
    /// does.
    fn filtered(&self, files: &[DifferingPath]) -> Option<BTreeSet<Vec<u8>>> {
        let mut list = Vec::new();
        for file in files {
            list.extend_from_slice(&file.path);
            list.push(0);
        }
        let args = ["check-attr", "-z", "--stdin", "filter"];
        let mut project = self.theirs();
        project.args(args);
        let mut named: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        // The project's has `info/attributes`, and may be told to read no `.gitattributes`.
        for mut command in [self.ours(&args), project] {
            let mut input = tempfile::tempfile_in(self.own.path()).ok()?;
            input.write_all(&list).ok()?;
            input.rewind().ok()?;
            let said = bytes_with(&mut command, Stdio::from(input))?;
            let mut parts = said.split(|byte| *byte == 0);
            while let (Some(path), Some(_), Some(filter)) =
                (parts.next(), parts.next(), parts.next())
            {
                if !NO_FILTER.contains(&filter) {
                    named.push((path.to_vec(), filter.to_vec()));
                }
            }
        }
        if named.is_empty() {
            return Some(BTreeSet::new());
        }
        let keys = [
            "config",
            "-z",
            "--get-regexp",
            r"^filter\..*\.(clean|process)$",
        ];
        let (ours, theirs) = (
            filters(&mut self.ours(&keys)),
            filters(self.theirs().args(keys)),
        );
        let is_run =
            |filter: &Vec<u8>| ours.contains_key(filter) && ours.get(filter) == theirs.get(filter);
        named.retain(|(_, filter)| !is_run(filter));
        Some(named.into_iter().map(|(path, _)| path).collect())
    }
}

/// What is run for each filter that a configuration names.
fn filters(command: &mut GitCommand) -> BTreeMap<Vec<u8>, Vec<Vec<u8>>> {
    let mut found: BTreeMap<Vec<u8>, Vec<Vec<u8>>> = BTreeMap::new();
    // Where there is none git says nothing, and fails.
    let said = bytes(command).unwrap_or_default();
    for row in said.split(|byte| *byte == 0) {
        let key = row.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let name = key.strip_prefix(b"filter.").unwrap_or_default();
        if let Some(end) = name.iter().rposition(|byte| *byte == b'.') {
            found
                .entry(name[..end].to_vec())
                .or_default()
                .push(row.to_vec());
        }
    }
    found
}
