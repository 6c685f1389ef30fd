//! A session ends: what it leaves is read beside the loop; then it ends, if it still can.

use std::sync::Arc;

use crate::core::entry::Entry;
use crate::core::id::Seq;
use crate::daemon::base::under_way::WorkBeside;
use crate::daemon::event::Event;
use crate::daemon::owners::Base;
use crate::daemon::reply::ReplySender;
use crate::daemon::sessions::carrying::{CarryingRead, EndingWish, SessionEnding, entry_at};
use crate::wire::control::Refusal;

impl Base {
    /// Has read what this session leaves; it ends behind that.
    pub(super) fn read_carrying(&self, wish: EndingWish, reply: ReplySender) {
        let ledger = self.recorder.ledger().clone();
        let world = Arc::clone(self.recorder.world());
        let session = self.recorder.session_id().clone();
        self.beside(WorkBeside::Carrying, move |under_way| {
            let read = CarryingRead::of(&wish, &ledger, &world);
            Event::SessionEnding(Box::new(SessionEnding {
                wish,
                session,
                read,
                reply,
                under_way,
            }))
        });
    }

    /// The entry at this place as it was read, or from memory where it was recorded since.
    pub(super) fn carried_entry(&self, seq: Seq, read: &CarryingRead) -> Result<Entry, Refusal> {
        let known = read.entry(seq).or_else(|| self.recorder.recent_entry(seq));
        let stored = match known {
            Some(stored) => stored,
            None => entry_at(self.recorder.ledger(), seq)?,
        };
        Ok(stored.entry.clone())
    }
}
