//! [`Ledger`]: the handle to an open ledger.

use std::ops::Deref;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use ctxrelay_core::entry::Entry;
use ctxrelay_core::lock::lock;
use ctxrelay_core::wire::line::Stored;

use super::error::LedgerError;
use super::shared::SharedLedger;
use super::writer::Job;

/// Why an append was not accepted. Nothing of it was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// The queue before the writer is full.
    #[error("too many appends are waiting: try again in a moment")]
    Full,
    /// The ledger was closed, or its writer has failed: no later append is accepted either.
    #[error("nobody writes this ledger any more")]
    WriterGone,
}

/// An open ledger, for writing and, as [`SharedLedger`], for reading. Clones are the same ledger.
#[derive(Debug, Clone)]
pub struct Ledger {
    pub(super) shared: Arc<SharedLedger>,
    pub(super) jobs: SyncSender<Job>,
    pub(super) thread: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl Ledger {
    /// Gives entries to the writer; the answer comes as an event with this token. All of a call
    /// are recorded together or not at all, calls in their order. Never blocks.
    ///
    /// # Errors
    ///
    /// When [`super::writer::WAITING_MAX`] calls wait already, or nobody writes any more.
    pub fn append(&self, token: u64, entries: Vec<Entry>) -> Result<(), NotTaken> {
        self.give(token, entries, None)
    }

    /// As [`Self::append`], for what has happened already: where a long text cannot be kept whole it
    /// is shortened, and says so.
    ///
    /// It is not recorded behind one that failed in the same round or a later one, but fails as that
    /// one: both can be given again in a later round, in their order.
    ///
    /// # Errors
    ///
    /// As [`Self::append`].
    pub fn append_fact(&self, token: u64, round: u64, entries: Vec<Entry>) -> Result<(), NotTaken> {
        self.give(token, entries, Some(round))
    }

    fn give(&self, token: u64, entries: Vec<Entry>, fact: Option<u64>) -> Result<(), NotTaken> {
        let job = Job::Append {
            token,
            entries,
            fact,
            answer: None,
        };
        self.jobs.try_send(job).map_err(|refused| match refused {
            TrySendError::Full(_) => NotTaken::Full,
            TrySendError::Disconnected(_) => NotTaken::WriterGone,
        })
    }

    /// Whether what can be made again from this ledger may grow on the disk.
    pub(crate) fn has_room_to_grow(&self) -> bool {
        let space = self.shared.space.as_ref();
        space.is_none_or(|space| space.has_room_to_grow())
    }

    /// As [`Self::append_fact`], and waits until the entries are on the disk. Their answer comes from
    /// here and not as an event; only when the deadline passed first does it come as one after
    /// all, so that nothing becomes durable unseen.
    ///
    /// Blocks for as long as the disk takes. For the rare step that nothing may come between.
    ///
    /// # Errors
    ///
    /// When nothing of this was recorded, or the disk did not answer in time: after
    /// [`LedgerError::Late`] an event with this token says what became of it.
    pub fn append_and_wait(
        &self,
        token: u64,
        round: u64,
        entries: Vec<Entry>,
        deadline: Duration,
    ) -> Result<Vec<Arc<Stored>>, LedgerError> {
        let late = || LedgerError::Late(self.shared.path.clone());
        let gone = || LedgerError::WriterGone(self.shared.path.clone());
        // Without room in it: who comes after the deadline finds nobody, instead of leaving the
        // answer where nobody looks.
        let (answer, answered) = sync_channel(0);
        let job = Job::Append {
            token,
            entries,
            fact: Some(round),
            answer: Some(answer),
        };
        self.jobs.try_send(job).map_err(|refused| match refused {
            TrySendError::Full(_) => LedgerError::Full(self.shared.path.clone()),
            TrySendError::Disconnected(_) => gone(),
        })?;
        answered
            .recv_timeout(deadline)
            .map_err(|unanswered| match unanswered {
                RecvTimeoutError::Timeout => late(),
                RecvTimeoutError::Disconnected => gone(),
            })?
    }

    /// Ends the writer without a wait for that; to be called when it has answered everything. Later
    /// appends through clones are refused.
    pub fn end(self) {
        drop(lock(&self.thread).take());
        // An error means that it is gone already.
        drop(self.jobs.try_send(Job::Close));
    }

    /// Records what still waits, and ends the writer. Later appends through clones are refused.
    ///
    /// Blocks for as long as the disk takes. Not to be called from an event of the writer.
    pub fn close(self) {
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread {
            // An error means that the writer is gone already, which is what is wanted.
            drop(self.jobs.send(Job::Close));
            if thread.join().is_err() {
                tracing::error!("the ledger's writer panicked");
            }
        }
    }
}

impl Deref for Ledger {
    type Target = SharedLedger;

    fn deref(&self) -> &SharedLedger {
        &self.shared
    }
}
