//! [`FileStamps`]: when each file of a work tree was written last, by the file system's own clock.
//!
//! The tree before a gate and the tree behind it are the same where somebody changes a file and brings
//! it back meanwhile; the gate saw neither. No program sets the time of a file's last change
//! (`ctime`) back.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::adapters::git_command::{bytes, git};
use crate::adapters::git_deadline::GitDeadline;
use crate::core::entry::RewrittenFiles;

/// One file, as it was written last: its place on the disk, and when in seconds and nanoseconds.
type Stamp = (u64, u64, i64, i64);

/// The files of a work tree that git does not ignore, at one moment.
#[derive(Debug)]
pub(super) struct FileStamps {
    /// What git names them from.
    root: PathBuf,
    /// As git lists them, each ending in a zero byte.
    names: Vec<u8>,
    /// In their order; none where there is no file.
    stamps: Vec<Option<Stamp>>,
}

impl FileStamps {
    /// As they are now; `None` without git. Of a repository within no file is looked at. Blocking.
    pub(super) fn of(root: &Path) -> Option<Self> {
        let mut git = git(root, GitDeadline::NONE);
        let which = ["--cached", "--others", "--exclude-standard", "-z"];
        let names = bytes(git.arg("ls-files").args(which).args(["--", ":/"]))?;
        let stamps = stamps(root, &names);
        Some(Self {
            root: root.to_owned(),
            names,
            stamps,
        })
    }

    /// Those that were written since, or are gone or there again; `None` where there is none of them.
    /// Of a tree that is the same as then they hold what they held. Blocking.
    pub(super) fn rewritten(&self) -> Option<RewrittenFiles> {
        let now = stamps(&self.root, &self.names);
        let changed = paths(&self.names)
            .zip(self.stamps.iter().zip(&now))
            .filter(|(_, (then, now))| then != now)
            .map(|(name, _)| String::from_utf8_lossy(name).into_owned());
        RewrittenFiles::of(changed)
    }
}

fn paths(names: &[u8]) -> impl Iterator<Item = &[u8]> {
    names.split(|byte| *byte == 0).filter(|it| !it.is_empty())
}

fn stamps(root: &Path, names: &[u8]) -> Vec<Option<Stamp>> {
    let stamp = |found: Metadata| (found.dev(), found.ino(), found.ctime(), found.ctime_nsec());
    let of = |name: &[u8]| {
        let found = root.join(OsStr::from_bytes(name)).symlink_metadata().ok()?;
        // The time of a folder is that of what lies in it, such as what is ignored.
        (!found.is_dir()).then(|| stamp(found))
    };
    paths(names).map(of).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_was_changed_and_brought_back_is_told_and_one_that_is_ignored_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert!(FileStamps::of(root).is_none());
        let mut init = git(root, GitDeadline::NONE);
        bytes(init.args(["init", "--quiet"])).unwrap();
        fs::create_dir(root.join("sub")).unwrap();
        for (name, text) in [
            (".gitignore", "*.log\n"),
            ("a", "1"),
            ("b", "1"),
            ("sub/c", "1"),
        ] {
            fs::write(root.join(name), text).unwrap();
        }
        // From a folder of it all of the repository is looked at.
        let stamps = FileStamps::of(&root.join("sub")).unwrap();
        fs::write(root.join("new.log"), "").unwrap();
        assert_eq!(stamps.rewritten(), None);
        fs::write(root.join("a"), "2").unwrap();
        fs::write(root.join("a"), "1").unwrap();
        let kept = fs::metadata(root.join("b")).unwrap().modified().unwrap();
        fs::write(root.join("other"), "1").unwrap();
        fs::File::open(root.join("other"))
            .unwrap()
            .set_modified(kept)
            .unwrap();
        fs::rename(root.join("other"), root.join("b")).unwrap();
        let found = stamps.rewritten().unwrap();
        assert_eq!(
            (found.count, found.named),
            (2, vec!["../a".to_owned(), "../b".to_owned()])
        );
    }
}
