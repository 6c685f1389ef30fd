//! [`alone`]: takes the project's lock for one command, if no daemon could do its work.

use std::fmt::Display;
use std::io;

use crate::cli::exit::Failure;
use crate::store::dirs::ProjectDirs;
use crate::store::owner::{NO_LOCKS_HINT, OwnerLock, cannot_lock, no_locks};
use crate::wire::control::ProgramCode;

/// Takes the owner's lock; the project is this process's until it is dropped.
///
/// # Errors
///
/// When somebody else has it, or the folder cannot be written.
pub fn alone(dirs: &ProjectDirs) -> Result<OwnerLock, Failure> {
    OwnerLock::try_acquire(dirs)
        .map_err(|error| not_taken(dirs, &error))?
        .ok_or_else(|| {
            Failure::unavailable(
                ProgramCode::AlreadyRunning,
                "a daemon of this project is just starting or ending, or has another state folder",
                "run the command again in a moment, with the same CONTEXTRELAY_STATE_DIR as the \
                 daemon",
            )
        })
}

/// Why the owner's lock could not be asked for.
pub fn not_taken(dirs: &ProjectDirs, why: &io::Error) -> Failure {
    match cannot_lock(why) {
        true => Failure::state(ProgramCode::Unwritable, no_locks(dirs), NO_LOCKS_HINT),
        false => unwritable(dirs, why),
    }
}

/// A folder that cannot be written, and what it says.
pub fn unwritable(dirs: &ProjectDirs, why: impl Display) -> Failure {
    Failure::unwritable(
        &dirs.state,
        why,
        "see that the folder is yours and can be written",
    )
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn a_file_system_without_locks_is_no_folder_that_is_to_be_made_writable() {
        let dirs = ProjectDirs::new("/net/plums".into(), None);
        let failure = not_taken(&dirs, &Errno::NOLCK.into());
        assert!(failure.message.contains("cannot lock"), "{failure}");
        assert_eq!(failure.hint, NO_LOCKS_HINT);
        let failure = not_taken(&dirs, &Errno::ACCESS.into());
        assert!(failure.message.starts_with("cannot write "), "{failure}");
    }
}
