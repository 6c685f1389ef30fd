//! [`Deletion`]: deletes a session for good, in three steps, the second of them on the loop.
//!
//! ```text
//! 1 beside the loop   finds the long texts that other sessions refer to  reads all of their files
//! 2 on the loop       the next session begins, and says what is deleted
//! 3 beside the loop   scrubs the queue, deletes the files, drops the search index
//! ```
//!
//! Entries are recorded as usual in the meantime. Those before the second step are part of what is
//! deleted; after it, long texts that the next session keeps are spared ([`TextSweep`]). A start
//! that finds the session's own file, which is deleted last, finishes the third step; for that it
//! has to know of the deletion, so no other session ends before the step is done.
//!
//! [`TextSweep`]: crate::store::text_sweep::TextSweep

use std::sync::Arc;

use crate::core::agent::Party;
use crate::core::entry::ErrorCode;
use crate::core::id::SessionId;
use crate::daemon::base::renderings::RenderLock;
use crate::daemon::base::under_way::WorkBeside;
use crate::daemon::event::{DeletionAsked, DeletionDone, Event};
use crate::daemon::owners::{Base, Deliveries};
use crate::daemon::reply::{ReplySender, answer};
use crate::daemon::stop::STEP;
use crate::store::dirs::ProjectDirs;
use crate::store::disk_space::DiskSpace;
use crate::store::erase::{Erased, KeptTexts, erase_knowing, texts_of_others};
use crate::store::ledger::CheckpointPause;
use crate::store::queue::{QueueError, Scrubbing};
use crate::store::search::SearchWaiter;
use crate::store::work_folders::WorkFolders;
use crate::wire::control::{ClearParams, Reply};

/// The third step, of a session that has ended.
#[derive(Debug)]
pub(in crate::daemon) struct Deletion {
    dirs: ProjectDirs,
    texts: KeptTexts,
    /// The session that goes on.
    keep: SessionId,
    space: Arc<DiskSpace>,
    checkpoints: Option<CheckpointPause>,
    queue: Result<Scrubbing, QueueError>,
    search: SearchWaiter,
    folders: WorkFolders,
    rendering: RenderLock,
}

impl Deletion {
    /// Deletes everything; what is still there, and why. Blocks for as long as two disks may take.
    pub(in crate::daemon) fn carry_out(self) -> Vec<String> {
        let mut left = Vec::new();
        if let Err(error) = self.queue.and_then(|scrubbing| scrubbing.wait(STEP)) {
            left.push(error.to_string());
        }
        // One that is under way would write once more what is deleted.
        let held = self.rendering.hold();
        left.extend(self.folders.erase());
        drop(held);
        if let Some(pause) = &self.checkpoints
            && !pause.wait(STEP)
        {
            left.push("a checkpoint, which the disk does not take to its end".to_owned());
        }
        let (old, texts) = (self.texts.session.clone(), self.texts);
        let erased = erase_knowing(&self.dirs, &old, &self.keep, texts, Some(&self.space));
        drop(self.checkpoints);
        let Erased {
            removed,
            left: of_files,
        } = erased;
        tracing::info!(%old, removed, "a session was deleted for good");
        left.extend(of_files);
        // Words of what has gone only now may be in the index of the new session.
        self.search.rebuild();
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
        self.operations.deletion_over();
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
    /// What is to be carried out beside the loop, of a session that has ended.
    pub(in crate::daemon) fn deletion(&mut self, base: &mut Base, texts: KeptTexts) -> Deletion {
        base.operations.begin_deletion();
        Deletion {
            dirs: base.dirs.clone(),
            texts,
            keep: base.recorder.session_id().clone(),
            space: Arc::clone(base.recorder.space()),
            checkpoints: base.recorder.pause_checkpoints(),
            queue: self.outbox.erase(),
            search: base.recorder.search().waiter(),
            folders: WorkFolders::of(&base.dirs),
            rendering: base.renderings.lock(),
        }
    }
}
