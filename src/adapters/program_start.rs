//! Starts programs in a process that may have to stop with its whole group (`ctrl-z`).
//!
//! Between `vfork` and `exec` the new process is already in our group, and our thread waits for it
//! without receiving signals. A stop that arrives then stops the child before its `exec`: this
//! process keeps waiting and never stops, so the shell never takes the terminal back.

use std::io;
use std::process::{Child, Command};
use std::sync::{PoisonError, RwLock};

use rustix::process::{Signal, kill_current_process_group};

/// Read while a program is being started, written while the group is told to stop.
static STARTING: RwLock<()> = RwLock::new(());

/// Starts a program, never in the moment in which the group is told to stop.
///
/// # Errors
///
/// As [`Command::spawn`].
pub fn start(command: &mut Command) -> io::Result<Child> {
    let _starting = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    command.spawn()
}

/// Tells this process, with whatever was started together with it, to stop until the shell
/// continues it; first every start that has begun comes to its end.
pub fn stop_group() {
    let _none_starts = STARTING.write().unwrap_or_else(PoisonError::into_inner);
    // Where no shell controls it nothing stops.
    let _ = kill_current_process_group(Signal::TSTP);
}
