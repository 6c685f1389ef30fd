//! [`lock`]: locks a mutex, even if an earlier holder panicked.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks it, also where a holder panicked: nobody holds one over a change of several steps, so that
/// the value is whole.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
