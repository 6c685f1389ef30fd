//! [`SharedIndexer`]: what the threads of a search share; [`SearchState`]: what is reported of it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use crate::dirs::ProjectDirs;
use crate::ledger::Ledger;
use ctxrelay_core::id::SessionId;
use ctxrelay_core::lock::lock;
use ctxrelay_core::redact::Redactor;

/// How far the index is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchState {
    /// The last entry in it; 0 when it is empty.
    pub indexed_to: u64,
    /// How often it was thrown away and rebuilt since the start.
    pub rebuilds: u64,
    /// Why it does not go on, when it does not.
    pub fault: Option<String>,
}

/// What the index is to be of.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) ledger: Ledger,
    pub(super) session: SessionId,
}

/// What the loop wants, and how far the indexing thread is.
#[derive(Debug)]
pub(super) struct IndexerState {
    pub(super) target: Target,
    /// Counts targets and wishes for a rebuild; when it changes the index is looked at again.
    pub(super) wish: u64,
    /// Throw the index away, whatever it is of.
    pub(super) fresh: bool,
    /// There are entries that were not looked at yet.
    pub(super) grown: bool,
    pub(super) closed: bool,
    pub(super) state: SearchState,
}

#[derive(Debug)]
pub(super) struct SharedIndexer {
    pub(super) dirs: ProjectDirs,
    pub(super) redactor: Arc<Redactor>,
    pub(super) indexer: Mutex<IndexerState>,
    /// The state changed.
    pub(super) changed: Condvar,
    /// Held for writing while the index's file is removed: a connection that is open then would
    /// remove the next file's log when it closes.
    pub(super) gate: RwLock<()>,
}

impl SharedIndexer {
    pub(super) fn indexer(&self) -> MutexGuard<'_, IndexerState> {
        lock(&self.indexer)
    }

    pub(super) fn rebuild(&self) {
        if !self.indexer().fresh {
            self.wish(|indexer| indexer.fresh = true);
        }
    }

    pub(super) fn wish(&self, change: impl FnOnce(&mut IndexerState)) {
        let mut indexer = self.indexer();
        change(&mut indexer);
        indexer.wish += 1;
        indexer.grown = true;
        indexer.state.indexed_to = 0;
        indexer.state.fault = None;
        self.changed.notify_all();
    }

    pub(super) fn wait<'a>(
        &self,
        indexer: MutexGuard<'a, IndexerState>,
        at_most: Duration,
    ) -> MutexGuard<'a, IndexerState> {
        self.changed
            .wait_timeout(indexer, at_most)
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }
}
