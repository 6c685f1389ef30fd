//! [`open_plain`]: opens a file that somebody else wrote.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a plain file for reading: no link, and nothing that would be waited for. Blocks for the disk.
///
/// # Errors
///
/// When it is not there, or no plain file.
pub fn open_plain(path: &Path) -> io::Result<(File, Metadata)> {
    // A pipe without a writer would hold its opener for ever.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    let file = options.open(path)?;
    let found = file.metadata()?;
    match found.is_file() {
        true => Ok((file, found)),
        false => refused("it is not a plain file"),
    }
}

/// Reads a text: of a plain file, never of a link, a pipe or a device. `path` has no links left
/// ([`Path::canonicalize`]) where they were to be followed. Blocks for the disk.
///
/// # Errors
///
/// When it is not there, no plain file, no UTF-8, or longer than `max` bytes.
pub fn read_plain(path: &Path, max: u64) -> io::Result<String> {
    let (file, _) = open_plain(path)?;
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

fn refused<T>(why: &str) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}
