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
//! has to know of the deletion, so no other session ends before the step is done. If a fault of ours
//! cuts the step short, the next wish to end a session repeats it first.
//!
//! [`TextSweep`]: crate::store::text_sweep::TextSweep

use std::sync::Arc;

use crate::core::agent::Party;
use crate::core::entry::{ErrorCode, Fate};
use crate::core::id::SessionId;
use crate::daemon::base::renderings::RenderLock;
use crate::daemon::base::under_way::WorkBeside;
use crate::daemon::event::{DeletionAsked, Event};
use crate::daemon::owners::{Base, Deliveries};
use crate::daemon::reply::ReplySender;
use crate::daemon::stop::STEP;
use crate::store::dirs::ProjectDirs;
use crate::store::disk_space::DiskSpace;
use crate::store::erase::{Erased, KeptTexts, erase_knowing, texts_of_others};
use crate::store::ledger::CheckpointPause;
use crate::store::queue::{QueueError, Scrubbing};
use crate::store::search::SearchWaiter;
use crate::store::work_folders::WorkFolders;
use crate::wire::control::ClearParams;

/// The third step, of a session that has ended.
#[derive(Debug)]
pub(in crate::daemon) struct Deletion {
    dirs: ProjectDirs,
    session: SessionId,
    /// As the first step found them. `None`: they are found out in this one.
    texts: Option<KeptTexts>,
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
    /// Deletes everything of the session; what is still there, and why. Blocks for as long as two
    /// disks may take.
    pub(in crate::daemon) fn carry_out(self) -> (SessionId, Vec<String>) {
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
        let old = self.session;
        let texts = self.texts;
        let texts = texts.unwrap_or_else(|| texts_of_others(&self.dirs, &old));
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
        (old, left)
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

    fn third_step(
        &mut self,
        session: SessionId,
        texts: Option<KeptTexts>,
        queue: Result<Scrubbing, QueueError>,
    ) -> Deletion {
        self.operations.begin_deletion();
        Deletion {
            dirs: self.dirs.clone(),
            session,
            texts,
            keep: self.recorder.session_id().clone(),
            space: Arc::clone(self.recorder.space()),
            checkpoints: self.recorder.pause_checkpoints(),
            queue,
            search: self.recorder.search().waiter(),
            folders: WorkFolders::of(&self.dirs),
            rendering: self.renderings.lock(),
        }
    }

    /// The third step is done, and left this.
    pub(in crate::daemon) fn deletion_is_done(&mut self, session: &SessionId, left: &[String]) {
        self.operations.deletion_over();
        self.work_done(&WorkBeside::Deletion);
        // What was made of the new session may have gone with what was there of the old one.
        self.renderings.changed();
        if !left.is_empty() {
            let left = left.join("; ");
            self.recorder.keep(
                Party::System,
                ErrorCode::NotDeleted,
                format!("not everything of {session} could be deleted: {left}"),
            );
        }
    }
}

impl Deliveries {
    /// What is to be carried out beside the loop, of a session that has ended.
    pub(in crate::daemon) fn deletion(&mut self, base: &mut Base, texts: KeptTexts) -> Deletion {
        let queue = self.outbox.erase();
        base.third_step(texts.session.clone(), Some(texts), queue)
    }

    /// The same, where a fault of ours cut that short; `None` where the record names no such
    /// session. To be called while nothing is on its way to the disk: what is kept from here on
    /// stays, and so does what the record speaks of.
    pub(in crate::daemon) fn deletion_again(&mut self, base: &mut Base) -> Option<Deletion> {
        let before = base.recorder.world().predecessor.as_ref();
        let before = before.filter(|before| before.fate == Fate::Discarded)?;
        let session = before.session_id.clone();
        base.recorder.space().sweep().begin();
        // The messages of the session that goes on stay in the queue.
        let queue = self.outbox.scrub();
        Some(base.third_step(session, None, queue))
    }
}
