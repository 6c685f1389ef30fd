//! [`InputPause`]: keeps the thread that reads the terminal from it, while another program has it.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};

/// How often the reading thread is woken until it says that it rests.
const WAKE_EVERY: Duration = Duration::from_millis(20);

/// After so many times it counts as gone: it has ended, or hangs where nothing wakes it.
const WAKES_MAX: usize = 100;

#[derive(Debug, Default)]
struct Stand {
    is_wanted: bool,
    rests: bool,
}

/// Shared by the thread that reads the terminal and the one that lends it.
#[derive(Debug, Clone, Default)]
pub(super) struct InputPause {
    shared: Arc<(Mutex<Stand>, Condvar)>,
}

impl InputPause {
    /// The reading thread asks before each read, and rests here while the terminal is lent.
    pub(super) fn rest(&self) {
        let (stand, changed) = &*self.shared;
        let mut stand = stand.lock().unwrap_or_else(PoisonError::into_inner);
        while stand.is_wanted {
            stand.rests = true;
            changed.notify_all();
            stand = changed.wait(stand).unwrap_or_else(PoisonError::into_inner);
        }
        stand.rests = false;
    }

    /// Waits until nobody reads the terminal any more. Returns whether that is so.
    pub(super) fn begin(&self) -> bool {
        let (stand, changed) = &*self.shared;
        let mut stand = stand.lock().unwrap_or_else(PoisonError::into_inner);
        stand.is_wanted = true;
        for _ in 0..WAKES_MAX {
            if stand.rests {
                return true;
            }
            // It waits for the terminal, and wakes for nothing else than this: the size may have
            // changed.
            let _ = kill_process(getpid(), Signal::WINCH);
            let waited = changed.wait_timeout(stand, WAKE_EVERY);
            stand = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        stand.is_wanted = false;
        changed.notify_all();
        false
    }

    /// It reads on.
    pub(super) fn end(&self) {
        let (stand, changed) = &*self.shared;
        stand
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_wanted = false;
        changed.notify_all();
    }
}
