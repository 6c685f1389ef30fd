//! A temporary project and a temporary home, for the tests of this module.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex};

use tempfile::TempDir;

use super::dirs::{ProjectDirs, UserDirs};

/// Removed with everything in it when dropped.
#[derive(Debug)]
pub struct Place {
    pub dirs: ProjectDirs,
    pub user: UserDirs,
    pub dir: TempDir,
}

impl Place {
    /// A project with its folders, and no registry yet.
    #[expect(clippy::new_without_default, reason = "it makes folders")]
    pub fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// In memory where the system has such a folder: for tests in which many wait for the disk, and
    /// none asks what a sync does.
    pub fn quick() -> Self {
        let memory = Path::new("/dev/shm");
        match tempfile::tempdir_in(memory).is_ok() {
            true => Self::below(memory),
            false => Self::new(),
        }
    }

    fn below(folder: &Path) -> Self {
        let dir = tempfile::tempdir_in(folder).unwrap();
        let root = dir.path().canonicalize().unwrap();
        let project = root.join("project");
        std::fs::create_dir(&project).unwrap();
        let dirs = ProjectDirs::new(project, None);
        dirs.create().unwrap();
        let user = UserDirs {
            registry: root.join("registry"),
            data: root.join("data"),
            runtime: None,
        };
        Self { dirs, user, dir }
    }
}

/// The permission bits of a file.
pub fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    path.symlink_metadata().unwrap().permissions().mode() & 0o777
}

/// Ledgers on a disk that hangs, each with whether a sync of it waits.
static STALLED: Mutex<Vec<(PathBuf, bool)>> = Mutex::new(Vec::new());
static STALL_CHANGED: Condvar = Condvar::new();

/// For as long as it lives no sync of this ledger comes back, as on a disk that hangs.
#[derive(Debug)]
pub struct Stalled(PathBuf);

impl Stalled {
    pub fn of(ledger: &Path) -> Self {
        STALLED.lock().unwrap().push((ledger.to_owned(), false));
        Self(ledger.to_owned())
    }

    /// Returns once a sync waits for it to end.
    pub fn wait_for_sync(&self) {
        let is_to_come = |stalled: &mut Vec<(PathBuf, bool)>| {
            !stalled
                .iter()
                .any(|(path, waits)| *path == self.0 && *waits)
        };
        drop(STALL_CHANGED.wait_while(STALLED.lock().unwrap(), is_to_come));
    }
}

impl Drop for Stalled {
    fn drop(&mut self) {
        let mut stalled = STALLED.lock().unwrap();
        stalled.retain(|(path, _)| *path != self.0);
        STALL_CHANGED.notify_all();
    }
}

pub(crate) fn wait_if_stalled(ledger: &Path) {
    let is_stalled = |stalled: &mut Vec<(PathBuf, bool)>| {
        let mine = stalled.iter_mut().find(|(path, _)| path == ledger);
        mine.is_some_and(|(_, waits)| {
            if !std::mem::replace(waits, true) {
                STALL_CHANGED.notify_all();
            }
            true
        })
    };
    drop(STALL_CHANGED.wait_while(STALLED.lock().unwrap(), is_stalled));
}

/// What is to be written, and how often that still succeeds.
static FULL: Mutex<Vec<(PathBuf, usize)>> = Mutex::new(Vec::new());

/// For as long as it lives there is no room for this file, but for some times that it is written
/// first; of a folder, for what makes new names in it last.
#[derive(Debug)]
pub struct Full(PathBuf);

impl Full {
    pub fn after(writes: usize, path: &Path) -> Self {
        FULL.lock().unwrap().push((path.to_owned(), writes));
        Self(path.to_owned())
    }
}

impl Drop for Full {
    fn drop(&mut self) {
        FULL.lock().unwrap().retain(|(path, _)| *path != self.0);
    }
}

pub(crate) fn room_for(path: &Path) -> io::Result<()> {
    let mut full = FULL.lock().unwrap();
    match full.iter_mut().find(|(of, _)| of == path) {
        Some((_, 0)) => Err(io::ErrorKind::StorageFull.into()),
        Some((_, left)) => {
            *left -= 1;
            Ok(())
        }
        None => Ok(()),
    }
}

/// Entries of ledgers that the disk does not give.
static NOT_GIVEN: Mutex<Vec<(PathBuf, u64)>> = Mutex::new(Vec::new());

/// For as long as it lives the disk does not give one entry of a ledger, by its number.
#[derive(Debug)]
pub struct NotGiven(PathBuf, u64);

impl NotGiven {
    pub fn entry(seq: u64, ledger: &Path) -> Self {
        NOT_GIVEN.lock().unwrap().push((ledger.to_owned(), seq));
        Self(ledger.to_owned(), seq)
    }
}

impl Drop for NotGiven {
    fn drop(&mut self) {
        let mut not_given = NOT_GIVEN.lock().unwrap();
        not_given.retain(|(path, seq)| (path, *seq) != (&self.0, self.1));
    }
}

pub(crate) fn gives(ledger: &Path, seq: u64) -> io::Result<()> {
    let not_given = NOT_GIVEN.lock().unwrap();
    match not_given
        .iter()
        .any(|(path, of)| path == ledger && *of == seq)
    {
        true => Err(rustix::io::Errno::IO.into()),
        false => Ok(()),
    }
}
