//! [`FileStamp`]: identifies the file at a path, by what the disk reports of it.

use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;

/// Tells a file from any other in its place, and from itself once it was written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileStamp {
    file: (u64, u64, u64),
    changed: (i64, i64),
}

impl From<&Metadata> for FileStamp {
    fn from(found: &Metadata) -> Self {
        Self {
            file: (found.dev(), found.ino(), found.len()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

/// As an index keeps it: the same after a restart, which may give a disk another number.
impl fmt::Display for FileStamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, inode, bytes) = self.file;
        let (seconds, nanoseconds) = self.changed;
        write!(f, "{inode} {bytes} {seconds}.{nanoseconds}")
    }
}
