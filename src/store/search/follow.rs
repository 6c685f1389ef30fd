//! [`Search`]: the index of the open ledger, updated by one thread, and searches, answered by
//! another. The first one runs an [`IndexKeeper`].
//!
//! Neither delays an append: the daemon's loop only reports that the ledger has grown. Searches
//! read the index while it is written (SQLite's write-ahead log) and scan what it does not have
//! yet.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::capsules::{CapsuleRequest, find_capsules};
use super::error::SearchError;
use super::find::{LOOK, SearchRequest, find};
use super::index::SearchIndex;
use super::index_keeper::IndexKeeper;
use super::indexer::{IndexerState, SearchState, SharedIndexer, Target};
use super::sealed::{SealedRequest, search_sealed};
use crate::dirs::ProjectDirs;
use crate::ledger::Ledger;
use ctxrelay_core::id::SessionId;
use ctxrelay_core::redact::Redactor;
use ctxrelay_core::wire::search::{FoundPage, SealedPage, SearchPage};

/// How many searches may wait; more are refused. A person waits for each.
const SEARCHES_MAX: usize = 32;

/// Answers a search. Called on the searching thread.
type SearchReply = Box<dyn FnOnce(Result<SearchPage, SearchError>) + Send>;

/// As [`SearchReply`].
type CapsuleReply = Box<dyn FnOnce(Result<FoundPage, SearchError>) + Send>;

enum Job {
    Entries(Target, SearchRequest, SearchReply),
    Capsules(CapsuleRequest, CapsuleReply),
}

/// Search in the open ledger. Its threads end with it; [`Search::close`] waits for that.
#[derive(Debug)]
pub struct Search {
    shared: Arc<SharedIndexer>,
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
        let shared = Arc::new(SharedIndexer {
            dirs: dirs.clone(),
            redactor,
            indexer: Mutex::new(IndexerState {
                target: Target { ledger, session },
                wish: 1,
                fresh,
                grown: true,
                closed: false,
                state: SearchState::default(),
            }),
            changed: Condvar::new(),
            gate: RwLock::new(()),
        });
        let (jobs, searches) = sync_channel(SEARCHES_MAX);
        let keeper = IndexKeeper::new(Arc::clone(&shared));
        let searching = Arc::clone(&shared);
        let threads = vec![
            thread::Builder::new()
                .name("search-index".to_owned())
                .spawn(move || keeper.run())?,
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
        let mut indexer = self.shared.indexer();
        if !indexer.grown {
            indexer.grown = true;
            self.shared.changed.notify_all();
        }
    }

    /// Another ledger took the place of the one before.
    pub fn follow(&self, ledger: Ledger, session: SessionId) {
        self.shared
            .wish(|indexer| indexer.target = Target { ledger, session });
    }

    /// Throws the index away and rebuilds it, in the background. Requests that come before that
    /// begins are one rebuild.
    pub fn rebuild(&self) {
        self.shared.rebuild();
    }

    /// Searches; `answer` is called in any case but one: the program ends before its turn. On
    /// another thread, or at once when too many wait already.
    pub fn find(
        &self,
        request: SearchRequest,
        answer: impl FnOnce(Result<SearchPage, SearchError>) + Send + 'static,
    ) {
        let target = self.shared.indexer().target.clone();
        self.give(Job::Entries(target, request, Box::new(answer)));
    }

    /// As [`Self::find`], in the tasks that can travel.
    pub fn find_capsules(
        &self,
        request: CapsuleRequest,
        answer: impl FnOnce(Result<FoundPage, SearchError>) + Send + 'static,
    ) {
        self.give(Job::Capsules(request, Box::new(answer)));
    }

    fn give(&self, job: Job) {
        let Some(jobs) = &self.jobs else { return };
        if let Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) = jobs.try_send(job) {
            match job {
                Job::Entries(.., answer) => answer(Err(SearchError::Busy)),
                Job::Capsules(_, answer) => answer(Err(SearchError::Busy)),
            }
        }
    }

    /// How far the index is.
    pub fn state(&self) -> SearchState {
        self.shared.indexer().state.clone()
    }

    /// As [`SearchWaiter::wait_for`].
    pub fn wait_for(&self, seq: u64, at_most: Duration) -> bool {
        self.waiter().wait_for(seq, at_most)
    }

    /// To search in the sealed sessions on another thread.
    pub fn sealed(&self) -> SealedSearch {
        SealedSearch {
            shared: Arc::clone(&self.shared),
        }
    }

    /// To wait for the index on another thread.
    pub fn waiter(&self) -> SearchWaiter {
        SearchWaiter {
            shared: Arc::clone(&self.shared),
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
        self.shared.indexer().closed = true;
        self.shared.changed.notify_all();
    }
}

/// Searches in the sealed sessions: those that are not in the index are read, a bounded piece of them.
#[derive(Debug)]
pub struct SealedSearch {
    shared: Arc<SharedIndexer>,
}

impl SealedSearch {
    /// In all sessions but the current one. Blocks for the disk.
    ///
    /// # Errors
    ///
    /// When the folders cannot be read; a session that cannot be is counted.
    pub fn find(
        &self,
        current: &SessionId,
        request: &SealedRequest,
    ) -> Result<SealedPage, SearchError> {
        let shared = &self.shared;
        let is_of_use = shared.indexer().state.indexed_to > 0;
        shared.search(is_of_use, |index| {
            search_sealed(index, &shared.dirs, current, &shared.redactor, request)
        })
    }
}

/// Waits for the index.
#[derive(Debug)]
pub struct SearchWaiter {
    shared: Arc<SharedIndexer>,
}

impl SearchWaiter {
    /// As [`Search::rebuild`].
    pub fn rebuild(&self) {
        self.shared.rebuild();
    }

    /// Waits until everything up to an entry is in the index. Returns whether it is.
    pub fn wait_for(&self, seq: u64, at_most: Duration) -> bool {
        let until = Instant::now() + at_most;
        let mut indexer = self.shared.indexer();
        loop {
            if indexer.state.indexed_to >= seq {
                return true;
            }
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                return false;
            };
            indexer = self.shared.wait(indexer, left);
        }
    }
}

impl Drop for Search {
    fn drop(&mut self) {
        self.end();
    }
}

impl SharedIndexer {
    /// The searching thread.
    fn serve(&self, searches: &Receiver<Job>) {
        while let Ok(job) = searches.recv() {
            // Zero until the index was found to be of this ledger, and while it is rebuilt.
            let (closed, is_of_use) = {
                let indexer = self.indexer();
                (indexer.closed, indexer.state.indexed_to > 0)
            };
            if closed {
                return;
            }
            match job {
                Job::Entries(Target { ledger, session }, request, answer) => {
                    answer(self.search(is_of_use, |index| {
                        let until = Instant::now() + LOOK;
                        find(index, &self.redactor, &ledger, &session, &request, until)
                    }));
                }
                Job::Capsules(request, answer) => answer(self.search(is_of_use, |index| {
                    let until = Some(Instant::now() + LOOK);
                    find_capsules(index, &self.redactor, &self.dirs, &request, until)
                })),
            }
        }
    }

    fn search<T>(
        &self,
        by_index: bool,
        search: impl Fn(Option<&SearchIndex>) -> Result<T, SearchError>,
    ) -> Result<T, SearchError> {
        let found = catch_unwind(AssertUnwindSafe(|| self.search_by(by_index, search)));
        found.unwrap_or(Err(SearchError::Failed))
    }

    fn search_by<T>(
        &self,
        by_index: bool,
        search: impl Fn(Option<&SearchIndex>) -> Result<T, SearchError>,
    ) -> Result<T, SearchError> {
        if by_index {
            let _open = self.gate.read().unwrap_or_else(PoisonError::into_inner);
            let found =
                SearchIndex::open_to_read(&self.dirs).and_then(|index| search(index.as_ref()));
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
        let mut indexer = self.indexer();
        if error.is_damage() && !indexer.fresh {
            indexer.fresh = true;
            indexer.wish += 1;
            indexer.state.indexed_to = 0;
            indexer.state.fault = Some(error.to_string());
            self.changed.notify_all();
        }
    }
}
