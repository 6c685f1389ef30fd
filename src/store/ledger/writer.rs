//! [`Writer`]: the one thread that writes a ledger, and [`WriterEvent`]: what it reports.
//!
//! One turn of its loop takes all waiting appends, writes them in one piece, syncs once and only
//! then reports. If that fails, the file goes back to the last good line and those appends fail;
//! later ones are tried as usual, so everything recovers by itself once the cause is gone.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use crate::blobs::Blobs;
use crate::head::{Head, Heads};
use ctxrelay_core::alarm::Alarm;
use ctxrelay_core::entry::Entry;
use ctxrelay_core::id::SessionId;
use ctxrelay_core::redact::Redactor;

use super::Stored;
use super::aside::Aside;
use super::error::LedgerError;
use super::file::LedgerFile;
use super::shared::SharedLedger;
use fact_fence::FactFence;
use staging::{Placed, Staged};

mod fact_fence;
mod mending;
mod staging;

/// How many appends may wait. Some seconds of work at the pace of a slow disk: more would only
/// hide from the senders that it is slow.
pub(super) const WAITING_MAX: usize = 1024;

/// How many appends are written together at most: the first of them waits for the last.
const TOGETHER_MAX: usize = 256;

/// How many bytes are gathered before they are written, however many appends wait.
const TOGETHER_BYTES: usize = 4 * 1024 * 1024;

/// How long the first of several writers waits for the others at most. Callers that were answered
/// together mostly ask again together; one that is written without the others has all of them wait
/// for one more sync, which takes longer than this.
const GATHER: Duration = Duration::from_micros(200);

/// What the writer reports: the results of appends, and its own state.
#[derive(Debug, Clone)]
pub enum WriterEvent {
    /// The entries of this append are on the disk.
    Durable {
        /// The append's token.
        token: u64,
        /// The entries as they are there, in order.
        entries: Vec<Arc<Stored>>,
    },
    /// Nothing of this append was recorded.
    Failed {
        /// The append's token.
        token: u64,
        /// Why.
        error: LedgerError,
    },
    /// Writing works again after it had failed.
    Recovered,
    /// Somebody else wrote to the open file; that text is not part of the record.
    Foreign(Alarm),
    /// The writer has failed and ended; [`LedgerError::WriterGone`]. The last event: appends that
    /// it had not answered are in the file or not.
    Gone(LedgerError),
}

/// A request to the writer.
#[derive(Debug)]
pub(super) enum Job {
    Append {
        token: u64,
        entries: Vec<Entry>,
        /// The round of a fact, which cannot be refused for its length: see [`FactFence`].
        fact: Option<u64>,
        /// Gets the answer, instead of the event.
        answer: Option<SyncSender<Result<Vec<Arc<Stored>>, LedgerError>>>,
    },
    Close,
}

impl Job {
    /// Whether something of it speaks for the operator.
    fn is_of_operator(&self) -> bool {
        matches!(self, Self::Append { entries, .. } if entries.iter().any(Entry::is_of_operator))
    }
}

/// The next entry's number and `prev`; no `prev` in a file that is still empty.
#[derive(Debug, Clone)]
pub(super) struct Next {
    pub seq: u64,
    pub prev: Option<String>,
}

/// Writes one ledger.
pub(super) struct Writer {
    file: Box<dyn LedgerFile>,
    shared: Arc<SharedLedger>,
    redactor: Arc<Redactor>,
    blobs: Blobs,
    /// Keeps the head outside; `None` if nobody does.
    heads: Option<Heads>,
    on_event: Box<dyn Fn(WriterEvent) + Send>,
    next: Next,
    /// The length of the good part of the file.
    len: u64,
    /// The last write failed.
    failing: bool,
    /// The text of the write that failed, if its part in the file has not been removed yet.
    left: Option<Vec<u8>>,
    /// The repair of what others did to the file has begun and is not complete.
    is_unsettled: bool,
    /// Somebody cut the file, so the chain does not lead from the head outside to here: the next
    /// write is vouched for.
    unlinked: bool,
    /// A copy of foreign lines that are still in the file, or were not reported yet.
    aside: Option<Aside>,
    /// Taken from the queue, but not to be written together with the jobs before it.
    held: Option<Job>,
    /// How many appends the last write contained.
    company: usize,
    fence: FactFence,
}

/// Appends that are being written together.
#[derive(Default)]
struct Together {
    text: Vec<u8>,
    done: Vec<Staged>,
    close: bool,
    /// They speak for the operator: acknowledged only once the head outside has them. Others are
    /// not written together with them, so that no earlier append has to wait for that.
    is_of_operator: bool,
}

impl Writer {
    pub(super) fn new(
        file: Box<dyn LedgerFile>,
        shared: Arc<SharedLedger>,
        redactor: Arc<Redactor>,
        heads: Option<Heads>,
        on_event: Box<dyn Fn(WriterEvent) + Send>,
        next: Next,
        len: u64,
    ) -> Self {
        Self {
            file,
            blobs: Blobs::of_ledger(&shared.path).within(shared.space.clone()),
            shared,
            redactor,
            heads,
            on_event,
            next,
            len,
            failing: false,
            left: None,
            is_unsettled: false,
            unlinked: false,
            aside: None,
            held: None,
            company: 1,
            fence: FactFence::default(),
        }
    }

    /// Writes until the ledger is closed or all its handles are gone. A panic on the way is
    /// reported as [`WriterEvent::Gone`]; without that, callers would wait for ever.
    pub(super) fn run(mut self, jobs: Receiver<Job>) {
        let done = catch_unwind(AssertUnwindSafe(|| self.write_all(&jobs)));
        // From here on an append is refused instead of being taken and forgotten.
        drop(jobs);
        if done.is_err() {
            let path = self.shared.path.clone();
            (self.on_event)(WriterEvent::Gone(LedgerError::WriterGone(path)));
        }
    }

    fn write_all(&mut self, jobs: &Receiver<Job>) {
        self.serve(jobs);
        if self.left.is_some() {
            // Else what nobody was told of stands there for the next start.
            drop(self.take_back());
        }
    }

    fn serve(&mut self, jobs: &Receiver<Job>) {
        while let Some(first) = self.held.take().or_else(|| jobs.recv().ok()) {
            let mut next = self.next.clone();
            let together = self.gather(first, jobs, &mut next);
            let close = together.close;
            self.company = together.done.len();
            self.commit(together, next);
            if close {
                return;
            }
        }
    }

    fn gather(&mut self, first: Job, jobs: &Receiver<Job>, next: &mut Next) -> Together {
        let mut together = Together {
            is_of_operator: self.is_vouched(&first),
            ..Together::default()
        };
        let mut job = Some(first);
        let until = Instant::now() + GATHER;
        while let Some(current) = job {
            let is_end = matches!(current, Job::Close);
            if !is_end && self.is_vouched(&current) != together.is_of_operator {
                self.held = Some(current);
                break;
            }
            match current {
                Job::Close => {
                    together.close = true;
                    break;
                }
                Job::Append {
                    token,
                    entries,
                    fact,
                    answer,
                } => {
                    // Who waits for the answer does not give it again.
                    let is_retried = answer.is_none();
                    let staged = self.fence.check(fact).and_then(|()| {
                        self.stage(entries, fact.is_some(), &mut together.text, next)
                    });
                    if let (Some(round), true, Err(error)) = (fact, is_retried, &staged) {
                        self.fence.failed(round, error, together.is_of_operator);
                    }
                    together.done.push(Staged {
                        token,
                        fact: fact.filter(|_| is_retried),
                        answer,
                        result: staged,
                    });
                }
            }
            if together.done.len() >= TOGETHER_MAX || together.text.len() >= TOGETHER_BYTES {
                break;
            }
            job = jobs.try_recv().ok();
            if job.is_none() && together.done.len() < self.company {
                let left = until.saturating_duration_since(Instant::now());
                job = jobs.recv_timeout(left).ok();
            }
        }
        together
    }

    fn is_vouched(&self, job: &Job) -> bool {
        self.heads.is_some() && job.is_of_operator()
    }

    fn commit(&mut self, together: Together, next: Next) {
        let written = if together.text.is_empty() {
            Ok(self.len)
        } else {
            self.write_known(&together, &next)
        };
        let failed = match written {
            Ok(start) => {
                if !together.text.is_empty() {
                    self.next = next;
                    self.publish(&together, start);
                    tracing::debug!(through = self.next.seq - 1, "written");
                }
                None
            }
            Err(error) => {
                // Said once: it is asked again every second, perhaps for days.
                if !self.failing && !error.is_of_head() {
                    tracing::error!(%error, "the ledger cannot be written");
                }
                Some(error)
            }
        };
        let wrote = failed.is_none() && !together.text.is_empty();
        if wrote && std::mem::take(&mut self.failing) {
            (self.on_event)(WriterEvent::Recovered);
        }
        self.failing |= failed.as_ref().is_some_and(|error| !error.is_of_head());
        for Staged {
            token,
            fact,
            answer,
            result,
        } in together.done
        {
            if let (Some(round), Ok(_), Some(error)) = (fact, &result, &failed) {
                self.fence.failed(round, error, together.is_of_operator);
            }
            let result = match (result, &failed) {
                (Ok(placed), None) => Ok(placed.into_iter().map(|placed| placed.stored).collect()),
                (Ok(_), Some(error)) => Err(error.clone()),
                (Err(error), _) => {
                    // What the disk refuses beside the ledger is over, too, only once it takes
                    // something again.
                    let is_own = matches!(error, LedgerError::Refused(_) | LedgerError::NoRoom(_));
                    self.failing |= !is_own;
                    Err(error)
                }
            };
            let unheard = match answer {
                Some(answer) => answer.send(result).err().map(|unheard| unheard.0),
                None => Some(result),
            };
            match unheard {
                Some(Ok(entries)) => (self.on_event)(WriterEvent::Durable { token, entries }),
                Some(Err(error)) => (self.on_event)(WriterEvent::Failed { token, error }),
                None => {}
            }
        }
    }

    /// As [`Self::write`], with what the head outside has to say of it, before and behind.
    fn write_known(&mut self, together: &Together, next: &Next) -> Result<u64, LedgerError> {
        if let Some(heads) = &self.heads {
            heads
                .take_mark()
                .map_err(|error| LedgerError::head_unwritable(heads, error))?;
        }
        let seq = self.next.seq;
        self.prepare()?;
        if self.next.seq != seq {
            return Err(self.crowded());
        }
        // Only now is known whether the chain still leads to here.
        let is_vouched = together.is_of_operator || self.unlinked;
        if let (true, Some(heads), Some(head)) = (is_vouched, &self.heads, self.head_at(next)) {
            heads.announce(&head);
        }
        let written = self.write(&together.text).and_then(|start| {
            if is_vouched {
                self.vouch(next, start, &together.text)?;
            }
            Ok(start)
        });
        if let (true, true, Some(heads)) = (written.is_err(), is_vouched, &self.heads) {
            heads.retract();
        }
        written
    }

    /// Has the head outside be that of what was just written, or takes it back.
    fn vouch(&mut self, next: &Next, start: u64, text: &[u8]) -> Result<(), LedgerError> {
        let (Some(heads), Some(head)) = (&self.heads, self.head_at(next)) else {
            return Ok(());
        };
        let vouched = heads.vouch(head);
        if let Err(error) = vouched {
            let error = LedgerError::head_unwritable(heads, error);
            self.len = start;
            // After a crash before that succeeds nobody believes it.
            self.give_up(text);
            return Err(error);
        }
        self.unlinked = false;
        Ok(())
    }

    /// The head of a ledger that goes on with this entry.
    fn head_at(&self, next: &Next) -> Option<Head> {
        let session = self.shared.path.file_stem().unwrap_or_default();
        Some(Head {
            seq: next.seq.checked_sub(1)?,
            hash: next.prev.clone()?,
            session_id: SessionId::new(session.to_string_lossy()),
        })
    }

    /// Writes and syncs. Returns where the text begins in the file.
    fn write(&mut self, text: &[u8]) -> Result<u64, LedgerError> {
        let start = self.len;
        let end = start + text.len() as u64;
        let mut health = self.shared.health();
        health.ahead = text.len() as u64;
        health.left.look(&self.file.reader());
        drop(health);
        match self.file.append(text) {
            Ok(at) if at == end => self.shared.health().left.written(&self.file.reader()),
            Ok(_) => {
                self.give_up(text);
                return Err(self.crowded());
            }
            Err(error) => {
                self.give_up(text);
                return Err(self.error("append to", error));
            }
        }
        if let Err(error) = self.file.sync() {
            // After a failed sync the system may call the same pages clean, so that asking again
            // would succeed without a byte on the disk. The text is taken back instead, through
            // a new descriptor.
            self.give_up(text);
            return Err(self.error("sync", error));
        }
        self.shared.health().left.look(&self.file.reader());
        self.len = end;
        Ok(start)
    }

    fn publish(&mut self, together: &Together, start: u64) {
        let mut index = self
            .shared
            .index
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let mut health = self.shared.health();
        for placed in together
            .done
            .iter()
            .filter_map(|staged| staged.result.as_ref().ok())
        {
            for Placed { stored, offset } in placed {
                // Neither bound can be met: a line is at most `LINE_MAX` long, and a file of four
                // billion entries would be a thousand times larger than one that can be opened.
                let seq = u32::try_from(stored.entry.seq.0).unwrap_or(u32::MAX);
                let len = u32::try_from(stored.line.len()).unwrap_or(u32::MAX);
                let offset = start + *offset as u64;
                index.push(&stored.entry, offset, len, seq);
                let number = stored.entry.seq.0;
                health.checker.grow(number, &stored.hash);
                health.head = Some((number, stored.hash.clone()));
                health.first_own.get_or_insert(number);
            }
        }
        health.bytes = self.len;
        health.ahead = 0;
    }

    /// Somebody else wrote where this was to stand.
    fn crowded(&self) -> LedgerError {
        let path = self.shared.path.clone();
        LedgerError::Crowded(path)
    }

    fn error(&self, doing: &'static str, error: io::Error) -> LedgerError {
        let path = &self.shared.path;
        if error.kind() == io::ErrorKind::NotFound {
            return LedgerError::Gone(path.clone());
        }
        LedgerError::from_io(doing, path, error)
    }
}
