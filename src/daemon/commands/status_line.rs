//! Our part of the person's status line in Claude: what the pair is at.

use crate::core::agent::Agent;
use crate::core::context_fill::ContextFill;
use crate::core::snapshot::Snapshot;
use crate::core::status_line::StatusLine;
use crate::daemon::codex_lane::CodexLane;
use crate::daemon::outbox::Outbox;

/// The width that is taken where none is told, in columns.
const COLUMNS: u16 = 80;

/// The line. Claude asks for it every few seconds: nothing is recorded by it. `context`: how full
/// Claude's is, where it is the one that asks.
pub(super) fn status_line(
    world: &Snapshot,
    codex: &CodexLane,
    outbox: &Outbox,
    context: Option<ContextFill>,
    columns: Option<u16>,
) -> String {
    let line = StatusLine {
        codex: codex.state(),
        to_codex: outbox.backlog().count(Agent::Codex) as u64,
        to_claude: outbox.backlog().count(Agent::Claude) as u64,
        context,
        proposals: world.pending_proposals.len() as u64,
        requests: world.open_approvals.len() as u64,
    };
    line.text(columns.unwrap_or(COLUMNS).into())
}
