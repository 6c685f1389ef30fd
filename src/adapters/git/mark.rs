//! The marks by which git recognizes a repository, read from the disk: git may be what fails.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Whether a folder lies in a repository. As git does, not beyond the file system that the folder is on.
pub(in crate::adapters) fn is_in_repository(root: &Path) -> bool {
    let Ok(device) = root.metadata().map(|found| found.dev()) else {
        return true;
    };
    let same = |folder: &&Path| folder.metadata().is_ok_and(|found| found.dev() == device);
    root.ancestors().take_while(same).any(has_mark)
}

/// Whether git may stop at a folder on its way up: its `.git`, or itself, may be a repository.
pub(in crate::adapters) fn may_hold_repository(folder: &Path) -> bool {
    has_mark(folder) || (is_git_dir(folder) && folder.join("refs").is_dir())
}

fn has_mark(folder: &Path) -> bool {
    let mark = folder.join(".git");
    match mark.metadata() {
        Ok(found) if found.is_dir() => is_git_dir(&mark),
        Ok(found) => found.is_file(),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

/// What has no head, or no objects, git passes over: sandboxes put such a one there.
fn is_git_dir(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).symlink_metadata().is_ok();
    has("HEAD") && (folder.join("objects").is_dir() || has("commondir"))
}
