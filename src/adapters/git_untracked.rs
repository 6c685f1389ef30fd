//! [`put_in_index`]: files that git does not know yet, in the index of a throw-away repository.
//!
//! By their names and digests alone: what they hold is copied nowhere. A dump of some gigabytes
//! would fill the disk at each look at a proposal.

use std::ffi::OsStr;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};

use super::git::{DEADLINE, GITLINK, bytes, bytes_with};
use crate::core::hex::hex;

/// From which size on a file is not hashed as git does it, in bytes: its SHA-1, which looks for
/// collisions, reads 50 MB/s where SHA-256 reads 1 GB/s.
const LARGE_BYTES: u64 = 32 * 1024 * 1024;

/// How much is read at once, in bytes.
const PIECE_BYTES: usize = 256 * 1024;

/// Where git looks for the byte that is in no text, in bytes.
const TEXT_BYTES: usize = 8000;

/// A name of an object of git's, in hex digits.
const OBJECT_DIGITS: usize = 40;

/// What git tags a file with that it does not know.
const OTHER: &[u8] = b"? ";

/// What lies in a work tree beside what the index of a throw-away repository has.
#[derive(Debug)]
pub(super) struct Untracked {
    /// The names, each ending in a zero byte.
    names: Vec<u8>,
    /// There is a repository within the work tree, known or not.
    pub(super) has_nested: bool,
}

impl Untracked {
    /// As git lists it.
    pub(super) fn list(ours: &dyn Fn(&[&str]) -> Command) -> Option<Self> {
        let listed = bytes(&mut ours(&[
            "ls-files",
            "-t",
            "-z",
            "--stage",
            "--others",
            "--exclude-standard",
        ]))?;
        let (mut names, mut has_nested) = (Vec::new(), false);
        for row in listed.split(|byte| *byte == 0).filter(|it| !it.is_empty()) {
            let Some(name) = row.strip_prefix(OTHER) else {
                // A tag, then what the index says of it.
                has_nested |= row
                    .get(2..)
                    .is_some_and(|row| row.starts_with(GITLINK.as_bytes()));
                continue;
            };
            // A repository within is listed with a slash behind it.
            let bare = name.strip_suffix(b"/");
            has_nested |= bare.is_some();
            names.extend_from_slice(bare.unwrap_or(name));
            names.push(0);
        }
        Some(Self { names, has_nested })
    }

    /// Their paths in the repository.
    pub(super) fn paths(&self) -> impl Iterator<Item = &[u8]> {
        let paths = self.names.split(|byte| *byte == 0);
        paths.filter(|path| !path.is_empty())
    }

    /// Git knows all that lies there.
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// Names all of them in the index of the repository at `own`, which the commands of `ours` use.
/// `None` where git takes too long, or one of them cannot be read. Blocks for the disk.
pub(super) fn put_in_index(
    untracked: &Untracked,
    ours: &dyn Fn(&[&str]) -> Command,
    own: &Path,
    top: &Path,
) -> Option<()> {
    let (mut named, mut large) = (Vec::new(), Vec::new());
    let end = Instant::now() + DEADLINE;
    for path in untracked.paths() {
        match large_file(&top.join(OsStr::from_bytes(path))) {
            Some(file) => {
                let digest = digest(file.file, end)?;
                large.extend_from_slice(format!("{} {digest}\t", file.mode).as_bytes());
                large.extend_from_slice(path);
                large.push(0);
            }
            None => {
                named.extend_from_slice(path);
                named.push(0);
            }
        }
    }
    feed(
        ours,
        own,
        &named,
        &["--add", "--remove", "--replace", "--info-only", "--stdin"],
    )?;
    feed(ours, own, &large, &["--add", "--replace", "--index-info"])
}

/// Has the index of the repository at `own` hold its files as they are now, and what changed in them
/// that repository. `None` where git does not take them.
///
/// Not by `git add --update`: in each repository within it runs a `git status`, which runs what the
/// configuration there names.
pub(super) fn take_changed(ours: &dyn Fn(&[&str]) -> Command, own: &Path) -> Option<()> {
    let listed = bytes(&mut ours(&[
        "diff-files",
        "--ignore-submodules=dirty",
        "--no-renames",
        "--name-status",
        "-z",
    ]))?;
    let (mut gone, mut changed) = (Vec::new(), Vec::new());
    let mut words = listed.split(|byte| *byte == 0).filter(|it| !it.is_empty());
    while let (Some(status), Some(path)) = (words.next(), words.next()) {
        let list = match status {
            b"D" => &mut gone,
            _ => &mut changed,
        };
        list.extend_from_slice(path);
        list.push(0);
    }
    feed(ours, own, &gone, &["--force-remove", "--stdin"])?;
    feed(ours, own, &changed, &["--remove", "--stdin"])
}

/// Gives a list to the index, if there is something in it.
fn feed(ours: &dyn Fn(&[&str]) -> Command, own: &Path, list: &[u8], how: &[&str]) -> Option<()> {
    if list.is_empty() {
        return Some(());
    }
    let mut file = tempfile::tempfile_in(own).ok()?;
    file.write_all(list).ok()?;
    io::Seek::rewind(&mut file).ok()?;
    let args = [&["update-index", "-z"], how].concat();
    bytes_with(&mut ours(&args), Stdio::from(file)).map(|_| ())
}

/// A file that is too large for git to hash.
struct LargeFile {
    file: File,
    /// What the index says of its sort.
    mode: &'static str,
}

fn large_file(path: &Path) -> Option<LargeFile> {
    let (file, found) = open(path, |bytes| bytes >= LARGE_BYTES)?;
    let mode = match found.mode() & 0o100 {
        0 => "100644",
        _ => "100755",
    };
    Some(LargeFile { file, mode })
}

/// A file of a size that is wanted: no link, and nothing that would be waited for.
fn open(path: &Path, is_wanted: impl Fn(u64) -> bool) -> Option<(File, Metadata)> {
    let is_wanted = |found: &Metadata| found.is_file() && is_wanted(found.len());
    path.symlink_metadata().ok().filter(is_wanted)?;
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    let file = options.open(path).ok()?;
    let found = file.metadata().ok().filter(is_wanted)?;
    Some((file, found))
}

/// How many lines a new file adds, as git counts them: none of what is no text, and none of a file
/// from [`LARGE_BYTES`] on, which is not read for that. Blocks for the disk.
pub(super) fn lines_in(path: &Path) -> u64 {
    if path.symlink_metadata().is_ok_and(|found| !found.is_file()) {
        // A link has one line, where it leads to, and so has a repository, its commit.
        return 1;
    }
    let text = open(path, |bytes| bytes < LARGE_BYTES);
    text.and_then(|(file, _)| count_lines(file).ok())
        .unwrap_or(0)
}

fn count_lines(file: File) -> io::Result<u64> {
    let (mut reader, mut piece) = (file.take(LARGE_BYTES), vec![0; PIECE_BYTES]);
    let (mut lines, mut last, mut is_first) = (0, b'\n', true);
    loop {
        let read = reader.read(&mut piece)?;
        let bytes = &piece[..read];
        let Some(end) = bytes.last() else {
            return Ok(lines + u64::from(last != b'\n'));
        };
        if std::mem::take(&mut is_first) && bytes.iter().take(TEXT_BYTES).any(|byte| *byte == 0) {
            return Ok(0);
        }
        lines += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        last = *end;
    }
}

/// Stands for the content as a name of git's would; `None` when it took too long.
fn digest(mut file: File, end: Instant) -> Option<String> {
    let (mut hasher, mut piece) = (Sha256::new(), vec![0; PIECE_BYTES]);
    loop {
        if Instant::now() > end {
            return None;
        }
        match file.read(&mut piece).ok()? {
            0 => break,
            bytes => hasher.update(&piece[..bytes]),
        }
    }
    let mut name = hex(&hasher.finalize());
    name.truncate(OBJECT_DIGITS);
    Some(name)
}
