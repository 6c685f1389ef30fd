//! What the daemon shows on the disk of who is there.

use std::collections::BTreeSet;

use super::owners::Daemon;
use crate::core::agent::Agent;
use crate::core::id::RuntimeSession;
use crate::store::publisher::PublishedState;

impl Daemon {
    /// Has the disk show who is there now.
    pub(super) fn show(&mut self) {
        let mut participants: BTreeSet<_> = self
            .clients
            .bridges()
            .filter(|(_, bridge)| !bridge.doorbell)
            .map(|(_, bridge)| (bridge.hello.runtime_session_id.clone(), Agent::Claude))
            .collect();
        if self.codex.state().is_attached() {
            participants.insert((RuntimeSession::default(), Agent::Codex));
        }
        self.board.set(PublishedState {
            app_server_port: self.codex.app_server_port(),
            participants,
        });
    }
}
