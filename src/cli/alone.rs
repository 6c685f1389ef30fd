//! [`alone`]: the project for this command alone, where no daemon runs that could do the work.

use std::fmt::Display;

use super::exit::Failure;
use crate::store::dirs::ProjectDirs;
use crate::store::owner::OwnerLock;
use crate::wire::control::ProgramCode;

/// Takes the owner's lock; the project is this process's until it is dropped.
///
/// # Errors
///
/// When somebody else has it, or the folder cannot be written.
pub fn alone(dirs: &ProjectDirs) -> Result<OwnerLock, Failure> {
    OwnerLock::try_acquire(dirs)
        .map_err(|error| unwritable(dirs, error))?
        .ok_or_else(|| {
            Failure::unavailable(
                ProgramCode::AlreadyRunning,
                "a daemon of this project is just starting or ending, or has another state folder",
                "run the command again in a moment, with the same CONTEXTRELAY_STATE_DIR as the \
                 daemon",
            )
        })
}

/// A folder that cannot be written, and what it says.
pub fn unwritable(dirs: &ProjectDirs, why: impl Display) -> Failure {
    Failure::unwritable(
        &dirs.state,
        why,
        "see that the folder is yours and can be written",
    )
}
