//! [`ToolsGone`]: Claudes whose bridge died while they live on.
//!
//! Claude starts a dead bridge again for its next call, that call works, and then the tools are
//! withdrawn although the new process lives; `/mcp` -> Reconnect gives them back (Claude Code
//! 2.1.330, observed, 3 of 3). So a bridge that comes for a call has lost its tools, and one that
//! comes without a call was connected again by the human.

use std::collections::BTreeMap;

use crate::core::agent::Agent;
use crate::daemon::attach::ConnId;
use crate::daemon::clock::now_ms;
use crate::daemon::run::Daemon;
use crate::wire::control::{Hello, Role};

/// A bridge that Claude starts for a call hears of that call within this long, ms. Claude takes
/// well below a second for it; a human takes longer from Reconnect to the next prompt's call.
const FOR_A_CALL_MS: i64 = 2_000;

/// How many Claudes are remembered. Of those that ended nobody asks.
const CLAUDES_MAX: usize = 64;

/// Which Claudes have no tools, by their process.
#[derive(Debug, Default)]
pub struct ToolsGone {
    dead: BTreeMap<u32, DeadBridge>,
}

/// A bridge that died while its Claude lived.
#[derive(Debug, Clone, Copy)]
struct DeadBridge {
    pid: u32,
    /// The bridge that came instead, and whether it came for a call.
    heir: Option<(ConnId, bool)>,
}

impl ToolsGone {
    /// A bridge is gone. It may dial again: then it did not die.
    fn left(&mut self, bridge: &Hello) {
        let Some(claude) = bridge.agent_pid else {
            return;
        };
        if self.dead.len() >= CLAUDES_MAX {
            self.dead.clear();
        }
        let pid = bridge.pid;
        self.dead.insert(claude, DeadBridge { pid, heir: None });
    }

    /// A bridge is there.
    fn came(&mut self, conn: ConnId, bridge: &Hello) {
        let Some(claude) = bridge.agent_pid else {
            return;
        };
        match self.dead.get_mut(&claude) {
            Some(dead) if dead.pid != bridge.pid => dead.heir = Some((conn, false)),
            _ => {
                self.dead.remove(&claude);
            }
        }
    }

    /// A tool was called through this bridge, so long after it came, ms. Returns whether that says
    /// something new.
    fn called(&mut self, conn: ConnId, claude: u32, after_ms: i64) -> bool {
        let Some(dead) = self.dead.get_mut(&claude) else {
            return false;
        };
        match &mut dead.heir {
            Some((heir, for_a_call)) if *heir == conn => {
                if after_ms < FOR_A_CALL_MS {
                    return !std::mem::replace(for_a_call, true);
                }
                self.dead.remove(&claude);
                true
            }
            _ => false,
        }
    }

    /// Whether this Claude has no tools, as far as can be told.
    fn is_gone(&self, claude: u32) -> bool {
        self.dead
            .get(&claude)
            .is_some_and(|dead| dead.heir.is_none_or(|(_, for_a_call)| for_a_call))
    }
}

impl Daemon {
    /// A bridge of Claude came.
    pub(in crate::daemon) fn tools_came(&mut self, conn: ConnId) {
        if let Some(bridge) = self.clients.get(conn) {
            self.claude.tools_gone.came(conn, &bridge.hello);
        }
    }

    /// A bridge of Claude is gone.
    pub(super) fn tools_left(&mut self, bridge: &Hello) {
        self.claude.tools_gone.left(bridge);
    }

    /// A command came from a bridge of Claude: a tool was called.
    pub(in crate::daemon) fn tools_called(&mut self, conn: ConnId) {
        let Some(bridge) = self.clients.get(conn) else {
            return;
        };
        let after_ms = now_ms() - bridge.since_ms;
        if let Some(claude) = bridge.hello.agent_pid
            && self.claude.tools_gone.called(conn, claude, after_ms)
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
            claude.is_some_and(|claude| self.claude.tools_gone.is_gone(claude))
        });
        is_gone.then(|| {
            format!(
                "{}'s bridge died and its tools are gone: in its terminal, `/mcp` → Reconnect",
                Agent::Claude.title()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn bridge(pid: u32) -> Hello {
        serde_json::from_value(serde_json::json!({
            "protocol": 1, "role": "claude", "pid": pid, "agentPid": 7,
        }))
        .unwrap()
    }

    #[test]
    fn tools_are_gone_until_a_bridge_comes_that_was_not_started_for_a_call() {
        let (first, second) = (ConnId::next(), ConnId::next());
        let mut tools = ToolsGone::default();
        tools.came(first, &bridge(1));
        assert!(!tools.is_gone(7));
        tools.left(&bridge(1));
        assert!(tools.is_gone(7));
        // It only lost its connection.
        tools.came(second, &bridge(1));
        assert!(!tools.is_gone(7));

        tools.left(&bridge(1));
        tools.came(second, &bridge(2));
        assert!(tools.called(second, 7, 300), "started for a call");
        assert!(tools.is_gone(7));
        assert!(!tools.called(second, 7, 310));
        // A later call shows that it has its tools.
        assert!(tools.called(second, 7, 60_000));
        assert!(!tools.is_gone(7));

        tools.left(&bridge(2));
        tools.came(first, &bridge(3));
        assert!(!tools.is_gone(7), "the human connected it again");
    }
}
