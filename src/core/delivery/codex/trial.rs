//! [`Trial`]: the one message that tests whether a limit is over.

use crate::id::EntryId;

/// Whether a limit that is reported as over has been tested. One message is the test: messages
/// behind it in the app-server's queue would die with it (Codex 0.169.0, observed).
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) enum Trial {
    /// There is nothing to test.
    #[default]
    None,
    /// The next message is the test.
    Next,
    /// This message is out, and its turn has not ended.
    Runs(EntryId),
}

impl Trial {
    pub(super) fn runs(&self) -> bool {
        matches!(self, Self::Runs(_))
    }

    /// This message goes out.
    pub(super) fn goes_out(&mut self, id: &EntryId) {
        if *self == Self::Next {
            *self = Self::Runs(id.clone());
        }
    }

    /// If this message was the test, it was none.
    pub(super) fn untried(&mut self, id: &EntryId) {
        if matches!(self, Self::Runs(test) if test == id) {
            *self = Self::Next;
        }
    }

    /// The turn that was the test is gone with its app-server.
    pub(super) fn begin_anew(&mut self) {
        if self.runs() {
            *self = Self::Next;
        }
    }
}
