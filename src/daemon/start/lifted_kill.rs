//! [`LiftedKill`]: that the operator has what `ctxrelay kill` ended start again.

use super::{Builder, StartError};
use crate::daemon::base::clock::now_ms;
use crate::store::dirs::ProjectDirs;
use crate::store::sentinel;

/// The mark that the project is to stay stopped, taken away for this start. One that fails sets it
/// again: nothing was started. It is taken away before the start and not behind it, so that one which
/// is set meanwhile stays.
#[derive(Debug)]
pub(super) struct LiftedKill {
    dirs: ProjectDirs,
    was_killed: bool,
}

impl LiftedKill {
    /// Takes the mark away, if there is one and this start may.
    pub(super) fn lift(builder: &Builder) -> Result<Self, StartError> {
        let dirs = builder.dirs.clone();
        let was_killed = sentinel::is_killed(&dirs);
        if was_killed && !builder.clears_kill {
            return Err(StartError::Killed);
        }
        if was_killed {
            sentinel::clear(&dirs).map_err(|source| builder.state_failed(source))?;
        }
        Ok(Self { dirs, was_killed })
    }

    /// The start has not failed.
    pub(super) fn keep(mut self) {
        self.was_killed = false;
    }
}

impl Drop for LiftedKill {
    fn drop(&mut self) {
        if self.was_killed
            && let Err(error) = sentinel::write(&self.dirs, now_ms())
        {
            tracing::warn!(%error, "a start that failed leaves the project not stopped any more");
        }
    }
}
