//! [`FileStamps`]: when each file of a work tree was last written, by the file system's own clock.
//!
//! The trees before and after a gate are the same if somebody changes a file and changes it back in
//! between; the gate then ran on neither. No program can set the time of a file's last change
//! (`ctime`) back.
//!
//! Replacing a folder with another one and putting it back changes no file. But the original folder
//! was renamed: its `ctime` is later than its last write (`mtime`), and the folder above it has
//! changed too. A program that creates files in a folder, as a compiler does, writes and changes
//! the folder at the same time. A folder that is renamed back and then written into looks the same,
//! and is not noticed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::adapters::git::work_tree::TreeReading;
use crate::core::entry::RewrittenFiles;

/// A time, in seconds and nanoseconds.
type Time = (i64, i64);

/// One file, as it was written last: its place on the disk, and when.
type Stamp = (u64, u64, Time);

/// A folder, and when it and the one above it were changed.
#[derive(Debug, PartialEq, Eq)]
struct FolderStamp {
    place: (u64, u64),
    changed: Time,
    /// It was changed last by a write.
    is_written: bool,
    above_changed: Option<Time>,
}

/// The files of a tree, and the folders that they lie in, at one moment.
#[derive(Debug)]
pub(super) struct FileStamps {
    /// What git names the files from.
    root: PathBuf,
    /// As git lists them, each ending in a zero byte.
    names: Vec<u8>,
    /// In their order; none where there is no file.
    stamps: Vec<Option<Stamp>>,
    /// By how they are told.
    folders: Vec<(String, PathBuf)>,
    /// In their order; none where there is no folder.
    folder_stamps: Vec<Option<FolderStamp>>,
}

impl FileStamps {
    /// The tree of a project, and its files as they are once it was read; `None` where git does not
    /// read it. Of a repository within no file is looked at. Blocking.
    pub(super) fn of(root: &Path) -> Option<(TreeReading, Self)> {
        let (reading, names) = TreeReading::with_names(root)?;
        let root = root.canonicalize().ok()?;
        let folders = folders(&root, &names);
        let stamps = Self {
            stamps: stamps(&root, &names),
            folder_stamps: folder_stamps(&folders),
            root,
            names,
            folders,
        };
        Some((reading, stamps))
    }

    /// Those that were written since, or are gone or there again, with the folders that were renamed;
    /// `None` where there is none of them. Of a tree that is the same as then they hold what they
    /// held. Blocking.
    pub(super) fn rewritten(&self) -> Option<RewrittenFiles> {
        let now = folder_stamps(&self.folders);
        let folders = self.folders.iter();
        let renamed = folders
            .zip(self.folder_stamps.iter().zip(&now))
            .filter(|(_, (then, now))| is_renamed(then.as_ref(), now.as_ref()))
            .map(|((name, _), _)| name.clone());
        let now = stamps(&self.root, &self.names);
        let changed = paths(&self.names)
            .zip(self.stamps.iter().zip(&now))
            .filter(|(_, (then, now))| then != now)
            .map(|(name, _)| String::from_utf8_lossy(name).into_owned());
        RewrittenFiles::of(renamed.chain(changed))
    }
}

fn is_renamed(then: Option<&FolderStamp>, now: Option<&FolderStamp>) -> bool {
    let (Some(then), Some(now)) = (then, now) else {
        return then != now;
    };
    let are_changed = then.changed != now.changed && then.above_changed != now.above_changed;
    then.place != now.place || (are_changed && !now.is_written)
}

fn paths(names: &[u8]) -> impl Iterator<Item = &[u8]> {
    names.split(|byte| *byte == 0).filter(|it| !it.is_empty())
}

fn stamps(root: &Path, names: &[u8]) -> Vec<Option<Stamp>> {
    let stamp = |found: Metadata| (found.dev(), found.ino(), changed(&found));
    let of = |name: &[u8]| {
        let found = root.join(OsStr::from_bytes(name)).symlink_metadata().ok()?;
        // The time of a folder is that of what lies in it, such as what is ignored.
        (!found.is_dir()).then(|| stamp(found))
    };
    paths(names).map(of).collect()
}

/// All folders that these files lie in, up to the root of the file system, and how they are told.
fn folders(root: &Path, names: &[u8]) -> Vec<(String, PathBuf)> {
    let mut below = BTreeSet::new();
    for name in paths(names) {
        let mut rest = name;
        while let Some(end) = rest.iter().rposition(|byte| *byte == b'/') {
            rest = &rest[..end];
            // Those above are named from the other side.
            let is_above = rest == b".." || rest.ends_with(b"/..");
            if is_above || !below.insert(rest) {
                break;
            }
        }
    }
    let told = |name: &[u8]| format!("{}/", String::from_utf8_lossy(name));
    let below = below.into_iter();
    let below = below.map(|name| (told(name), root.join(OsStr::from_bytes(name))));
    let above = root.ancestors().enumerate();
    let above = above.map(|(steps, path)| match steps {
        0 => ("./".to_owned(), path.to_owned()),
        steps => ("../".repeat(steps), path.to_owned()),
    });
    above.chain(below).collect()
}

fn folder_stamps(folders: &[(String, PathBuf)]) -> Vec<Option<FolderStamp>> {
    let of = |path: &Path| {
        let found = path.symlink_metadata().ok().filter(Metadata::is_dir)?;
        let above = path.parent().and_then(|above| above.metadata().ok());
        Some(FolderStamp {
            place: (found.dev(), found.ino()),
            changed: changed(&found),
            is_written: changed(&found) == (found.mtime(), found.mtime_nsec()),
            above_changed: above.map(|above| changed(&above)),
        })
    };
    folders.iter().map(|(_, path)| of(path)).collect()
}

fn changed(found: &Metadata) -> Time {
    (found.ctime(), found.ctime_nsec())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::adapters::git::command::{bytes, git};
    use crate::adapters::git::deadline::GitDeadline;

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
        let (_, stamps) = FileStamps::of(&root.join("sub")).unwrap();
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
    #[test]
    fn a_folder_that_was_renamed_is_told_and_one_in_which_files_are_made_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        let at = |name: &str| root.join(name);
        fs::create_dir_all(at("src/deep")).unwrap();
        fs::create_dir_all(at("good/deep")).unwrap();
        bytes(git(&root, GitDeadline::NONE).args(["init", "--quiet"])).unwrap();
        fs::write(at(".gitignore"), "*.out\n/good/\n/away/\n").unwrap();
        fs::write(at("src/deep/a"), "bad").unwrap();
        fs::write(at("good/deep/a"), "good").unwrap();
        let named = |stamps: &FileStamps| stamps.rewritten().map(|files| files.named);
        let (_, stamps) = FileStamps::of(&root).unwrap();
        // As a compiler writes beside its sources, and removes what it wrote.
        for name in ["x.out", "src/x.out", "src/deep/x.out"] {
            fs::write(at(name), "").unwrap();
        }
        fs::remove_file(at("src/x.out")).unwrap();
        assert_eq!(named(&stamps), None);
        let swap = |name: &str, with: &str| {
            fs::rename(at(name), at("away")).unwrap();
            fs::rename(at(with), at(name)).unwrap();
            fs::rename(at(name), at(with)).unwrap();
            fs::rename(at("away"), at(name)).unwrap();
        };
        swap("src", "good");
        assert_eq!(named(&stamps), Some(vec!["src/".to_owned()]));
        let (_, stamps) = FileStamps::of(&at("src")).unwrap();
        swap("src/deep", "good/deep");
        assert_eq!(named(&stamps), Some(vec!["deep/".to_owned()]));
        // Another one that holds the same.
        let (_, stamps) = FileStamps::of(&root).unwrap();
        fs::create_dir_all(at("new/deep")).unwrap();
        fs::rename(at("src/deep/a"), at("new/deep/a")).unwrap();
        fs::remove_dir_all(at("src")).unwrap();
        fs::rename(at("new"), at("src")).unwrap();
        let told = named(&stamps).unwrap();
        assert!(told.contains(&"src/".to_owned()), "{told:?}");
        // The whole project, and one above it.
        let (_, stamps) = FileStamps::of(&root).unwrap();
        let away = folder.path().join("away");
        fs::rename(&root, &away).unwrap();
        fs::rename(&away, &root).unwrap();
        assert_eq!(named(&stamps), Some(vec!["./".to_owned()]));
    }

    #[test]
    fn what_the_project_alone_would_have_git_ignore_is_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let run = |args: &[&str]| bytes(git(root, GitDeadline::NONE).args(args)).unwrap();
        run(&["init", "--quiet"]);
        run(&["config", "core.excludesFile", ".git/own"]);
        fs::write(root.join(".git/own"), "a\n").unwrap();
        fs::write(root.join(".git/info/exclude"), "b\n").unwrap();
        for name in ["a", "b"] {
            fs::write(root.join(name), "1").unwrap();
        }
        let (_, stamps) = FileStamps::of(root).unwrap();
        for name in ["a", "b"] {
            fs::write(root.join(name), "2").unwrap();
            fs::write(root.join(name), "1").unwrap();
        }
        let found = stamps.rewritten().unwrap();
        assert_eq!(found.named, ["a", "b"]);
    }
}
