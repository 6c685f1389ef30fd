//! [`Latest`]: passes the newest value of something to a thread, and drops older ones.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ctxrelay_core::lock::lock;

/// Room for one value. Putting never waits; what was not taken yet is replaced.
#[derive(Debug)]
pub(super) struct Latest<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    /// For who rests: what is put meanwhile does not wake them.
    ended: Condvar,
}

#[derive(Debug)]
struct State<T> {
    value: Option<T>,
    closed: bool,
}

impl<T> Default for Latest<T> {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                value: None,
                closed: false,
            }),
            changed: Condvar::new(),
            ended: Condvar::new(),
        }
    }
}

impl<T> Latest<T> {
    pub(super) fn put(&self, value: T) {
        // Where there was a value already, its taker has been notified.
        if self.state().value.replace(value).is_none() {
            self.changed.notify_one();
        }
    }

    /// What was taken is to be taken once more, unless something newer was put; not once it is closed.
    pub(super) fn put_back(&self, value: T) {
        let mut state = self.state();
        if !state.closed {
            state.value.get_or_insert(value);
        }
    }

    /// Nothing more will be put; what was put is still taken.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.tell_of_end();
    }

    /// Nothing more will be put, and what was put is forgotten.
    pub(super) fn abandon(&self) {
        let mut state = self.state();
        state.value = None;
        state.closed = true;
        drop(state);
        self.tell_of_end();
    }

    fn tell_of_end(&self) {
        self.changed.notify_one();
        self.ended.notify_one();
    }

    /// Waits for a value; `None` once it is closed and empty.
    pub(super) fn take(&self) -> Option<T> {
        let mut state = self
            .changed
            .wait_while(self.state(), |state| state.value.is_none() && !state.closed)
            .unwrap_or_else(PoisonError::into_inner);
        state.value.take()
    }

    /// Waits, less long when it is closed meanwhile.
    pub(super) fn rest(&self, pause: Duration) {
        drop(
            self.ended
                .wait_timeout_while(self.state(), pause, |state| !state.closed)
                .unwrap_or_else(PoisonError::into_inner),
        );
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.state().value.is_none()
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        lock(&self.state)
    }
}
