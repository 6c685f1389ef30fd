//! A lock on a file that several processes of one user take for a moment.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

/// How long to wait for another process. What is done under such a lock takes milliseconds.
const DEADLINE: Duration = Duration::from_secs(5);

/// How often to look. The system cannot wait for a file lock with a deadline.
const POLL: Duration = Duration::from_millis(5);

/// The lock, held until the file is dropped. Blocks.
///
/// # Errors
///
/// When another process holds it for 5 s, `path` is a link, or its folder cannot be written.
pub(crate) fn wait_for_lock(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    let deadline = Instant::now() + DEADLINE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(POLL),
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("another process holds {} for too long", path.display()),
                ));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}
