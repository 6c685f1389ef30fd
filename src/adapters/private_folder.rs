//! [`PrivateFolder`]: what one process keeps for the next, outside projects.

use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use crate::adapters::git::own::open_folder;

/// A folder of this user's, of one kind, that nobody else can write. All in it may go at any time.
#[derive(Debug)]
pub(super) struct PrivateFolder(PathBuf);

impl PrivateFolder {
    /// That of a kind, below `base`.
    pub(super) fn of(base: &Path, kind: &str) -> Self {
        let user = rustix::process::geteuid().as_raw();
        Self(base.join(format!("ctxrelay-{kind}-{user}")))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Whether it is there, and nobody else's.
    pub(super) fn is_private(&self) -> bool {
        let user = rustix::process::geteuid().as_raw();
        let found = open_folder(&self.0).and_then(|folder| folder.metadata());
        found.is_ok_and(|found| found.uid() == user && found.mode() & 0o077 == 0)
    }

    /// Makes it, where it is not there. None where it is somebody else's.
    pub(super) fn make(&self) -> Option<()> {
        let _ = DirBuilder::new().mode(0o700).create(&self.0);
        self.is_private().then_some(())
    }
}
