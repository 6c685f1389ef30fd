//! [`Daemon::note_mended`]: what a crash between two sessions left, said in the record.

use super::owners::Daemon;
use super::stop::STEP;
use crate::core::agent::Party;
use crate::core::entry::{ErrorCode, LifecycleEvent};
use crate::store::mend::Mended;

impl Daemon {
    /// Records what was mended, and finishes what only an open queue can.
    pub(super) fn note_mended(&mut self, mended: Mended) {
        if let Some((old, sealed)) = mended.archived {
            match sealed {
                Ok(_) => self.note_fact(
                    Party::System,
                    LifecycleEvent::SessionArchived,
                    format!("{old} was sealed before a crash, and is in the archives now"),
                ),
                Err(error) => self.note_fact(
                    Party::System,
                    ErrorCode::NotArchived,
                    format!("{old} is sealed, and stays where it was: {error}"),
                ),
            }
        }
        if let Some((old, mut erased)) = mended.erased {
            // The loop does not run yet.
            if let Err(error) = self.outbox.scrub().and_then(|done| done.wait(STEP)) {
                erased.left.push(error.to_string());
            }
            if erased.left.is_empty() {
                self.note_fact(
                    Party::System,
                    LifecycleEvent::SessionDeleted,
                    format!("what a crash had left of {old} is deleted now"),
                );
            } else {
                let left = erased.left.join("; ");
                self.note_fact(
                    Party::System,
                    ErrorCode::NotDeleted,
                    format!("not everything of {old} could be deleted: {left}"),
                );
            }
        }
        for (id, path) in mended.aborted {
            self.note_fact(
                Party::System,
                ErrorCode::ClearCutShort,
                format!(
                    "a crash cut the end of this session short: it goes on, {id} never began, and \
                     its file is kept as {}; clear or compact again if you still want to",
                    path.file_name().unwrap_or_default().display()
                ),
            );
        }
    }
}
