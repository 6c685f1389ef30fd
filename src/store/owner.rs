//! [`OwnerLock`]: the process that holds it is the daemon of the project.
//!
//! Only the operating system's lock counts: a process that dies cannot leave it behind. The number
//! in the file is for people.
//!
//! It is two locks, for the two places that must have one owner. `daemon.lock` is in the state
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
use rustix::io::Errno;

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

/// What the locks of a project say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// Nobody has it.
    Free,
    /// Somebody has, or it cannot be told: nobody takes it from them.
    Held,
    /// The file system has no locks, so that nobody can have it.
    NoLocks,
}

impl Hold {
    fn of(asked: Result<(), TryLockError>) -> Self {
        match asked {
            Ok(()) => Self::Free,
            Err(TryLockError::WouldBlock) => Self::Held,
            Err(TryLockError::Error(error)) => {
                tracing::debug!(%error, "a lock cannot be asked for");
                match cannot_lock(&error) {
                    true => Self::NoLocks,
                    false => Self::Held,
                }
            }
        }
    }

    /// Looks, and takes nothing from anybody.
    fn look(file: &File) -> Self {
        let asked = file.try_lock_shared();
        // By hand, for a child that is just being forked has a copy of the descriptor.
        if asked.is_ok()
            && let Err(error) = file.unlock()
        {
            tracing::warn!(%error, "a look at a lock was not ended");
        }
        Self::of(asked)
    }
}

/// Whether that is what a file system says that has no locks: a network's without their service, and
/// some that a program makes.
pub fn cannot_lock(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|errno| matches!(errno, Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS))
}

/// The way on where the state's file system has no locks.
pub const NO_LOCKS_HINT: &str = "set CONTEXTRELAY_STATE_DIR to a folder of this project's own on a local disk, for \
                                 `ctxrelay` and for the agents";

/// The sentence for it.
pub fn no_locks(dirs: &ProjectDirs) -> String {
    format!(
        "the file system of {} cannot lock, so no daemon can own this project",
        dirs.state.display()
    )
}

/// Whether somebody owns the project, by the lock in this state folder: a daemon, or a command that
/// works alone. Takes nothing from anybody.
///
/// This asks the lock and not for a process with the published number: a number is another
/// process's after a while, and inside a container it is not there at all, while the lock is one
/// and the same for everybody who sees the file.
pub fn is_owned(dirs: &ProjectDirs) -> bool {
    // Who may not ask cannot tell; what was published is not doubted for that.
    by_lock(dirs) != Hold::Free
}

fn by_lock(dirs: &ProjectDirs) -> Hold {
    match open_private(&lock_path(dirs)) {
        Ok(file) => Hold::look(&file),
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::warn!(%error, "the owner's lock cannot be looked at");
            }
            Hold::Free
        }
    }
}

/// Whether nobody owns the project. A lock file that is not there, or that cannot be opened, says
/// nothing: a daemon may have lost it.
pub fn is_free(dirs: &ProjectDirs) -> bool {
    open_private(&lock_path(dirs)).is_ok() && !is_owned(dirs)
}

/// Who has the project, as its owner or by its folder alone: a daemon that has lost its lock file, or
/// that has its state elsewhere. Such a one cannot be found, and keeps others out.
pub fn hold(dirs: &ProjectDirs) -> Hold {
    let by_lock = by_lock(dirs);
    let folder = open_folder(&dirs.relay);
    let is_taken = |folder: &File| {
        let asked = folder.try_lock_shared();
        if asked.is_ok() {
            drop(folder.unlock());
        }
        matches!(asked, Err(TryLockError::WouldBlock))
    };
    match by_lock {
        Hold::Held => Hold::Held,
        _ if folder.is_ok_and(|folder| is_taken(&folder)) => Hold::Held,
        by_lock => by_lock,
    }
}

/// Whether somebody has the project: see [`hold`].
pub fn is_held(dirs: &ProjectDirs) -> bool {
    hold(dirs) == Hold::Held
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
mod tests;
