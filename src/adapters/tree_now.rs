//! [`tree_now`]: the work tree of now, as far as it matters for a capsule.

use std::path::Path;

use super::file_digest::file_digest;
use super::git_now::GitNow;
use crate::core::capsule::{Capsule, TreeNow};

/// Of a project's folder and its repository. Nothing that the capsule names is run or followed.
/// Blocks, for as long as git takes.
pub fn tree_now(capsule: &Capsule, root: &Path, git: Option<&GitNow>) -> TreeNow {
    let differing = capsule.touched.iter();
    let differing = differing.filter(|file| file_digest(root, &file.path) != file.sha256);
    let mut now = TreeNow {
        differing: differing.map(|file| file.path.clone()).collect(),
        ..TreeNow::default()
    };
    let Some((git, tree)) = git.and_then(|git| Some((git, git.tree()?))) else {
        return now;
    };
    let anchor = git.anchor();
    now.is_git = true;
    now.tree = tree.map(str::to_owned);
    now.is_shallow = anchor.is_shallow();
    let then = capsule.git.as_ref();
    if let Some(commit) = then.and_then(|then| then.commit.as_deref()) {
        let here = anchor.commit();
        now.distance = here.and_then(|here| anchor.between(here, commit));
        now.has_commit = now.distance.is_some() || anchor.has(commit);
    }
    if now.has_commit {
        return now;
    }
    // Whose it is tells only where the commit does not; the history is walked for that.
    let (first, remote) = git.origin();
    now.root = first.map(str::to_owned);
    now.remote = remote.map(str::to_owned);
    let root = then.and_then(|then| then.root.as_deref());
    now.has_root = root.is_some_and(|root| first == Some(root) || anchor.has(root));
    now
}
