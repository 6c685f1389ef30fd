//! The agents' processes: their descendants may not decide in the operator's place.

use super::run::Daemon;
use crate::adapters::hold;

/// How many processes are known before those that have ended are forgotten.
const KNOWN_MAX: usize = 256;

impl Daemon {
    /// Processes whose descendants may not decide.
    pub(super) fn agent_pids(&mut self) -> Vec<u32> {
        self.forget_dead_agents();
        self.known_agent_pids.keys().copied().collect()
    }

    /// This process is an agent's. Not so the first process of all: everybody descends from it,
    /// the operator too.
    pub(super) fn know_agent(&mut self, pid: u32) {
        if pid <= 1 {
            return;
        }
        if self.known_agent_pids.len() >= KNOWN_MAX {
            self.forget_dead_agents();
        }
        self.known_agent_pids.insert(pid, hold::started(pid));
    }

    /// An id of a process that has ended may become the operator's.
    fn forget_dead_agents(&mut self) {
        self.known_agent_pids
            .retain(|pid, started| started.is_some() && hold::started(*pid) == *started);
    }
}
