//! [`OutdatedAgents`]: agents that run what was started before an update and are refused for it.
//! They are told themselves when they call a tool; here the operator is told.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use super::run::Daemon;
use crate::wire::control::Role;

/// After how long without another attempt one counts as gone. It tries again every 2 s.
const GONE_AFTER: Duration = Duration::from_secs(15);

/// When each was last refused, by its role.
#[derive(Debug, Default)]
pub(super) struct OutdatedAgents(HashMap<Role, Instant>);

impl Daemon {
    /// One was refused just now.
    pub(super) fn came_outdated(&mut self, role: Role) {
        let Some((key, text)) = notice(role) else {
            return;
        };
        self.outdated.0.insert(role, Instant::now());
        if self.notices.set(key, text) {
            tracing::warn!(role = role.as_str(), "{text}");
            self.status_changed();
        }
    }

    /// One of this role came in: it has reconnected.
    pub(super) fn is_up_to_date(&mut self, role: Role) {
        if self.outdated.0.remove(&role).is_some() {
            self.forget_outdated(role);
        }
    }

    /// Forgets those that have ended.
    pub(super) fn outdated_deadline(&mut self) {
        let now = Instant::now();
        let gone = self
            .outdated
            .0
            .extract_if(|_, seen| now >= *seen + GONE_AFTER);
        for (role, _) in gone.collect::<Vec<_>>() {
            self.forget_outdated(role);
        }
    }

    /// When to look again.
    pub(super) fn next_outdated(&self) -> Option<Instant> {
        self.outdated
            .0
            .values()
            .map(|seen| *seen + GONE_AFTER)
            .min()
    }

    fn forget_outdated(&mut self, role: Role) {
        if notice(role).is_some_and(|(key, _)| self.notices.clear(key)) {
            self.status_changed();
        }
    }
}

/// The key and the words of an agent's notice; `None` for what is none.
fn notice(role: Role) -> Option<(&'static str, &'static str)> {
    match role {
        Role::Claude => Some((
            "outdated_claude",
            "Claude runs a bridge from before the update and gets no messages: in Claude type \
             /mcp, choose contextrelay, then Reconnect",
        )),
        Role::Hook => Some((
            "outdated_doorbell",
            "Claude runs a monitor from before the update, which cannot wake it: quit Claude and \
             start it again",
        )),
        Role::Codex => Some((
            "outdated_codex",
            "Codex runs an MCP server from before the update, which may no longer speak for it: \
             quit Codex and start it again",
        )),
        Role::Deck | Role::Cli => None,
    }
}
