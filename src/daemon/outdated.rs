//! Has the operator know of agents that run what was started before an update.

use tokio::time::Instant;

use super::clients::Clients;
use super::notices::Notices;
use crate::wire::control::Role;
use crate::wire::status::NoticeKey;

/// One was refused just now.
pub(super) fn came_outdated(clients: &mut Clients, notices: &mut Notices, role: Role) {
    let Some((key, text)) = notice(role) else {
        return;
    };
    clients.outdated_mut().refused(role, Instant::now());
    if notices.set(key, text) {
        tracing::warn!(role = role.as_str(), "{text}");
        clients.status_changed();
    }
}

/// One of this role came in: it has reconnected.
pub(super) fn is_up_to_date(clients: &mut Clients, notices: &mut Notices, role: Role) {
    if clients.outdated_mut().came_in(role) {
        forget(clients, notices, role);
    }
}

/// Forgets those that have ended.
pub(super) fn outdated_deadline(clients: &mut Clients, notices: &mut Notices) {
    for role in clients.outdated_mut().take_gone(Instant::now()) {
        forget(clients, notices, role);
    }
}

fn forget(clients: &Clients, notices: &mut Notices, role: Role) {
    if notice(role).is_some_and(|(key, _)| notices.clear(&key)) {
        clients.status_changed();
    }
}

/// The key and the words of an agent's notice; `None` for what is none.
fn notice(role: Role) -> Option<(NoticeKey, &'static str)> {
    match role {
        Role::Claude => Some((
            NoticeKey::OutdatedClaude,
            "Claude runs a bridge from before the update and gets no messages: in Claude type \
             /mcp, choose contextrelay, then Reconnect",
        )),
        Role::Hook => Some((
            NoticeKey::OutdatedDoorbell,
            "Claude runs a monitor from before the update, which cannot wake it: quit Claude and \
             start it again",
        )),
        Role::Codex => Some((
            NoticeKey::OutdatedCodex,
            "Codex runs an MCP server from before the update, which may no longer speak for it: \
             quit Codex and start it again",
        )),
        Role::Deck | Role::Cli => None,
    }
}
