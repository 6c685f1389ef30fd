//! [`tree_now`]: the work tree of now, as far as it matters for a capsule.

use std::path::Path;

use super::file_digest::file_digest;
use super::git_anchor::GitAnchor;
use crate::core::capsule::{Capsule, CapsuleGit, TreeNow};

/// Of a project's folder, its repository and where that stands. Nothing that the capsule names is run or followed.
/// Blocks, for as long as git takes.
pub fn tree_now(capsule: &Capsule, root: &Path, git: Option<(&GitAnchor, &CapsuleGit)>) -> TreeNow {
    let differing = capsule.touched.iter();
    let differing = differing.filter(|file| file_digest(root, &file.path) != file.sha256);
    let mut now = TreeNow {
        differing: differing.map(|file| file.path.clone()).collect(),
        ..TreeNow::default()
    };
    let Some((git, stand)) = git else {
        return now;
    };
    now.is_git = true;
    now.tree = stand.tree.clone();
    now.is_shallow = git.is_shallow();
    now.root = stand.root.clone();
    now.remote = stand.remote.clone();
    let then = capsule.git.as_ref();
    let commit = then.and_then(|then| then.commit.as_deref());
    let commit = commit.filter(|commit| git.has(commit));
    now.has_commit = commit.is_some();
    now.distance = commit
        .zip(git.commit())
        .and_then(|(then, here)| git.between(here, then));
    let first = then.and_then(|then| then.root.as_deref());
    now.has_root =
        first.is_some_and(|first| stand.root.as_deref() == Some(first) || git.has(first));
    now
}
