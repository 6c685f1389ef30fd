//! Our part of the person's status line in Claude: what the pair is doing.

use crate::core::agent::Agent;
use crate::core::context_fill::ContextFill;
use crate::core::snapshot::Snapshot;
use crate::core::status_line::StatusLine;
use crate::daemon::agents::codex_lane::CodexLane;
use crate::daemon::deliveries::outbox::Outbox;

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
    let backlog = outbox.backlog();
    let held_to = |agent| backlog.kept_back().filter(|row| row.to == agent).count();
    let free_to = |agent| backlog.count(agent).saturating_sub(held_to(agent)) as u64;
    let line = StatusLine {
        codex: codex.state(),
        to_codex: free_to(Agent::Codex),
        to_claude: free_to(Agent::Claude),
        context,
        proposals: world.pending_proposals.len() as u64,
        requests: world.open_approvals.len() as u64,
        held: backlog.kept_back().count() as u64,
    };
    line.text(columns.unwrap_or(COLUMNS).into())
}
