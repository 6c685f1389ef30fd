//! [`adopt_orphans`], [`release_orphans`] and [`adopts_orphans`]: processes that a killed hold
//! leaves behind become children of this process.
//!
//! Otherwise the first process of the system takes them, and nothing shows any more who started
//! them. Only Linux can do this.

use std::sync::atomic::{AtomicBool, Ordering};

/// A hold did not end all that it was to end: some of that may live on below us.
static HAS_LOST: AtomicBool = AtomicBool::new(false);

/// From now on this process takes orphans below it on.
pub fn adopt_orphans() {
    set(true);
}

/// A hold has ended. Once one did not end all that it held (`is_whole`), orphans are taken on for as
/// long as this process lives.
pub fn release_orphans(is_whole: bool) {
    if !is_whole {
        HAS_LOST.store(true, Ordering::Relaxed);
    }
    set(HAS_LOST.load(Ordering::Relaxed));
}

/// Whether orphans are taken on.
pub fn adopts_orphans() -> bool {
    #[cfg(target_os = "linux")]
    let adopts = rustix::process::child_subreaper().is_ok_and(|pid| pid.is_some());
    #[cfg(not(target_os = "linux"))]
    let adopts = false;
    adopts
}

fn set(is_on: bool) {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(is_on.then(rustix::process::getpid));
    #[cfg(not(target_os = "linux"))]
    let _ = is_on;
}
