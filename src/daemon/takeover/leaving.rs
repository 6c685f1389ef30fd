//! [`Leaving`]: how far a takeover by another process is.

use crate::adapters::codex::passed::Passed;

/// What is known of the Codex adapter meanwhile.
#[derive(Debug, Default)]
pub(in crate::daemon) struct Leaving {
    /// What it left.
    pub(super) passed: Option<Passed>,
    /// It failed to.
    pub(super) failed: bool,
    /// All of its facts have come.
    pub(super) silent: bool,
}

impl Leaving {
    pub(super) fn is_over(&self) -> bool {
        self.failed || self.passed.is_some() && self.silent
    }
}
