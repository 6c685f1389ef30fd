//! [`QueueWriter`]: the one thread that writes a [`Queue`], and [`QueueEvent`]: what it reports.
//!
//! One turn takes everything that waits, writes it in one transaction, syncs once and only then
//! reports. If that fails none of it is written; the next turn is tried as usual, so everything
//! recovers by itself once the cause is gone.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ctxrelay_core::delivery::Delivery;
use ctxrelay_core::id::{EntryId, Seq};

use super::{Change, Queue, QueueError};
use crate::dirs::ProjectDirs;

/// How much may wait. As with the record, more would only hide that the disk is slow.
pub const WAITING_MAX: usize = 1024;

/// How much is written together at most: the first waits for the last.
const TOGETHER_MAX: usize = 256;

/// Why something was not taken. Nothing of it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RowsNotTaken {
    /// As much as may wait waits already.
    #[error("too many rows wait for the disk")]
    Full,
    /// The writer has failed: nothing that comes later is taken either.
    #[error("nobody writes the queue any more")]
    WriterGone,
}

/// What became of what the writer was given. Answers come in the order of the tokens.
#[derive(Debug)]
pub enum QueueEvent {
    /// All that was not answered before, up to this token, is on the disk.
    Durable {
        /// The last token of it.
        upto: u64,
    },
    /// Nothing of what was not answered before, up to this token, was written.
    Failed {
        /// The last token of it.
        upto: u64,
        /// Why.
        error: QueueError,
    },
    /// The writer has failed and is no more. The last event.
    Gone,
}

/// What the writer is asked for.
#[derive(Debug)]
enum Job {
    Put {
        token: u64,
        rows: Vec<Delivery>,
    },
    Remove(EntryId),
    /// Rare and large: a place for each that may wait is made at the start.
    Special(Box<Special>),
}

/// What is done by itself, with no other one.
#[derive(Debug)]
enum Special {
    Rebuild {
        token: u64,
        dirs: ProjectDirs,
        rows: Vec<Delivery>,
        high_water: Seq,
    },
    Scrub {
        /// Every row is forgotten first.
        is_erased: bool,
        answer: SyncSender<Result<(), QueueError>>,
    },
    Close,
}

/// The way to the thread that writes a queue. Dropped, it has what was given written, and waits
/// for that.
#[derive(Debug)]
pub struct QueueWriter {
    path: PathBuf,
    jobs: SyncSender<Job>,
    thread: Option<JoinHandle<()>>,
    given: u64,
}

impl QueueWriter {
    /// Has a queue written by a thread of its own.
    ///
    /// # Errors
    ///
    /// When there can be no thread.
    pub fn start(queue: Queue, on_event: impl Fn(QueueEvent) + Send + 'static) -> io::Result<Self> {
        let (jobs, waiting) = sync_channel(WAITING_MAX);
        let path = queue.path().to_path_buf();
        let writer = Writer {
            queue,
            on_event: Box::new(on_event),
            unremoved: Vec::new(),
            is_failing: false,
        };
        let thread = thread::Builder::new()
            .name("queue-writer".to_owned())
            .spawn(move || writer.run(waiting))?;
        Ok(Self {
            path,
            jobs,
            thread: Some(thread),
            given: 0,
        })
    }

    /// Writes deliveries, all or none; the answer comes as an event, up to this token at least.
    /// With none it is the answer to everything that was given before. Never blocks.
    ///
    /// # Errors
    ///
    /// When as much as may wait waits already, or nobody writes any more.
    pub fn put(&mut self, rows: Vec<Delivery>) -> Result<u64, RowsNotTaken> {
        let token = self.given + 1;
        self.give(Job::Put { token, rows })?;
        self.given = token;
        Ok(token)
    }

    /// Forgets a delivery that is settled. Nobody is told, and nothing is synced for it; see
    /// [`Queue::remove`].
    ///
    /// # Errors
    ///
    /// As [`Self::put`].
    pub fn remove(&self, id: EntryId) -> Result<(), RowsNotTaken> {
        self.give(Job::Remove(id))
    }

    /// Puts a new file in the place of the queue's, with these rows; answered as [`Self::put`].
    /// When it fails, the old one lies beside it, and a start finds that the queue was lost.
    ///
    /// # Errors
    ///
    /// As [`Self::put`].
    pub fn rebuild(
        &mut self,
        dirs: &ProjectDirs,
        rows: Vec<Delivery>,
        high_water: Seq,
    ) -> Result<u64, RowsNotTaken> {
        let token = self.given + 1;
        self.give(Job::Special(Box::new(Special::Rebuild {
            token,
            dirs: dirs.clone(),
            rows,
            high_water,
        })))?;
        self.given = token;
        Ok(token)
    }

    /// Has nothing left in the files of what was deleted from them.
    ///
    /// # Errors
    ///
    /// When as much as may wait waits already, or nobody writes any more.
    pub fn scrub(&self) -> Result<Scrubbing, QueueError> {
        self.begin_scrub(false)
    }

    /// Has every delivery forgotten, and nothing left of them in the files.
    ///
    /// # Errors
    ///
    /// As [`Self::scrub`].
    pub fn erase(&self) -> Result<Scrubbing, QueueError> {
        self.begin_scrub(true)
    }

    fn begin_scrub(&self, is_erased: bool) -> Result<Scrubbing, QueueError> {
        let (answer, answered) = sync_channel(1);
        let path = self.path.clone();
        let job = Job::Special(Box::new(Special::Scrub { is_erased, answer }));
        match self.give(job) {
            Ok(()) => Ok(Scrubbing { path, answered }),
            Err(RowsNotTaken::Full) => Err(QueueError::Late(path)),
            Err(RowsNotTaken::WriterGone) => Err(QueueError::WriterGone(path)),
        }
    }

    fn give(&self, job: Job) -> Result<(), RowsNotTaken> {
        self.jobs.try_send(job).map_err(|refused| match refused {
            TrySendError::Full(_) => RowsNotTaken::Full,
            TrySendError::Disconnected(_) => RowsNotTaken::WriterGone,
        })
    }

    /// Writes what was given, and closes the file. Blocks for as long as the disk takes. Not to be
    /// called from an event of the writer.
    pub fn close(self) {
        drop(self);
    }
}

impl Drop for QueueWriter {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        // An error means that the writer is gone already, which is what is wanted.
        drop(self.jobs.send(Job::Special(Box::new(Special::Close))));
        if thread.join().is_err() {
            tracing::error!("the queue's writer panicked");
        }
    }
}

/// The files are being scrubbed; somebody may wait for it.
#[derive(Debug)]
pub struct Scrubbing {
    path: PathBuf,
    answered: Receiver<Result<(), QueueError>>,
}

impl Scrubbing {
    /// Blocks until it is done.
    ///
    /// # Errors
    ///
    /// As [`Queue::scrub`]; also when the disk is too late, or the writer is gone.
    pub fn wait(self, at_most: Duration) -> Result<(), QueueError> {
        let path = self.path;
        match self.answered.recv_timeout(at_most) {
            Ok(scrubbed) => scrubbed,
            Err(RecvTimeoutError::Timeout) => Err(QueueError::Late(path)),
            Err(RecvTimeoutError::Disconnected) => Err(QueueError::WriterGone(path)),
        }
    }
}

/// Writes one queue.
struct Writer {
    queue: Queue,
    on_event: Box<dyn Fn(QueueEvent) + Send>,
    /// Settled deliveries whose rows the disk refused to forget.
    unremoved: Vec<EntryId>,
    /// The last write failed.
    is_failing: bool,
}

/// What is written together.
#[derive(Default)]
struct Together {
    changes: Vec<Change>,
    /// The last token of it.
    upto: Option<u64>,
    /// Cannot be written together with the others.
    next: Option<Special>,
}

impl Writer {
    /// Writes until it is told to end. A panic on the way is reported as [`QueueEvent::Gone`];
    /// without that, callers would wait for ever.
    fn run(mut self, jobs: Receiver<Job>) {
        let done = catch_unwind(AssertUnwindSafe(|| self.write_all(&jobs)));
        // From here on a job is refused instead of being taken and forgotten.
        drop(jobs);
        if done.is_err() {
            (self.on_event)(QueueEvent::Gone);
        }
    }

    fn write_all(&mut self, jobs: &Receiver<Job>) {
        while let Ok(first) = jobs.recv() {
            let together = self.gather(first, jobs);
            let next = self.commit(together);
            match next {
                Some(Special::Close) => return,
                Some(Special::Rebuild {
                    token,
                    dirs,
                    rows,
                    high_water,
                }) => {
                    let rebuilt = self.rebuild(&dirs, &rows, high_water);
                    self.tell(token, rebuilt);
                }
                Some(Special::Scrub { is_erased, answer }) => {
                    let scrubbed = if is_erased {
                        self.unremoved.clear();
                        self.queue.erase()
                    } else {
                        self.queue.scrub()
                    };
                    // The caller may have given up waiting.
                    drop(answer.send(scrubbed));
                }
                None => {}
            }
        }
    }

    fn gather(&mut self, first: Job, jobs: &Receiver<Job>) -> Together {
        let mut together = Together::default();
        let unremoved = std::mem::take(&mut self.unremoved);
        together
            .changes
            .extend(unremoved.into_iter().map(Change::Remove));
        let mut job = Some(first);
        while let Some(current) = job {
            match current {
                Job::Put { token, rows } => {
                    together.changes.extend(rows.into_iter().map(Change::Put));
                    together.upto = Some(token);
                }
                Job::Remove(id) => together.changes.push(Change::Remove(id)),
                Job::Special(special) => {
                    together.next = Some(*special);
                    break;
                }
            }
            if together.changes.len() >= TOGETHER_MAX {
                break;
            }
            job = jobs.try_recv().ok();
        }
        together
    }

    /// Writes them. Returns what is to be done next.
    fn commit(&mut self, together: Together) -> Option<Special> {
        let Together {
            changes,
            upto,
            next,
        } = together;
        if changes.is_empty() && upto.is_none() {
            return next;
        }
        let written = self.queue.write(&changes, None, upto.is_some());
        if let Err(error) = &written {
            // Said once: it is asked again and again, perhaps for days.
            if !self.is_failing {
                tracing::warn!(%error, "rows could not be written");
            }
            // Nobody else would ask for these once more.
            let removes = changes.into_iter().filter_map(|change| match change {
                Change::Remove(id) => Some(id),
                Change::Put(_) => None,
            });
            self.unremoved.extend(removes.take(WAITING_MAX));
        }
        self.is_failing = written.is_err();
        if let Some(upto) = upto {
            self.tell(upto, written);
        }
        next
    }

    fn rebuild(
        &mut self,
        dirs: &ProjectDirs,
        rows: &[Delivery],
        high_water: Seq,
    ) -> Result<(), QueueError> {
        Queue::set_aside(dirs)?;
        let queue = Queue::open(dirs)?;
        self.queue = match self.queue.outside().cloned() {
            Some(outside) => queue.bound_to(outside).0,
            None => queue,
        };
        self.unremoved.clear();
        self.queue.upsert(rows, Some(high_water.max(Seq(1))))
    }

    fn tell(&self, upto: u64, written: Result<(), QueueError>) {
        (self.on_event)(match written {
            Ok(()) => {
                tracing::debug!(upto, "rows written");
                QueueEvent::Durable { upto }
            }
            Err(error) => QueueEvent::Failed { upto, error },
        });
    }
}

#[cfg(test)]
mod tests;
