//! [`Renderings`]: when the files about the agents' work are due, and for which session.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;

use crate::core::lock::lock;

/// Between two renderings: nobody reads them faster than that.
const PAUSE: Duration = Duration::from_secs(1);

/// When the files are due.
#[derive(Debug, Default)]
pub(in crate::daemon) struct Renderings {
    lock: RenderLock,
    due: Option<Instant>,
    last: Option<Instant>,
    under_way: bool,
}

/// Held by the one that writes or deletes the files.
#[derive(Debug, Clone, Default)]
pub(in crate::daemon) struct RenderLock {
    one: Arc<Mutex<()>>,
    /// Counts the sessions of this process: files begun for an earlier one are not written.
    session: Arc<AtomicU64>,
}

impl RenderLock {
    /// The session that goes on.
    pub(in crate::daemon) fn session(&self) -> u64 {
        self.session.load(Ordering::SeqCst)
    }

    pub(in crate::daemon) fn hold(&self) -> MutexGuard<'_, ()> {
        lock(&self.one)
    }
}

impl Renderings {
    /// Something new is in the record.
    pub(in crate::daemon) fn changed(&mut self) {
        let from = self.last.map(|last| last + PAUSE);
        let now = Instant::now();
        self.due
            .get_or_insert(from.map_or(now, |from| from.max(now)));
    }

    /// Another session goes on: from here on nothing of the one before is written.
    pub(in crate::daemon) fn begin_anew(&mut self) {
        self.lock.session.fetch_add(1, Ordering::SeqCst);
        self.changed();
    }

    pub(in crate::daemon) fn lock(&self) -> RenderLock {
        self.lock.clone()
    }

    pub(in crate::daemon) fn next_deadline(&self) -> Option<Instant> {
        self.due.filter(|_| !self.under_way)
    }

    pub(in crate::daemon) fn begin(&mut self) -> RenderLock {
        self.due = None;
        self.under_way = true;
        self.lock()
    }

    /// It is over.
    pub(in crate::daemon) fn ended(&mut self) {
        self.under_way = false;
        self.last = Some(Instant::now());
    }
}
