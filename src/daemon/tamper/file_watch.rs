//! [`FileWatch`]: the watch over the project's files, and what to remember of its facts.

use std::time::Duration;

use tokio::time::Instant;

use super::watcher::TamperWatch;
use crate::core::id::SessionId;
use crate::store::ledger::Ledger;

/// How long between two times that `current` is put back at least: somebody who keeps changing it
/// must not make us write without end.
const PUT_BACK_GAP: Duration = Duration::from_secs(5);

/// The watch, when `current` is put back, and whether the record was found altered.
#[derive(Debug, Default)]
pub(in crate::daemon) struct FileWatch {
    /// Ends with the daemon.
    watch: Option<TamperWatch>,
    /// When `current` is to be put back.
    put_back_at: Option<Instant>,
    /// When it was last put back.
    put_back: Option<Instant>,
    /// The ledger's file was found altered, and not found whole since.
    is_altered: bool,
    /// How often the operator trusted `config.json`.
    trusts: u64,
}

/// When a changed `current` is put back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PutBack {
    Now,
    /// That was done a moment ago, so it waits.
    Later,
    /// It waits already, and the record says why.
    Waits,
}

impl FileWatch {
    /// These files are watched from now on; `None`: nothing is.
    pub(in crate::daemon) fn watch(&mut self, watch: Option<TamperWatch>) {
        self.watch = watch;
    }

    /// The operator trusts the configuration as it is now.
    pub(in crate::daemon) fn trusted(&mut self) {
        self.trusts += 1;
        if let Some(watch) = &self.watch {
            watch.trusted(self.trusts);
        }
    }

    /// Whether the configuration was read before it was trusted last, so often as then.
    pub(super) fn is_before_trust(&self, trusts: u64) -> bool {
        trusts < self.trusts
    }

    /// Another session is the one to watch; what was said spoke of the one before.
    pub(super) fn follow(&mut self, session: SessionId, ledger: Ledger) {
        if let Some(watch) = &self.watch {
            watch.follow(session, ledger);
        }
        self.is_altered = false;
    }

    /// The ledger's file was read over: whether it is as it was written.
    pub(super) fn read_over(&mut self, is_whole: bool) {
        self.is_altered = !is_whole;
    }

    /// Somebody else changed `current`.
    pub(super) fn current_changed(&mut self) -> PutBack {
        if self.put_back_at.is_some() {
            return PutBack::Waits;
        }
        match self.put_back.map(|at| at + PUT_BACK_GAP) {
            Some(at) if at > Instant::now() => {
                self.put_back_at = Some(at);
                PutBack::Later
            }
            _ => PutBack::Now,
        }
    }

    /// `current` is put back now.
    pub(super) fn puts_back(&mut self) {
        self.put_back_at = None;
        self.put_back = Some(Instant::now());
    }

    /// That failed: it is tried again, for as long as it takes.
    pub(super) fn was_not_put_back(&mut self) {
        self.put_back_at = Some(Instant::now() + PUT_BACK_GAP);
    }

    /// Whether it is time to put `current` back.
    pub(super) fn is_put_back_due(&self) -> bool {
        self.put_back_at.is_some_and(|at| Instant::now() >= at)
    }

    pub(in crate::daemon) fn next_deadline(&self) -> Option<Instant> {
        self.put_back_at
    }

    /// Whether the ledger's file was found altered, and not found whole since.
    pub(in crate::daemon) fn is_altered(&self) -> bool {
        self.is_altered
    }
}
