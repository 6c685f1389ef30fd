//! [`AgentProcesses`]: the processes that are agents, as the kernel reports them. Their descendants
//! may not decide in the operator's place.
//!
//! Nothing that a client claims about itself is believed here. A process becomes an agent by
//! registering itself over the operator's socket, as the parent of a bridge or hook found at the
//! other end of a connection, as the app-server or its keeper, or as the terminal on the proxy.
//! Each of these only restricts the processes below it.

use std::collections::HashMap;

use crate::adapters::process::StartedProcess;

/// How many processes are known before it is looked which of them have ended. Those that live are
/// never forgotten, however many.
const CROWD_MIN: usize = 256;

/// The agents' processes, each with its start: an id alone may be somebody else's by now.
#[derive(Debug, Default)]
pub(in crate::daemon) struct AgentProcesses {
    known: HashMap<u32, Option<String>>,
    /// How many of them lived when that was looked at last.
    living: usize,
    /// It is being looked which of them have ended.
    looks: bool,
}

impl AgentProcesses {
    /// This process is an agent's. Not so the first process of all: everybody descends from it,
    /// the operator too.
    pub(in crate::daemon) fn know(&mut self, process: StartedProcess) {
        if process.pid > 1 {
            self.known.insert(process.pid, process.started);
        }
    }

    /// All of them, those included that may have ended: an asker has to look.
    pub(in crate::daemon) fn known(&self) -> Vec<StartedProcess> {
        let known = self.known.iter();
        known
            .map(|(pid, started)| StartedProcess {
                pid: *pid,
                started: started.clone(),
            })
            .collect()
    }

    /// The one that has this id, as far as is known.
    pub(in crate::daemon) fn get(&self, pid: u32) -> Option<StartedProcess> {
        let started = self.known.get(&pid)?.clone();
        Some(StartedProcess { pid, started })
    }

    /// All of them, when so many have come that it is to be looked which have ended; then
    /// [`Self::forget`] is to follow. An id of a process that has ended may become the
    /// operator's.
    pub(in crate::daemon) fn crowd(&mut self) -> Option<Vec<StartedProcess>> {
        let is_crowd = self.known.len() >= CROWD_MIN.max(2 * self.living);
        (is_crowd && !std::mem::replace(&mut self.looks, true)).then(|| self.known())
    }

    /// These have ended.
    pub(in crate::daemon) fn forget(&mut self, ended: &[StartedProcess]) {
        for process in ended {
            // Not one that has its id since.
            if self.known.get(&process.pid) == Some(&process.started) {
                self.known.remove(&process.pid);
            }
        }
        self.looks = false;
        self.living = self.known.len();
    }

    /// All of them, for the process that goes on in place of this one.
    pub(in crate::daemon) fn drain(&mut self) -> Vec<(u32, Option<String>)> {
        self.known.drain().collect()
    }

    /// Takes on what the process before this one knew.
    pub(in crate::daemon) fn take_over(&mut self, known: Vec<(u32, Option<String>)>) {
        self.known.extend(known);
    }

    /// Those that live.
    #[cfg(test)]
    pub(in crate::daemon) fn living(&self) -> Vec<u32> {
        let living = self.known().into_iter().filter(StartedProcess::lives);
        living.map(|process| process.pid).collect()
    }
}
