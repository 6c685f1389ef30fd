//! [`read_plain`]: a file that somebody else wrote.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// Reads a text: of a plain file, never of a link, a pipe or a device. `path` has no links left
/// ([`Path::canonicalize`]) where they were to be followed. Blocks for the disk.
///
/// # Errors
///
/// When it is not there, no plain file, no UTF-8, or longer than `max` bytes.
pub fn read_plain(path: &Path, max: u64) -> io::Result<String> {
    let refused = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    if !file.metadata()?.is_file() {
        return refused("it is not a plain file");
    }
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return refused(&format!("it is longer than {} KiB", max / 1024));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(_) => refused("it is not UTF-8"),
    }
}
