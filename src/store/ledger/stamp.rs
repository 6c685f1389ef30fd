//! [`Stamp`]: whether a file is unchanged.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt as _;

use serde::{Deserialize, Serialize};

/// The file system's data about a file. Each write changes it, at least the time of the last
/// change, which nobody can set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    dev: u64,
    ino: u64,
    pub(super) len: u64,
    changed_s: i64,
    changed_ns: i64,
}

impl Stamp {
    pub(super) fn of(file: &File) -> Option<Self> {
        file.metadata().ok().map(|found| Self::from(&found))
    }
}

impl From<&Metadata> for Stamp {
    fn from(found: &Metadata) -> Self {
        Self {
            dev: found.dev(),
            ino: found.ino(),
            len: found.len(),
            changed_s: found.ctime(),
            changed_ns: found.ctime_nsec(),
        }
    }
}
