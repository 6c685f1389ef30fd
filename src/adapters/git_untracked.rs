//! [`put_in_index`]: files that git does not know yet, in the index of a throw-away repository.
//!
//! By their names and digests alone: what they hold is copied nowhere. A dump of some gigabytes
//! would fill the disk at each look at a proposal.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};

use super::git::{DEADLINE, bytes, bytes_with};
use crate::wire::line::hex;

/// From which size on a file is not hashed as git does it, in bytes: its SHA-1, which looks for
/// collisions, reads 50 MB/s where SHA-256 reads 1 GB/s.
const LARGE_BYTES: u64 = 32 * 1024 * 1024;

/// How much is read at once, in bytes.
const PIECE_BYTES: usize = 256 * 1024;

/// A name of an object of git's, in hex digits.
const OBJECT_DIGITS: usize = 40;

/// Names all of them in the index of the repository at `own`, which the commands of `ours` use.
/// `None` where git takes too long, or one of them cannot be read. Blocks for the disk.
pub(super) fn put_in_index(
    ours: &dyn Fn(&[&str]) -> Command,
    own: &Path,
    top: &Path,
) -> Option<()> {
    let listed = bytes(&mut ours(&[
        "ls-files",
        "--others",
        "--exclude-standard",
        "-z",
    ]))?;
    let (mut named, mut large) = (Vec::new(), Vec::new());
    let end = Instant::now() + DEADLINE;
    for path in listed.split(|byte| *byte == 0).filter(|it| !it.is_empty()) {
        // A repository within is listed with a slash behind it.
        let path = path.strip_suffix(b"/").unwrap_or(path);
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
    let feed = |list: &[u8], how: &[&str]| {
        if list.is_empty() {
            return Some(());
        }
        let mut file = tempfile::tempfile_in(own).ok()?;
        file.write_all(list).ok()?;
        io::Seek::rewind(&mut file).ok()?;
        let args = [&["update-index", "-z", "--add"], how].concat();
        bytes_with(&mut ours(&args), Stdio::from(file)).map(|_| ())
    };
    feed(&named, &["--remove", "--replace", "--info-only", "--stdin"])?;
    feed(&large, &["--replace", "--index-info"])
}

/// A file that is too large for git to hash.
struct LargeFile {
    file: File,
    /// What the index says of its sort.
    mode: &'static str,
}

fn large_file(path: &Path) -> Option<LargeFile> {
    let is_large = |found: &std::fs::Metadata| found.is_file() && found.len() >= LARGE_BYTES;
    path.symlink_metadata().ok().filter(is_large)?;
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    let file = options.open(path).ok()?;
    let found = file.metadata().ok().filter(is_large)?;
    let mode = match found.mode() & 0o100 {
        0 => "100644",
        _ => "100755",
    };
    Some(LargeFile { file, mode })
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
