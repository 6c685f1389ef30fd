//! [`tree_now`]: the current work tree, as far as it matters for a capsule.

use std::path::Path;

use super::file_digest::FileState;
use super::files_now::FilesNow;
use crate::adapters::git::head::is_repository;
use crate::adapters::git::now::GitNow;
use crate::core::capsule::{Capsule, CapsuleTouched, DifferingFile, TreeNow, UncomparedFile};

/// Whether a file is what it was.
enum Compared {
    Same,
    Differs,
    /// Nobody can tell.
    Open,
}

/// Of a project's folder and its repository. `place`: where a file is by its path in the capsule, which
/// may be masked; none where nobody knows. Nothing that the capsule names is run or followed. Blocks,
/// for as long as git takes.
pub(super) fn tree_now(
    capsule: &Capsule,
    root: &Path,
    files: &FilesNow,
    git: Option<&GitNow>,
    place: &dyn Fn(&str) -> Option<String>,
) -> TreeNow {
    let mut now = TreeNow::default();
    for file in &capsule.touched {
        let path = file.path.clone();
        let place = place(&path);
        let found = place
            .as_deref()
            .map(|place| compared(file, files.state(place)));
        match (found, place) {
            (Some(Compared::Same), _) => {}
            (Some(Compared::Differs), Some(place)) => {
                now.differing.push(DifferingFile { path, place });
            }
            (_, place) => now.uncompared.push(UncomparedFile {
                path,
                place,
                is_masked: file.masked == Some(true),
            }),
        }
    }
    let Some((git, tree)) = git.and_then(|git| Some((git, git.tree()?))) else {
        now.has_repository = is_repository(root);
        return now;
    };
    let anchor = git.anchor();
    (now.has_repository, now.is_git) = (true, true);
    now.tree = tree.map(str::to_owned);
    now.is_shallow = anchor.is_shallow();
    let then = capsule.git.as_ref();
    let is_same_tree =
        now.tree.is_some() && then.and_then(|then| then.tree.as_ref()) == now.tree.as_ref();
    if is_same_tree {
        let mut places = now.uncompared.iter().map(|file| file.place.as_deref());
        now.tree_has_uncompared = places.all(|it| it.is_some_and(|it| anchor.has_now(it)));
    }
    if let Some(commit) = then.and_then(|then| then.commit.as_deref()) {
        now.distance = git.distance(commit);
        now.has_commit = now.distance.is_some() || anchor.has(commit);
    }
    if !now.has_commit {
        // Whose it is tells only where the commit does not; the history is walked for that.
        let (first, remote) = git.origin();
        now.root = first.map(str::to_owned);
        now.remote = remote.map(str::to_owned);
        let root = then.and_then(|then| then.root.as_deref());
        now.has_root = root.is_some_and(|root| first == Some(root) || anchor.has(root));
    }
    // What git did not tell in time would look like what is not here.
    let is_told = now.tree.is_some() && (is_same_tree || now.distance.is_some());
    now.is_git = is_told || !anchor.deadline().is_over();
    now
}

fn compared(then: &CapsuleTouched, now: FileState) -> Compared {
    match (&then.sha256, now) {
        (_, FileState::Unread) => Compared::Open,
        // It was a plain file, of which no digest may be told.
        (None, FileState::Plain(_)) if then.masked == Some(true) => Compared::Open,
        (None, _) if then.masked == Some(true) => Compared::Differs,
        (Some(then), FileState::Plain(now)) if *then == now => Compared::Same,
        (Some(_), _) => Compared::Differs,
        (None, FileState::Gone) if then.unread != Some(true) => Compared::Same,
        (None, FileState::Gone | FileState::Plain(_)) => Compared::Differs,
        // Of earlier versions it may have been there.
        (None, FileState::Other) => Compared::Open,
    }
}
