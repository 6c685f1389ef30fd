//! [`Alarms`]: what has to be remembered about them.

use tokio::time::Instant;

/// What has to be remembered about alarms.
#[derive(Debug, Default)]
pub(in crate::daemon) struct Alarms {
    /// When `current` is to be put back.
    pub(super) put_back_at: Option<Instant>,
    /// When it was last put back.
    pub(super) put_back: Option<Instant>,
    /// The ledger's file was found altered, and not found whole since.
    pub(super) is_altered: bool,
}

impl Alarms {
    pub(in crate::daemon) fn next_deadline(&self) -> Option<Instant> {
        self.put_back_at
    }

    /// Whether the ledger's file was found altered, and not found whole since.
    pub(in crate::daemon) fn is_altered(&self) -> bool {
        self.is_altered
    }
}
