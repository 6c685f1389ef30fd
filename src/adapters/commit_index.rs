//! [`CommitIndex`]: the index of a commit in a throw-away repository, with the file stats of
//! earlier reads.
//!
//! A new index knows nothing of the files, so git reads all of them to find those that differ: for
//! a large project this takes seconds of a processor each time. So the index of a glance at a large
//! project is kept for the next glance, which reads only the files that the disk shows as touched
//! since. The index contains the names and digests of the commit and the disk's data about each
//! file, and nothing else.
//!
//! A glance is as reliable as `git status`, which can be deceived: a write through a mapped file,
//! or two within one second, may leave the disk's data unchanged. So a glance only shows a state;
//! nothing that is recorded or leaves the project is built on it.
//!
//! As with git's own index, a user's change of how files are hashed (`core.autocrlf`, a filter)
//! applies to files that are touched from then on; a changed `.gitattributes` applies to all. The
//! project's own index is not used: it can tell git not to look at a file.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use sha2::{Digest as _, Sha256};

use super::private_folder::PrivateFolder;
use crate::adapters::git::command::{GitCommand, text};
use crate::adapters::git::own::{OwnRepository, PRIVATE_BASE};
use crate::adapters::git::untracked::{Copies, WorkDiff};
use crate::core::hex::hex;

/// The index of the commit, beside that of the work tree.
pub(super) const COMMIT_INDEX: &str = "commit-index";

/// A glance that took longer than this is worth its keeping.
const SLOW: Duration = Duration::from_millis(250);

/// From which size on an index is of so many files that reading them takes long, in bytes: some
/// 5,000 files.
const LARGE_BYTES: u64 = 512 * 1024;

/// How many work trees' are kept. One of 100,000 files has some 10 MB.
const KEPT_MAX: usize = 16;

/// Their paths, for git: the files that say how others are hashed. What is known of those counts only
/// for the same ones.
const ATTRIBUTE_PATHS: &str = ":(top,glob)**/.gitattributes";

/// [`WorkDiff::since`], or [`WorkDiff::at_a_glance`].
pub(super) type TakeDiff = fn(&OwnRepository, &Path, Option<&str>, Copies) -> Option<WorkDiff>;

/// That of a commit of a work tree.
#[derive(Debug)]
pub(super) struct CommitIndex<'a> {
    own: &'a OwnRepository,
    top: &'a Path,
    commit: &'a str,
    kept: &'a Kept,
    /// What is known of the files is from an earlier look.
    is_from_kept: bool,
    /// It stands among the kept ones as it is.
    is_kept: bool,
}

impl WorkDiff {
    /// What differs in a work tree from a commit, which the index of `own` then has with the tracked
    /// files as they are now; the commit's own stays beside it, as [`COMMIT_INDEX`]. Without a commit
    /// all of it differs. Reads every file.
    pub(super) fn since(
        own: &OwnRepository,
        top: &Path,
        commit: Option<&str>,
        copies: Copies,
    ) -> Option<Self> {
        let ours = |args: &[&str]| own.look_through(top, args);
        text(&mut ours(&["read-tree", commit.unwrap_or("--empty")]))?;
        stay_beside(own)?;
        Self::take(&ours, own.path(), top, copies)
    }

    /// As [`Self::since`], at a glance.
    pub(super) fn at_a_glance(
        own: &OwnRepository,
        top: &Path,
        commit: Option<&str>,
        copies: Copies,
    ) -> Option<Self> {
        match commit {
            Some(commit) => Self::glance(Path::new(PRIVATE_BASE), own, top, commit, copies),
            None => Self::since(own, top, commit, copies),
        }
    }

    fn glance(
        base: &Path,
        own: &OwnRepository,
        top: &Path,
        commit: &str,
        copies: Copies,
    ) -> Option<Self> {
        let ours = |args: &[&str]| own.look_through(top, args);
        let take = || Self::take(&ours, own.path(), top, copies);
        let kept = Kept::of(base, top)?;
        let index = CommitIndex::from_kept(own, top, commit, &kept);
        let mut index = match index {
            Some(index) => index,
            None => CommitIndex::anew(own, top, commit, &kept)?,
        };
        let (mut began, end) = (Instant::now(), own.deadline().end());
        let mut diff = take();
        // One that git does not take, or that was made when files were hashed in another way.
        let is_used = |diff: &Self| !diff.has_attributes;
        if index.is_from_kept && !diff.as_ref().is_some_and(is_used) && Instant::now() < end {
            index = CommitIndex::anew(own, top, commit, &kept)?;
            began = Instant::now();
            diff = take();
        }
        let diff = diff?;
        if is_used(&diff) {
            index.keep(began.elapsed());
        }
        Some(diff)
    }
}

impl<'a> CommitIndex<'a> {
    /// From one that was kept; none where there is none for this commit.
    fn from_kept(
        own: &'a OwnRepository,
        top: &'a Path,
        commit: &'a str,
        kept: &'a Kept,
    ) -> Option<Self> {
        let (file, is_kept) = kept.find(commit)?;
        let index = Self {
            own,
            top,
            commit,
            kept,
            is_from_kept: true,
            is_kept,
        };
        let place = own.path().join("index");
        link_or_copy(&file, &place)?;
        let is_read = is_kept
            || (index.has_attributes_of_commit()
                && text(&mut index.git(&["read-tree", "-i", "-m", commit])).is_some());
        if !is_read {
            let _ = fs::remove_file(place);
            return None;
        }
        stay_beside(own)?;
        Some(index)
    }

    fn anew(
        own: &'a OwnRepository,
        top: &'a Path,
        commit: &'a str,
        kept: &'a Kept,
    ) -> Option<Self> {
        let index = Self {
            own,
            top,
            commit,
            kept,
            is_from_kept: false,
            is_kept: false,
        };
        let place = own.path().join("index");
        let _ = fs::remove_file(&place);
        text(&mut index.git(&["read-tree", commit]))?;
        if place.metadata().ok()?.len() >= LARGE_BYTES {
            // Else all files would be read twice, here and where it is kept.
            let end = own.deadline().end();
            if index.learn(&place).is_none() && Instant::now() >= end {
                // To read them once more would not end in time either.
                return None;
            }
        }
        stay_beside(own)?;
        Some(index)
    }

    /// Whether files are hashed in the commit as they were where it comes from.
    fn has_attributes_of_commit(&self) -> bool {
        let differ = ["diff-index", "--cached", "--quiet", self.commit, "--"];
        let mut command = self.git(&differ);
        text(command.arg(ATTRIBUTE_PATHS)).is_some()
    }

    /// Reads the files of which nothing is known.
    fn learn(&self, index: &Path) -> Option<()> {
        let how = ["update-index", "-q", "--ignore-submodules", "--refresh"];
        let mut command = self.git(&how);
        command.env("GIT_INDEX_FILE", index);
        text(&mut command).map(drop)
    }

    /// Keeps it for the next glance, if that is worth it after one that took so long.
    fn keep(&self, took: Duration) {
        let place = self.own.path().join(COMMIT_INDEX);
        let is_large = place.metadata().is_ok_and(|it| it.len() >= LARGE_BYTES);
        let is_slow = took > SLOW;
        if self.is_kept || !(is_large || is_slow || self.is_from_kept) {
            return;
        }
        let is_learned = !is_slow || self.learn(&place).is_some();
        if !is_learned || self.kept.put(&place, self.commit).is_none() {
            tracing::debug!(top = %self.top.display(), "what git knows of the files is not kept");
        }
    }

    fn git(&self, args: &[&str]) -> GitCommand {
        self.own.look_through(self.top, args)
    }
}

/// The kept ones of one work tree.
#[derive(Debug)]
struct Kept {
    folder: PrivateFolder,
    /// How the names of its files begin.
    prefix: String,
}

impl Kept {
    fn of(base: &Path, top: &Path) -> Option<Self> {
        // A folder that took the place of another one of the same name has other files.
        let place = top.metadata().ok()?;
        let mut hasher = Sha256::new();
        hasher.update(top.as_os_str().as_encoded_bytes());
        hasher.update(format!("\0{}\0{}", place.dev(), place.ino()));
        let mut prefix = hex(&hasher.finalize());
        prefix.truncate(32);
        prefix.push('.');
        Some(Self {
            folder: PrivateFolder::of(base, "looks"),
            prefix,
        })
    }

    /// The file for a commit, and whether it is of just that one.
    fn find(&self, commit: &str) -> Option<(PathBuf, bool)> {
        self.folder.is_private().then_some(())?;
        let exact = self.folder.path().join(format!("{}{commit}", self.prefix));
        if exact.exists() {
            return Some((exact, true));
        }
        let others = self.files().into_iter().map(|(path, _)| path);
        let mut of_tree = others.filter(|path| self.is_of_tree(path));
        of_tree.next().map(|path| (path, false))
    }

    /// Keeps an index as that of a commit, in the place of what is there of the work tree.
    fn put(&self, index: &Path, commit: &str) -> Option<()> {
        self.folder.make()?;
        let place = self.folder.path().join(format!("{}{commit}", self.prefix));
        link_or_copy(index, &place)?;
        let mut others = self.files();
        others.retain(|(path, _)| *path != place);
        // Those of the work tree itself first.
        others.sort_by_key(|(path, written)| (!self.is_of_tree(path), *written));
        let of_tree = others.iter().filter(|(path, _)| self.is_of_tree(path));
        let surplus = (others.len() + 1).saturating_sub(KEPT_MAX);
        let goes = surplus.max(of_tree.count());
        for (path, _) in others.iter().take(goes) {
            let _ = fs::remove_file(path);
        }
        Some(())
    }

    /// All of the folder, with when they were written.
    fn files(&self) -> Vec<(PathBuf, SystemTime)> {
        let entries = fs::read_dir(self.folder.path())
            .into_iter()
            .flatten()
            .flatten();
        let file =
            |entry: fs::DirEntry| Some((entry.path(), entry.metadata().ok()?.modified().ok()?));
        entries.filter_map(file).collect()
    }

    fn is_of_tree(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default();
        name.as_encoded_bytes().starts_with(self.prefix.as_bytes())
    }
}

/// The index of a throw-away repository stays as that of the commit, beside the one that is to follow
/// the work tree.
fn stay_beside(own: &OwnRepository) -> Option<()> {
    let (index, beside) = (own.path().join("index"), own.path().join(COMMIT_INDEX));
    link_or_copy(&index, &beside)
}

/// Git never writes into an index: another one takes its name. A copy is as old as what it is of:
/// git trusts no file that was touched after its index was written. Nothing is written into what is
/// there, which may be another name of an index in use: what somebody else put there just now is as
/// good.
fn link_or_copy(from: &Path, to: &Path) -> Option<()> {
    let _ = fs::remove_file(to);
    match fs::hard_link(from, to) {
        Ok(()) => return Some(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Some(()),
        Err(_) => {}
    }
    let mut source = File::open(from).ok()?;
    let written = source.metadata().and_then(|found| found.modified()).ok()?;
    let mut copy = File::create_new(to).ok()?;
    let copied = io::copy(&mut source, &mut copy).and_then(|_| copy.set_modified(written));
    if copied.is_err() {
        let _ = fs::remove_file(to);
    }
    copied.ok()
}

#[cfg(test)]
mod tests;
