//! [`Search`]: the index of the open ledger, kept up by a thread of its own, and searches,
//! answered by another.
//!
//! Neither delays an append: the daemon's loop only says that the ledger has grown. Searches read
//! the index while it is written (SQLite's write-ahead log) and look through what it lacks.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::batch::Batch;
use super::error::SearchError;
use super::find::{Found, Request, find};
use super::index::{Index, Mark, discard};
use crate::core::id::{Seq, SessionId};
use crate::core::redact::Redactor;
use crate::store::dirs::ProjectDirs;
use crate::store::ledger::{Filter, Ledger};

/// How long entries are gathered before they go into the index: a write per second costs nothing,
/// and searches look through what is not in it yet.
const GATHER: Duration = Duration::from_secs(1);

/// After the disk refused, the index is tried again so much later.
const TRY_AGAIN: Duration = Duration::from_secs(10);

/// How many searches may wait; more are refused. A person waits for each.
const SEARCHES_MAX: usize = 32;

/// How many entries are read from the ledger at once; they may be large.
const PAGE: usize = 16;

/// Answers a search. Called on the searching thread.
type Answer = Box<dyn FnOnce(Result<Found, SearchError>) + Send>;

/// How far the index is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchState {
    /// The last entry in it; 0 when it is empty.
    pub indexed_to: u64,
    /// How often it was thrown away and begun anew since the start.
    pub rebuilds: u64,
    /// Why it does not go on, when it does not.
    pub fault: Option<String>,
}

/// What the index is to be of.
#[derive(Debug, Clone)]
struct Target {
    ledger: Ledger,
    session: SessionId,
}

/// What the loop wants, and how far the indexing thread is.
#[derive(Debug)]
struct Desk {
    target: Target,
    /// Counts targets and wishes for a rebuild; the index is looked at anew when it moves.
    wish: u64,
    /// Throw the index away, whatever it is of.
    fresh: bool,
    /// There are entries that were not looked at yet.
    grown: bool,
    closed: bool,
    state: SearchState,
}

#[derive(Debug)]
struct Shared {
    dirs: ProjectDirs,
    redactor: Arc<Redactor>,
    desk: Mutex<Desk>,
    /// Something on the desk changed.
    rung: Condvar,
    /// Held for writing while the index's file is removed: a connection that is open then would
    /// remove the next file's log when it closes.
    gate: RwLock<()>,
}

struct Job {
    target: Target,
    request: Request,
    answer: Answer,
}

/// Search in the open ledger. Its threads end with it; [`Search::close`] waits for that.
#[derive(Debug)]
pub struct Search {
    shared: Arc<Shared>,
    jobs: Option<SyncSender<Job>>,
    threads: Vec<JoinHandle<()>>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").finish_non_exhaustive()
    }
}

impl Search {
    /// Starts to follow a ledger. `fresh` throws away what lies there, as for a project that came
    /// from somewhere else.
    ///
    /// # Errors
    ///
    /// When the system gives no threads.
    pub fn start(
        dirs: &ProjectDirs,
        redactor: Arc<Redactor>,
        ledger: Ledger,
        session: SessionId,
        fresh: bool,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            dirs: dirs.clone(),
            redactor,
            desk: Mutex::new(Desk {
                target: Target { ledger, session },
                wish: 1,
                fresh,
                grown: true,
                closed: false,
                state: SearchState::default(),
            }),
            rung: Condvar::new(),
            gate: RwLock::new(()),
        });
        let (jobs, searches) = sync_channel(SEARCHES_MAX);
        let indexing = Arc::clone(&shared);
        let searching = Arc::clone(&shared);
        let threads = vec![
            thread::Builder::new()
                .name("search-index".to_owned())
                .spawn(move || indexing.keep_up())?,
            thread::Builder::new()
                .name("search".to_owned())
                .spawn(move || searching.serve(&searches))?,
        ];
        Ok(Self {
            shared,
            jobs: Some(jobs),
            threads,
        })
    }

    /// The ledger has more entries. Never blocks.
    pub fn grown(&self) {
        let mut desk = self.shared.desk();
        if !desk.grown {
            desk.grown = true;
            self.shared.rung.notify_all();
        }
    }

    /// Another ledger took the place of the one before.
    pub fn follow(&self, ledger: Ledger, session: SessionId) {
        self.wish(|desk| desk.target = Target { ledger, session });
    }

    /// Throws the index away and builds it anew, in the background.
    pub fn rebuild(&self) {
        self.wish(|desk| desk.fresh = true);
    }

    fn wish(&self, change: impl FnOnce(&mut Desk)) {
        let mut desk = self.shared.desk();
        change(&mut desk);
        desk.wish += 1;
        desk.grown = true;
        desk.state.indexed_to = 0;
        desk.state.fault = None;
        self.shared.rung.notify_all();
    }

    /// Searches; `answer` is called in any case but one: the program ends before its turn. On
    /// another thread, or at once when too many wait already.
    pub fn find(
        &self,
        request: Request,
        answer: impl FnOnce(Result<Found, SearchError>) + Send + 'static,
    ) {
        let target = self.shared.desk().target.clone();
        let job = Job {
            target,
            request,
            answer: Box::new(answer),
        };
        let Some(jobs) = &self.jobs else { return };
        if let Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) = jobs.try_send(job) {
            (job.answer)(Err(SearchError::Busy));
        }
    }

    /// How far the index is.
    pub fn state(&self) -> SearchState {
        self.shared.desk().state.clone()
    }

    /// Waits until everything up to an entry is in the index. Returns whether it is.
    pub fn wait_for(&self, seq: u64, at_most: Duration) -> bool {
        let until = Instant::now() + at_most;
        let mut desk = self.shared.desk();
        loop {
            if desk.state.indexed_to >= seq {
                return true;
            }
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                return false;
            };
            desk = self.shared.wait(desk, left);
        }
    }

    /// Ends both threads; what is not in the index yet goes in after the next start. Blocks until
    /// what is being written is written.
    pub fn close(mut self) {
        self.end();
        for thread in std::mem::take(&mut self.threads) {
            if thread.join().is_err() {
                tracing::error!("a thread of the search panicked");
            }
        }
    }

    fn end(&mut self) {
        self.jobs = None;
        self.shared.desk().closed = true;
        self.shared.rung.notify_all();
    }
}

impl Drop for Search {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, desk: MutexGuard<'a, Desk>, at_most: Duration) -> MutexGuard<'a, Desk> {
        self.rung
            .wait_timeout(desk, at_most)
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }

    /// The indexing thread.
    fn keep_up(&self) {
        step_back();
        let mut index: Option<Index> = None;
        let mut done = 0;
        let mut failures = 0;
        while let Some((target, wish, fresh)) = self.next(done) {
            let kept = index.take().filter(|_| done == wish);
            match self.advance(kept, &target, wish, fresh) {
                Ok(open) => {
                    done = wish;
                    failures = 0;
                    index = Some(open);
                }
                Err(error) => {
                    tracing::warn!(%error, "the search index stands still");
                    self.failed(fresh, &error);
                    done = 0;
                    failures += 1;
                    // What is damaged is thrown away and tried again at once, but not for ever.
                    if failures > 1 || !error.is_damage() {
                        self.pause();
                    }
                }
            }
        }
    }

    /// Waits for something to do. Growth alone is answered late, so that one transaction takes
    /// all that comes meanwhile.
    fn next(&self, done: u64) -> Option<(Target, u64, bool)> {
        let mut desk = self.desk();
        loop {
            if desk.closed {
                return None;
            }
            if desk.wish != done || desk.grown {
                break;
            }
            desk = self.rung.wait(desk).unwrap_or_else(PoisonError::into_inner);
        }
        let until = Instant::now() + GATHER;
        while desk.wish == done && !desk.closed {
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                break;
            };
            desk = self.wait(desk, left);
        }
        if desk.closed {
            return None;
        }
        desk.grown = false;
        let fresh = std::mem::take(&mut desk.fresh);
        Some((desk.target.clone(), desk.wish, fresh))
    }

    /// Takes the index, or opens it, and brings it to the end of the ledger.
    fn advance(
        &self,
        kept: Option<Index>,
        target: &Target,
        wish: u64,
        fresh: bool,
    ) -> Result<Index, SearchError> {
        let mut index = match kept {
            Some(index) => index,
            None => self.open(target, fresh)?,
        };
        let from = index.mark()?.map_or(0, |mark| mark.seq);
        self.reached(wish, from);
        self.index(&mut index, target, wish, from)?;
        Ok(index)
    }

    /// Opens the index of this ledger; throws away one that is not, or is damaged.
    fn open(&self, target: &Target, fresh: bool) -> Result<Index, SearchError> {
        if !fresh {
            let opened = Index::open(&self.dirs).and_then(|index| {
                let mark = index.mark()?;
                let fits = mark.is_none_or(|mark| is_of(&mark, target));
                Ok(fits.then_some(index))
            });
            match opened {
                Ok(Some(index)) => return Ok(index),
                Ok(None) => tracing::info!("the search index is not of this ledger: built anew"),
                Err(error @ SearchError::NotWal { .. }) => return Err(error),
                Err(error) if error.is_damage() || matches!(error, SearchError::Io { .. }) => {
                    tracing::warn!(%error, "the search index is thrown away and built anew");
                }
                Err(error) => return Err(error),
            }
        }
        let _alone = self.gate.write().unwrap_or_else(PoisonError::into_inner);
        discard(&self.dirs).map_err(|source| SearchError::Io {
            path: self.dirs.state.clone(),
            source,
        })?;
        self.desk().state.rebuilds += 1;
        Index::open(&self.dirs)
    }

    /// Puts in what comes after `from`, to the end of the ledger or until something else is wanted.
    fn index(
        &self,
        index: &mut Index,
        target: &Target,
        wish: u64,
        from: u64,
    ) -> Result<(), SearchError> {
        let mut batch = Batch::new(&target.session, &self.redactor);
        let mut cursor = Some(from);
        loop {
            let page = target
                .ledger
                .page(&Filter::default(), cursor, true, PAGE)
                .map_err(|source| SearchError::Ledger {
                    path: target.ledger.path().to_path_buf(),
                    source,
                })?;
            for stored in &page.entries {
                cursor = Some(stored.entry.seq.0);
                if batch.push(stored) {
                    self.put(&mut batch, index, wish)?;
                }
            }
            let called = {
                let desk = self.desk();
                desk.closed || desk.wish != wish
            };
            if called {
                return Ok(());
            }
            if page.next.is_none() {
                self.put(&mut batch, index, wish)?;
                return Ok(());
            }
        }
    }

    fn put(&self, batch: &mut Batch<'_>, index: &mut Index, wish: u64) -> Result<(), SearchError> {
        if let Some(seq) = batch.put(index)? {
            self.reached(wish, seq);
        }
        Ok(())
    }

    fn reached(&self, wish: u64, seq: u64) {
        let mut desk = self.desk();
        if desk.wish == wish {
            desk.state.indexed_to = seq;
            desk.state.fault = None;
            self.rung.notify_all();
        }
    }

    fn failed(&self, fresh: bool, error: &SearchError) {
        let mut desk = self.desk();
        desk.grown = true;
        desk.fresh |= fresh || error.is_damage();
        desk.state.fault = Some(error.to_string());
        if error.is_damage() {
            desk.state.indexed_to = 0;
        }
        self.rung.notify_all();
    }

    /// Waits before the disk is tried again, or until it is over.
    fn pause(&self) {
        let until = Instant::now() + TRY_AGAIN;
        let mut desk = self.desk();
        while !desk.closed {
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                return;
            };
            desk = self.wait(desk, left);
        }
    }

    /// The searching thread.
    fn serve(&self, searches: &Receiver<Job>) {
        while let Ok(job) = searches.recv() {
            // Zero until the index was found to be of this ledger, or while it is made anew.
            let (closed, is_of_use) = {
                let desk = self.desk();
                (desk.closed, desk.state.indexed_to > 0)
            };
            if closed {
                return;
            }
            let found = self.search(&job, is_of_use);
            (job.answer)(found);
        }
    }

    fn search(&self, job: &Job, by_index: bool) -> Result<Found, SearchError> {
        let Target { ledger, session } = &job.target;
        let search =
            |index: Option<&Index>| find(index, &self.redactor, ledger, session, &job.request);
        if by_index {
            let _open = self.gate.read().unwrap_or_else(PoisonError::into_inner);
            let found = Index::open_to_read(&self.dirs).and_then(|index| search(index.as_ref()));
            match found {
                Err(error) if !matches!(error, SearchError::Ledger { .. }) => {
                    tracing::warn!(%error, "a search goes on without the index");
                    self.suspect(&error);
                }
                found => return found,
            }
        }
        search(None)
    }

    /// A search met a fault of the index: if it is in the file, a new one is built.
    fn suspect(&self, error: &SearchError) {
        let mut desk = self.desk();
        if error.is_damage() && !desk.fresh {
            desk.fresh = true;
            desk.wish += 1;
            desk.state.indexed_to = 0;
            desk.state.fault = Some(error.to_string());
            self.rung.notify_all();
        }
    }
}

/// Has the thread give way to those that somebody waits for. Where the priority is the whole
/// process's (not on Linux) it stays as it is.
fn step_back() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, 10) {
        tracing::debug!(%error, "the indexing thread keeps its priority");
    }
}

/// Whether the index ends at an entry of this ledger.
fn is_of(mark: &Mark, target: &Target) -> bool {
    mark.session == target.session
        && target
            .ledger
            .read(Seq(mark.seq))
            .ok()
            .flatten()
            .is_some_and(|stored| mark.is_at(&stored))
}
