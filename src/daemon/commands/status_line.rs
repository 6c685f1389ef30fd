//! Our part of the person's status line in Claude: what the pair is at.

use crate::core::agent::Agent;
use crate::core::status_line::StatusLine;
use crate::daemon::attach::ConnId;
use crate::daemon::metering::meter_status_line;
use crate::daemon::owners::Daemon;
use crate::wire::control::HookParams;

/// The width that is taken where none is told, in columns.
const COLUMNS: u16 = 80;

impl Daemon {
    /// The line, and what Claude says of its context on the way. Claude asks for it every few
    /// seconds: nothing is recorded by it.
    pub(super) fn status_line(&mut self, conn: ConnId, params: &HookParams) -> String {
        let pair = self.runtime_session(conn, None);
        let is_receiver = self.is_receivers_hook(&pair, params.claude_pid);
        if is_receiver && meter_status_line(&mut self.contexts, self.clock.now_ms(), params) {
            self.status_changed();
        }
        let world = self.recorder.world();
        let line = StatusLine {
            codex: self.codex.state(),
            to_codex: self.outbox.lane(Agent::Codex).count() as u64,
            to_claude: self.outbox.lane(Agent::Claude).count() as u64,
            context: is_receiver.then(|| self.contexts.fill(Agent::Claude)),
            proposals: world.pending_proposals.len() as u64,
            requests: world.open_approvals.len() as u64,
        };
        line.text(params.columns.unwrap_or(COLUMNS).into())
    }
}
