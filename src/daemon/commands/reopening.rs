//! Reopens a task of a sealed session: the task is read beside the loop, and reopened if it still
//! can be.

use std::sync::Arc;

use super::task::reopen_sealed;
use crate::core::id::{CapsuleId, RuntimeSession};
use crate::daemon::base::under_way::WorkBeside;
use crate::daemon::event::Event;
use crate::daemon::owners::Base;
use crate::daemon::reply::{ReplySender, answer};
use crate::daemon::sessions::reopening::{SealedTask, SealedTaskRead};

impl Base {
    /// Looks for a task that this record does not know.
    pub(super) fn read_sealed_task(&self, id: CapsuleId, pair: RuntimeSession, reply: ReplySender) {
        let (dirs, world) = (self.dirs.clone(), Arc::clone(self.recorder.world()));
        let session = self.recorder.session_id().clone();
        self.beside(WorkBeside::SealedTask, move |under_way| {
            let read = SealedTask::find(&dirs, &world, &id);
            Event::SealedTaskRead(Box::new(SealedTaskRead {
                id,
                session,
                pair,
                read,
                reply,
                under_way,
            }))
        });
    }

    /// It was looked for: it goes on, if it still can.
    pub(in crate::daemon) fn on_sealed_task_read(&mut self, found: SealedTaskRead) {
        let SealedTaskRead {
            id,
            session,
            pair,
            read,
            reply,
            under_way: _heard,
        } = found;
        if self.operations.is_stopping() {
            return answer(reply, Err(self.operations.refusal()));
        }
        let reopened = reopen_sealed(&self.recorder, id, &session, pair, read);
        self.append_wish(reopened, reply);
    }
}
