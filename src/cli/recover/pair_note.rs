//! [`PairNote`], [`LatestNote`]: a note with the pair that it belongs to, and which of many is told.

use serde::Serialize;

use crate::core::id::RuntimeSession;
use crate::core::snapshot::NoteSnapshot;

/// A note, and whose it is.
#[derive(Debug, Clone, Serialize)]
pub(super) struct PairNote {
    #[serde(flatten)]
    pub(super) note: NoteSnapshot,
    pub(super) pair: RuntimeSession,
}

/// The last note of a sort: that of the pair that recovers, else that of another one, since Codex is
/// one for all pairs.
#[derive(Debug, Default)]
pub(super) struct LatestNote {
    own: Option<PairNote>,
    other: Option<PairNote>,
}

impl LatestNote {
    /// A later one; `own`: the pair that recovers.
    pub(super) fn take(&mut self, note: PairNote, own: &RuntimeSession) {
        let place = match note.pair == *own {
            true => &mut self.own,
            false => &mut self.other,
        };
        *place = Some(note);
    }

    /// The one that is told.
    pub(super) fn told(&self) -> Option<&PairNote> {
        self.own.as_ref().or(self.other.as_ref())
    }
}
