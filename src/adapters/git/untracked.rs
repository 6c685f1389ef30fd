//! [`WorkDiff`]: how a work tree differs from the index of a throw-away repository, which is then
//! updated to match it.
//!
//! By names and digests alone, if nothing else is needed: the contents of the files are not copied.
//! A dump of some gigabytes would fill the disk each time a proposal is checked, and for each file
//! that changed two names would be created in the throw-away repository and removed again.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use sha2::{Digest as _, Sha256};

use super::command::{GitCommand, bytes, bytes_with};
use super::own::OwnRepository;
use crate::adapters::plain_file::open_plain;
use crate::core::hex::hex;

/// What the index says of a repository within the work tree.
pub(in crate::adapters) const GITLINK: &str = "160000";

/// The name of a file that says how others are hashed.
const ATTRIBUTES: &[u8] = b".gitattributes";

/// From which size on a file is not hashed as git does it, in bytes: its SHA-1, which looks for
/// collisions, reads 50 MB/s where SHA-256 reads 1 GB/s.
const LARGE_BYTES: u64 = 32 * 1024 * 1024;

/// How much is read at once, in bytes.
const PIECE_BYTES: usize = 256 * 1024;

/// Where git looks for the byte that is in no text, in bytes.
const TEXT_BYTES: usize = 8000;

/// How long the names of the files that changed may be for a command that is told them, in bytes: it
/// holds each file of the index against each of them.
const NAMES_BYTES_MAX: usize = 32 * 1024;

/// What git tags a file with that it does not know, that is not there, and that is another one.
const OTHER: &[u8] = b"? ";
const GONE: &[u8] = b"R ";
const CHANGED: &[u8] = b"C ";

/// When a throw-away repository gets what the files of its index hold now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum Copies {
    /// Their digests do.
    Never,
    /// Where a diff that reads the work tree itself will not do: a repository lies within, whose
    /// configuration it would run, or it would have to be told too many names.
    WhereNeeded,
    Always,
}

/// What lies in a work tree otherwise than in the index of a throw-away repository.
#[derive(Debug, Default)]
pub(in crate::adapters) struct WorkDiff {
    /// The names of what git does not know, each ending in a zero byte.
    others: Vec<u8>,
    /// Those of the files of the index that hold something else, each ending in a zero byte.
    changed: Vec<u8>,
    /// Files of the index are not there.
    pub(in crate::adapters) has_gone: bool,
    /// The throw-away repository has what these hold now.
    pub(in crate::adapters) has_copies: bool,
    /// Files of the index are not there, or hold something else.
    pub(in crate::adapters) has_changed: bool,
    /// There is a repository within the work tree, known or not.
    pub(in crate::adapters) has_nested: bool,
    /// Of the files that say how others are hashed one is not in the index, ignored or not, or is gone
    /// or another one.
    pub(in crate::adapters) has_attributes: bool,
}

/// As git lists it: names of files of the index, each ending in a zero byte.
#[derive(Debug, Default)]
struct Listed {
    diff: WorkDiff,
    gone: Vec<u8>,
    changed: Vec<u8>,
    /// A file has become a folder. While the index has the file, a repository there is not listed.
    hides_others: bool,
}

impl WorkDiff {
    /// As git lists it, after an index without what the disk says of its files: what they hold is
    /// read. What changed in them that index then has. `None` where git does not take it.
    ///
    /// Not by `git add --update`: in each repository within it runs a `git status`, which runs what
    /// the configuration there names.
    pub(in crate::adapters) fn take(
        ours: &dyn Fn(&[&str]) -> GitCommand,
        own: &Path,
        top: &Path,
        copies: Copies,
    ) -> Option<Self> {
        let listed = Listed::read(ours, top)?;
        let mut diff = listed.diff;
        diff.has_copies = match copies {
            Copies::Never => false,
            Copies::WhereNeeded => {
                diff.has_nested || listed.hides_others || listed.changed.len() > NAMES_BYTES_MAX
            }
            Copies::Always => true,
        };
        let how: &[&str] = match diff.has_copies {
            true => &["--remove", "--stdin"],
            false => &["--remove", "--info-only", "--stdin"],
        };
        feed(ours, own, &listed.gone, &["--force-remove", "--stdin"])?;
        feed(ours, own, &listed.changed, how)?;
        diff.has_gone = !listed.gone.is_empty();
        diff.has_changed = !(listed.gone.is_empty() && listed.changed.is_empty());
        if listed.hides_others {
            let again = Listed::read(ours, top)?.diff;
            diff.others = again.others;
            diff.has_nested |= again.has_nested;
        }
        diff.changed = listed.changed;
        Some(diff)
    }

    /// The paths of what git does not know, in the repository.
    pub(in crate::adapters) fn others(&self) -> impl Iterator<Item = &[u8]> {
        paths(&self.others)
    }

    /// The paths of the files of the index that hold something else, in the repository; so many that
    /// one command takes them all, where there are no copies.
    pub(in crate::adapters) fn changed(&self) -> impl Iterator<Item = &[u8]> {
        paths(&self.changed)
    }

    /// The work tree holds just what the index did.
    pub(in crate::adapters) fn is_empty(&self) -> bool {
        self.others.is_empty() && !self.has_changed && !self.has_nested
    }
}

impl Listed {
    fn read(ours: &dyn Fn(&[&str]) -> GitCommand, top: &Path) -> Option<Self> {
        let rows = bytes(&mut ours(&[
            "ls-files",
            "-t",
            "-z",
            "--stage",
            "--deleted",
            "--modified",
            "--others",
            "--exclude-standard",
        ]))?;
        let mut listed = Self::default();
        let (mut folders, mut last_gone) = (HashMap::new(), None);
        // Those that hold files of the index, and whether one of these says how others are hashed.
        let mut attributed = HashMap::from([([].as_slice(), false)]);
        for row in rows.split(|byte| *byte == 0).filter(|it| !it.is_empty()) {
            if let Some(name) = row.strip_prefix(OTHER) {
                // A repository within is listed with a slash behind it.
                let bare = name.strip_suffix(b"/");
                listed.diff.has_nested |= bare.is_some();
                push(&mut listed.diff.others, bare.unwrap_or(name));
                continue;
            }
            // A tag, then what the index says of it.
            let (tag, entry) = row.split_at_checked(2)?;
            let is_nested = entry.starts_with(GITLINK.as_bytes());
            listed.diff.has_nested |= is_nested;
            let name = &entry[entry.iter().position(|byte| *byte == b'\t')? + 1..];
            let (is_attributes, mut folder) = (is_attributes(name), parent(name));
            while !attributed.contains_key(folder) {
                attributed.insert(folder, false);
                folder = parent(folder);
            }
            if is_attributes {
                attributed.insert(parent(name), true);
            }
            if last_gone == Some(name) {
                continue;
            }
            if tag == GONE || !is_below_folders(top, name, &mut folders) {
                listed.diff.has_attributes |= is_attributes;
                push(&mut listed.gone, name);
                last_gone = Some(name);
            } else if tag == CHANGED {
                listed.diff.has_attributes |= is_attributes;
                push(&mut listed.changed, name);
                listed.hides_others |= !is_nested && is_folder(top, name);
            }
        }
        let mut without = attributed.iter().filter(|(_, is_known)| !**is_known);
        listed.diff.has_attributes |= without.any(|(folder, _)| {
            let place = top.join(OsStr::from_bytes(folder));
            let place = place.join(OsStr::from_bytes(ATTRIBUTES));
            place.symlink_metadata().is_ok()
        });
        Some(listed)
    }
}

/// The folder of a path in the repository; that of the repository is empty.
fn parent(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte == b'/');
    &path[..end.unwrap_or(0)]
}

fn is_attributes(path: &[u8]) -> bool {
    path.rsplit(|byte| *byte == b'/').next() == Some(ATTRIBUTES)
}

fn paths(names: &[u8]) -> impl Iterator<Item = &[u8]> {
    let paths = names.split(|byte| *byte == 0);
    paths.filter(|path| !path.is_empty())
}

fn push(names: &mut Vec<u8>, name: &[u8]) {
    names.extend_from_slice(name);
    names.push(0);
}

/// Whether a file lies where its path says: git looks through a link in the place of a folder.
pub(in crate::adapters) fn is_below_folders<'a>(
    top: &Path,
    path: &'a [u8],
    known: &mut HashMap<&'a [u8], bool>,
) -> bool {
    let Some(end) = path.iter().rposition(|byte| *byte == b'/') else {
        return true;
    };
    let folder = &path[..end];
    if let Some(known) = known.get(folder) {
        return *known;
    }
    let is_one = is_below_folders(top, folder, known) && is_folder(top, folder);
    known.insert(folder, is_one);
    is_one
}

fn is_folder(top: &Path, path: &[u8]) -> bool {
    let found = top.join(OsStr::from_bytes(path)).symlink_metadata();
    found.is_ok_and(|found| found.is_dir())
}

/// Names all that git does not know in the index of our repository, which the commands of `ours` use.
/// `None` where git takes too long, or one of them cannot be read. Blocks for the disk.
pub(in crate::adapters) fn put_in_index(
    diff: &WorkDiff,
    ours: &dyn Fn(&[&str]) -> GitCommand,
    repository: &OwnRepository,
    top: &Path,
) -> Option<()> {
    let own = repository.path();
    let (mut named, mut large) = (Vec::new(), Vec::new());
    let end = repository.deadline().end();
    for path in diff.others() {
        match large_file(&top.join(OsStr::from_bytes(path))) {
            Some(file) => {
                let digest = digest(file.file, end, repository.object_digits())?;
                large.extend_from_slice(format!("{} {digest}\t", file.mode).as_bytes());
                push(&mut large, path);
            }
            None => push(&mut named, path),
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

/// Gives a list to the index, if there is something in it.
pub(in crate::adapters) fn feed(
    ours: &dyn Fn(&[&str]) -> GitCommand,
    own: &Path,
    list: &[u8],
    how: &[&str],
) -> Option<()> {
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
    open_plain(path).ok().filter(|(_, found)| is_wanted(found))
}

/// How many lines a new file adds, as git counts them: none of what is no text, and none of a file
/// from [`LARGE_BYTES`] on, which is not read for that. Blocks for the disk.
pub(in crate::adapters) fn lines_in(path: &Path) -> u64 {
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
fn digest(mut file: File, end: Instant, digits: usize) -> Option<String> {
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
    name.truncate(digits);
    Some(name)
}
