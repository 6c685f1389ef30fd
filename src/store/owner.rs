//! [`OwnerLock`]: who holds it is the daemon of the project.
//!
//! The operating system's lock is the only truth about that: it cannot be left behind by a
//! process that died, and the number in the file is for people.
//!
//! It is two locks, for the two places that must have one owner. `daemon.lock` lies in the state
//! folder, which can be moved elsewhere, or be removed and created again while a daemon runs;
//! `.contextrelay` has the record, which cannot be moved.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;

use super::dirs::{ProjectDirs, open_private};
use super::published;

/// How often a lock file that vanished between opening and locking is opened again.
const ATTEMPTS_MAX: u32 = 10;

/// How often a lock is asked for that somebody has. Who only looks whether there is an owner has it
/// for an instant, and must not be taken for one.
const ASKED_MAX: u32 = 5;

/// How long between two times that it is asked for.
const ASK_GAP: Duration = Duration::from_millis(2);

/// Held for as long as the value lives; given up by the system when the process ends, unless
/// another one has a copy of its descriptors by then.
#[derive(Debug)]
pub struct OwnerLock {
    /// `daemon.lock` in the state folder.
    file: File,
    /// `.contextrelay` itself.
    folder: File,
    /// Another process has it as well: the previous owner, in case that we fail, or the next one.
    shared: bool,
}

impl OwnerLock {
    /// Takes the lock if nobody has it; waits some milliseconds at most. What the last owner
    /// published is void from then on. The folders are there already.
    ///
    /// # Errors
    ///
    /// When the lock file or the project's folder is a link, or the state folder is not writable.
    pub fn try_acquire(dirs: &ProjectDirs) -> io::Result<Option<Self>> {
        for _ in 0..ATTEMPTS_MAX {
            let mut lock = Self {
                file: open_file(dirs)?,
                folder: open_folder(&dirs.relay)?,
                shared: false,
            };
            if !lock.take()? {
                return Ok(None);
            }
            // A lock on what has lost its name excludes nobody.
            if !lock.is_named(dirs)? {
                continue;
            }
            lock.sign()?;
            published::void(dirs);
            return Ok(Some(lock));
        }
        Err(io::Error::other(format!(
            "{} is removed again and again by somebody else",
            lock_path(dirs).display()
        )))
    }

    /// Takes on the lock of the owner before us, by its [`Self::descriptors`]. It is not free for a
    /// moment: a lock belongs to the open file, of which both processes have a descriptor. `None`
    /// when it is somebody else's, or not the lock of this project.
    ///
    /// # Errors
    ///
    /// When the lock file cannot be looked at or written.
    pub fn take_over(
        dirs: &ProjectDirs,
        file: OwnedFd,
        folder: OwnedFd,
    ) -> io::Result<Option<Self>> {
        let mut lock = Self {
            file: file.into(),
            folder: folder.into(),
            shared: true,
        };
        // Taking changes nothing on what has the lock, and fails when another open file has it.
        if !lock.is_named(dirs)? || !lock.take()? {
            return Ok(None);
        }
        lock.sign()?;
        Ok(Some(lock))
    }

    /// What the next owner needs for [`Self::take_over`], in its order.
    pub fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.file.as_fd(), self.folder.as_fd()]
    }

    /// Leaves it to the process that took it over.
    pub fn leave(mut self) {
        self.shared = true;
    }

    /// Whether both still lie where the next one looks for them. If not, they keep nobody out.
    ///
    /// # Errors
    ///
    /// When it cannot be looked there.
    pub fn is_named(&self, dirs: &ProjectDirs) -> io::Result<bool> {
        Ok(is_at(&self.file, &lock_path(dirs))? && is_at(&self.folder, &dirs.relay)?)
    }

    /// Which files the locks are on.
    ///
    /// # Errors
    ///
    /// When the system does not tell.
    pub fn place(&self) -> io::Result<LockPlace> {
        Ok(LockPlace {
            file: identity_of(&self.file.metadata()?),
            folder: identity_of(&self.folder.metadata()?),
        })
    }

    /// Takes both locks; says whether nobody else has one of them. What was taken is given up with
    /// the value.
    fn take(&self) -> io::Result<bool> {
        match ask(&self.file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        match ask(&self.folder) {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => {
                tracing::warn!("a process with another state folder owns this project");
                Ok(false)
            }
            // Some network file systems lock only what is open for writing, which no folder is.
            Err(TryLockError::Error(error)) => {
                tracing::warn!(
                    %error,
                    "folders cannot be locked here: only the lock file keeps a second daemon out"
                );
                Ok(true)
            }
        }
    }

    /// Writes who has it, for people.
    fn sign(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        writeln!(self.file, "{}", std::process::id())
    }
}

/// Asks for a lock; more than once, for who only looks has it for an instant.
fn ask(file: &File) -> Result<(), TryLockError> {
    for _ in 1..ASKED_MAX {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => thread::sleep(ASK_GAP),
            asked => return asked,
        }
    }
    file.try_lock()
}

/// Which files an owner's locks are on, by device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockPlace {
    file: (u64, u64),
    folder: (u64, u64),
}

/// What has become of an owner's locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockState {
    /// They are where others look for them. Also when it cannot be looked there.
    Held,
    /// The lock file has lost its name, with the state folder or without it.
    LockLost,
    /// The project's folder has: what lies there now, if anything does, is another one.
    FolderLost,
}

impl LockPlace {
    /// Looks where others do.
    pub fn look(&self, dirs: &ProjectDirs) -> LockState {
        let is_lost = |path: &Path, ours| identity(path).is_ok_and(|there| there != Some(ours));
        if is_lost(&dirs.relay, self.folder) {
            LockState::FolderLost
        } else if is_lost(&lock_path(dirs), self.file) {
            LockState::LockLost
        } else {
            LockState::Held
        }
    }
}

impl Drop for OwnerLock {
    fn drop(&mut self) {
        if self.shared {
            // Giving it up by hand would take it from every process that has the open files.
            return;
        }
        // Given up by hand, because a child that was just forked may still hold copies of the
        // descriptors, and with them the locks. In the order opposite to that of taking.
        for file in [&self.folder, &self.file] {
            if let Err(error) = file.unlock() {
                tracing::warn!(%error, "the owner's lock was not given up");
            }
        }
    }
}

/// Whether somebody owns the project, by the lock in this state folder: a daemon, or a command that
/// works alone. Takes nothing from anybody.
///
/// This asks the lock and not for a process with the published number: a number is another
/// process's after a while, and inside a container it is not there at all, while the lock is one
/// and the same for everybody who sees the file.
pub fn is_owned(dirs: &ProjectDirs) -> bool {
    let file = match open_private(&lock_path(dirs)) {
        Ok(file) => file,
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::warn!(%error, "the owner's lock cannot be looked at");
            }
            return false;
        }
    };
    match file.try_lock_shared() {
        Ok(()) => {
            // By hand, for a child that is just being forked has a copy of the descriptor.
            if let Err(error) = file.unlock() {
                tracing::warn!(%error, "a look at the owner's lock was not ended");
            }
            false
        }
        Err(TryLockError::WouldBlock) => true,
        // Who may not ask cannot tell; what was published is not doubted for that.
        Err(TryLockError::Error(error)) => {
            tracing::debug!(%error, "the owner's lock cannot be asked for");
            true
        }
    }
}

/// Whether nobody owns the project. A lock file that is not there, or that cannot be opened, says
/// nothing: a daemon may have lost it.
pub fn is_free(dirs: &ProjectDirs) -> bool {
    open_private(&lock_path(dirs)).is_ok() && !is_owned(dirs)
}

/// Whether somebody has the project, as its owner or by its folder alone: a daemon that has lost its
/// lock file, or that has its state elsewhere. Such a one cannot be found, and keeps others out.
pub fn is_held(dirs: &ProjectDirs) -> bool {
    let by_folder = || {
        let folder = open_folder(&dirs.relay).ok()?;
        match folder.try_lock_shared() {
            Ok(()) => drop(folder.unlock()),
            Err(TryLockError::WouldBlock) => return Some(()),
            Err(TryLockError::Error(_)) => {}
        }
        None
    };
    is_owned(dirs) || by_folder().is_some()
}

fn lock_path(dirs: &ProjectDirs) -> PathBuf {
    dirs.state_file("daemon.lock")
}

fn open_file(dirs: &ProjectDirs) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(lock_path(dirs))
}

fn open_folder(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::DIRECTORY;
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    Ok(identity(path)? == Some(identity_of(&file.metadata()?)))
}

fn identity(path: &Path) -> io::Result<Option<(u64, u64)>> {
    match path.symlink_metadata() {
        Ok(there) => Ok(Some(identity_of(&there))),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn identity_of(file: &fs::Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::published::{PORTS_FILE, Published};
    use crate::testing::{Place, mode};

    #[test]
    fn one_holds_it_until_it_is_dropped() {
        let place = Place::new();
        let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
        assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_none());
        let path = place.dirs.state_file("daemon.lock");
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text, format!("{}\n", std::process::id()));
        assert_eq!(mode(&path), 0o600);
        drop(lock);
        assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_some());
    }

    /// The project with its state in another folder.
    fn moved(place: &Place) -> ProjectDirs {
        let state = place.dir.path().join("moved");
        let dirs = ProjectDirs::new(place.dirs.root.clone(), Some(state));
        dirs.create().unwrap();
        dirs
    }

    fn copies(lock: &OwnerLock) -> [OwnedFd; 2] {
        lock.descriptors()
            .map(|descriptor| descriptor.try_clone_to_owned().unwrap())
    }

    #[test]
    fn a_project_has_one_owner_wherever_its_state_lies() {
        let place = Place::new();
        let moved = moved(&place);
        let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
        assert!(OwnerLock::try_acquire(&moved).unwrap().is_none());
        drop(lock);
        let lock = OwnerLock::try_acquire(&moved).unwrap().unwrap();
        assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_none());
        // Who failed at the second lock has not kept the first one.
        drop(lock);
        assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_some());
    }

    #[test]
    fn a_state_folder_that_is_made_anew_frees_nothing() {
        let place = Place::new();
        let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
        assert!(lock.is_named(&place.dirs).unwrap());
        fs::remove_dir_all(&place.dirs.state).unwrap();
        assert!(!lock.is_named(&place.dirs).unwrap());
        place.dirs.create().unwrap();
        assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_none());
        assert!(!lock.is_named(&place.dirs).unwrap());
        drop(lock);
        assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_some());
    }

    #[test]
    fn an_heir_has_it_without_a_gap() {
        let place = Place::new();
        let moved = moved(&place);
        let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
        let [file, folder] = copies(&lock);
        let heir = OwnerLock::take_over(&place.dirs, file, folder).unwrap();
        // One that fails takes nothing from the owner.
        drop(heir.unwrap());
        assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_none());
        assert!(OwnerLock::try_acquire(&moved).unwrap().is_none());
        let [file, folder] = copies(&lock);
        let heir = OwnerLock::take_over(&place.dirs, file, folder).unwrap();
        lock.leave();
        assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_none());
        assert!(OwnerLock::try_acquire(&moved).unwrap().is_none());
        let path = place.dirs.state_file("daemon.lock");
        let text = fs::read_to_string(path).unwrap();
        assert_eq!(text, format!("{}\n", std::process::id()));
        drop(heir);
        assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_some());
    }

    #[test]
    fn a_lock_of_another_file_or_owner_is_not_inherited() {
        let place = Place::new();
        let other = File::create(place.dir.path().join("other")).unwrap();
        let folder = || open_folder(&place.dirs.relay).unwrap();
        let heir = OwnerLock::take_over(&place.dirs, other.into(), folder().into());
        // There is no lock file yet: the other one is no lock of this project.
        assert!(heir.unwrap().is_none());
        let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
        let opened = open_file(&place.dirs).unwrap();
        let heir = OwnerLock::take_over(&place.dirs, opened.into(), folder().into());
        assert!(heir.unwrap().is_none());
        // Neither is the right file enough, with a folder that another one has or with another
        // folder.
        let [file, _] = copies(&lock);
        let heir = OwnerLock::take_over(&place.dirs, file, folder().into());
        assert!(heir.unwrap().is_none());
        let [file, _] = copies(&lock);
        let elsewhere = open_folder(place.dir.path()).unwrap();
        let heir = OwnerLock::take_over(&place.dirs, file, elsewhere.into());
        assert!(heir.unwrap().is_none());
        assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_none());
    }

    #[test]
    fn who_looks_sees_an_owner_and_is_none() {
        let place = Place::new();
        assert!(!is_owned(&place.dirs));
        assert!(!is_free(&place.dirs), "no lock file says nothing");
        let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
        assert!(is_owned(&place.dirs) && !is_free(&place.dirs));
        drop(lock);
        // The file is there still.
        assert!(!is_owned(&place.dirs) && is_free(&place.dirs));
        let path = lock_path(&place.dirs);
        fs::rename(&path, path.with_extension("away")).unwrap();
        std::os::unix::fs::symlink(path.with_extension("away"), &path).unwrap();
        assert!(!is_free(&place.dirs), "neither does a link");
        fs::remove_file(&path).unwrap();
        assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_some());
    }

    #[test]
    fn what_a_dead_owner_published_is_void_and_what_the_owner_publishes_is_not() {
        let place = Place::new();
        let published = Published {
            pid: std::process::id(),
            version: "1".to_owned(),
            protocol: 1,
            control_port: 4502,
            proxy_port: 4501,
            started_at: 0,
            detached: false,
        };
        let publish = || {
            let text = serde_json::to_vec(&published).unwrap();
            fs::write(place.dirs.state_file(PORTS_FILE), text).unwrap();
        };
        publish();
        assert_eq!(Published::read(&place.dirs), None);
        let lock = OwnerLock::try_acquire(&place.dirs).unwrap().unwrap();
        // The next one does not pass it off as its own.
        assert_eq!(Published::read(&place.dirs), None);
        publish();
        assert_eq!(Published::read(&place.dirs), Some(published.clone()));
        let [file, folder] = copies(&lock);
        let heir = OwnerLock::take_over(&place.dirs, file, folder).unwrap();
        lock.leave();
        assert_eq!(Published::read(&place.dirs), Some(published.clone()));
        drop(heir);
    }

    #[test]
    fn a_number_left_in_the_file_means_nothing() {
        let place = Place::new();
        fs::write(place.dirs.state_file("daemon.lock"), "1\n12345678").unwrap();
        assert!(OwnerLock::try_acquire(&place.dirs).unwrap().is_some());
        let text = fs::read_to_string(place.dirs.state_file("daemon.lock")).unwrap();
        assert_eq!(text, format!("{}\n", std::process::id()));
    }

    #[test]
    fn a_link_is_not_followed() {
        let place = Place::new();
        let elsewhere = place.dir.path().join("elsewhere");
        fs::write(&elsewhere, "precious").unwrap();
        std::os::unix::fs::symlink(&elsewhere, place.dirs.state_file("daemon.lock")).unwrap();
        assert!(OwnerLock::try_acquire(&place.dirs).is_err());
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "precious");
    }
}
