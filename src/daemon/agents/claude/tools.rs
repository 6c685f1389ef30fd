//! Whether Claude can call our tools, as its bridges and its calls show, and how the operator reads
//! it.

use crate::core::agent::Agent;
use crate::core::id::RuntimeSession;
use crate::daemon::agents::claude_processes::ClaudeProcesses;
use crate::daemon::attach::ConnId;
use crate::daemon::base::clients::Clients;
use crate::daemon::base::clock::now_ms;
use crate::wire::control::{Hello, Role};

/// A bridge of Claude came.
pub(in crate::daemon) fn came(clients: &Clients, claudes: &mut ClaudeProcesses, conn: ConnId) {
    if let Some(bridge) = clients.get(conn) {
        claudes.bridge_came(conn, &bridge.hello);
    }
}

/// A command came from a bridge of Claude: a tool was called.
pub(in crate::daemon) fn called(clients: &Clients, claudes: &mut ClaudeProcesses, conn: ConnId) {
    let Some(bridge) = clients.get(conn) else {
        return;
    };
    let after_ms = now_ms() - bridge.since_ms;
    if let Some(claude) = bridge.hello.agent_pid
        && claudes.called(conn, claude, after_ms)
    {
        clients.status_changed();
    }
}

/// What to do about a Claude that lives and has no tools: that of a pair, or any.
pub(in crate::daemon) fn gone(
    clients: &Clients,
    claudes: &ClaudeProcesses,
    pair: Option<&RuntimeSession>,
) -> Option<String> {
    // Known by what of it is still here: its doorbell, or the bridge that came for a call.
    let is_of_pair = |hello: &Hello| pair.is_none_or(|pair| hello.runtime_session_id == *pair);
    let is_gone = clients.iter().any(|(_, other)| {
        let is_of_claude = other.doorbell || other.hello.role == Role::Claude;
        let claude = other
            .hello
            .agent_pid
            .filter(|_| is_of_claude && is_of_pair(&other.hello));
        claude.is_some_and(|claude| claudes.has_no_tools(claude))
    });
    // What helps comes first: a card of the deck has one line for it.
    is_gone.then(|| {
        format!(
            "`/mcp` → Reconnect in {}'s terminal: its bridge died and its tools are gone",
            Agent::Claude.title()
        )
    })
}
