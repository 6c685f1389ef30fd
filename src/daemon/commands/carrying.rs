//! A session ends: what it leaves is read beside the loop, and then, if it still can, it ends.

use std::sync::Arc;

use crate::core::entry::Entry;
use crate::core::id::Seq;
use crate::daemon::carrying::{CarryingRead, EndingWish, SessionEnding, entry_at};
use crate::daemon::event::Event;
use crate::daemon::owners::Daemon;
use crate::daemon::reply::{ReplySender, answer};
use crate::daemon::under_way::WorkBeside;
use crate::wire::control::{Refusal, Reply};

impl Daemon {
    /// Has read what this session leaves; it ends behind that.
    pub(super) fn read_carrying(&mut self, wish: EndingWish, reply: ReplySender) {
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

    /// What it leaves was read: the session ends, if it still can.
    pub(in crate::daemon) fn on_session_ending(&mut self, ending: SessionEnding) {
        let SessionEnding {
            wish,
            session,
            read,
            reply,
            under_way: _heard,
        } = ending;
        if self.operations.is_stopping() {
            return answer(reply, Err(self.operations.refusal()));
        }
        let named = match &wish {
            EndingWish::Clear(params) => params.session_id.as_ref(),
            EndingWish::Compact(params) => params.session_id.as_ref(),
        };
        let read = match self.may_end(named).and(read) {
            Ok(read) => read,
            Err(refusal) => return answer(reply, Err(refusal)),
        };
        if session != *self.recorder.session_id() {
            // Another one has ended meanwhile, and this one leaves something else.
            return self.read_carrying(wish, reply);
        }
        let ended = match wish {
            EndingWish::Clear(params) => self
                .clear_now(None, Some(&read), params.signature)
                .map(|(cleared, _)| Reply::Cleared(cleared)),
            EndingWish::Compact(params) => self
                .compact_now(&read, params.signature)
                .map(Reply::Compacted),
        };
        answer(reply, ended);
    }

    /// The entry at this place as it was read, or from memory where it was recorded since.
    pub(super) fn carried_entry(&self, seq: Seq, read: &CarryingRead) -> Result<Entry, Refusal> {
        if let Some(entry) = read.entries.get(&seq) {
            return Ok(entry.clone());
        }
        match self.recorder.recent_entry(seq) {
            Some(recent) => Ok(recent.entry.clone()),
            None => entry_at(self.recorder.ledger(), seq),
        }
    }
}
