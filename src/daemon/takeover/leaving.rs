//! [`Leaving`]: how far a takeover by another process is.

use crate::adapters::codex::passed::Passed;

/// What is known of the Codex adapter meanwhile.
#[derive(Debug, Default)]
pub(in crate::daemon) struct Leaving {
    /// It was asked to let go.
    is_asked: bool,
    /// What it left.
    passed: Option<Passed>,
    /// It failed to.
    has_failed: bool,
    /// All of its facts have come.
    is_silent: bool,
}

impl Leaving {
    /// The adapter is to let go. Whether it was not asked to before.
    pub(in crate::daemon) fn ask_adapter(&mut self) -> bool {
        !std::mem::replace(&mut self.is_asked, true)
    }

    /// The adapter let go, with what it leaves; or failed to.
    pub(in crate::daemon) fn adapter_left(&mut self, passed: Option<Passed>) {
        self.has_failed = passed.is_none();
        self.passed = passed;
    }

    /// The adapter has told everything.
    pub(in crate::daemon) fn adapter_is_silent(&mut self) {
        self.is_silent = true;
    }

    /// Nothing more has to be waited for.
    pub(in crate::daemon) fn is_over(&self) -> bool {
        self.has_failed || self.passed.is_some() && self.is_silent
    }

    /// What the adapter left.
    pub(in crate::daemon) fn into_passed(self) -> Option<Passed> {
        self.passed
    }
}
