//! Publishes on the disk which agents are connected, in files that other programs read.

use std::collections::BTreeSet;

use crate::core::agent::Agent;
use crate::core::id::RuntimeSession;
use crate::daemon::agents::codex_lane::CodexLane;
use crate::daemon::base::clients::Clients;
use crate::store::publisher::{Board, PublishedState};

/// Publishes which agents are connected now.
pub(super) fn publish_state(clients: &Clients, codex: &CodexLane, board: &mut Board) {
    let mut participants: BTreeSet<_> = clients
        .bridges()
        .filter(|(_, bridge)| !bridge.doorbell)
        .map(|(_, bridge)| (bridge.hello.runtime_session_id.clone(), Agent::Claude))
        .collect();
    if codex.state().is_attached() {
        participants.insert((RuntimeSession::default(), Agent::Codex));
    }
    board.set(PublishedState {
        app_server_port: codex.app_server_port(),
        participants,
    });
}
