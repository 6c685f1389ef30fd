//! [`Peer`]: the process at the other end of a connection, as the kernel reports it. The connection
//! asks the kernel before the loop hears of the client.

use crate::adapters::process::{ProcessStat, StartedProcess, loopback};
use crate::wire::control::Role;

/// How the kernel can be asked for the process at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// A Unix socket: it named the process when that connected.
    Process(u32),
    /// A loopback connection between these two ports.
    Loopback {
        /// The client's.
        theirs: u16,
        /// The daemon's.
        ours: u16,
    },
    /// It cannot be asked.
    Unknown,
}

/// A client's process, and what the kernel says beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientProcess {
    pub itself: StartedProcess,
    /// The agent that started it, of a bridge or a hook.
    pub agent: Option<StartedProcess>,
}

impl ClientProcess {
    /// Looks a client's process up. Blocking.
    pub fn of(pid: u32, role: Role) -> Self {
        let is_agents = matches!(role, Role::Claude | Role::Hook | Role::Codex);
        let agent = is_agents.then(|| parent_that_started(pid)).flatten();
        Self {
            itself: StartedProcess::of(pid),
            agent: agent.map(StartedProcess::of),
        }
    }
}

impl Peer {
    /// The process, where the kernel agrees with what the client says of itself. A client that
    /// names another process is nobody: it only keeps its own parent from becoming an agent.
    pub async fn process(self, said: u32, role: Role) -> Option<ClientProcess> {
        let look = move || {
            let pid = match self {
                Self::Process(pid) => pid,
                Self::Loopback { theirs, ours } => {
                    loopback::is_held_by(said, theirs, ours).then_some(said)?
                }
                Self::Unknown => return None,
            };
            Some(ClientProcess::of(pid, role))
        };
        tokio::task::spawn_blocking(look).await.ok().flatten()
    }
}

/// The parent, if it is the process that started this one. An orphan's parent is the one that took
/// it, such as the manager of the person's whole session: it has another session, and no terminal.
fn parent_that_started(pid: u32) -> Option<u32> {
    let child = ProcessStat::of(pid)?;
    let parent = ProcessStat::of(child.parent)?;
    (parent.session == child.session || parent.has_terminal).then_some(child.parent)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_parent_of_a_child_is_the_one_that_started_it() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert_eq!(parent_that_started(child.id()), Some(std::process::id()));
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(parent_that_started(u32::MAX - 1), None);
    }
}
