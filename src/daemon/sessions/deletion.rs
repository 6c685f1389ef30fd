//! [`Deletion`]: a session is deleted for good, in three steps of which the loop takes the second.
//!
//! ```text
//! 1 beside the loop   which long texts the other sessions speak of   reads all of their files
//! 2 on the loop       the next session begins, the files go
//! 3 beside the loop   the queue and the search index are scrubbed    writes theirs again
//! ```
//!
//! What comes meanwhile is recorded as ever: before the second step it is part of what is deleted.

use crate::core::agent::Party;
use crate::core::entry::ErrorCode;
use crate::core::id::SessionId;
use crate::daemon::base::renderings::RenderLock;
use crate::daemon::base::under_way::WorkBeside;
use crate::daemon::event::{DeletionAsked, DeletionDone, Event};
use crate::daemon::owners::{Base, Deliveries};
use crate::daemon::reply::{ReplySender, answer};
use crate::daemon::stop::STEP;
use crate::store::erase::{KeptTexts, texts_of_others};
use crate::store::queue::{QueueError, Scrubbing};
use crate::store::search::SearchWaiter;
use crate::store::work_folders::WorkFolders;
use crate::wire::control::{ClearParams, Reply};

/// A session whose files were deleted, and what is still to be waited for.
#[derive(Debug)]
pub(in crate::daemon) struct Deletion {
    /// What is still there, and why.
    left: Vec<String>,
    queue: Result<Scrubbing, QueueError>,
    search: SearchWaiter,
    folders: WorkFolders,
    rendering: RenderLock,
}

impl Deletion {
    /// Waits for the rest; what is still there, and why. Blocks for as long as two disks may take.
    pub(in crate::daemon) fn wait(self) -> Vec<String> {
        let mut left = self.left;
        // One that was under way may have written once more what was just deleted.
        let held = self.rendering.hold();
        left.extend(self.folders.erase());
        drop(held);
        if let Err(error) = self.queue.and_then(|scrubbing| scrubbing.wait(STEP)) {
            left.push(error.to_string());
        }
        // It throws the index away before it puts a word of the new session in.
        if !self.search.wait_for(1, STEP) {
            left.push("the search index: `ctxrelay ledger rebuild` throws it away".to_owned());
        }
        left
    }
}

impl Base {
    /// The first step.
    pub(in crate::daemon) fn read_texts(&self, params: ClearParams, reply: ReplySender) {
        let (dirs, session) = (self.dirs.clone(), self.recorder.session_id().clone());
        self.beside(WorkBeside::KeptTexts, move |under_way| {
            let texts = texts_of_others(&dirs, &session);
            Event::DeletionAsked(DeletionAsked {
                params,
                texts,
                reply,
                under_way,
            })
        });
    }

    /// The third step is done.
    pub(in crate::daemon) fn on_deletion_done(&mut self, done: DeletionDone) {
        let DeletionDone {
            cleared,
            reply,
            under_way: _heard,
        } = done;
        // What was made of the new session may have gone with what was there of the old one.
        self.renderings.changed();
        if !cleared.left.is_empty() {
            let (old, left) = (&cleared.sealed, cleared.left.join("; "));
            self.recorder.keep(
                Party::System,
                ErrorCode::NotDeleted,
                format!("not everything of {old} could be deleted: {left}"),
            );
        }
        answer(reply, Ok(Reply::Cleared(cleared)));
    }
}

impl Deliveries {
    /// Deletes the files of a session that has ended.
    pub(in crate::daemon) fn delete_session(
        &mut self,
        base: &mut Base,
        old: &SessionId,
        texts: KeptTexts,
    ) -> Deletion {
        let left = base.recorder.delete(old, texts);
        // Words of what has gone only now may be in the index of the new session.
        base.recorder.search().rebuild();
        Deletion {
            left,
            queue: self.outbox.erase(),
            search: base.recorder.search().waiter(),
            folders: WorkFolders::of(&base.dirs),
            rendering: base.renderings.lock(),
        }
    }
}
