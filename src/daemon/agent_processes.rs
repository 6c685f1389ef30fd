//! [`AgentProcesses`]: which processes are agents, by the kernel's word. Their descendants may not
//! decide in the operator's place.
//!
//! Nothing that a client says of itself is believed here. A process becomes an agent by its own
//! registration over the operator's socket, as the parent of a bridge or hook that was found at
//! the other end of a connection, as the app-server and its keeper, or as the terminal on the
//! proxy. Each of these restricts nobody but the processes below it.

use std::collections::HashMap;

use crate::adapters::process::started;

/// How many processes are known before those that have ended are forgotten.
const KNOWN_MAX: usize = 256;

/// The agents' processes, each with its start: an id alone may be somebody else's by now.
#[derive(Debug, Default)]
pub(super) struct AgentProcesses {
    known: HashMap<u32, Option<String>>,
}

impl AgentProcesses {
    /// This process is an agent's. Not so the first process of all: everybody descends from it,
    /// the operator too.
    pub(super) fn know(&mut self, pid: u32) {
        if pid <= 1 {
            return;
        }
        if self.known.len() >= KNOWN_MAX {
            self.forget_dead();
        }
        self.known.insert(pid, started(pid));
    }

    /// Those that live.
    pub(super) fn living(&mut self) -> Vec<u32> {
        self.forget_dead();
        self.known.keys().copied().collect()
    }

    /// All of them, for the process that goes on in place of this one.
    pub(super) fn drain(&mut self) -> Vec<(u32, Option<String>)> {
        self.known.drain().collect()
    }

    /// Takes on what the process before this one knew.
    pub(super) fn inherit(&mut self, known: Vec<(u32, Option<String>)>) {
        self.known.extend(known);
    }

    /// An id of a process that has ended may become the operator's.
    fn forget_dead(&mut self) {
        self.known
            .retain(|pid, start| start.is_some() && started(*pid) == *start);
    }
}
