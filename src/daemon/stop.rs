//! [`Stop`]: that the loop ends, and by when.

use std::time::Duration;

use tokio::time::Instant;

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
}

impl Stop {
    pub(super) fn now(kill: bool) -> Self {
        let by = Instant::now() + LAST_APPENDS;
        Self { kill, by }
    }
}
