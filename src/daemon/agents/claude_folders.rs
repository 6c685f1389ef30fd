//! [`ClaudeFolders`]: in which folders the Claudes that are here were started. The loop says it, and
//! the watch over Claude's settings looks there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Mutex;

use crate::core::lock::lock;
use crate::daemon::attach::ConnId;

/// The folder of each bridge that said it.
#[derive(Debug, Default)]
pub(in crate::daemon) struct ClaudeFolders {
    of: Mutex<BTreeMap<ConnId, PathBuf>>,
}

impl ClaudeFolders {
    /// A bridge came, whose Claude was started there.
    pub(in crate::daemon) fn came(&self, conn: ConnId, folder: &str) {
        lock(&self.of).insert(conn, PathBuf::from(folder));
    }

    pub(in crate::daemon) fn left(&self, conn: ConnId) {
        lock(&self.of).remove(&conn);
    }

    /// Each folder once.
    pub(in crate::daemon) fn all(&self) -> BTreeSet<PathBuf> {
        lock(&self.of).values().cloned().collect()
    }
}
