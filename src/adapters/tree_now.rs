//! [`tree_now`]: the work tree of now, as far as it matters for a capsule.

use std::path::Path;

use super::file_digest::file_digest;
use super::git_anchor::GitAnchor;
use crate::core::capsule::{Capsule, TreeNow};

/// Of a project's folder and its repository. Nothing that the capsule names is run or followed.
/// Blocks, for as long as git takes.
pub fn tree_now(capsule: &Capsule, root: &Path, git: Option<&GitAnchor>) -> TreeNow {
    let differing = capsule.touched.iter();
    let differing = differing.filter(|file| file_digest(root, &file.path) != file.sha256);
    let mut now = TreeNow {
        differing: differing.map(|file| file.path.clone()).collect(),
        ..TreeNow::default()
    };
    let Some(git) = git else {
        return now;
    };
    now.is_git = true;
    now.tree = git.tree();
    now.is_shallow = git.is_shallow();
    now.root = git.first_commit();
    now.remote = git.remote();
    let then = capsule.git.as_ref();
    let commit = then.and_then(|then| then.commit.as_deref());
    let commit = commit.filter(|commit| git.has(commit));
    now.has_commit = commit.is_some();
    now.distance = commit
        .zip(git.commit())
        .and_then(|(then, here)| git.between(here, then));
    let first = then.and_then(|then| then.root.as_deref());
    now.has_root = first.is_some_and(|first| git.has(first));
    now
}
