//! [`OutdatedAgents`]: agents that run what was started before an update and are refused for it.
//! They are told themselves when they call a tool; here the operator is told.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::wire::control::Role;

/// After how long without another attempt one counts as gone. It tries again every 2 s.
const GONE_AFTER: Duration = Duration::from_secs(15);

/// When each was last refused, by its role.
#[derive(Debug, Default)]
pub(in crate::daemon) struct OutdatedAgents {
    refused: HashMap<Role, Instant>,
}

impl OutdatedAgents {
    /// One was refused just now.
    pub fn refused(&mut self, role: Role, now: Instant) {
        self.refused.insert(role, now);
    }

    /// One of this role came in: it has reconnected. Whether one had been refused.
    pub fn came_in(&mut self, role: Role) -> bool {
        self.refused.remove(&role).is_some()
    }

    /// Forgets those that have ended, and says which.
    pub fn take_gone(&mut self, now: Instant) -> Vec<Role> {
        let gone = self.refused.extract_if(|_, seen| now >= *seen + GONE_AFTER);
        gone.map(|(role, _)| role).collect()
    }

    /// When to look again.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.refused.values().map(|seen| *seen + GONE_AFTER).min()
    }
}
