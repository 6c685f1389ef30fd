//! Whether Claude can call us: what its bridges and its calls tell, and what the operator reads of
//! it.

use crate::core::agent::Agent;
use crate::daemon::attach::ConnId;
use crate::daemon::clock::now_ms;
use crate::daemon::owners::Daemon;
use crate::wire::control::Role;

impl Daemon {
    /// A bridge of Claude came.
    pub(in crate::daemon) fn tools_came(&mut self, conn: ConnId) {
        if let Some(bridge) = self.clients.get(conn) {
            self.claude_processes.bridge_came(conn, &bridge.hello);
        }
    }

    /// A command came from a bridge of Claude: a tool was called.
    pub(in crate::daemon) fn tools_called(&mut self, conn: ConnId) {
        let Some(bridge) = self.clients.get(conn) else {
            return;
        };
        let after_ms = now_ms() - bridge.since_ms;
        if let Some(claude) = bridge.hello.agent_pid
            && self.claude_processes.called(conn, claude, after_ms)
        {
            self.status_changed();
        }
    }

    /// What to do about a Claude that lives and has no tools.
    pub(in crate::daemon) fn claude_tools_gone(&self) -> Option<String> {
        // Known by what of it is still here: its doorbell, or the bridge that came for a call.
        let is_gone = self.clients.iter().any(|(_, other)| {
            let is_of_claude = other.doorbell || other.hello.role == Role::Claude;
            let claude = other.hello.agent_pid.filter(|_| is_of_claude);
            claude.is_some_and(|claude| self.claude_processes.has_no_tools(claude))
        });
        is_gone.then(|| {
            format!(
                "{}'s bridge died and its tools are gone: in its terminal, `/mcp` → Reconnect",
                Agent::Claude.title()
            )
        })
    }
}
