//! [`Stop`]: the signal that the loop is to end, with its deadline.

use std::time::Duration;

use tokio::time::Instant;

use super::fault::DaemonFault;

/// The longest that one step of an orderly shutdown may take.
pub(super) const STEP: Duration = Duration::from_secs(4);

/// How long a stopping daemon waits for appends that are under way: a disk that hangs must not
/// keep it alive.
const LAST_APPENDS: Duration = STEP;

/// How the daemon ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) kill: bool,
    /// When appends that are under way are no longer waited for.
    pub(super) by: Instant,
    /// Why, when nobody has told it to.
    pub(super) fault: Option<DaemonFault>,
}

impl Stop {
    pub(super) fn now(kill: bool) -> Self {
        let by = Instant::now() + LAST_APPENDS;
        Self {
            kill,
            by,
            fault: None,
        }
    }

    /// In order, though nobody has told it to.
    pub(super) fn because_of(fault: DaemonFault) -> Self {
        Self {
            fault: Some(fault),
            ..Self::now(false)
        }
    }
}
