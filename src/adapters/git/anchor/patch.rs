//! The uncommitted changes of a work tree as a patch, and such a patch in another work tree.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Stdio;

use super::left::NotInPatch;
use super::{GitAnchor, bytes, bytes_with, text};
use crate::adapters::git::untracked::{Copies, feed, is_below_folders};
use crate::adapters::plain_file::open_plain;
use crate::core::capsule::{is_within, patch_files};
use crate::core::told_path::told_path;

/// The longest file of which a change is told, before or after it, in bytes.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// How long a list of what a clone leaves out may be, in bytes.
const EXCLUDED_BYTES_MAX: u64 = 1024 * 1024;

/// What git calls the mode of a submodule.
const SUBMODULE: &str = "160000";

/// How many files are looked at.
const FILES_MAX: usize = 500;

/// A tracked file that differs from the commit.
#[derive(Debug)]
pub struct TrackedChange {
    /// Its path, relative to the project.
    pub path: String,
    /// The difference as a patch, and the file before and after; or why it goes into none.
    pub content: Result<ChangedContent, NotInPatch>,
}

/// A difference, and between what.
#[derive(Debug)]
pub struct ChangedContent {
    /// As a patch on the commit.
    pub diff: Vec<u8>,
    /// The file before and after; empty where it is not there.
    pub sides: [Vec<u8>; 2],
}

/// What was told of the changes in a work tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToldChanges {
    /// How many files there are that git does not know.
    pub unknown: u64,
    /// Whether it told which of those only this clone leaves out; else they are counted.
    pub knows_excluded: bool,
    /// Whether it told of every file and submodule that differs.
    pub is_all: bool,
    /// How many tracked files differ that lie outside of the project.
    pub outside: u64,
}

/// Whether a patch can be put into a work tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchFit {
    /// It can.
    Applies,
    /// The work tree is on another commit.
    OtherCommit,
    /// A tracked file of it differs from the commit.
    Dirty,
    /// It is made in a project that lies elsewhere in its repository.
    OtherFolder,
    /// All that it changes is so already.
    IsIn,
    /// Git does not take it.
    Refused,
}

impl GitAnchor {
    /// The tracked files of the project that differ from the commit, in their order, each handed to
    /// `look`, those among them that only the project's index has; and what git told of all of them.
    /// `None` where it does not tell. What lies in repositories within is theirs.
    pub fn tracked_changes(&self, mut look: impl FnMut(TrackedChange)) -> Option<ToldChanges> {
        let commit = self.commit()?;
        let diff = self.take_tracked(Copies::Always)?;
        let prefix = self.place.prefix.as_bytes();
        let staged = self.staged(commit);
        let mut is_all = staged.is_some();
        let (staged, beside): (BTreeSet<_>, BTreeSet<_>) = staged
            .unwrap_or_default()
            .into_iter()
            .partition(|path| path.starts_with(prefix));
        let leave = |path: &[u8], why| TrackedChange {
            path: String::from_utf8_lossy(path).into_owned(),
            content: Err(why),
        };
        for path in self.put_in_staged(&staged) {
            let path = path.get(prefix.len()..).unwrap_or_default();
            look(leave(path, NotInPatch::Form));
        }
        let excluded = self.excluded();
        let knows_excluded = excluded.is_some();
        let excluded = excluded.unwrap_or_default();
        let unknown = diff.others().filter(|path| path.starts_with(prefix));
        let unknown = unknown.filter(|path| !staged.contains(*path) && !excluded.contains(*path));
        let unknown = unknown.count();
        let relative = match self.place.prefix.as_str() {
            "" => "--no-relative".to_owned(),
            prefix => format!("--relative={prefix}"),
        };
        let (mut count, mut outside) = (0, beside.len());
        for file in self.differing(commit)? {
            let Some(path) = file.path.strip_prefix(prefix) else {
                outside += usize::from(file.left.is_none());
                continue;
            };
            if let Some(why) = file.left {
                look(leave(path, why));
                continue;
            }
            let plain = std::str::from_utf8(path).ok();
            let told = plain.filter(|path| count < FILES_MAX && is_within(path));
            count += 1;
            let content = told.and_then(|path| self.content(commit, path, &relative));
            look(match content {
                Some(content) => TrackedChange {
                    content: Ok(content),
                    ..leave(path, NotInPatch::Form)
                },
                None => leave(path, NotInPatch::Form),
            });
        }
        let moved = self.moved_submodules(commit, &relative);
        is_all &= moved.is_some();
        for path in moved.unwrap_or_default() {
            look(leave(path.as_bytes(), NotInPatch::Form));
        }
        Some(ToldChanges {
            unknown: unknown as u64,
            knows_excluded,
            is_all,
            outside: outside as u64,
        })
    }

    /// What git does not know and the person has it leave out in this clone alone, by `info/exclude`:
    /// no patch lacks it. Trees have it all the same, for agents can write that file. None where that is
    /// not known.
    fn excluded(&self) -> Option<BTreeSet<Vec<u8>>> {
        let file = match open_plain(&self.place.common.join("info/exclude")) {
            Ok((file, _)) => file,
            Err(error) => {
                let is_there = error.kind() != io::ErrorKind::NotFound;
                return (!is_there).then(BTreeSet::new);
            }
        };
        // Others can write at its place; what git reads is a plain file of ours.
        let copy = self.own.path().join("excluded");
        let mut written = File::create(&copy).ok()?;
        io::copy(&mut file.take(EXCLUDED_BYTES_MAX), &mut written).ok()?;
        let from = format!("--exclude-from={}", copy.display());
        let args = ["ls-files", "-z", "--others", "--ignored", from.as_str()];
        let listed = bytes(&mut self.ours(&args))?;
        let names = listed.split(|byte| *byte == 0);
        Some(
            names
                .map(|name| name.strip_suffix(b"/").unwrap_or(name).to_vec())
                .collect(),
        )
    }

    /// Submodules that stand on another commit: no patch that goes elsewhere has them. None where git
    /// does not tell.
    fn moved_submodules(&self, commit: &str, relative: &str) -> Option<Vec<String>> {
        let rows = bytes(&mut self.ours(&[
            "diff-index",
            "--cached",
            "--no-renames",
            "--ignore-submodules=none",
            "-z",
            relative,
            commit,
        ]))?;
        let rows = String::from_utf8_lossy(&rows);
        let mut parts = rows.split('\0');
        let mut moved = Vec::new();
        while let (Some(what), Some(path)) = (parts.next(), parts.next()) {
            let mut modes = what.trim_start_matches(':').split(' ').take(2);
            if modes.any(|mode| mode == SUBMODULE) {
                moved.push(path.to_owned());
            }
        }
        Some(moved)
    }

    /// The files that the project's index has and the commit has not, by their paths in the
    /// repository. None where git does not tell.
    fn staged(&self, commit: &str) -> Option<BTreeSet<Vec<u8>>> {
        let staged = bytes(self.theirs().args([
            "diff-index",
            "--cached",
            "--no-renames",
            "--ignore-submodules=all",
            "--diff-filter=A",
            "--name-only",
            "-z",
            commit,
            "--",
        ]))?;
        let names = staged.split(|byte| *byte == 0).filter(|it| !it.is_empty());
        Some(names.map(<[u8]>::to_vec).collect())
    }

    /// Gives these to the index of the throw-away repository as they lie in the work tree; those that
    /// are there and cannot go along.
    fn put_in_staged<'a>(&self, staged: &'a BTreeSet<Vec<u8>>) -> Vec<&'a [u8]> {
        let (mut list, mut taken, mut left) = (Vec::new(), Vec::new(), Vec::new());
        let mut folders = HashMap::new();
        for path in staged {
            let found = self.top().join(Path::new(OsStr::from_bytes(path)));
            let Ok(found) = found.symlink_metadata() else {
                // It is gone again.
                continue;
            };
            let may_go = found.is_file()
                && found.len() <= FILE_BYTES_MAX
                && taken.len() < FILES_MAX
                && is_below_folders(self.top(), path, &mut folders);
            if may_go {
                list.extend_from_slice(path);
                list.push(0);
                taken.push(path.as_slice());
            } else {
                left.push(path.as_slice());
            }
        }
        let ours = |args: &[&str]| self.ours(args);
        if feed(&ours, self.own.path(), &list, &["--add", "--stdin"]).is_none() {
            left.extend(taken);
        }
        left
    }

    fn content(&self, commit: &str, path: &str, relative: &str) -> Option<ChangedContent> {
        let full = format!("{}{path}", self.place.prefix);
        let side = |from: &str| {
            let object = format!("{from}:{full}");
            let Some(size) = text(&mut self.ours(&["cat-file", "-s", &object])) else {
                return Some(Vec::new());
            };
            let size: u64 = size.trim().parse().ok()?;
            (size <= FILE_BYTES_MAX).then_some(())?;
            let blob = bytes(&mut self.ours(&["cat-file", "blob", &object]));
            blob.or_else(|| {
                let kind = text(&mut self.ours(&["cat-file", "-t", &object]))?;
                // A folder is in its place.
                (kind.trim() == "tree").then(Vec::new)
            })
        };
        let sides = [side(commit)?, side("")?];
        let diff = bytes(&mut self.ours(&[
            "-c",
            "diff.suppressBlankEmpty=false",
            "-c",
            "core.quotePath=false",
            "diff-index",
            "--cached",
            "-p",
            "--binary",
            "--full-index",
            "--no-renames",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--src-prefix=a/",
            "--dst-prefix=b/",
            relative,
            commit,
            "--",
            &format!(":(top,literal){full}"),
            // Where a file and a folder took each other's place, the name is that of both.
            &format!(":(top,exclude,literal){full}/"),
        ]))?;
        Some(ChangedContent { diff, sides })
    }

    /// Whether a patch on `base`, of the project in this folder of its repository, can be put in.
    pub fn patch_fit(&self, base: &str, folder: Option<&str>, patch: &[u8]) -> PatchFit {
        let here = self.folder().map(told_path);
        if here.as_deref() != folder {
            return PatchFit::OtherFolder;
        }
        let takes = |how: &[&str]| self.apply(self.top(), how, patch).is_some();
        let unfit = match self.commit() == Some(base) {
            true if self.is_clean(base, patch) == Some(true) => {
                if takes(&["--check"]) {
                    return PatchFit::Applies;
                }
                // Files that are all new to git may be in: no tracked file differs by them.
                PatchFit::Refused
            }
            true => PatchFit::Dirty,
            false => PatchFit::OtherCommit,
        };
        match takes(&["--check", "--reverse"]) {
            true => PatchFit::IsIn,
            false => unfit,
        }
    }

    /// Whether no tracked file differs from a commit but for what only this clone knows of, and those
    /// of the patch in no way. None where git does not tell.
    fn is_clean(&self, commit: &str, patch: &[u8]) -> Option<bool> {
        self.take_tracked(Copies::Never)?;
        let files = patch_files(patch).ok()?;
        let files = files
            .iter()
            .map(|path| format!("{}{path}", self.place.prefix));
        let files: BTreeSet<Vec<u8>> = files.map(String::into_bytes).collect();
        let mut differing = self.differing(commit)?.into_iter();
        Some(differing.all(|file| file.left.is_some() && !files.contains(&file.path)))
    }

    /// Applies a patch in a work tree, which is that of the repository or lies elsewhere.
    pub(super) fn apply(&self, top: &Path, how: &[&str], patch: &[u8]) -> Option<()> {
        let mut file = tempfile::tempfile_in(self.own.path()).ok()?;
        file.write_all(patch).ok()?;
        file.rewind().ok()?;
        let directory = format!("--directory={}", self.place.prefix);
        let mut args = vec!["apply", "--whitespace=nowarn"];
        if !self.place.prefix.is_empty() {
            args.push(&directory);
        }
        args.extend(how);
        bytes_with(&mut self.own.look_through(top, &args), Stdio::from(file)).map(|_| ())
    }
}
