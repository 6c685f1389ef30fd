//! [`KnownIndex`]: the index of a commit with what the disk said of its files, kept for the next look.
//!
//! Without it each look reads all tracked files. The project's own index is not taken for that: agents
//! write it, and one that says a changed file is as it was would hide the change. This one lies outside
//! of the project, is made of the commit alone, and holds nothing of a file that was changed so lately
//! that git could not tell it from one changed once more.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File, FileTimes, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};

use super::{line_or_empty, text};
use crate::core::hex::hex;

/// How an index is called in its folder, behind the commit and the rules.
const ENDING: &str = "index";

/// How much of the rules' digest is in the name.
const RULES_DIGITS: usize = 16;

/// The largest that is kept, in bytes: some 500,000 files.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Git compares times by seconds, and a clock may be behind by one.
const SETTLED: Duration = Duration::from_secs(2);

/// What a person's own configuration may say otherwise.
pub(super) const PLAIN: [&str; 10] = [
    "-c",
    "core.trustctime=true",
    "-c",
    "core.checkStat=default",
    "-c",
    "core.splitIndex=false",
    "-c",
    "core.untrackedCache=false",
    "-c",
    "index.sparse=false",
];

/// Where indexes of one project are kept, outside of it. At most one is.
#[derive(Debug)]
pub(super) struct KnownIndex {
    folder: PathBuf,
    /// How long no file may have changed.
    pub(super) settled: Duration,
}

/// What an index was made of.
pub(super) struct IndexName {
    commit: String,
    /// Of the rules by which git reads what is in a file.
    rules: String,
}

impl KnownIndex {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            settled: SETTLED,
        }
    }

    /// Puts the index of a commit where a repository has its own, if it is kept.
    pub(super) fn put(&self, name: &IndexName, index: &Path) -> bool {
        copy(&self.folder.join(name.to_string()), index).is_ok()
    }

    /// Makes the index of a commit in a repository of ours, which the commands of `ours` use, and keeps
    /// it. `projects`: the project's own. `None` where git does not take the commit.
    pub(super) fn make(
        &self,
        name: &IndexName,
        index: &Path,
        projects: &Path,
        ours: &dyn Fn(&[&str]) -> Command,
    ) -> Option<()> {
        // One that is of no use is not tried again.
        let _ = fs::remove_file(self.folder.join(name.to_string()));
        if age(projects).is_some_and(|age| age < self.settled) {
            // Git wrote files just now: nothing could be kept.
            return line_or_empty(&mut ours(&["read-tree", &name.commit])).map(|_| ());
        }
        // Of another commit it knows the files that are the same in both.
        let others = self.files();
        let mut others = others.iter().filter(|path| name.reads_as(path));
        let is_begun = others.any(|path| copy(path, index).is_ok())
            && line_or_empty(&mut ours(&["read-tree", "-m", &name.commit])).is_some();
        if !is_begun {
            let _ = fs::remove_file(index);
            line_or_empty(&mut ours(&["read-tree", &name.commit]))?;
        }
        let began = SystemTime::now();
        // Fails where a file differs from the commit, of which it then knows nothing.
        let _ = line_or_empty(&mut ours(&["update-index", "-q", "--refresh"]));
        if let Some(listed) = text(&mut ours(&["ls-files", "--debug"]))
            && is_settled(&listed, began, self.settled)
            && let Err(error) = self.keep(index, name)
        {
            tracing::info!(%error, "an index could not be kept for the next look");
        }
        Some(())
    }

    fn files(&self) -> Vec<PathBuf> {
        let found = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let paths = found.map(|file| file.path());
        let paths = paths.filter(|path| path.extension().is_some_and(|end| end == ENDING));
        paths.collect()
    }

    fn keep(&self, index: &Path, name: &IndexName) -> io::Result<()> {
        let mut folder = fs::DirBuilder::new();
        folder.recursive(true).mode(0o700).create(&self.folder)?;
        let before = self.files();
        let new = tempfile::Builder::new().tempfile_in(&self.folder)?;
        copy(index, new.path())?;
        let path = self.folder.join(name.to_string());
        new.persist(&path).map_err(|error| error.error)?;
        for old in before.into_iter().filter(|old| *old != path) {
            // Another look may have done so already.
            let _ = fs::remove_file(old);
        }
        Ok(())
    }
}

impl IndexName {
    pub(super) fn of(commit: &str, top: &Path) -> Self {
        let rules = fs::read(top.join(".gitattributes")).unwrap_or_default();
        let mut rules = hex(&Sha256::digest(&rules));
        rules.truncate(RULES_DIGITS);
        let commit = commit.to_owned();
        Self { commit, rules }
    }

    /// Whether git reads files by the same rules for an index that is kept.
    fn reads_as(&self, kept: &Path) -> bool {
        let stem = kept.file_stem().and_then(OsStr::to_str);
        stem.is_some_and(|stem| stem.ends_with(&self.rules))
    }
}

impl fmt::Display for IndexName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}.{ENDING}", self.commit, self.rules)
    }
}

/// Copies an index with its time, by which git tells which files may have changed since.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    let mut from = options.open(from)?;
    let found = from.metadata()?;
    if !found.is_file() || found.len() > BYTES_MAX {
        return Err(io::Error::other("it is no index"));
    }
    let mut to = File::create(to)?;
    io::copy(&mut from, &mut to)?;
    to.set_times(FileTimes::new().set_modified(found.modified()?))
}

/// How long ago a file was written, as far as the disk tells.
fn age(path: &Path) -> Option<Duration> {
    let written = path.symlink_metadata().ok()?.modified().ok()?;
    written.elapsed().ok()
}

/// Whether all files of an index changed well before it was made. A name with a line break in it can
/// only add a time.
fn is_settled(listed: &str, made: SystemTime, settled: Duration) -> bool {
    let latest = listed.lines().filter_map(|line| {
        let seconds = line.strip_prefix("  ctime: ")?.split(':').next()?;
        seconds.parse().ok().map(Duration::from_secs)
    });
    let latest = latest.max().unwrap_or_default();
    let made = made.duration_since(UNIX_EPOCH).unwrap_or_default();
    latest + settled < made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_lately_is_not_settled() {
        let made = UNIX_EPOCH + Duration::from_secs(1_000);
        let listed =
            |seconds: u64| format!("a.rs\n  ctime: 7:1\n  mtime: 999:0\nb\n  ctime: {seconds}:5\n");
        assert!(is_settled(&listed(997), made, SETTLED));
        assert!(!is_settled(&listed(998), made, SETTLED));
        assert!(!is_settled(&listed(2_000), made, SETTLED));
        assert!(is_settled("", made, SETTLED));
    }
}
