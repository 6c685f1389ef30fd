//! [`OwnerLock`]: who holds it is the daemon of the project.
//!
//! The operating system's lock is the only truth about that: it cannot be left behind by a
//! process that died, and the number in the file is for people.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::dirs::ProjectDirs;

/// How often a lock file that vanished between opening and locking is opened again.
const ATTEMPTS_MAX: u32 = 10;

/// Held for as long as the value lives; given up by the system when the process ends, unless
/// another one has a copy of its descriptor by then.
#[derive(Debug)]
pub struct OwnerLock {
    /// `None` once it was left to another process.
    file: Option<File>,
    /// The owner before us may have it still, and go on when we fail.
    inherited: bool,
}

impl OwnerLock {
    /// Takes the lock if nobody has it. Never waits.
    ///
    /// # Errors
    ///
    /// When the lock file is a link, or the state folder cannot be written.
    pub fn try_acquire(dirs: &ProjectDirs) -> io::Result<Option<Self>> {
        let path = dirs.state_file("daemon.lock");
        for _ in 0..ATTEMPTS_MAX {
            let mut file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
                .open(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // A lock on a file that has lost its name excludes nobody.
            if !is_at(&file, &path)? {
                continue;
            }
            sign(&mut file)?;
            return Ok(Some(Self {
                file: Some(file),
                inherited: false,
            }));
        }
        Err(io::Error::other(format!(
            "{} is removed again and again by somebody else",
            path.display()
        )))
    }

    /// Takes on the lock of the owner before us. It is not free for a moment: the lock belongs to
    /// the open file, of which both processes have a descriptor. `None` when it is somebody else's,
    /// or not the lock of this project.
    ///
    /// # Errors
    ///
    /// When the lock file cannot be looked at or written.
    pub fn inherit(dirs: &ProjectDirs, descriptor: OwnedFd) -> io::Result<Option<Self>> {
        let mut file = File::from(descriptor);
        if !is_at(&file, &dirs.state_file("daemon.lock"))? {
            return Ok(None);
        }
        // Changes nothing on a file that has the lock, and fails when another file has it.
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        sign(&mut file)?;
        Ok(Some(Self {
            file: Some(file),
            inherited: true,
        }))
    }

    /// What the next owner needs for [`Self::inherit`].
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().map(File::as_fd)
    }

    /// Leaves it to the process that inherited it.
    pub fn leave(mut self) {
        self.file = None;
    }
}

/// Writes who has it, for people.
fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

impl Drop for OwnerLock {
    fn drop(&mut self) {
        if self.inherited {
            // Giving it up by hand would take it from every process that has the open file.
            return;
        }
        // Given up by hand, because a child that was just forked may still hold a copy of the
        // descriptor, and with it the lock.
        if let Some(Err(error)) = self.file.as_ref().map(File::unlock) {
            tracing::warn!(%error, "the owner's lock was not given up");
        }
    }
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match path.symlink_metadata() {
        Ok(there) => Ok((there.dev(), there.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::store::testing::{Place, mode};

    #[test]
    fn one_holds_it_until_it_is_dropped() {
        let place = Place::new();
        let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
        assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_none());
        let path = place.dirs.state_file("daemon.lock");
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, format!("{}\n", std::process::id()));
        assert_eq!(mode(&path), 0o600);
        drop(lock);
        assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_some());
    }

    #[test]
    fn an_heir_has_it_without_a_gap() {
        let place = Place::new();
        let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
        let copy = lock.descriptor().unwrap().try_clone_to_owned().unwrap();
        let heir = OwnerLock::inherit(&place.dirs, copy).unwrap().unwrap();
        // One that fails takes nothing from the owner.
        drop(heir);
        assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_none());
        let copy = lock.descriptor().unwrap().try_clone_to_owned().unwrap();
        let heir = OwnerLock::inherit(&place.dirs, copy).unwrap().unwrap();
        lock.leave();
        assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_none());
        let path = place.dirs.state_file("daemon.lock");
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(text, format!("{}\n", std::process::id()));
        drop(heir);
        assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_some());
    }

    #[test]
    fn a_lock_of_another_file_or_owner_is_not_inherited() {
        let place = Place::new();
        let other = File::create(place.dir.path().join("other")).unwrap();
        let heir = OwnerLock::inherit(&place.dirs, other.into());
        // There is no lock file yet: the other one is no lock of this project.
        assert!(heir.unwrap().is_none());
        let _lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
        let path = place.dirs.state_file("daemon.lock");
        let opened = OpenOptions::new().write(true).open(path).unwrap();
        let heir = OwnerLock::inherit(&place.dirs, opened.into());
        assert!(heir.unwrap().is_none());
    }

    #[test]
    fn a_number_left_in_the_file_means_nothing() {
        let place = Place::new();
        std::fs::write(place.dirs.state_file("daemon.lock"), "1\n12345678").unwrap();
        assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_some());
        let text = std::fs::read_to_string(place.dirs.state_file("daemon.lock")).unwrap();
        assert_eq!(text, format!("{}\n", std::process::id()));
    }

    #[test]
    fn a_link_is_not_followed() {
        let place = Place::new();
        let elsewhere = place.dir.path().join("elsewhere");
        std::fs::write(&elsewhere, "precious").unwrap();
        std::os::unix::fs::symlink(&elsewhere, place.dirs.state_file("daemon.lock")).unwrap();
        assert!(OwnerLock::try_acquire(&place.dirs).is_err());
        assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "precious");
    }
}
